"""Retrievers from the names of methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.retrievers.adapters import adapt
from spanwise.evaluation.retrievers.baselines import (
    make_bm25,
    make_parent_document,
    make_sentence_window,
)
from spanwise.evaluation.retrievers.methods import Method, is_method_name, read_method
from spanwise.evaluation.retrievers.spanwise_retriever import (
    BestChunks,
    ExcerptsRetriever,
    Segments,
)
from spanwise.options import PublishedOptions, SegmentOptions, method_options

if TYPE_CHECKING:
    from spanwise.evaluation.retrieval import Retriever
    from spanwise.evaluation.retrievers.context import EvaluationContext


_EMBEDDED = ("sentence-window", "parent-document")
_BASELINES = {
    "bm25": make_bm25,
    "sentence-window": make_sentence_window,
    "parent-document": make_parent_document,
}


def make_retriever(method: str | Method, context: EvaluationContext) -> Retriever:
    """Return the retriever of a method, such as "exact:precise+headers".

    Creates what the method needs: the index of a baseline, or the copy without headers, which takes
    about as long as adding the documents.

    Raises:
        OptionError: If there is no such method, or its reranker, embedder or tuning is missing.
        ModelError: If an embedder fails.
    """
    method = read_method(method) if isinstance(method, str) else method
    check_method(method, context)
    reranking = context.reranking(method)
    if method.way in _BASELINES:
        return _BASELINES[method.way](method, context)
    searcher = context.searcher_of(method)
    best = BestChunks(name=method.name, searcher=searcher, count=context.count, reranking=reranking)
    if method.way == "top-k":
        return best
    if method.way == "excerpts":
        return ExcerptsRetriever(
            name=method.name,
            searcher=searcher,
            tokenizer=context.tokenizer.name,
            segments=_segments(method)[0],
            reranking=reranking,
            best=best,
        )
    return make_explainable(method, context)


def make_explainable(method: Method, context: EvaluationContext) -> Segments:
    """Return the retriever of a method that chooses segments; it can explain its choice.

    Raises:
        OptionError: If its reranker or tuning is missing.
    """
    segments, published = _segments(method)
    info = context.base.info()
    searcher, reranking = context.searcher_of(method), context.reranking(method)
    return Segments(
        name=method.name,
        searcher=searcher,
        tokenizer=context.tokenizer.name,
        segments=segments,
        published=published,
        chunk_tokens=max(1.0, info.tokens / max(1, info.chunks)),
        reranking=reranking,
        best=BestChunks(
            name=method.name, searcher=searcher, count=context.count, reranking=reranking
        ),
    )


def check_method(method: Method, context: EvaluationContext) -> None:
    """Check that all objects that a method needs exist, before anything is created.

    Raises:
        OptionError: If its reranker, embedder or tuning is missing.
    """
    context.reranking(method)
    context.tuning_of(method)
    if method.way in _EMBEDDED and context.searcher.embedder is None:
        raise OptionError(
            f"method is {method.name!r}, which searches by embeddings, and this knowledge base has "
            "no embedder; leave the method out, or make a knowledge base with one"
        )


def _segments(method: Method) -> tuple[SegmentOptions, PublishedOptions | None]:
    """Return the options of the segments of a method.

    A tuned searcher replaces the balanced preset. The greedy method without a preset is the
    balanced one without its minimum value, so that it continues while tokens are left: with the
    minimum it would leave half of 4,000 tokens unused.
    """
    if method.way == "greedy" and method.preset is None:
        filling = replace(PublishedOptions.DSRAG_BALANCED, min_segment_value=0.0)
        return method_options("greedy", given=filling)
    if method.way == "greedy":
        return method_options("greedy", preset=method.preset)
    return method_options("exact", preset=method.preset)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRetriever:
    """A retriever to measure. It is created at its first use."""

    name: str
    make: Callable[[], Retriever]
    is_kept: bool
    """Whether the name identifies the retriever, so that its parts can be kept."""
    is_free: bool
    """Whether a further search costs nothing."""


def read_retrievers(
    retrievers: Sequence[str | Retriever | Callable[..., object]], context: EvaluationContext
) -> list[PlannedRetriever]:
    """Return the retrievers to measure, checked.

    Raises:
        OptionError: If a name is unknown, two are equal, or an object is missing or unused.
    """
    if isinstance(retrievers, str) or not retrievers:
        raise OptionError(f"retrievers are {retrievers!r}; give a list of at least one")
    found = []
    methods: list[Method] = []
    for given in retrievers:
        if isinstance(given, str) and (is_method_name(given) or ":" not in given):
            method = read_method(given)
            check_method(method, context)
            methods.append(method)
            make = partial(make_retriever, method, context)
            found.append(
                PlannedRetriever(
                    name=method.name, make=make, is_kept=True, is_free=not method.rerank
                )
            )
        else:
            retriever = adapt(given)
            make = partial(_itself, retriever)
            found.append(
                PlannedRetriever(name=retriever.name, make=make, is_kept=False, is_free=False)
            )
    for name, times in Counter(item.name for item in found).items():
        if times > 1:
            raise OptionError(
                f"{times} retrievers are called {name!r}; name each once, and give objects names "
                "of their own by `adapt(retriever, name)`"
            )
    _check_use("reranker", context.reranker, [method.rerank for method in methods], "+rerank")
    _check_use("tuning", context.tuning, [method.tuned for method in methods], "+tuned")
    return found


def _itself(retriever: Retriever) -> Retriever:
    return retriever


def _check_use(name: str, given: object, uses: Sequence[bool], addition: str) -> None:
    """Raise if an object is given that no method uses."""
    if given is not None and not any(uses):
        raise OptionError(
            f"a {name} is given, and no method uses it; name one with {addition}, such as "
            f"exact+headers{addition}"
        )
