"""Calls of embedders: kept, checked, counted, each text once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.errors import ModelAnswerError
from spanwise.models.contextual_caller import ContextualCaller
from spanwise.models.embed_caller import (
    embedding_usage,
    is_contextual,
    make_embed_caller,
)
from spanwise.models.ports import Embedder, EmbedReply
from spanwise.stores.memory import MemoryStore
from spanwise.types import Usage

Kind = Literal["document", "query"]


def lengths(texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
    side = 1.0 if kind == "query" else 2.0
    return np.array([[len(text), side, 3.0] for text in texts], dtype=np.float32)


class Paid:
    """A contextual embedder that is asked over a network."""

    name = "scripted:embedder"
    version = "1"
    dimension = 3
    batch_texts = 4
    concurrency = 2
    is_local = False

    def __init__(
        self, make: Callable[[Sequence[str], Kind], NDArray[np.float32]] = lengths
    ) -> None:
        self.make = make
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_texts(texts, kind="document").vectors

    def estimate(self, texts: Sequence[str]) -> Usage:
        return Usage(input_tokens=len(texts), cost=0.6)

    def embed_texts(self, texts: Sequence[str], *, kind: Kind) -> EmbedReply:
        self.asked.append(list(texts))
        usage = Usage(calls=1, input_tokens=len(texts), cost=0.5)
        return EmbedReply(vectors=self.make(texts, kind), usage=usage)


class Local(Paid):
    is_local = True


TEXTS = [f"text {number}" * (number + 1) for number in range(10)]


def test_texts_go_in_calls_of_what_it_takes() -> None:
    embedder = Paid()
    caller = ContextualCaller(embedder=embedder, kind="document")
    vectors = caller.embed(TEXTS)
    assert sorted(map(len, embedder.asked)) == [2, 4, 4]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    whole = lengths(TEXTS, "document")
    assert np.allclose(vectors, whole / np.linalg.norm(whole, axis=1, keepdims=True), atol=1e-3)
    usage = embedding_usage(caller)
    assert (usage.calls, usage.input_tokens, usage.cost) == (3, 10, 1.5)


def test_the_two_sides_differ() -> None:
    document = ContextualCaller(embedder=Paid(), kind="document").embed(["why"])
    query = ContextualCaller(embedder=Paid(), kind="query").embed(["why"])
    assert not np.array_equal(document, query)


def test_each_text_is_sent_once_and_blank_ones_never() -> None:
    embedder = Paid()
    vectors = ContextualCaller(embedder=embedder, kind="query").embed(["why", "", "why", " \n"])
    assert embedder.asked == [["why"]]
    assert np.array_equal(vectors[0], vectors[2])
    assert not vectors[[1, 3]].any()


def test_what_was_paid_is_kept_bit_for_bit() -> None:
    store, embedder = MemoryStore(), Paid()
    first = ContextualCaller(embedder=embedder, kind="document", cache=store)
    again = ContextualCaller(embedder=embedder, kind="document", cache=store)
    assert np.array_equal(first.embed(TEXTS), again.embed(TEXTS))
    assert len(embedder.asked) == 3
    usage = embedding_usage(again)
    assert (usage.calls, usage.cached_calls, usage.cost) == (0, 3, 0.0)
    other_side = ContextualCaller(embedder=embedder, kind="query", cache=store)
    other_side.embed(TEXTS)
    assert len(embedder.asked) == 6


def test_what_runs_here_is_not_kept() -> None:
    store, embedder = MemoryStore(), Local()
    for _ in range(2):
        ContextualCaller(embedder=embedder, kind="document", cache=store).embed(["why"])
    assert len(embedder.asked) == 2


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (np.zeros((1, 3)), "of the shape"),
        (np.zeros((2, 4)), "of the shape"),
        (np.zeros(2), "of the shape"),
        (np.full((2, 3), np.nan), "not finite"),
        (np.full((2, 3), np.inf), "not finite"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors: NDArray[np.float32], said: str) -> None:
    store = MemoryStore()
    caller = ContextualCaller(
        embedder=Paid(lambda texts, kind: vectors), kind="document", cache=store
    )
    with pytest.raises(ModelAnswerError, match=said):
        caller.embed(["a", "b"])
    assert embedding_usage(caller).calls == 1  # it was paid


def test_a_static_embedder_is_called_without_a_cache() -> None:
    class Static:
        name = "static:one"
        version = "1"
        dimension = 1

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.ones((len(texts), 1), dtype=np.float32)

    static: Embedder = Static()
    assert not is_contextual(static)
    caller = make_embed_caller(static, "query", cache=MemoryStore())
    assert caller is not None
    assert (caller.name, caller.version, caller.dimension) == ("static:one", "1", 1)
    assert caller.embed(["a", "b"]).tolist() == [[1.0], [1.0]]
    assert caller.embed([]).shape == (0, 1)
    assert make_embed_caller(None, "query", cache=MemoryStore()) is None
    assert embedding_usage(caller) == Usage()


def test_what_is_taken_is_counted() -> None:
    embedder = make_embed_caller(Paid(), "query", cache=MemoryStore())
    assert embedder is not None
    assert embedder.dimension == 3
    embedder.embed(["why"])
    assert embedding_usage(embedder).calls == 1
