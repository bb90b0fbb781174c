"""Models of the user's that raise, or return a wrong type or shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise import KnowledgeBase
from spanwise.errors import ModelAnswerError, ModelError, OptionError
from spanwise.models.caller import MemoryOutputs, ModelCaller
from spanwise.models.dry_run import dry_run_caller
from spanwise.models.ledger import Ledger
from spanwise.models.ports import EmbedReply, ModelReply, ModelRequest, RerankReply
from spanwise.models.rerankers.rerank_caller import RerankCaller
from spanwise.testing.models import ScriptedModel, ScriptedReranker
from spanwise.types import Usage

REQUEST = ModelRequest(task="test", instructions="Answer.", prompt="What?", typical="yes")


class OwnEmbedder:
    """A static embedder that treats texts with "odd" in them by a function."""

    name = "own:embedder"
    version = "1"
    dimension = 3

    def __init__(self, odd: Callable[[Sequence[str]], object]) -> None:
        self.odd = odd

    def embed(self, texts: Sequence[str]) -> Any:
        if any("odd" in text for text in texts):
            return self.odd(texts)
        return np.array([[len(text), 1, 2] for text in texts], dtype=np.float32)


class OwnContextualEmbedder(OwnEmbedder):
    """The same, called like an embedder that reads a text as a whole."""

    is_local = False
    batch_texts = 8
    concurrency = 2

    def estimate(self, texts: Sequence[str]) -> Usage:
        return Usage(cost=0.0)

    def embed_texts(self, texts: Sequence[str], *, kind: str) -> Any:
        made = self.embed(texts)
        if isinstance(made, np.ndarray):
            return EmbedReply(vectors=made, usage=Usage(calls=1))
        return made


def fail(*_: object) -> Any:
    raise KeyError("own")


FAULTS: dict[str, Callable[[Sequence[str]], object]] = {
    "it raises": fail,
    "no array": lambda texts: "vectors",
    "nothing": lambda texts: None,
    "too few": lambda texts: np.ones((len(texts) + 1, 3)),
    "too short": lambda texts: np.ones((len(texts), 2)),
    "ragged": lambda texts: [[1.0], [1.0, 2.0]],
    "texts": lambda texts: np.array([["a", "b", "c"]] * len(texts)),
    "not finite": lambda texts: np.full((len(texts), 3), np.nan),
}


@pytest.mark.parametrize("kind", [OwnEmbedder, OwnContextualEmbedder])
def test_a_faulty_embedding_fails_its_document_alone(
    tmp_path: Path, kind: type[OwnEmbedder]
) -> None:
    for number in range(len(FAULTS)):
        for word in ("good", "odd"):
            text = f"The {word} text {number} of plants."
            (tmp_path / f"{number}-{word}.txt").write_text(text, encoding="utf-8")

    def fault(texts: Sequence[str]) -> object:
        (number,) = {int(text.split()[3]) for text in texts}
        return list(FAULTS.values())[number](texts)

    with KnowledgeBase(":memory:", embedder=kind(fault)) as base:
        report = base.add(tmp_path)
        assert report.added == tuple(f"{number}-good.txt" for number in range(len(FAULTS)))
        assert [failed.code for failed in report.failed] == ["not_embedded"] * len(FAULTS)
        assert all("own:embedder" in failed.message for failed in report.failed)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_search_goes_on_without_a_faulty_embedder(fault: str) -> None:
    with KnowledgeBase(":memory:", embedder=OwnEmbedder(FAULTS[fault])) as base:
        base.add_text("The text of plants.", document_id="plants")
        result = base.search("odd plants")
        assert result.segments
        assert any("own:embedder" in warning for warning in result.warnings)


class OwnModel(ScriptedModel):
    """A language model whose calls return what it was given."""

    def __init__(self, *, reply: object = None, pieces: Sequence[object] = ()) -> None:
        super().__init__(lambda _: "yes", name="own:model")
        self.reply, self.pieces = reply, pieces

    def generate(self, request: ModelRequest) -> Any:
        return self.reply() if callable(self.reply) else self.reply

    def stream(self, request: ModelRequest) -> Iterator[Any]:
        for piece in self.pieces:
            yield piece() if callable(piece) else piece


GOOD = ModelReply(text="yes", usage=Usage(), model="own:model")
REPLIES = {
    "it raises": fail,
    "a text": "yes",
    "nothing": None,
    "no text": replace(GOOD, text=3),  # type: ignore[arg-type]
    "no usage": replace(GOOD, usage=None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("fault", REPLIES)
def test_a_faulty_reply_is_an_error_that_names_the_model(fault: str) -> None:
    caller = ModelCaller(model=OwnModel(reply=REPLIES[fault]))
    with pytest.raises(ModelError, match="own:model"):
        caller.call(REQUEST, read=str)
    (error,) = caller.call_all([REQUEST], read=lambda _, text: text)
    assert isinstance(error, ModelError)
    assert (error.provider, error.model) == ("own", "model")


PIECES: dict[str, Sequence[object]] = {
    "it raises": [fail],
    "it raises later": ["ye", fail],
    "no reply": ["yes"],
    "nothing": [],
    "no text": [b"yes", GOOD],
    "no usage": ["yes", replace(GOOD, usage=1)],  # type: ignore[arg-type]
}


@pytest.mark.parametrize("fault", PIECES)
def test_a_faulty_stream_is_an_error_that_names_the_model(fault: str) -> None:
    caller = ModelCaller(model=OwnModel(pieces=PIECES[fault]))
    with pytest.raises(ModelError, match="own:model"):
        list(caller.stream(REQUEST, read=str))


def test_a_stream_that_is_no_iterator_is_an_error() -> None:
    class Listing(ScriptedModel):
        def stream(self, request: ModelRequest) -> Any:
            return None

    with pytest.raises(ModelError, match="own:model"):
        list(ModelCaller(model=Listing(str, name="own:model")).stream(REQUEST, read=str))


@pytest.mark.parametrize("estimate", [fail, lambda _: None])
def test_a_faulty_estimate_is_an_error(estimate: Callable[[ModelRequest], Any]) -> None:
    class Guessing(ScriptedModel):
        def estimate(self, request: ModelRequest) -> Any:
            return estimate(request)

    with pytest.raises(ModelError, match="own:model"):
        ModelCaller(model=Guessing(str, name="own:model"), ledger=Ledger(max_cost=1.0)).call(
            REQUEST, read=str
        )


@pytest.mark.parametrize("attribute", ["name", "generate", "concurrency"])
def test_an_object_that_is_no_language_model_is_refused(attribute: str) -> None:
    parts = {"name": "own:model", "generate": fail, "estimate": fail, "concurrency": 2}
    del parts[attribute]
    with pytest.raises(OptionError, match=attribute):
        ModelCaller(model=type("Own", (), parts)())


class OwnReranker:
    name = "own:reranker"

    def __init__(self, reply: object) -> None:
        self.reply = reply

    def rerank(self, query: str, texts: Sequence[str]) -> Any:
        return self.reply() if callable(self.reply) else self.reply


RERANKINGS = {
    "it raises": fail,
    "a list": [1.0, 2.0],
    "nothing": None,
    "no scores": RerankReply(scores=None, usage=Usage()),  # type: ignore[arg-type]
    "texts": RerankReply(scores=("1", "2"), usage=Usage()),  # type: ignore[arg-type]
    "no usage": RerankReply(scores=(1.0, 2.0), usage=None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("fault", RERANKINGS)
def test_a_faulty_reranking_is_an_error_that_names_the_reranker(fault: str) -> None:
    with pytest.raises(ModelError, match="own:reranker"):
        RerankCaller(reranker=OwnReranker(RERANKINGS[fault])).rerank("why", ["a", "b"], [1, 1])


def test_a_search_goes_on_without_a_faulty_reranker() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text("Freight by road costs more.", document_id="freight")
        result = base.search("freight", rerank=OwnReranker(fail))
        assert result.segments
        assert any("own:reranker" in warning for warning in result.warnings)


def test_an_object_that_is_no_reranker_is_refused() -> None:
    with pytest.raises(OptionError, match="rerank"):
        RerankCaller(reranker=object())  # type: ignore[arg-type]


def test_scores_may_be_numbers_of_numpy() -> None:
    scores = np.array([1, 2], dtype=np.float32)
    own = OwnReranker(RerankReply(scores=scores, usage=Usage()))  # type: ignore[arg-type]
    reply = RerankCaller(reranker=own, cache=MemoryOutputs()).rerank("why", ["a", "b"], [1, 1])
    assert reply.scores == (1.0, 2.0)


def versioned(model: Any, version: object) -> Any:
    """Return an object that is called like a model and has a version."""
    kind = type(model)
    parts = {"__slots__": ("version",)} if not hasattr(model, "__dict__") else {}
    own = type("Own", (kind,), parts)(model.answer if kind is ScriptedModel else model.score)
    own.version = version
    return own


def test_answers_of_another_version_of_a_model_are_not_used() -> None:
    cache = MemoryOutputs()
    model = ScriptedModel(lambda _: "yes")
    for own, calls in ((model, 1), (versioned(model, "2"), 1), (versioned(model, "2"), 0)):
        caller = ModelCaller(model=own, cache=cache)
        dry_run = dry_run_caller(own, cache=cache, answer_retries=0)
        dry_run.call(REQUEST, read=str)
        caller.call(REQUEST, read=str)
        assert caller.usage.calls == dry_run.usage.calls == calls


def test_scores_of_another_version_of_a_reranker_are_not_used() -> None:
    cache = MemoryOutputs()
    reranker = ScriptedReranker(lambda query, text: 1.0)
    for own, calls in ((reranker, 1), (versioned(reranker, "2"), 1), (versioned(reranker, "2"), 0)):
        reply = RerankCaller(reranker=own, cache=cache).rerank("why", ["a"], [1])
        assert reply.usage.calls == calls


@pytest.mark.parametrize("version", [2, None])
def test_a_version_that_is_no_text_is_refused(version: object) -> None:
    with pytest.raises(OptionError, match="version"):
        ModelCaller(model=versioned(ScriptedModel(str), version))


def test_answers_that_cannot_be_used_are_told_from_failures() -> None:
    with pytest.raises(ModelAnswerError):
        ModelCaller(model=OwnModel(reply="yes")).call(REQUEST, read=str)
