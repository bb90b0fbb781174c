"""Assessment of a search: the query with the most evidence counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from spanwise import KnowledgeBase
from spanwise.core.ranking.abstention import SIGNALS
from spanwise.search.chunk_weights import shipped_model
from spanwise.search.pipeline import assess_evidence, load_abstention_model

TIDES = """Tides are the rise and fall of the sea, caused by the gravity of the moon and the sun.
The highest tides come at new moon and at full moon and are called spring tides.

Neap tides come a week later, when the sun pulls at a right angle. Their range is the smallest.

In the Bay of Fundy the range reaches sixteen metres, and harbours fall dry twice a day.
"""
FOREIGN = "What is the capital of France?"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as made:
        made.add_text(TIDES, document_id="tides.txt")
        yield made


def test_the_shipped_model_is_for_the_signals_of_this_version() -> None:
    model = load_abstention_model()
    for logistic in (model.with_vectors, model.keywords_alone):
        assert len(logistic.weights) == len(SIGNALS)
        assert 0 < logistic.missing < logistic.weak < 0.5
    assert (model.with_vectors.weights > 0).all()
    assert model.keywords_alone.weights[-1] == 0


def test_an_empty_knowledge_base_has_no_evidence() -> None:
    judged = assess_evidence(None, model=shipped_model(), embedder=None)
    assert (judged.evidence, judged.is_weak, judged.is_missing) == (0.0, True, True)


def test_a_question_of_another_topic_is_not_found_with_a_guess_apart(base: KnowledgeBase) -> None:
    result = base.search(FOREIGN, abstain=True)
    assert result.not_found
    assert result.weak_evidence
    assert result.evidence < 0.1
    assert (result.segments, result.context, result.tokens) == ((), "", 0)
    assert result.best_guess is not None
    assert result.best_guess.text in TIDES


@pytest.mark.parametrize(
    "question", ["What causes tides?", "When is the range smallest?", "What is this text about?"]
)
def test_matching_text_is_evidence(base: KnowledgeBase, question: str) -> None:
    result = base.search(question)
    assert not result.not_found
    assert not result.weak_evidence
    assert result.best_guess is None
    assert result.evidence >= 0.5


def test_keywords_alone_are_judged_by_a_model_of_their_own() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(TIDES, document_id="tides.txt")
        assert not base.search("What causes tides?").weak_evidence
        weak = base.search("Who sailed under the new government of Portugal for the crown?")
        assert weak.weak_evidence
        assert 0 < weak.evidence < 0.25
        nothing = base.search(FOREIGN)
        assert (nothing.not_found, nothing.evidence, nothing.best_guess) == (True, 0.0, None)


def test_a_question_about_a_single_sentence_is_found() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text("The tide rises twice a day for the moon pulls the sea.", document_id="d")
        assert not base.search("How often does the tide rise?").not_found
        assert base.search(FOREIGN, abstain=True).not_found


def test_without_abstention_weak_segments_are_marked(base: KnowledgeBase) -> None:
    refused, told = base.search(FOREIGN, abstain=True), base.search(FOREIGN)
    assert not told.not_found
    assert told.best_guess is None
    assert told.weak_evidence
    assert told.evidence == refused.evidence


def test_of_several_queries_the_most_evidence_counts(base: KnowledgeBase) -> None:
    known = base.search("What causes tides?")
    for question, queries in ((FOREIGN, ["What causes tides?"]), ("What causes tides?", [FOREIGN])):
        result = base.search(question, more_queries=queries)
        assert result.evidence == known.evidence
        assert not result.not_found
    assert base.search(FOREIGN, more_queries=["Who won the world cup?"], abstain=True).not_found


def test_excerpts_abstain_as_segments_do(base: KnowledgeBase) -> None:
    refused = base.excerpts(FOREIGN, abstain=True)
    assert refused.not_found
    assert refused.weak_evidence
    assert refused.best_guess is not None
    assert refused.evidence == base.search(FOREIGN).evidence
    assert not base.excerpts(FOREIGN).not_found
    assert not base.excerpts("What causes tides?").not_found


def test_the_published_method_never_abstains_by_evidence(base: KnowledgeBase) -> None:
    refused, published = (
        base.search(FOREIGN),
        base.search(FOREIGN, method="greedy", preset="dsrag-find-all"),
    )
    assert published.evidence == refused.evidence
    assert published.weak_evidence


def test_refusing_is_opt_in(base: KnowledgeBase) -> None:
    for result in (base.search(FOREIGN), base.explain(FOREIGN).result, base.excerpts(FOREIGN)):
        assert result.weak_evidence
        assert not result.not_found


@pytest.mark.parametrize("question", [FOREIGN, "What causes tides?", "Who sails at new moon?"])
def test_relevance_never_exceeds_the_chance_of_an_answer(
    base: KnowledgeBase, question: str
) -> None:
    result = base.search(question)
    for segment in result.segments:
        assert max(segment.relevance, *segment.relevances) <= result.evidence
    excerpts = base.excerpts(question)
    for excerpt in excerpts.excerpts:
        assert max(excerpt.relevance, *(span.relevance for span in excerpt.spans)) <= (
            excerpts.evidence
        )


def test_warnings_come_from_the_snapshot_of_the_search() -> None:
    """A document that another thread adds during the search does not hide a warning."""

    class Listening:
        def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
            if name == "weigh" and bases:
                bases[0].add_text("Sand.", document_id="later", metadata={"year": 2020})

    bases: list[KnowledgeBase] = []
    with KnowledgeBase(":memory:", listener=Listening()) as opened:
        opened.add_text(TIDES, document_id="tides.txt", metadata={"year": 2018})
        bases.append(opened)
        result = opened.search("What causes tides?", where="year = 2020")
    assert any("no document passes the filter" in warning for warning in result.warnings)
