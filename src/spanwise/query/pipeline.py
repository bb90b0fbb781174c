"""From a question to segments, top to bottom."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.features import FEATURES
from spanwise.core.question import read_question
from spanwise.core.relevance import RelevanceModel
from spanwise.core.segments import Run, chunk_values, extract_segments
from spanwise.errors import OptionError, QueryError
from spanwise.query.meter import make_meter
from spanwise.query.present import Located, Presenter
from spanwise.query.weigh import search_terms, weigh
from spanwise.types import SearchResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.question import Question
    from spanwise.filters import Filter
    from spanwise.options import SearchOptions
    from spanwise.ports import Embedder, Listener, Store
    from spanwise.query.weigh import Weighed
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
                extractor = _Extractor(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Extractor:
    """Chooses segments among the weighed chunks, so that they fit with their headers."""

    weighed: Weighed
    model: RelevanceModel
    options: SearchOptions
    lengths: NDArray[np.int64]
    presenter: Presenter

    def extract(self) -> tuple[list[Segment], Segment | None]:
        """Return the segments in reading order, or none and the best chunk as a guess.

        Headers differ from section to section, so that their length is known only when the
        segments are chosen: they are chosen again with the mean of what was found until they fit.
        """
        best = int(np.argmax(self.weighed.shares))
        relevance = self.model.relevance(self.weighed.shares)
        guess = self._located(self._run_of(best), relevance)
        header_tokens = self.presenter.overhead(guess)
        while True:
            runs = [self._located(run, relevance) for run in self._runs(best, header_tokens)]
            segments = self.presenter.segments(runs)
            total = sum(segment.tokens for segment in segments)
            if total <= self.options.budget_tokens:
                break
            extra = total - sum(run.tokens for run in runs)
            header_tokens = max(header_tokens + 1, -(-extra // len(runs)))
        if segments:
            return segments, None
        self._check_limits(header_tokens)
        return [], self.presenter.segments([guess])[0]

    def _runs(self, best: int, header_tokens: int) -> tuple[Run, ...]:
        """Return the runs worth most, of the ranges that were read."""
        options = self.options.segments
        values = self._values()
        edges = self.weighed.rows.starts[1:]
        is_worth = values[best] > 0 and values[best] >= options.min_segment_value
        return extract_segments(
            np.split(values, edges),
            np.split(self.lengths, edges),
            budget_tokens=self.options.budget_tokens,
            segment_charge=options.segment_charge,
            min_segment_value=options.min_segment_value,
            max_segment_tokens=options.max_segment_tokens,
            header_tokens=header_tokens,
            required=[self._place(best)] if is_worth else [],
        ).runs

    def _values(self) -> NDArray[np.float64]:
        options = self.options.segments
        return chunk_values(
            self.weighed.shares,
            self.lengths,
            penalty_share=self.model.share_at(options.irrelevant_chunk_penalty),
            reference_length_tokens=options.reference_length,
        )

    def _place(self, row: int) -> tuple[int, int]:
        """Return the range of a row and its position in it."""
        starts = self.weighed.rows.starts
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return at, row - int(starts[at])

    def _run_of(self, row: int) -> Run:
        at, position = self._place(row)
        return Run(
            document=at, start=position, end=position + 1,
            value=float(self.weighed.shares[row]), tokens=int(self.lengths[row]),
        )  # fmt: skip

    def _located(self, run: Run, relevance: NDArray[np.float64]) -> Located:
        """Return where a run of a range stands in its document."""
        span = self.weighed.ranges[run.document]
        first = int(self.weighed.rows.starts[run.document])
        inside = relevance[first + run.start : first + run.end]
        best = int(np.argmax(inside))
        return Located(
            handle=span.handle,
            start=span.start + run.start,
            end=span.start + run.end,
            best=span.start + run.start + best,
            value=run.value,
            relevance=float(inside[best]),
            tokens=run.tokens,
        )

    def _check_limits(self, header_tokens: int) -> None:
        """Raise if chunks are worth taking and none of them fits into the limits."""
        options = self.options.segments
        worth = self._values() > max(options.min_segment_value, 0.0)
        if not worth.any():
            return
        shortest, longest = int(self.lengths[worth].min()), options.max_segment_tokens
        if longest is not None and shortest > longest:
            raise OptionError(
                f"max_segment_tokens is {longest}; the shortest relevant chunk has {shortest}"
            )
        needed = shortest + header_tokens
        if needed > self.options.budget_tokens:
            raise OptionError(
                f"budget_tokens is {self.options.budget_tokens}; the shortest relevant chunk with "
                f"its header needs {needed}"
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
