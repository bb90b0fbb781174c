"""Effects of packs on a search, and their explanation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.reports import LEASES, PROSE, REPORT

from spanwise import KnowledgeBase, SearchResult, weigh_chunks
from spanwise.core.ranking.features import FEATURES
from spanwise.core.ranking.question import read_question
from spanwise.core.text.terms import text_terms
from spanwise.ingest.prepare import chunk_signals
from spanwise.knowledge_base.internals import store_of
from spanwise.packs.pack_file import default_record
from spanwise.search.lifts import NAMED_DOCUMENTS
from spanwise.search.scoring import Scope, ScoredChunks, score_chunks
from spanwise.search.shipped_model import shipped_model
from spanwise.stores.memory import MemoryStore
from spanwise.testing.store_entries import make_entry

QUESTION = "How much capex did Alder have?"
ABOUT = "What does management expect of the weather?"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(REPORT, document_id="alder.txt")
        base.add_text(PROSE * 40 + "The capex of Birch is not told.", document_id="birch.txt")
        yield base


def weighed(base: KnowledgeBase, question: str) -> ScoredChunks:
    with store_of(base).snapshot() as snapshot:
        found = score_chunks(
            read_question(question),
            snapshot=snapshot,
            embedder=None,
            model=shipped_model(),
            scope=Scope(),
        )
    assert found is not None
    return found


def outcome(result: SearchResult) -> dict[str, object]:
    return {name: value for name, value in result.to_dict().items() if name != "seconds"}


def test_a_statement_is_found_that_has_no_word_of_the_question(base: KnowledgeBase) -> None:
    def share() -> float:
        candidates = base.explain(QUESTION).candidates
        return sum(one.share for one in candidates if "Purchases of property" in one.text)

    assert share() > 0.3
    base.packs.remove("filings")
    assert share() < 0.1


def test_a_question_without_pack_words_is_unchanged(base: KnowledgeBase) -> None:
    with_pack = outcome(base.search(ABOUT))
    assert weighed(base, ABOUT).lifts == {}
    base.packs.remove("filings")
    assert outcome(base.search(ABOUT)) == with_pack


def test_documents_without_landmarks_are_unchanged(base: KnowledgeBase) -> None:
    """For any question."""
    base.remove("alder.txt")
    with_pack = outcome(base.search(QUESTION))
    assert weighed(base, QUESTION).lifts == {}
    base.packs.remove("filings")
    assert outcome(base.search(QUESTION)) == with_pack


def test_chunks_without_landmarks_get_no_lift(base: KnowledgeBase) -> None:
    found = weighed(base, QUESTION)
    assert list(found.lifts) == [
        "filings: cash flow statement",
        "filings: words that say the same",
        NAMED_DOCUMENTS,
    ]
    handles = np.repeat([span.handle for span in found.ranges], found.rows.lengths)
    other = handles[found.candidates] == 2
    assert other.any()
    for lift in found.lifts.values():
        assert not lift[other].any()
        assert lift.max() > 0
        assert lift.min() >= 0


def test_scores_are_those_of_the_features_and_the_lifts(base: KnowledgeBase) -> None:
    found = weighed(base, QUESTION)
    model = shipped_model()
    total = model.scores(found.features) + sum(found.lifts.values())
    assert found.scores.tolist() == pytest.approx(total.tolist())


def test_a_glossary_and_an_intent_count_each_by_itself(tmp_path: Path) -> None:
    (tmp_path / "leases.toml").write_text(LEASES, encoding="utf-8")
    clause = "\n4. BASE RENT\nThe lessor is paid in monthly instalments, 8 times in the year.\n"
    with KnowledgeBase(":memory:", embedder=None, packs=[tmp_path / "leases.toml"]) as base:
        base.add_text(PROSE * 12 + clause + PROSE * 12, document_id="lease.txt")
        glossary = weighed(base, "What does the landlord of the years say?").lifts
        assert list(glossary) == ["leases: words that say the same"]
        intent = weighed(base, "How much rent in the years?").lifts
        assert list(intent) == ["leases: rent clause"]


def test_the_lifts_of_a_pack_are_evidence(base: KnowledgeBase) -> None:
    """A pack that points to the place makes an answer more probable."""
    with_pack = base.search(QUESTION)
    base.packs.remove("filings")
    without = base.search(QUESTION)
    assert with_pack.evidence > without.evidence
    assert with_pack.weak_evidence == without.weak_evidence


def test_an_explanation_names_the_pack(base: KnowledgeBase) -> None:
    explanation = base.explain(QUESTION, budget_tokens=600)
    name = "filings: cash flow statement"
    assert list(explanation.features)[len(FEATURES) :] == [
        name,
        "filings: words that say the same",
        NAMED_DOCUMENTS,
    ]
    best = explanation.candidates[0]
    assert "Dividends paid" in best.text or "Purchases of property" in best.text
    assert explanation.why(best)[0][0] == name
    for one in explanation.candidates:
        for scores in one.scores:
            assert list(scores.contributions) == list(explanation.features)
            assert scores.score == pytest.approx(sum(scores.contributions.values()))
    assert name in explanation.to_html()


def test_several_queries_are_explained_with_the_packs_of_all(base: KnowledgeBase) -> None:
    explanation = base.explain(ABOUT, more_queries=[QUESTION, "What is Alder's working capital?"])
    names = list(explanation.features)[len(FEATURES) :]
    assert names[:1] == ["filings: cash flow statement"]
    assert "filings: balance sheet" in names
    for one in explanation.candidates:
        for scores in one.scores:
            assert list(scores.contributions) == list(explanation.features)
            if scores.query == 0:
                assert all(scores.contributions[name] == 0 for name in names)


def test_chunks_of_a_caller_are_lifted_as_those_of_a_store(base: KnowledgeBase) -> None:
    """The shares of `weigh_chunks` equal those of a store, to the last bit."""
    texts = [[chunk.text for chunk in base.chunks(name)] for name in ("alder.txt", "birch.txt")]
    sections = [[index // 2 for index in range(len(own))] for own in texts]  # as `make_entry` does
    lengths = [len(text_terms(text)) for own in texts for text in own]
    store = MemoryStore()
    settings = {"dimension": "0", "reference_terms": str(float(np.mean(lengths)))}
    store.ensure_settings({**settings, "packs": default_record()})
    for number, own in enumerate(texts):
        entry = replace(make_entry(str(number), own, dimension=0), language="en")
        packs = default_record()
        signals = chunk_signals(entry.chunks, packs=packs)
        store.put_document(replace(entry, signals=signals, packs=packs))
    with store.snapshot() as snapshot:
        expected = score_chunks(
            read_question(QUESTION, languages=["en"]),
            snapshot=snapshot,
            embedder=None,
            model=shipped_model(),
            scope=Scope(),
        )
    assert expected is not None
    assert expected.lifts
    found = weigh_chunks(QUESTION, texts, sections=sections)
    assert np.concatenate(found.shares).tolist() == expected.shares.tolist()
