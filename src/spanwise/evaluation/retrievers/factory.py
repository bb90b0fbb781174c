"""Creation of retrievers from the names of methods, and checks of the retrievers to measure."""

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

    The index of a baseline is built here. For a method without headers, the knowledge base is
    copied, which takes about as long as adding the documents.

    Raises:
        OptionError: If the method is unknown, or its reranker, embedder or tuning is missing.
        ModelError: If the embedder fails.
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
    """Return the retriever of a method that selects segments; it can explain its selection.

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
    """Check that the reranker, embedder and tuning of a method exist, before an index is built.

    Raises:
        OptionError: If one of them is missing.
    """
    context.reranking(method)
    context.tuning_of(method)
    if method.way in _EMBEDDED and context.searcher.embedder is None:
        raise OptionError(
            f"method is {method.name!r}, which needs an embedder, and this knowledge base has "
            "none; leave the method out, or create a knowledge base with an embedder"
        )


def _segments(method: Method) -> tuple[SegmentOptions, PublishedOptions | None]:
    """Return the segment options of a method; the second item is None for the exact method.

    A tuning replaces the balanced preset. The greedy method without a preset has no minimum segment
    value: with the minimum of its preset, it would leave half of a budget of 4,000 tokens unused.
    """
    if method.way == "greedy" and method.preset is None:
        filling = replace(PublishedOptions.DSRAG_BALANCED, min_segment_value=0.0)
        return method_options("greedy", given=filling)
    if method.way == "greedy":
        return method_options("greedy", preset=method.preset)
    return method_options("exact", preset=method.preset)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRetriever:
    """Retriever to measure, created at its first use."""

    name: str
    make: Callable[[], Retriever]
    """Function that creates the retriever."""
    is_stored: bool
    """Whether results are stored in the checkpoint; external retrievers are measured again."""
    is_free: bool
    """Whether a search is known to cost nothing."""


def read_retrievers(
    retrievers: Sequence[str | Retriever | Callable[..., object]], context: EvaluationContext
) -> list[PlannedRetriever]:
    """Return the retrievers to measure, after checking their names and requirements.

    Raises:
        OptionError: If a name is unknown or not unique, or a reranker or tuning is missing or has
            no effect.
    """
    if isinstance(retrievers, str) or not retrievers:
        raise OptionError(f"retrievers are {retrievers!r}; give a list of at least one")
    planned = []
    methods: list[Method] = []
    for item in retrievers:
        if isinstance(item, str) and (is_method_name(item) or ":" not in item):
            method = read_method(item)
            check_method(method, context)
            methods.append(method)
            name, is_stored, is_free = method.name, True, not method.rerank
            make: Callable[[], Retriever] = partial(make_retriever, method, context)
        else:
            retriever = adapt(item)
            name, is_stored, is_free = retriever.name, False, False
            make = partial(_itself, retriever)
        planned.append(PlannedRetriever(name=name, make=make, is_stored=is_stored, is_free=is_free))
    for name, times in Counter(item.name for item in planned).items():
        if times > 1:
            raise OptionError(
                f"{times} retrievers are called {name!r}; name each once, and give objects names "
                "of their own by `adapt(retriever, name)`"
            )
    _check_use("reranker", context.reranker, [method.rerank for method in methods], "+rerank")
    _check_use("tuning", context.tuning, [method.tuned for method in methods], "+tuned")
    return planned


def _itself(retriever: Retriever) -> Retriever:
    return retriever


def _check_use(name: str, given: object, uses: Sequence[bool], addition: str) -> None:
    """Check that at least one method uses an object, unless the object is None.

    Raises:
        OptionError: If no method uses it.
    """
    if given is not None and not any(uses):
        raise OptionError(
            f"a {name} is given, and no method uses it; name one with {addition}, such as "
            f"exact+headers{addition}"
        )
