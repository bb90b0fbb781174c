"""Choice of segments by the published greedy method, with their headers inside the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.extraction.published import extract_published
from spanwise.core.extraction.segments import Run
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.extraction.published import RankedChunk
    from spanwise.options import PublishedOptions
    from spanwise.search.evidence import Evidence
    from spanwise.search.extract import Extractor
    from spanwise.search.rendering import SegmentRange
    from spanwise.types import Segment


_RETRIEVED = 200
"""Number of chunks that each query of the published method ranks."""


def extract_greedy(
    extractor: Extractor, options: PublishedOptions
) -> tuple[list[Segment], Segment | None, tuple[str, ...]]:
    """Return the published segments of a question that fit into the token budget.

    The candidates with the greatest shares are the retrieved chunks of each query. Their relevance
    relative to the best one takes the place of the reranker's score: the presets were made for
    rerankers that score the best chunk near 1, and absolute relevance would give no segments for
    every second question. Near-duplicates are excluded. Of a document that was not read whole, each
    range counts as a document.

    Returns:
        Segments in reading order, or none and the best chunk as a guess; and a warning if some did
        not fit. The segments of greatest value are kept.

    Raises:
        OptionError: If none of the segments fits into the budget.
    """
    evidence = extractor.evidence
    runs = extract_published(
        [_ranking(evidence, query) for query in range(len(evidence.questions))],
        _lengths_chars(evidence),
        options=options,
    )
    ranges = [
        extractor.locate(
            Run(
                document=run.document,
                start=run.start,
                end=run.end,
                value=run.value,
                tokens=_tokens(evidence, run.document, run.start, run.end),
            )
        )
        for run in runs
    ]
    if not ranges:
        return [], extractor.renderer.segments([extractor.guess()])[0], ()
    segments, left_out = _fitting(extractor, ranges)
    return segments, None, _warnings(left_out, extractor.options.budget_tokens)


def _ranking(evidence: Evidence, query: int) -> list[RankedChunk]:
    """Return the best chunks of a query, best first; ties go to the earlier row."""
    scored = evidence.scored[query]
    if scored is None:
        return []
    rows = evidence.positions[query][scored.candidates]
    shares = scored.shares[scored.candidates]
    is_own = evidence.copy_of[rows] == rows
    rows, shares = rows[is_own], shares[is_own]
    best = rows[np.argsort(-shares, kind="stable")[:_RETRIEVED]]
    relevances = evidence.relevances[query, best]
    relevances = (relevances / relevances.max(initial=1e-9)).tolist()
    places = [evidence.place(row) for row in best.tolist()]
    return [
        (document, chunk, relevance)
        for (document, chunk), relevance in zip(places, relevances, strict=True)
    ]


def _lengths_chars(evidence: Evidence) -> list[NDArray[np.int64]]:
    """Return the length in characters of each chunk of each range."""
    chars = np.zeros(len(evidence.lengths), dtype=np.int64)
    for scored, place in zip(evidence.scored, evidence.positions, strict=True):
        if scored is not None:
            chars[place] = scored.passages.chars
    return np.split(chars, evidence.starts[1:])


def _tokens(evidence: Evidence, document: int, start: int, end: int) -> int:
    first = int(evidence.starts[document])
    return int(evidence.lengths[first + start : first + end].sum())


def _fitting(
    extractor: Extractor, ranges: Sequence[SegmentRange]
) -> tuple[list[Segment], list[Segment]]:
    """Return the segments that fit, chosen by value, in reading order, and the others."""
    budget = left = extractor.options.budget_tokens
    # Upper bound: rendered together, the tag of the fence may be shorter.
    offered = sorted(extractor.renderer.segments(ranges), key=lambda segment: segment.rank)
    by_rank = sorted(ranges, key=lambda run: (-run.value, run.handle, run.start))
    fitting: list[SegmentRange] = []
    left_out: list[Segment] = []
    for run, segment in zip(by_rank, offered, strict=True):
        if segment.tokens <= left:
            fitting.append(run)
            left -= segment.tokens
        else:
            left_out.append(segment)
    if not fitting:
        needed = min(segment.tokens for segment in offered)
        raise OptionError(
            f"budget_tokens is {budget}; the shortest segment with its header needs {needed}"
        )
    return extractor.renderer.segments(fitting), left_out


def _warnings(left_out: Sequence[Segment], budget_tokens: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    places = ", ".join(
        f"{segment.document_id} characters {segment.start}-{segment.end} ({segment.tokens} tokens)"
        for segment in left_out
    )
    return (
        f"segments of least value that did not fit into {budget_tokens} tokens were left out: "
        f"{places}",
    )
