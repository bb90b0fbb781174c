"""What a reranker adds to the scores of candidates.

Let a reranker read the best candidates, and add what it says to their scores.

Rules:
    It reads each chunk as a reader of segments does, under its header.
    Its scores count by their deviation from the mean of what it read of one query: scales differ
    from reranker to reranker, and the order and the distances are what they tell.
    What it did not read counts as the worst that it read: the candidates below stood lower to begin
    with, and at the mean they would pass those that it found poor.
    A reranker that fails leaves the scores as they are, and the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.documents.headers import chunk_header, headed_text
from spanwise.core.documents.table_heads import searched_text
from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.threads import map_bounded
from spanwise.options import HeaderOptions
from spanwise.search.scoring import lifted
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.models.ports import RerankReply
    from spanwise.models.rerankers.rerank_caller import RerankCaller
    from spanwise.options import RerankOptions
    from spanwise.search.scoring import QueryHits
    from spanwise.stores.port import Snapshot
    from spanwise.types import Chunk, DocumentRecord, Section

_MOST = 5.0  # deviations; what lies further out says no more
_SAME = 1e-9  # deviation, against the greatest score, of scores that are equal but for rounding


def best_candidates(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the positions of the greatest scores, greatest first; ties go to the earlier one."""
    return np.argsort(-scores, kind="stable")[:count]


def rerank_lift(
    scores: NDArray[np.float64], *, at: NDArray[np.int64], count: int, weight: float
) -> NDArray[np.float64]:
    """Return what a reranker adds to each candidate, (count,).

    Each score counts by its deviation from their mean; where all are the same, nothing is added.
    A candidate that was not read has the lowest of those that were.

    Args:
        scores: Of the candidates that were read, finite, (k,), k > 0.
        at: Which candidates these are, (k,).
        count: How many candidates there are, at least k.
        weight: Of a deviation, >= 0.
    """
    largest = float(np.abs(scores).max())
    scaled = scores / (
        largest if largest > 0 else 1.0
    )  # so that squares neither overflow nor vanish
    centred = scaled - scaled.mean()
    deviation = float(centred.std())
    if deviation <= _SAME:
        return np.zeros(count)
    standard = np.clip(centred / deviation, -_MOST, _MOST)
    lift = np.full(count, weight * standard.min())
    lift[at] = weight * standard
    return lift


DEFAULT_WEIGHT = 1.0
"""Of a deviation in the score, for a reranker that was not trained with."""
_AT_ONCE = 8  # queries of one question that are reranked side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """Which reranker reads what."""

    caller: RerankCaller
    options: RerankOptions
    falls_back: bool = True
    """Whether a search goes on without a reranker that fails."""

    def ask(self, read: _Read) -> RerankReply | ModelError:
        """Return what the reranker says of some texts, or how it failed.

        Raises:
            ModelKeyError: If the provider refuses the key: no search would be reranked.
            ModelError: If it fails, and nothing falls back.
        """
        try:
            return self.caller.rerank(read.query, read.texts, read.documents)
        except ModelKeyError:
            raise
        except ModelError as error:
            if not self.falls_back:
                raise
            return error


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """What the queries found, with the reranker's scores."""

    found: tuple[QueryHits, ...]
    warnings: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def rerank(
    found: Sequence[QueryHits],
    *,
    snapshot: Snapshot,
    model: RelevanceModel,
    reranking: Reranking | None,
) -> Reranked:
    """Return what the queries of one question found, reranked query by query.

    Args:
        found: What each query found.
        snapshot: That was searched.
        model: Knows the weights of the rerankers that were trained with.
        reranking: Which reranker reads what; None for none.

    Raises:
        ModelKeyError: If the provider refuses the key.
        ModelError: If the reranker fails, and nothing falls back.
    """
    if reranking is None:
        return Reranked(found=tuple(found))
    name, options = reranking.caller.reranker.name, reranking.options
    trained = model.rerankers.get(name) if options.weight is None else options.weight
    weight = DEFAULT_WEIGHT if trained is None else trained
    reader = _Reader(snapshot)
    read = [reader.read(one, options.chunks) for one in found]
    replies = map_bounded(reranking.ask, read, limit=_AT_ONCE)
    counts = not all(isinstance(reply, ModelError) for reply in replies)
    warnings = [_uncalibrated(name)] if counts and trained is None else []
    reranked, usage = [], Usage()
    for one, shown, reply in zip(found, read, replies, strict=True):
        if isinstance(reply, ModelError):
            asked = shown.query[:80]
            warnings.append(f"not reranked for {asked!r}, as the reranker failed: {reply}")
            reranked.append(one)
        else:
            usage += reply.usage
            reranked.append(_lifted(one, shown, reply, weight=weight, name=name))
    return Reranked(found=tuple(reranked), warnings=tuple(warnings), usage=usage)


def _uncalibrated(name: str) -> str:
    return (
        f"uncalibrated: no weights were trained with the reranker {name}, which counts with the "
        f"default weight of {DEFAULT_WEIGHT:g}; relevances may be too high or too low"
    )


def _lifted(
    one: QueryHits, shown: _Read, reply: RerankReply, *, weight: float, name: str
) -> QueryHits:
    """Return what a query found with what the reranker adds."""
    if one.weighed is None:
        return one
    lift = rerank_lift(
        np.array(reply.scores), at=shown.candidates, count=len(one.weighed.scores), weight=weight
    )
    weighed = lifted(one.weighed, lift, name=f"reranker {name}", compares=one.question.compares)
    return replace(one, weighed=weighed)


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """What the reranker is shown of one query."""

    query: str
    candidates: NDArray[np.int64]
    """Positions among the candidates, (k,)."""
    texts: tuple[str, ...]
    """Of each, under its header, (k,)."""
    documents: tuple[int, ...]
    """Handle of the document of each, (k,)."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads chunks under their headers, each record and section once."""

    snapshot: Snapshot
    _records: dict[int, DocumentRecord] = field(default_factory=dict)
    _sections: dict[tuple[int, int], Section] = field(default_factory=dict)

    def read(self, one: QueryHits, count: int) -> _Read:
        """Return what a query found best, as text."""
        weighed = one.weighed
        if weighed is None:
            return _Read(one.question.text, np.zeros(0, dtype=np.int64), (), ())
        best = best_candidates(weighed.scores, count)
        rows = weighed.candidates[best]
        handles = weighed.scan.handles[weighed.rows.documents[rows]].tolist()
        places = list(zip(handles, weighed.rows.chunks[rows].tolist(), strict=True))
        texts = self._texts(places)
        shown = tuple(texts[place] for place in places)
        return _Read(one.question.text, best, shown, tuple(handles))

    def _texts(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Return the texts of chunks by handle and position; neighbours are read together."""
        found: dict[tuple[int, int], str] = {}
        # In a run of neighbours, the position less the rank in order stays the same.
        runs = groupby(enumerate(sorted(places)), key=lambda at: (at[1][0], at[1][1] - at[0]))
        for _, run in runs:
            inside = [place for _, place in run]
            handle, first = inside[0]
            for chunk in self.snapshot.chunks(handle, first, inside[-1][1] + 1):
                found[handle, chunk.index] = self._text(handle, chunk)
        return found

    def _text(self, handle: int, chunk: Chunk) -> str:
        record, section = self._record(handle), self._section(handle, chunk.section)
        header = chunk_header(
            record.title,
            summary=record.summary,
            section_path=section.path,
            section_summary=section.summary,
            options=HeaderOptions(),
        )
        text = searched_text(chunk.text, table_head=chunk.table_head, context=chunk.context)
        return headed_text(text, header=header)

    def _record(self, handle: int) -> DocumentRecord:
        if handle not in self._records:
            self._records[handle] = self.snapshot.record(handle)
        return self._records[handle]

    def _section(self, handle: int, section: int) -> Section:
        if (handle, section) not in self._sections:
            (read,) = self.snapshot.sections(handle, section, section + 1)
            self._sections[handle, section] = read
        return self._sections[handle, section]
