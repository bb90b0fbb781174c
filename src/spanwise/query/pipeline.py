"""From a question to segments, top to bottom."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from spanwise.core.features import FEATURES
from spanwise.core.question import read_question
from spanwise.core.relevance import RelevanceModel
from spanwise.errors import QueryError
from spanwise.query.extract import Extractor
from spanwise.query.meter import make_meter
from spanwise.query.present import Presenter
from spanwise.query.weigh import search_terms, weigh
from spanwise.types import SearchResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.core.question import Question
    from spanwise.filters import Filter
    from spanwise.options import SearchOptions
    from spanwise.ports import Embedder, Listener, Store
    from spanwise.types import Segment

__all__ = ["Searcher", "shipped_model"]

_COMPARISON_CHARGE = 1 / 3


@lru_cache(maxsize=1)
def shipped_model() -> RelevanceModel:
    """Return the relevance model that comes with the package."""
    text = resources.files("spanwise.core").joinpath("relevance.json").read_text("utf-8")
    return RelevanceModel.from_json(text, features=tuple(FEATURES))


class _Steps:
    """Times the steps of one search and tells the listener."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def done(self, name: str, **counts: int) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
        if self._listener is not None:
            self._listener.on_step(name, seconds=self.seconds[name], counts=counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """What every search of one knowledge base shares."""

    store: Store
    embedder: Embedder | None
    tokenizer: str
    """Name of the tokenizer of the knowledge base."""
    model: RelevanceModel
    listener: Listener | None = None

    def search(
        self,
        text: str,
        *,
        options: SearchOptions,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> SearchResult:
        """Return the segments that answer a question.

        Raises:
            QueryError: If the question is empty.
            OptionError: If the budget, or a segment, holds no relevant chunk.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` names one that does not exist.
        """
        asked = _read(text)
        steps = _Steps(self.listener)
        meter = make_meter(options.tokenizer, self.tokenizer)
        with self.store.snapshot() as snapshot:
            question = replace(asked, terms=search_terms(asked, snapshot))
            weighed = weigh(
                question,
                snapshot=snapshot,
                embedder=self.embedder,
                model=self.model,
                where=where,
                documents=documents,
            )
            steps.done("weigh", terms=len(question.terms))
            segments: list[Segment] = []
            guess, context = None, ""
            if weighed is not None:
                extractor = Extractor(
                    weighed=weighed,
                    model=self.model,
                    options=_options_for(question, options),
                    lengths=meter.chunks(weighed.passages, weighed.ranges, snapshot),
                    presenter=Presenter(snapshot, meter, options.headers),
                )
                segments, guess = extractor.extract()
                context = extractor.presenter.context(segments)
        tokens = sum(segment.tokens for segment in segments)
        steps.done("extract", segments=len(segments), tokens=tokens)
        return SearchResult(
            question=text,
            segments=tuple(segments),
            context=context,
            tokens=tokens,
            budget_tokens=options.budget_tokens,
            candidates=0 if weighed is None else len(weighed.candidates),
            best_guess=guess,
            warnings=_warnings(asked.terms, question.terms, self.embedder),
            seconds=steps.seconds,
        )


def _read(text: str) -> Question:
    """Return a question that can be searched for."""
    if not isinstance(text, str):
        raise QueryError(f"the question is {text!r}; give one text")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise QueryError(
            f"the question {text[:80]!r} holds bytes that are no text; type it in UTF-8"
        )
    question = read_question(text)
    if not question.terms:
        raise QueryError(f"the question is {text[:80]!r}; ask in at least one word")
    return question


def _options_for(question: Question, options: SearchOptions) -> SearchOptions:
    """Return the options of a question: one that compares wants a place in each document."""
    if not question.compares:
        return options
    segments = options.segments
    charge = segments.segment_charge * _COMPARISON_CHARGE
    return replace(options, segments=replace(segments, segment_charge=charge))


def _warnings(
    asked: Sequence[str], searched: Sequence[str], embedder: Embedder | None
) -> tuple[str, ...]:
    """Return what a search did without, for people."""
    warnings = []
    if len(searched) < len(asked):
        warnings.append(
            f"the question has {len(asked)} different words; "
            f"it was searched by the {len(searched)} most telling ones"
        )
    if embedder is None:
        warnings.append("searched by keywords alone: this knowledge base has no embedder")
    return tuple(warnings)
