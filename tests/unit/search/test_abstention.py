"""Assessment of a search: the query with the most evidence counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from spanwise import KnowledgeBase
from spanwise.core.ranking.abstention import SIGNALS, EvidenceAssessment
from spanwise.core.ranking.reranking import RerankerScores
from spanwise.knowledge_base.internals import store_of
from spanwise.models.providers.wordllama import WordLlama
from spanwise.search.assessment import assess_evidence, load_abstention_model
from spanwise.search.evidence import merge_evidence
from spanwise.search.queries import search_queries
from spanwise.search.question_limits import read_questions
from spanwise.search.rendering import make_token_counter
from spanwise.search.scoring import Scope
from spanwise.search.shipped_model import shipped_model

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
    default = model.for_embedder(WordLlama.name)
    for logistic in (default, model.keywords_alone):
        assert len(logistic.weights) == len(SIGNALS)
        assert 0 < logistic.missing < logistic.weak < 0.5
    meaning = list(SIGNALS).index("meaning")
    assert default.weights[meaning] > 0
    assert model.keywords_alone.weights[meaning] == 0


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


def scores_of(score: float | None) -> RerankerScores | None:
    if score is None:
        return None
    return RerankerScores(name="tests", at=np.zeros(1, dtype=np.int64), scores=np.array([score]))


def reranked(base: KnowledgeBase, question: str, score: float | None) -> EvidenceAssessment:
    """Return the assessment of a question after a reranker that gives all chunks this score."""
    model = shipped_model()
    with store_of(base).snapshot() as snapshot:
        hits = search_queries(
            read_questions([question], snapshot),
            snapshot=snapshot,
            embedder=None,
            model=model,
            scope=Scope(),
        )
        hits = tuple(
            hit._replace(scored=hit.scored and hit.scored._replace(reranker=scores_of(score)))
            for hit in hits
        )
        counter = make_token_counter(None, "chars:4")
        evidence = merge_evidence(hits, snapshot=snapshot, model=model, token_counter=counter)
        return assess_evidence(evidence, model=model, embedder=None)


@pytest.mark.parametrize("question", ["What causes tides?", "Who hunts whales near the moon?"])
def test_a_reranker_that_is_certain_decides_whatever_the_words_say(
    base: KnowledgeBase, question: str
) -> None:
    believed, rejected = reranked(base, question, 1.0), reranked(base, question, 0.0)
    assert (believed.is_weak, believed.is_missing) == (False, False)
    assert (rejected.is_weak, rejected.is_missing) == (True, True)
    by_words = reranked(base, question, None).evidence
    assert rejected.evidence < by_words < believed.evidence
