"""One budget for all models of a run: language models, embedders and rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import ChunkOptions, KnowledgeBase
from spanwise.errors import CostLimitError, OptionError
from spanwise.evaluation import Dataset, Evidence, LabelledQuestion, evaluate
from spanwise.evaluation.run_models import CallCounter, make_model
from spanwise.evaluation.tuning import TuneOptions, tune
from spanwise.evaluation.tuning.tuner import copy_with_chunks, tuned_reranking
from spanwise.models.caller import MemoryOutputs, ModelCaller
from spanwise.models.ledger import Ledger
from spanwise.models.ports import EmbedReply, ModelRequest, RerankReply
from spanwise.options import ModelOptions
from spanwise.testing.models import ScriptedModel, ScriptedReranker
from spanwise.types import Usage

REQUEST = ModelRequest(task="t", instructions="", prompt="x" * 40, max_output_tokens=10)
CHUNKS = ChunkOptions(target=100, max=115, paragraph_min=50, block_max=200)
QUESTIONS = tuple(
    LabelledQuestion(
        id=str(number),
        text=f"How does pump {number} run?",
        evidence=(Evidence(document_id=f"{number}.md", start=0, end=12),),
    )
    for number in range(12)
)


class PaidEmbedder:
    """Costs 0.1 dollars a call."""

    name = "paid:model"
    version = "1"
    dimension = 2
    batch_texts = 100
    concurrency = 1
    is_local = False

    def __init__(self, cost: float | None = 0.1) -> None:
        self.cost = cost
        self.calls: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_texts(texts, kind="document").vectors

    def estimate(self, texts: Sequence[str]) -> Usage:
        return Usage(input_tokens=len(texts), cost=self.cost)

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        self.calls.append(kind)
        vectors = np.array([[len(text), 1] for text in texts], dtype=np.float32)
        return EmbedReply(vectors=vectors, usage=Usage(calls=1, cost=self.cost))


class UnpricedReranker:
    """Has no price."""

    name = "unpriced:reranker"

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        return RerankReply(scores=tuple(0.0 for _ in texts), usage=Usage(calls=1, cost=None))


def pumps(path: str | Path, embedder: PaidEmbedder | None, *, limit: float | None) -> KnowledgeBase:
    """Return a knowledge base of twelve documents, each a call of the embedder."""
    base = KnowledgeBase(path, embedder=embedder, models=ModelOptions(max_cost=limit))
    for number in range(12):
        base.add_text(f"Pump {number} runs. " * 20, document_id=f"{number}.md")
    return base


def model(price: float | None = 0.01) -> ScriptedModel:
    return ScriptedModel(lambda _: "y" * 40, dollars_a_token=price)


def test_an_embedder_that_is_used_anew_and_a_model_share_a_budget(tmp_path: Path) -> None:
    """Each document is an operation of its own, whose own limit would allow it."""
    embedder = PaidEmbedder()
    with pumps(tmp_path / "a.kb", embedder, limit=None) as base:
        embedder.calls.clear()
        budget = Ledger(max_cost=0.35)
        with pytest.raises(CostLimitError, match=r"0\.3000 US dollars are spent"):
            copy_with_chunks(base, tmp_path / "b.kb", CHUNKS, budget=budget)
        assert len(embedder.calls) == 3
        with pytest.raises(CostLimitError):
            ModelCaller(model=model(), ledger=Ledger(parent=budget)).call(REQUEST, read=str)


@pytest.mark.parametrize("price", [None, 0.1])
def test_a_tuning_ends_before_its_budget_is_passed(price: float | None) -> None:
    embedder = PaidEmbedder()
    with pumps(":memory:", embedder, limit=None) as base:
        embedder.calls.clear()
        embedder.cost = price
        options = TuneOptions(keyword_shares=(), known_answers=False)
        error = OptionError if price is None else CostLimitError
        with pytest.raises(error):
            tune(base, QUESTIONS, options=options, ledger=Ledger(max_cost=0.55))
        assert len(embedder.calls) == (0 if price is None else 5)


def test_vectors_of_questions_count_in_an_evaluation() -> None:
    embedder = PaidEmbedder()
    with pumps(":memory:", embedder, limit=None) as base:
        embedder.calls.clear()
        with pytest.raises(CostLimitError):
            evaluate(
                Dataset(name="pumps", questions=QUESTIONS),
                base,
                retrievers=["exact+headers"],
                budgets=[1_000],
                models=ModelOptions(max_cost=0.45),
            )
        assert embedder.calls == ["query"] * 4


def test_a_reranker_with_a_price_counts_in_an_evaluation_and_in_the_budget_of_several() -> None:
    reranker = ScriptedReranker(lambda *_: 0.0, dollars_a_call=0.1)
    budget = Ledger(max_cost=1.45)

    def measured() -> None:
        evaluate(
            Dataset(name="pumps", questions=QUESTIONS),
            base,
            retrievers=["exact+headers+rerank"],
            budgets=[1_000],
            reranker=reranker,
            budget=budget,
        )

    with pumps(":memory:", None, limit=None) as base:
        measured()
        assert (len(reranker.requests), round(budget.usage.cost or 0, 6)) == (12, 1.2)
        base.forget_outputs()
        with pytest.raises(CostLimitError):
            measured()
        assert len(reranker.requests) == 14


def test_what_an_earlier_run_paid_for_a_kept_part_counts_again(tmp_path: Path) -> None:
    reranker = ScriptedReranker(lambda *_: 0.0, dollars_a_call=0.1)
    with pumps(":memory:", None, limit=None) as base:
        for _ in range(2):
            budget = Ledger(max_cost=5.0)
            evaluate(
                Dataset(name="pumps", questions=QUESTIONS),
                base,
                retrievers=["exact+headers+rerank"],
                budgets=[1_000],
                reranker=reranker,
                work=tmp_path,
                budget=budget,
            )
            assert round(budget.usage.cost or 0, 6) == 1.2
    assert len(reranker.requests) == 12


def test_a_reranker_without_a_price_is_refused_where_there_is_a_limit() -> None:
    with pumps(":memory:", None, limit=1.0) as base:
        with pytest.raises(OptionError, match="price of unpriced:reranker is not known"):
            base.search("How does pump 3 run?", rerank=UnpricedReranker())
        with pytest.raises(OptionError, match="price of unpriced:reranker is not known"):
            tuned_reranking(base, UnpricedReranker(), ledger=Ledger(max_cost=1.0))
    with pumps(":memory:", None, limit=None) as base:
        assert base.search("How does pump 3 run?", rerank=UnpricedReranker()).usage.calls == 1


def test_a_search_stays_inside_its_limit() -> None:
    """One call of the embedder fits; the reranker does not fit beside it, and is left out."""
    embedder, reranker = PaidEmbedder(), ScriptedReranker(lambda *_: 0.0, dollars_a_call=0.1)
    with pumps(":memory:", embedder, limit=0.15) as base:
        result = base.search("How does pump 3 run?", rerank=reranker)
    assert result.segments
    assert result.usage.cost == 0.1
    assert not reranker.requests
    assert "max_cost of 0.15" in str(result.warnings)


def test_an_answer_counts_the_vectors_of_its_search() -> None:
    """The vectors take what the model would need."""
    llm = ScriptedModel(lambda _: "", dollars_a_token=1e-6)
    with (
        pumps(":memory:", PaidEmbedder(), limit=0.1001) as base,
        pytest.raises(CostLimitError, match=r"0\.1000 US dollars are spent"),
    ):
        base.ask("How does pump 3 run?", llm=llm, write_queries=False)
    assert not llm.requests


def test_a_limit_on_what_has_no_price_is_refused_before_any_call() -> None:
    limited = Ledger(max_cost=1)
    with pytest.raises(OptionError, match="price of scripted:model is not known"):
        make_model(model(None), models=ModelOptions(), cache=MemoryOutputs(), ledger=limited)
    unpriced = make_model(
        model(None), models=ModelOptions(), cache=MemoryOutputs(), ledger=Ledger()
    )
    assert unpriced.generate(REQUEST).text == "y" * 40


def test_calls_are_counted_cached_ones_included() -> None:
    numbers: list[int] = []
    counter = CallCounter(numbers.append)
    for counts in ({"calls": 1, "cached_calls": 0}, {"calls": 0, "cached_calls": 1}):
        counter.on_step("model.t", seconds=0.1, counts=counts)
    assert numbers == [1, 2]
