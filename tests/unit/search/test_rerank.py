"""Effects of a reranker on a search, and their explanation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from spanwise import KnowledgeBase
from spanwise.errors import ModelAnswerError, ModelError, ModelKeyError
from spanwise.models.ports import RerankReply
from spanwise.models.rerankers.rerank_caller import RerankCaller
from spanwise.options import RerankOptions
from spanwise.search.rerank import DEFAULT_WEIGHT
from spanwise.testing.models import ScriptedReranker
from spanwise.types import Usage

QUESTION = "What moved the margin?"
REPORT = "# Costs\n\n" + "".join(
    f"The margin of plant {number} moved by {number} points in the year.\n\n" * 4
    for number in range(30)
)


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(REPORT, document_id="report.md", media_type="text/markdown")
        base.add_text("The margin moved. " * 40, document_id="note.txt", title="A note")
        yield base


def likes(word: str) -> ScriptedReranker:
    return ScriptedReranker(score=lambda query, text: float(f" {word} " in text))


def test_preferred_candidates_are_found(base: KnowledgeBase) -> None:
    plain = base.search(QUESTION, budget_tokens=200)
    assert "plant 17 " not in plain.context
    result = base.search(QUESTION, budget_tokens=200, rerank=likes("17"))
    assert "plant 17 " in result.context


def test_it_reads_each_chunk_under_its_header(base: KnowledgeBase) -> None:
    reranker = likes("17")
    result = base.search(QUESTION, rerank=reranker, documents=["report.md"])
    ((query, texts),) = reranker.requests
    assert query == QUESTION
    header = result.segments[0].header
    assert header
    assert all(text.startswith(f"{header}\n\n") for text in texts)


def test_it_reads_no_more_than_it_may(base: KnowledgeBase) -> None:
    reranker = likes("17")
    base.search(QUESTION, rerank=reranker, rerank_options=RerankOptions(chunks=7))
    assert len(reranker.requests[0][1]) == 7


def test_a_larger_budget_has_more_candidates_read(base: KnowledgeBase) -> None:
    base.add_text(REPORT.replace("plant", "mill") * 8, document_id="long.md")
    reranker = likes("17")
    for budget_tokens in (1_000, 4_000, 5_000):
        base.search(QUESTION, budget_tokens=budget_tokens, rerank=reranker)
    assert [len(texts) for _, texts in reranker.requests] == [100, 200, 250]
    other = ScriptedReranker(score=lambda query, text: 0.5, name="scripted:other")
    base.search(QUESTION, method="greedy", budget_tokens=100_000, rerank=other)
    assert [len(texts) for _, texts in other.requests] == [200]


def test_a_reranker_that_finds_nothing_is_believed(base: KnowledgeBase) -> None:
    plain = base.search(QUESTION)
    assert not plain.weak_evidence
    nothing = base.search(QUESTION, rerank=ScriptedReranker(score=lambda query, text: 0.0))
    assert nothing.weak_evidence
    assert nothing.evidence < 0.05
    assert all(segment.relevance < 0.05 for segment in nothing.segments)
    assert base.search(
        QUESTION, abstain=True, rerank=ScriptedReranker(score=lambda query, text: 0.0)
    ).not_found


@pytest.mark.parametrize("score", [0.5, -3.0])
def test_equal_scores_of_another_kind_change_nothing(base: KnowledgeBase, score: float) -> None:
    reranked = base.search(QUESTION, rerank=ScriptedReranker(score=lambda query, text: score))
    assert reranked.segments == base.search(QUESTION).segments
    assert not reranked.weak_evidence


def test_the_greedy_method_uses_the_scores_as_published(base: KnowledgeBase) -> None:
    reranked = base.search(QUESTION, method="greedy", rerank=likes("17"))
    assert all(" 17 " in segment.text for segment in reranked.segments)
    low = ScriptedReranker(score=lambda query, text: 0.01, name="scripted:low")
    assert base.search(QUESTION, method="greedy", rerank=low).not_found


def test_each_query_is_reranked_by_itself(base: KnowledgeBase) -> None:
    reranker = likes("17")
    result = base.search(QUESTION, more_queries=["plant 3", "plant 4"], rerank=reranker)
    assert sorted(query for query, _ in reranker.requests) == [QUESTION, "plant 3", "plant 4"]
    assert result.usage.calls == 3


def test_explain_shows_what_it_added(base: KnowledgeBase) -> None:
    explanation = base.explain(QUESTION, rerank=likes("17"))
    name = "reranker scripted:reranker"
    added = {one.text: one.scores[0].contributions[name] for one in explanation.candidates}
    best = max(added, key=lambda text: added[text])
    assert "plant 17 " in best
    assert explanation.features[name] == name
    for one in explanation.candidates:
        scores = one.scores[0]
        assert sum(scores.contributions.values()) == pytest.approx(scores.score)


def test_excerpts_are_reranked(base: KnowledgeBase) -> None:
    result = base.excerpts(
        QUESTION, excerpts=1, excerpt_tokens=150, rerank=likes("17"), documents=["report.md"]
    )
    assert "plant 17 " in result.context
    assert result.usage.calls == 1


def test_weight_0_changes_nothing(base: KnowledgeBase) -> None:
    options = RerankOptions(weight=0)
    plain = base.search(QUESTION)
    result = base.search(QUESTION, rerank=likes("17"), rerank_options=options)
    assert result.segments == plain.segments
    assert result.warnings == plain.warnings


def test_missing_trained_weights_are_a_warning(base: KnowledgeBase) -> None:
    (said,) = set(base.search(QUESTION, rerank=likes("17")).warnings) - set(
        base.search(QUESTION).warnings
    )
    assert said.startswith("uncalibrated: no weight was trained for the reranker scripted:")
    assert f"the default weight of {DEFAULT_WEIGHT:g}" in said


def test_the_same_search_calls_it_once(base: KnowledgeBase) -> None:
    reranker = likes("17")
    first = base.search(QUESTION, rerank=reranker)
    again = base.search(QUESTION, rerank=reranker)
    assert len(reranker.requests) == 1
    assert again.segments == first.segments
    assert (first.usage.calls, again.usage.calls, again.usage.cached_calls) == (1, 0, 1)


def test_a_failed_reranker_is_a_warning(base: KnowledgeBase) -> None:
    def fail(query: str, text: str) -> float:
        raise ModelError("scripted is down; try later", provider="scripted", model="reranker")

    plain = base.search(QUESTION)
    result = base.search(QUESTION, rerank=ScriptedReranker(score=fail))
    assert result.segments == plain.segments
    assert any("not reranked" in said and "scripted is down" in said for said in result.warnings)
    assert not any("uncalibrated" in said for said in result.warnings), "no score of it counted"


def test_a_refused_key_is_an_error(base: KnowledgeBase) -> None:
    def refuse(query: str, text: str) -> float:
        raise ModelKeyError("no key", provider="scripted", model="reranker")

    with pytest.raises(ModelKeyError):
        base.search(QUESTION, rerank=ScriptedReranker(score=refuse))


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_not_used(base: KnowledgeBase, score: float) -> None:
    result = base.search(QUESTION, rerank=ScriptedReranker(score=lambda query, text: score))
    assert result.segments == base.search(QUESTION).segments
    assert any("not a finite number" in said for said in result.warnings)


def test_wrong_counts_are_rejected() -> None:
    class Short:
        name = "scripted:short"

        def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
            return RerankReply(scores=(1.0,), usage=Usage(calls=1))

    with pytest.raises(ModelAnswerError, match="gave 1 scores for 2 texts"):
        RerankCaller(reranker=Short()).rerank("why", ["a", "b"], [1, 1])


def test_texts_that_are_read_together_are_of_one_document() -> None:
    class Together:
        name = "scripted:together"

        def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
            return self.rerank_groups(query, [texts])

        def rerank_groups(self, query: str, groups: Sequence[Sequence[str]]) -> RerankReply:
            assert [list(group) for group in groups] == [["b1", "b2"], ["a1", "a2"], ["c1"]]
            texts = [text for group in groups for text in group]
            scores = {text: float(at) for at, text in enumerate(texts)}
            self.scores = scores
            return RerankReply(scores=tuple(scores.values()), usage=Usage(calls=3))

    reranker = Together()
    texts = ["a1", "b1", "c1", "a2", "b2"]
    reply = RerankCaller(reranker=reranker).rerank("why", texts, [7, 3, 9, 7, 3])
    assert reply.scores == tuple(reranker.scores[text] for text in texts)


def test_no_texts_need_no_call() -> None:
    reranker = likes("17")
    assert RerankCaller(reranker=reranker).rerank("why", [], []).scores == ()
    assert reranker.requests == []


def test_a_scope_without_chunks_needs_no_call(base: KnowledgeBase) -> None:
    reranker = likes("17")
    result = base.search("zzz", rerank=reranker, documents=["note.txt"])
    assert result.not_found
    assert reranker.requests == []
