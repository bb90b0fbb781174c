"""Number of passages that a reranker reads, and results without a relevant passage."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.models.ports import ModelRequest
from spanwise.models.rerankers.model_reranker import ModelReranker
from spanwise.options import ModelOptions, RerankOptions
from spanwise.testing.models import ScriptedModel, ScriptedReranker

_PASSAGE = re.compile(r"^Passage (\d+):$", re.MULTILINE)
REPORTS = Path(__file__).parents[3] / "examples" / "reports"
QUESTION = "Who paid the keepers of the ferries?"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    """Return a knowledge base of two documents with hundreds of chunks about one topic."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        for name in ("north", "south"):
            text = "".join(
                f"Of the ferries of the {name}, note {number} says that their keepers were paid by "
                f"the town of Altby, and not by the crown, from the year {1700 + number} on. "
                f"The keepers of the ferries had to swear that they would not drink.\n\n"
                for number in range(150)
            )
            title = f"Report of the keepers of the {name}"
            base.add_text(text, document_id=name, title=title)
        yield base


def rating(score: float) -> ScriptedModel:
    """Return a model that gives every passage the same rating."""

    def answer(request: ModelRequest) -> str:
        numbers = [int(number) for number in _PASSAGE.findall(request.prompt)]
        return json.dumps({"ratings": [{"passage": n, "score": score} for n in numbers]})

    return ScriptedModel(answer)


def passages(model: ScriptedModel) -> int:
    return sum(len(_PASSAGE.findall(request.prompt)) for request in model.requests)


@pytest.mark.parametrize(
    "question", ["Why did the gross margin fall?", "Which documents mention the gross margin?"]
)
def test_nothing_relevant_is_weak_evidence_with_a_warning(question: str) -> None:
    """The best passages are shown in the order of the search, or none if the search abstains."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add(REPORTS)
        check_nothing_relevant(base, question)


def check_nothing_relevant(base: KnowledgeBase, question: str) -> None:
    reranker = ModelReranker(rating(0), options=ModelOptions())
    plain = base.search(question, budget_tokens=500)
    result = base.search(question, budget_tokens=500, rerank=reranker)
    assert not plain.weak_evidence
    assert result.weak_evidence
    assert result.evidence <= 0.01
    assert any("rates all" in warning and "0" in warning for warning in result.warnings)
    assert [segment.document_id for segment in result.segments] == [
        segment.document_id for segment in plain.segments
    ]
    assert result.documents is None or result.documents.found == 0
    assert base.search(question, budget_tokens=500, rerank=reranker, abstain=True).not_found


@pytest.mark.parametrize("score", [0.1, -3.0])
def test_equal_scores_other_than_0_say_nothing(base: KnowledgeBase, score: float) -> None:
    result = base.search(QUESTION, rerank=ScriptedReranker(lambda _query, _text: score))
    assert not any("rates all" in warning for warning in result.warnings)
    assert result.segments


def test_a_reranker_of_weight_0_says_nothing(base: KnowledgeBase) -> None:
    result = base.search(
        QUESTION,
        rerank=ScriptedReranker(lambda _query, _text: 0.0),
        rerank_options=RerankOptions(weight=0.0),
    )
    assert not result.weak_evidence
    assert not any("rates all" in warning for warning in result.warnings)


def test_one_relevant_passage_is_evidence(base: KnowledgeBase) -> None:
    def score(_query: str, text: str) -> float:
        return float("note 7 says" in text)

    result = base.search(QUESTION, rerank=ScriptedReranker(score))
    assert not result.weak_evidence
    assert any("note 7 says" in segment.text for segment in result.segments)


def test_a_language_model_reads_what_the_budget_can_use(base: KnowledgeBase) -> None:
    """It reads slightly more tokens than the budget; other rerankers read at least 100 passages."""
    counts = []
    for budget in (200, 1_000, 4_000):
        model = rating(5)
        reranker = ModelReranker(model, options=ModelOptions())
        base.search(QUESTION, budget_tokens=budget, rerank=reranker)
        counts.append(passages(model))
    assert 20 <= counts[0] < counts[1] < counts[2] < 200
    tokens = sum(chunk.tokens for chunk in base.chunks("north")) / len(base.chunks("north"))
    assert counts[2] * tokens == pytest.approx(4_000 + 2_500, rel=0.1)
    other = ScriptedReranker(lambda _query, _text: 0.5)
    base.search(QUESTION, budget_tokens=200, rerank=other)
    assert sum(len(texts) for _, texts in other.requests) == 100


def test_a_language_model_reads_as_many_as_the_options_say(base: KnowledgeBase) -> None:
    model = rating(5)
    base.search(
        QUESTION,
        budget_tokens=200,
        rerank=ModelReranker(model, options=ModelOptions()),
        rerank_options=RerankOptions(chunks=70),
    )
    assert passages(model) == 70


def test_the_header_of_a_document_is_sent_once_per_call(base: KnowledgeBase) -> None:
    """Each call is about one document."""
    model = rating(5)
    base.search(QUESTION, rerank=ModelReranker(model, options=ModelOptions()))
    assert len(model.requests) > 2
    for request in model.requests:
        titles = [f"Report of the keepers of the {name}" for name in ("north", "south")]
        assert sorted(request.prompt.count(title) for title in titles) == [0, 1]
