"""One purse for the models of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import ChunkOptions, KnowledgeBase
from spanwise.errors import CostLimitError, OptionError
from spanwise.evaluation.budget import CallCounter, Purse, opened_with_purse
from spanwise.models.caller import MemoryOutputs
from spanwise.models.ports import EmbedReply, ModelReply, ModelRequest
from spanwise.models.providers.wordllama import WordLlama
from spanwise.options import ModelOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types import Usage

REQUEST = ModelRequest(task="t", instructions="", prompt="x" * 40, max_output_tokens=10)


def model(price: float | None = 0.01) -> ScriptedModel:
    return ScriptedModel(lambda _: "y" * 40, dollars_a_token=price)


def test_models_share_a_limit() -> None:
    purse = Purse(ModelOptions(max_cost=0.5), kept=MemoryOutputs())
    first, second = purse.model(model()), purse.model(model())
    first.generate(REQUEST)  # 20 tokens: .20
    *_, reply = second.stream(REQUEST)
    assert isinstance(reply, ModelReply)
    with pytest.raises(CostLimitError, match=r"0\.4000 US dollars are spent"):
        first.generate(REQUEST)


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
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_texts(texts, kind="document").vectors

    def estimate(self, texts: Sequence[str]) -> Usage:
        return Usage(input_tokens=len(texts), cost=self.cost)

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        self.calls += 1
        vectors = np.array([[len(text), 1] for text in texts], dtype=np.float32)
        return EmbedReply(vectors=vectors, usage=Usage(calls=1, cost=self.cost))


def test_an_embedder_and_a_model_share_a_limit() -> None:
    purse = Purse(ModelOptions(max_cost=0.35), kept=MemoryOutputs())
    embedder = purse.embedder(PaidEmbedder())
    assert embedder is not None
    assert (embedder.name, embedder.version, embedder.dimension) == ("paid:model", "1", 2)
    assert embedder.embed(["a", "bb"]).shape == (2, 2)
    purse.model(model()).generate(REQUEST)
    with pytest.raises(CostLimitError, match=r"0\.3000 US dollars are spent"):
        embedder.embed(["c"])


def test_an_embedder_without_a_price_is_refused_and_a_static_one_stays() -> None:
    limited = Purse(ModelOptions(max_cost=1), kept=MemoryOutputs())
    with pytest.raises(OptionError, match="price of paid:model is not known"):
        limited.embedder(PaidEmbedder(None))
    static = WordLlama()
    assert limited.embedder(static) is static
    assert limited.embedder(None) is None


def test_all_that_is_embedded_anew_is_paid_from_one_purse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each document is a run of its own, whose own limit would allow it."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=PaidEmbedder()) as base:
        for number in range(6):
            base.add_text(f"Pump {number} runs. " * 20, document_id=f"{number}.md")
    again = PaidEmbedder()
    monkeypatch.setattr("spanwise.knowledge_base.opening.make_embedder", lambda *_, **__: again)
    with opened_with_purse(tmp_path / "a.kb", models=ModelOptions(max_cost=0.35)) as (base, purse):
        chunks = ChunkOptions(target=100, max=115, paragraph_min=50, block_max=200)
        with pytest.raises(CostLimitError, match=r"0\.3000 US dollars are spent"):
            base.in_other_chunks(tmp_path / "b.kb", chunks)
        assert again.calls == 3
        with pytest.raises(CostLimitError):
            purse.model(model()).generate(REQUEST)


def test_without_a_limit_there_is_none() -> None:
    metered = Purse(ModelOptions(), kept=MemoryOutputs()).model(model(None))
    assert metered.generate(REQUEST).text == "y" * 40
    assert (metered.name, metered.concurrency) == ("scripted:model", 4)


def test_a_limit_on_what_has_no_price_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(OptionError, match="price of scripted:model is not known"):
        Purse(ModelOptions(max_cost=1), kept=MemoryOutputs()).model(model(None))


def test_calls_are_counted_those_that_were_kept_too() -> None:
    heard: list[int] = []
    counter = CallCounter(heard.append)
    for counts in ({"calls": 1, "cached_calls": 0}, {"calls": 0, "cached_calls": 1}):
        counter.on_step("model.t", seconds=0.1, counts=counts)
    assert heard == [1, 2]
