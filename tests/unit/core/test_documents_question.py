"""Recognition of questions that ask for documents."""

from __future__ import annotations

import pytest

from spanwise.core.ranking.documents_question import asks_documents, read_request


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
        ("WHICH\n CONTRACTS split income?", "contracts", "split income"),
    ],
)
def test_a_request_has_a_noun_and_a_topic(question: str, noun: str, topic: str) -> None:
    assert read_request(question) == (noun, topic)
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
        "Which people have contracts without an end?",
        "Which contracts?",
        "List the reports",
        "contracts",
        "",
    ],
)
def test_other_questions_are_no_requests(question: str) -> None:
    assert not asks_documents(question)


@pytest.mark.parametrize("text", ["which " * 50_000, "list all " * 50_000, "which a b " * 50_000])
def test_a_long_text_is_no_request(text: str) -> None:
    assert not asks_documents(text)
    assert read_request(f"Which contracts allow {text}?") is not None
