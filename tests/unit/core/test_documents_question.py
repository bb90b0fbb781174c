"""Recognition of questions that ask for documents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spanwise.core.ranking.documents_question import asks_documents, read_request, topic_names
from spanwise.core.ranking.question import read_question


@pytest.mark.parametrize(
    ("question", "noun", "topic"),
    [
        ("Which contracts allow an audit?", "contracts", "allow an audit"),
        ("Which software license agreements end?", "agreements", "software license end"),
        ("Which sales contracts end?", "contracts", "sales end"),
        ("In which of the agreements is there a cap?", "agreements", "cap"),
        ("List all reports that mention floods.", "reports", "floods"),
        ("Please list the filings which discuss China", "filings", "China"),
        ("Show me all documents about leases", "", "leases"),
        ("How many of the contracts renew automatically?", "contracts", "renew automatically"),
        ("Which supply agreements end in 2030?", "agreements", "supply end in 2030"),
        ("Find every agreement that mentions escrow", "agreements", "escrow"),
        ("Do any of the contracts have a non-compete?", "contracts", "non-compete"),
        ("Are there any leases with a pool?", "leases", "pool"),
        ("What documents mention asbestos?", "", "asbestos"),
        ("Which companies mention Tesla?", "", "Tesla"),
        ("Which policies mention encryption?", "", "encryption"),
        ("Which meetings discussed solar cells?", "", "solar cells"),
        ("List all e-mails that mention the lease", "", "lease"),
        ("Which filings report whaling?", "filings", "whaling"),
        ("WHICH\n CONTRACTS split income?", "contracts", "split income"),
    ],
)
def test_a_request_has_a_noun_and_a_topic(question: str, noun: str, topic: str) -> None:
    assert read_request(question) == (noun, topic, False)
    assert asks_documents(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which contract allows an audit?",
        "Which risks do the reports mention?",
        "What contracts did the company sign?",
        "Do the reports show growth?",
        "List the risks of the agreement.",
        "What does the agreement say about contracts?",
        "How many employees have contracts?",
        "Which companies sign contracts with suppliers?",
        "Which companies did the buyer acquire?",
        "Which policies apply to guests?",
        "List all meetings of the board",
        "Which people have contracts without an end?",
        "Which contracts?",
        "List the reports",
        "contracts",
        "",
    ],
)
def test_other_questions_are_no_requests(question: str) -> None:
    assert not asks_documents(question)


@pytest.mark.parametrize(
    ("question", "is_negated"),
    [
        ("Which documents do not mention Slack?", True),
        ("Which contracts don't have a cap?", True),
        ("List the reports that never mention floods", True),
        ("Which contracts have no cap?", True),
        ("Which agreements are without a term?", True),
        ("Which contracts do have a cap?", False),
        ("Which contracts allow a party not to renew?", False),
        ("Which contracts mention notes?", False),
    ],
)
def test_a_request_may_be_for_documents_without_something(
    question: str, *, is_negated: bool
) -> None:
    request = read_request(question)
    assert request is not None
    assert request.is_negated is is_negated


@pytest.mark.parametrize("text", ["which " * 50_000, "list all " * 50_000, "which a b " * 50_000])
def test_a_long_text_is_no_request(text: str) -> None:
    assert not asks_documents(text)
    assert read_request(f"Which contracts allow {text}?") is not None


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (
            "Which filings mention the Eiffel Tower or ESG?",
            [(("eiffel", "tower"), False), (("esg",), True)],
        ),
        ("Which filings mention tesla?", []),
        ("What does Tesla say?", []),
    ],
)
def test_the_names_of_a_topic_have_capital_letters(
    asked: str, names: list[tuple[tuple[str, ...], bool]]
) -> None:
    request = read_request(asked)
    question = read_question(request.topic if request else asked)
    question = replace(question, original_text=asked)
    assert list(topic_names(question)) == names
