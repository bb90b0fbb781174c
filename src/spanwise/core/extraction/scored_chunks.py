"""Segments from the chunks and scores of another search engine.

Rules:
    Chunks with consecutive positions in one document form a stretch. A segment never crosses the
    end of a stretch, because the text between two stretches is unknown.
    Scores become shares of the evidence that sum to 1 (at most, if they are probabilities), so the
    price, the charge and the presets of `SegmentOptions` mean the same as in a knowledge base.
    Scale "rank": the scores are calibrated as those of a reranker (`core.ranking.reranking`), and a
    softmax converts them to shares. Few scores tell little about their scale, so their differences
    are reduced. A chunk without a score counts as one of the lowest score, and has a share only
    within three chunks of one with a score, because evidence is contiguous.
    Scale "probability": the share of a chunk is its score, divided by the sum of all scores if that
    exceeds 1. If all probabilities are small, no segment may be worth its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from spanwise.core.extraction.exact import Run, chunk_values, extract_segments
from spanwise.core.ranking.features import Rows, build_rows
from spanwise.core.ranking.relevance import share_around_best
from spanwise.core.ranking.reranking import calibrated_lift, load_reranker_weights
from spanwise.core.ranking.scan import PassageRange
from spanwise.core.text.overlap import overlap_chars
from spanwise.errors import OptionError, shown
from spanwise.options import SegmentOptions
from spanwise.options.search import PRICED_TOKENS

Scale = Literal["rank", "probability"]
"""Meaning of given scores: any numbers of which higher ones are better, or probabilities."""

_CHARS_PER_TOKEN = 4
_FEW_SCORES = 10  # of so many scores, differences count half
_REACH = 3  # chunks on either side whose scores affect a chunk, as in `calibrated_lift`

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSegment:
    """Consecutive chunks of one document, chosen by their scores."""

    document_id: str
    """Id of the document; empty if no ids were given."""
    first_chunk: int
    """Position of the first chunk in its document."""
    last_chunk: int
    """Position one past the last chunk in its document."""
    chunks: tuple[int, ...]
    """Indexes of the chunks in the list that was given."""
    text: str
    """Texts of the chunks, joined; text that a chunk repeats from the one before it occurs once."""
    tokens: int
    """Sum of the tokens of the chunks."""
    score: float
    """Highest score of its chunks, as given."""
    share: float
    """Share of the evidence that the segment is expected to contain, in [0, 1]."""
    rank: int
    """Rank by share among the segments, from 0 for the highest; ties by position."""


# One argument for each property of the chunks and of the selection.
def segments_from_scores(  # noqa: PLR0913
    chunks: Sequence[str],
    scores: Sequence[float | None],
    *,
    documents: Sequence[str] = (),
    positions: Sequence[int] = (),
    tokens: Sequence[int] = (),
    scale: Scale = "rank",
    budget_tokens: int = 4_000,
    preset: str = "balanced",
    segment_options: SegmentOptions | None = None,
    header_tokens: int = 0,
    separator: str = "\n\n",
) -> tuple[ScoredSegment, ...]:
    """Return the contiguous segments that hold the evidence, from chunks and scores of any search.

    Give all chunks that a search or a reranker returned. Segments are better if you also give the
    other chunks of the same documents, without a score: then they have no gaps.

    Args:
        chunks: Texts of the chunks, in any order.
        scores: Score of each chunk, finite; None for a chunk that the search did not return.
            Negate distances.
        documents: Id of the document of each chunk; empty if all are of one document.
        positions: Position of each chunk in its document, in any unit that increases by 1 from a
            chunk to the next; empty if the chunks of each document are consecutive and in order.
        tokens: Length of each chunk in tokens, at least 1; empty for an estimate of one token per 4
            characters.
        scale: "rank" for scores of any scale, of which higher ones are better. "probability" for
            probabilities that a chunk contains evidence; if all are small, the result is empty.
        budget_tokens: Maximum tokens of all segments, including one header each.
        preset: Length of the segments: "precise", "balanced" or "comprehensive".
        segment_options: Options in place of a preset. Segments are never trimmed to sentences.
        header_tokens: Tokens of the text that you show with each segment.
        separator: Text between two chunks of a segment.

    Returns:
        Segments grouped by document: documents ordered by their best segment, segments of a
        document by position. Empty if there are no scores, or no segment is worth its tokens.

    Raises:
        OptionError: If the arguments do not match or are out of range, or every relevant chunk is
            longer than the budget.
    """
    given = _read_chunks(chunks, scores, documents=documents, positions=positions, tokens=tokens)
    if scale not in get_args(Scale):
        raise OptionError(f"scale is {shown(scale)}; it must be one of {get_args(Scale)}")
    if not given.is_scored.any():
        return ()
    options = segment_options or SegmentOptions.preset(preset)
    shares = _probability_shares(given) if scale == "probability" else _rank_shares(given)
    runs = _chosen_runs(
        given, shares, options=options, budget_tokens=budget_tokens, header_tokens=header_tokens
    )
    return _ordered([_segment(given, shares, run, separator=separator) for run in runs])


@dataclass(frozen=True, slots=True, eq=False)
class _GivenChunks:
    """Chunks in rows: ordered by document, then position."""

    documents: Sequence[str]
    """Id of the document of each row."""
    order: Sequence[int]
    """Index of each row in the list of the caller."""
    texts: Sequence[str]
    positions: NDArray[np.int64]
    tokens: NDArray[np.int64]
    scores: Floats
    """Scores; 0 for a chunk without one."""
    is_scored: NDArray[np.bool_]
    starts: NDArray[np.int64]
    """First row of each stretch of consecutive chunks."""

    @property
    def rows(self) -> Rows:
        """Layout of the stretches."""
        ends = np.append(self.starts[1:], len(self.texts))
        firsts = self.positions[self.starts]
        spans = zip(firsts.tolist(), (ends - self.starts).tolist(), strict=True)
        return build_rows(
            [
                (at, PassageRange(handle=at, start=first, end=first + length))
                for at, (first, length) in enumerate(spans)
            ]
        )

    def split(self, values: NDArray[np.float64] | NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Return the values of the rows of each stretch."""
        return np.split(values, self.starts[1:])


def _read_chunks(
    chunks: Sequence[str],
    scores: Sequence[float | None],
    *,
    documents: Sequence[str],
    positions: Sequence[int],
    tokens: Sequence[int],
) -> _GivenChunks:
    """Return the chunks ordered by document and position.

    Raises:
        OptionError: If the lists do not match, or contain invalid values.
    """
    texts = _texts(chunks)
    count = len(texts)
    names = _matching(documents, "documents", count) or [""] * count
    places = _whole(_matching(positions, "positions", count) or _counted(names), "positions")
    lengths = _whole(
        _matching(tokens, "tokens", count)
        or [max(1, -(-len(text) // _CHARS_PER_TOKEN)) for text in texts],
        "tokens",
    )
    numbers = _numbers(scores, count)
    ids = {name: at for at, name in enumerate(dict.fromkeys(names))}
    keys = np.array([ids[name] for name in names], dtype=np.int64)
    order = np.lexsort((places, keys))
    is_next = (np.diff(keys[order]) == 0) & (np.diff(places[order]) <= 1)
    repeated = np.flatnonzero(is_next & (np.diff(places[order]) == 0))
    if len(repeated):
        at = int(order[repeated[0]])
        raise OptionError(
            f"two chunks of the document {shown(names[at])} have the position {places[at]}; give "
            "each chunk once"
        )
    is_first = np.ones(count, dtype=bool)
    is_first[1:] = ~is_next
    return _GivenChunks(
        documents=[names[at] for at in order],
        order=order.tolist(),
        texts=[texts[at] for at in order],
        positions=places[order],
        tokens=lengths[order],
        scores=np.nan_to_num(numbers[order], nan=0.0),
        is_scored=~np.isnan(numbers[order]),
        starts=np.flatnonzero(is_first),
    )


def _texts(chunks: Sequence[str]) -> list[str]:
    texts = [] if isinstance(chunks, str) else list(chunks)
    if isinstance(chunks, str) or not all(isinstance(text, str) for text in texts):
        raise OptionError(f"chunks is {shown(chunks)}; give a list of texts")
    return texts


def _matching(values: Sequence[object], name: str, count: int) -> list[object]:
    """Return optional values as a list; empty if none are given."""
    given = list(values)
    if given and len(given) != count:
        raise OptionError(f"there are {count} chunks and {len(given)} {name}; give one for each")
    return given


def _counted(names: Sequence[object]) -> list[object]:
    """Return the number of earlier chunks of the same document, for each chunk."""
    seen: dict[object, int] = {}
    places: list[object] = []
    for name in names:
        places.append(seen.get(name, 0))
        seen[name] = seen.get(name, 0) + 1
    return places


def _whole(values: Sequence[object], name: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if len(array) and array.dtype.kind not in "iu":
        raise OptionError(f"{name} is {shown(list(values))}; give whole numbers")
    return array.astype(np.int64)


def _numbers(scores: Sequence[float | None], count: int) -> Floats:
    """Return the scores; NaN for a chunk without one."""
    given = list(scores)
    if len(given) != count:
        raise OptionError(
            f"there are {count} chunks and {len(given)} scores; give one for each, or None"
        )
    try:
        numbers = np.array([np.nan if one is None else float(one) for one in given])
    except (TypeError, ValueError) as error:
        raise OptionError(f"scores is {shown(given)}; give numbers or None") from error
    invalid = [one for one in given if one is not None and not np.isfinite(one)]
    if invalid:
        raise OptionError(f"a score is {invalid[0]}; give finite numbers, or None")
    return numbers.reshape(count)


def _probability_shares(given: _GivenChunks) -> Floats:
    """Return the shares of chunks whose scores are probabilities.

    Raises:
        OptionError: If a score is outside [0, 1].
    """
    outside = given.scores[(given.scores < 0) | (given.scores > 1)]
    if len(outside):
        raise OptionError(f'a score is {outside[0]}; with scale="probability" give [0, 1]')
    shares: Floats = given.scores / max(1.0, float(given.scores.sum()))
    return shares


def _rank_shares(given: _GivenChunks) -> Floats:
    """Return the shares of chunks with scores of any scale; they sum to 1."""
    rows, is_scored = given.rows, given.is_scored
    candidates = np.flatnonzero(rows.best_near(is_scored.astype(np.float64), _REACH) > 0)
    scores = given.scores[is_scored]
    if scores.min() == scores.max():  # no score is better than another
        candidates = np.flatnonzero(is_scored)
    at = np.flatnonzero(is_scored[candidates])
    weights = replace(load_reranker_weights(), unread=0.0)  # not returned by the search: low
    lift = calibrated_lift(scores, at=at, candidates=candidates, rows=rows, weights=weights)
    lift *= len(scores) / (len(scores) + _FEW_SCORES)
    odds = np.exp(lift - lift.max())
    shares = np.zeros(len(is_scored))
    shares[candidates] = odds / odds.sum()
    return shares


def _chosen_runs(
    given: _GivenChunks,
    shares: Floats,
    *,
    options: SegmentOptions,
    budget_tokens: int,
    header_tokens: int,
) -> tuple[Run, ...]:
    """Return the most valuable runs; the best chunk has priority.

    Raises:
        OptionError: If every relevant chunk is longer than the budget or the longest segment.
    """
    values = chunk_values(shares, given.tokens, token_price=options.token_price)
    charge = options.charge(share_around_best(shares, given.starts), compares=False)
    charge += options.token_price * header_tokens / PRICED_TOKENS
    best = int(np.argmax(shares))
    stretch = int(np.searchsorted(given.starts, best, side="right")) - 1
    is_worthy = values[best] > 0 and values[best] >= options.min_segment_value
    found = extract_segments(
        given.split(values),
        given.split(given.tokens),
        budget_tokens=budget_tokens,
        segment_charge=charge,
        min_segment_value=options.min_segment_value,
        max_segment_tokens=options.max_segment_tokens,
        header_tokens=header_tokens,
        required=[(stretch, best - int(given.starts[stretch]))] if is_worthy else [],
    )
    if is_worthy and not found.runs:
        raise OptionError(
            f"budget_tokens is {budget_tokens}, max_segment_tokens is "
            f"{options.max_segment_tokens} and header_tokens is {header_tokens}; the best chunk "
            f"has {given.tokens[best]} tokens: raise the limit"
        )
    return found.runs


def _segment(given: _GivenChunks, shares: Floats, run: Run, *, separator: str) -> ScoredSegment:
    """Return the segment of a run; its rank is set later."""
    first = int(given.starts[run.document]) + run.start
    rows = range(first, first + run.end - run.start)
    return ScoredSegment(
        document_id=given.documents[first],
        first_chunk=int(given.positions[first]),
        last_chunk=int(given.positions[rows[-1]]) + 1,
        chunks=tuple(given.order[row] for row in rows),
        text=_joined([given.texts[row] for row in rows], separator=separator),
        tokens=run.tokens,
        score=max((float(given.scores[row]) for row in rows if given.is_scored[row]), default=0.0),
        share=float(shares[first : rows.stop].sum()),
        rank=0,
    )


def _joined(texts: Sequence[str], *, separator: str) -> str:
    """Return texts joined by a separator, without the repetition of overlapping chunks."""
    parts = [texts[0]]
    for before, text in pairwise(texts):
        repeated = overlap_chars(before, text)
        parts.append(text[repeated:] if repeated else separator + text)
    return "".join(parts)


def _ordered(segments: Sequence[ScoredSegment]) -> tuple[ScoredSegment, ...]:
    """Return segments with their ranks, the document of the best segment first."""
    by_share = sorted(range(len(segments)), key=lambda at: (-segments[at].share, at))
    ranks = {at: rank for rank, at in enumerate(by_share)}
    ranked = [replace(segment, rank=ranks[at]) for at, segment in enumerate(segments)]
    best: dict[str, int] = {}
    for segment in ranked:
        best[segment.document_id] = min(best.get(segment.document_id, len(ranked)), segment.rank)
    return tuple(sorted(ranked, key=lambda segment: best[segment.document_id]))
