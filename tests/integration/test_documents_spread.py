"""Questions that ask which documents contain something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.commands import spanwise
from tests.scripted_answers import answer_of, model_of, statement

from spanwise import ExcerptOptions, KnowledgeBase, SearchOptions, SearchResult
from spanwise.errors import OptionError

CLAUSES = {
    "convenience": "Either party may terminate this Agreement at any time, for any reason or no "
    "reason, upon thirty days prior written notice to the other party.",
    "insurance": "The Supplier shall maintain commercial general liability insurance and provide a "
    "certificate of insurance to the Customer upon request.",
    "law": "This Agreement is governed by the laws of the State of Delaware, without regard to its "
    "conflict of laws principles.",
}
FILLER = (
    "The Supplier delivers the goods listed in the schedule to the warehouse of the Customer. The "
    "Customer pays the price of each delivery by bank transfer. Every delivery has a note with the "
    "number of the order and the weight of the goods.\n\n"
)
HOLDERS = {"convenience": range(8), "insurance": range(4, 10), "law": range(12)}


def contract(number: int, *, repeated: int = 1) -> str:
    parts = [f"SUPPLY AGREEMENT number {number}\n\nThis Agreement is between two parties.\n\n"]
    for name, holders in HOLDERS.items():
        parts += [FILLER * 3]
        parts += [CLAUSES[name] + "\n\n"] * repeated if number in holders else []
    return "".join([*parts, FILLER * 3])


SHORT_CONTRACT = """{}

This Agreement is made on March 1, 2021 between Harbor Mills, Inc. and Orchard Foods LLC.

1. Fees. Fees are due within thirty days of each invoice.

2. Term. This Agreement continues for three years from the date above.

3. Confidentiality. Each party shall keep the confidential information of the other party secret.

4. Termination. {}

5. Limitation of Liability. Neither party is liable for indirect or consequential damages.

6. Notices. All notices must be in writing and are effective upon delivery.

7. Governing Law. This Agreement is governed by the laws of the State of New York.
"""
SHORT_CLAUSES = {
    "SUPPLY AGREEMENT": "Either party may terminate this Agreement for convenience upon 30 days' "
    "prior written notice.",
    "CONSULTING AGREEMENT": "Client may terminate this Agreement at any time for its convenience, "
    "by giving sixty days' notice.",
    "HOSTING AGREEMENT": "Customer may terminate this Agreement without cause, for any reason or no"
    " reason, upon thirty days' notice.",
}
BREACH_CLAUSE = (
    "If a party breaches this Agreement and does not cure the breach within thirty days after "
    "written notice, the other party may terminate this Agreement for cause."
)


@pytest.mark.parametrize("others", [0, 1, 4])
def test_clauses_of_a_few_short_contracts_are_found(others: int) -> None:
    with KnowledgeBase(":memory:") as base:
        for name, clause in SHORT_CLAUSES.items():
            base.add_text(SHORT_CONTRACT.format(name, clause), document_id=name)
        for number in range(others):
            text = SHORT_CONTRACT.format("SALES AGREEMENT", BREACH_CLAUSE)
            base.add_text(text, document_id=f"sales {number}")
        found = base.search("Which contracts can be terminated for convenience?")
        assert {segment.document_id for segment in found.segments} == SHORT_CLAUSES.keys()
        assert not found.weak_evidence
        for question in ("Which contracts require insurance?", "Which contracts allow an audit?"):
            missing = base.search(question)
            assert missing.documents is not None
            assert missing.documents.found == 0


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as made:
        for number in range(12):
            text = contract(number, repeated=6 if number == 0 else 1)
            made.add_text(text, document_id=f"contract-{number}")
        yield made


def shown(result: SearchResult) -> set[int]:
    return {int(segment.document_id.removeprefix("contract-")) for segment in result.segments}


@pytest.mark.parametrize(
    ("question", "clause"),
    [
        ("Which contracts allow termination for convenience?", "convenience"),
        ("List all agreements that a party may leave without giving a reason.", "convenience"),
        ("In which contracts must a party maintain insurance?", "insurance"),
    ],
)
def test_each_document_with_evidence_is_shown_once(
    base: KnowledgeBase, question: str, clause: str
) -> None:
    """Although one of them has the clause six times."""
    result = base.search(question)
    assert result.documents is not None
    assert result.documents.searched == 12
    assert result.documents.found == result.documents.shown == len(result.segments)
    assert shown(result) == set(HOLDERS[clause])
    assert len(result.segments) == len(HOLDERS[clause])
    assert all(CLAUSES[clause][:40] in segment.text for segment in result.segments)
    assert result.question == result.queries[0] == question
    assert not result.warnings or result.warnings[0].startswith("searched by keywords alone")


def test_a_question_for_one_answer_finds_passages(base: KnowledgeBase) -> None:
    result = base.search("How can a contract be terminated for convenience?")
    assert result.documents is None


def test_spread_overrides_the_kind_of_the_question(base: KnowledgeBase) -> None:
    asked = "Which contracts allow termination for convenience?"
    assert base.search(asked, spread="passages").documents is None
    documents = base.search("terminate at any time for any reason", spread="documents")
    assert shown(documents) == set(HOLDERS["convenience"])
    whole = SearchOptions(spread="documents", max_documents=3)
    limited = base.search("terminate at any time for any reason", options=whole)
    assert len(limited.segments) == 3
    assert limited.documents is not None
    assert (limited.documents.found, limited.documents.shown) == (8, 3)
    assert str(limited.documents) == "evidence in 8 of 12 documents; 3 shown"


def test_documents_without_any_evidence_are_counted(base: KnowledgeBase) -> None:
    for result in (
        base.search("xylophone", spread="documents"),
        base.excerpts("xylophone", spread="documents"),
    ):
        assert result.documents is not None
        counts = result.documents
        assert (counts.searched, counts.found, counts.shown) == (12, 0, 0)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Which contracts of Dogwood Mining allow termination for convenience?", {"dogwood"}),
        (
            "Which contracts of Dogwood Mining and Cedarline allow termination for convenience?",
            {"dogwood", "cedarline"},
        ),
    ],
)
def test_the_documents_of_named_things_come_first(question: str, named: set[str]) -> None:
    companies = ("Aldera Foods", "Birchwood Foods", "Cedarline", "Dogwood Mining", "Elmstone")
    with KnowledgeBase(":memory:", embedder=None) as made:
        for number, company in enumerate(companies):
            name = company.split()[0].lower()
            text = contract(0, repeated=4 - number if number < 2 else 1)
            made.add_text(text, document_id=name, title=f"Contract of {company}")
        result = made.search(question)
    by_rank = sorted(result.segments, key=lambda segment: segment.rank)
    assert {segment.document_id for segment in by_rank[: len(named)]} == named


def test_documents_that_do_not_fit_are_counted(base: KnowledgeBase) -> None:
    result = base.search("Which contracts require insurance?", budget_tokens=300)
    assert result.documents is not None
    assert result.documents.shown == len(result.segments) < result.documents.found
    assert result.tokens <= 300


def test_a_budget_without_room_for_any_place_gives_the_best_sentence(base: KnowledgeBase) -> None:
    result = base.search("Which contracts require insurance?", budget_tokens=20)
    assert result.documents is not None
    assert result.documents.shown == len(result.segments) == 1
    assert result.tokens <= 20


def test_a_question_about_one_document_finds_passages(base: KnowledgeBase) -> None:
    asked = "Which contracts allow termination for convenience?"
    assert base.search(asked, documents=["contract-1"]).documents is None
    with KnowledgeBase(":memory:", embedder=None) as other:
        other.add_text(contract(0), document_id="contract-0")
        assert other.search(asked).documents is None
    two = base.search(asked, documents=["contract-1", "contract-9"])
    assert two.documents is not None
    assert two.documents.searched == 2
    assert shown(two) == {1}


def test_a_quoted_phrase_is_required_in_each_document(base: KnowledgeBase) -> None:
    result = base.search('Which contracts mention a "certificate of insurance"?')
    assert result.phrases == ("certificate of insurance",)
    assert shown(result) == set(HOLDERS["insurance"])


def test_without_evidence_abstention_shows_only_a_guess(base: KnowledgeBase) -> None:
    asked = "Which contracts mention submarine volcanoes?"
    result = base.search(asked, abstain=True)
    assert result.not_found
    assert result.weak_evidence
    assert result.best_guess is not None or not result.candidates


@pytest.mark.parametrize("asked", ["Which contracts mention {}?", "Which companies mention {}?"])
def test_a_name_that_no_document_contains_is_weak_evidence(base: KnowledgeBase, asked: str) -> None:
    result = base.search(asked.format("Tesla"))
    assert result.weak_evidence
    assert result.documents is not None
    assert result.documents.found == 0
    result = base.search(asked.format("insurance of Tesla"))
    assert result.weak_evidence
    assert any('"Tesla"' in warning for warning in result.warnings)


def test_only_documents_with_a_year_have_evidence_for_it() -> None:
    with KnowledgeBase(":memory:") as base:
        for number in range(12):
            text = contract(number).replace("two parties", f"two parties since {1990 + number}")
            base.add_text(text, document_id=f"contract-{number}")
        result = base.search("Which contracts were signed in 1998?")
        assert shown(result) == {8}
        assert base.search("Which contracts were signed in 2050?").weak_evidence


def test_a_topic_of_many_names_is_searched(base: KnowledgeBase) -> None:
    names = " ".join(f"Name{number}" for number in range(90))
    result = base.search(f"Which contracts mention {names} or insurance?")
    assert result.documents is not None


def test_only_documents_with_a_name_have_evidence_for_it() -> None:
    with KnowledgeBase(":memory:") as base:
        for number in range(12):
            base.add_text(contract(number), document_id=f"contract-{number}")
        text = contract(12).replace("The Customer pays", "Harbor Mills pays")
        base.add_text(text, document_id="harbor")
        base.add_text(contract(13), document_id="titled", title="Harbor Mills supply")
        result = base.search("Which contracts mention deliveries to Harbor Mills?")
        assert {segment.document_id for segment in result.segments} == {"harbor", "titled"}


def test_packs_are_not_needed(base: KnowledgeBase) -> None:
    with KnowledgeBase(":memory:", embedder=None, packs=()) as other:
        for number in range(12):
            other.add_text(contract(number), document_id=f"contract-{number}")
        result = other.search("Which contracts require a certificate of insurance?")
        assert shown(result) >= set(HOLDERS["insurance"])


def test_a_pack_applies_if_the_documents_are_of_its_kind() -> None:
    """If the question names no kind of document."""
    law = "12. GOVERNING LAW\n\nThis agreement is governed by the laws of Delaware. Each party\n\n"
    with KnowledgeBase(":memory:", embedder=None) as contracts:
        for number in range(12):
            text = contract(number).replace(CLAUSES["law"], "") + law
            contracts.add_text(text, document_id=f"contract-{number}")
        found = contracts.search("Which documents can be left without a reason?")
        assert shown(found) == set(HOLDERS["convenience"])
        assert found.documents is not None
        assert found.documents.searched == 12


def test_each_document_gets_one_excerpt(base: KnowledgeBase) -> None:
    asked = "Which contracts allow termination for convenience?"
    result = base.excerpts(asked, excerpts=20, excerpt_tokens=300)
    ids = [excerpt.document_id for excerpt in result.excerpts]
    assert len(ids) == len(set(ids)) == len(HOLDERS["convenience"])
    assert all("no reason" in excerpt.text for excerpt in result.excerpts)
    assert result.documents is not None
    assert result.documents.shown == len(ids)
    passages = base.excerpts(asked, options=ExcerptOptions(spread="passages", excerpts=20))
    assert passages.documents is None


def test_several_queries_are_combined(base: KnowledgeBase) -> None:
    result = base.search(
        "Which contracts require insurance?",
        more_queries=["Which contracts allow termination for convenience?"],
    )
    assert shown(result) == {*HOLDERS["insurance"], *HOLDERS["convenience"]}


def test_a_search_for_documents_is_not_explained(base: KnowledgeBase) -> None:
    asked = "Which contracts require insurance?"
    assert base.explain(asked).result.documents is None
    with pytest.raises(OptionError, match="passages"):
        base.explain(asked, spread="documents")


def test_options_for_documents_are_checked() -> None:
    with pytest.raises(OptionError, match="spread is 'all'"):
        SearchOptions(spread="all")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="max_documents is 0"):
        SearchOptions(max_documents=0)
    with pytest.raises(OptionError, match="greedy"):
        KnowledgeBase(":memory:", embedder=None).search("x", method="greedy", spread="documents")


def test_the_command_line_counts_the_documents(tmp_path: Path) -> None:
    kb = str(tmp_path / "contracts.kb")
    with KnowledgeBase(kb, embedder=None) as made:
        for number in range(12):
            made.add_text(contract(number), document_id=f"contract-{number}")
    asked = "Which contracts require insurance?"
    printed = spanwise("search", asked, "--kb", kb, "--max-documents", "2", folder=tmp_path)
    assert "evidence in 6 of 12 documents; 2 shown" in printed.stdout
    data = json.loads(spanwise("search", asked, "--kb", kb, "--json", folder=tmp_path).stdout)
    assert data["documents"] == {"searched": 12, "found": 6, "shown": 6}
    passages = spanwise(
        "search", asked, "--kb", kb, "--spread", "passages", "--json", folder=tmp_path
    )
    assert json.loads(passages.stdout)["documents"] is None
    excerpts = spanwise("excerpts", asked, "--kb", kb, "--excerpts", "9", folder=tmp_path)
    assert "6 of 12 documents" in excerpts.stdout


def test_an_answer_cites_several_documents(base: KnowledgeBase) -> None:
    asked = "Which contracts allow termination for convenience?"
    quote = "Either party may terminate this Agreement at any time"
    places = base.search(asked, budget_tokens=8_000).segments
    numbers = {segment.document_id: number for number, segment in enumerate(places, start=1)}
    statements = [
        statement(f"{name} does.", (numbers[name], quote)) for name in ("contract-2", "contract-5")
    ]
    model = model_of(answer_of(*statements))
    answer = base.ask(asked, llm=model, write_queries=False)
    cited = [citation.citation for citation in answer.citations]
    assert [one.document_id for one in cited if one] == ["contract-2", "contract-5"]
    assert all(citation.status == "exact" for citation in answer.citations)


def test_a_notebook_shows_the_counts(base: KnowledgeBase) -> None:
    asked = "Which contracts require insurance?"
    assert "6 of 12 documents" in base.search(asked)._repr_html_()
    assert (
        "evidence in 6 of 12 documents; 2 shown" in base.excerpts(asked, excerpts=2)._repr_html_()
    )


def test_many_documents_are_read_around_their_hits(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "Which contracts allow termination for convenience?"
    expected = shown(base.search(asked))
    monkeypatch.setattr("spanwise.core.ranking.document_places.MOST_CHUNKS", 320)
    assert shown(base.search(asked)) == expected
    assert replace(SearchOptions(), spread="documents").max_documents == 20
