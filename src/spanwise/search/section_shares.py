"""Sections in the choice of text: the shares of a named section, the costs of section borders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.named_sections import find_named_sections, read_named_part
from spanwise.filters import value_texts
from spanwise.options.search import PRICED_TOKENS
from spanwise.search.evidence import NamedSection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from spanwise.core.ranking.named_sections import NamedPart, SectionRange
    from spanwise.options import SegmentOptions
    from spanwise.search.evidence import Evidence
    from spanwise.stores.port import Snapshot

NAMED_EVIDENCE = 0.95
"""Probability of an answer if a section has the name in the question."""
_SHARE = 0.99
"""Share of the evidence in a named section; the rest remains where it was."""
_DOCUMENTS = 3
_FILE_DATE = "file_date"
"""Field with the date of a file. Its year is often the year after that of the contents."""
_PRICE_PART = 0.5  # price of tokens, as a part of their share at the end of a named section
_BORDER_PART = 0.1
"""Cost of a segment that continues into another section, as a part of the segment charge.

Results are shorter than without the cost at nearly the same recall, and fewer segments span several
sections. Greater parts lower recall.
"""
_LAST = 0.5  # share per token at the end of a section, relative to its beginning


def add_named_section(evidence: Evidence, snapshot: Snapshot) -> Evidence:
    """Return the evidence with nearly all shares in the section that the question names.

    Of the best documents, the first one with such a section is used. Inside the section, the share
    per token decreases, so a section that exceeds the budget is returned from its beginning. If the
    question names no section, or compares documents, the evidence is unchanged.
    """
    question = evidence.questions[0]
    part = None if question.compares or question.phrases else read_named_part(question)
    if part is None:
        return evidence
    found = next(_found(evidence, snapshot, part), None)
    if found is None:
        return evidence
    rows = _rows(evidence, snapshot, *found)
    if not len(rows):
        return evidence
    weights = np.zeros(len(evidence.shares))
    weights[rows] = evidence.lengths[rows] * np.linspace(1.0, _LAST, len(rows))
    shares = (1 - _SHARE) * evidence.shares / max(float(evidence.shares.sum()), 1e-9)
    shares += _SHARE * weights / weights.sum()
    relevance = evidence.relevance.copy()
    relevance[rows] = np.maximum(relevance[rows], NAMED_EVIDENCE)
    named = NamedSection(name=found[1].name, first=int(rows[0]), end=int(rows[-1]) + 1)
    return replace(evidence, shares=shares, relevance=relevance, named=named)


def missing_section(evidence: Evidence, snapshot: Snapshot) -> str:
    """Return the numbered part that the question names and the best documents lack, or "".

    Args:
        evidence: Evidence of the question, after `add_named_section`.
        snapshot: Snapshot that was searched.
    """
    question = evidence.questions[0]
    if evidence.named is not None or question.compares or question.phrases:
        return ""
    part = read_named_part(question)
    if part is None or not (part.kind and part.number):
        return ""
    numbered = part._replace(terms=frozenset(), phrase=())
    is_found = next(_found(evidence, snapshot, numbered), None) is not None
    return "" if is_found else f"{part.kind} {part.number}"


def section_price(price: float, evidence: Evidence) -> float:
    """Return the price of 1,000 tokens, lowered so that all of a named section is worth it."""
    named = evidence.named
    if named is None:
        return price
    rows = slice(named.first, named.end)
    worth = evidence.shares[rows] * PRICED_TOKENS / evidence.lengths[rows]
    return min(price, _PRICE_PART * float(worth.min()))


def border_costs(evidence: Evidence, options: SegmentOptions) -> NDArray[np.float64]:
    """Return the cost of continuing a segment into each chunk, in shares, (n,)."""
    return border_parts(evidence, options) * options.fixed_charge


def border_parts(evidence: Evidence, options: SegmentOptions) -> NDArray[np.float64]:
    """Return the cost of continuing a segment into each chunk, as a part of the charge, (n,).

    It is 0 inside a section, and inside the section that the question names; to leave that section
    costs a whole charge. With a token price of 0 the budget is filled, and there are no other
    costs.
    """
    parts = np.where(evidence.openings, _BORDER_PART if options.token_price else 0.0, 0.0)
    named = evidence.named
    if named is not None:
        parts[named.first : named.end] = 0.0
        parts[named.first] = 1.0
        parts[named.end : named.end + 1] = 1.0  # the evidence may end with the section
    return parts


def _found(
    evidence: Evidence, snapshot: Snapshot, part: NamedPart
) -> Iterator[tuple[int, SectionRange]]:
    """Yield the named sections of the best documents, with the handle, best document first."""
    handles = np.array([span.handle for span in evidence.ranges])
    sums = np.add.reduceat(evidence.shares, evidence.starts)
    shares = {handle: sums[handles == handle].sum() for handle in handles.tolist()}
    best = sorted(shares, key=lambda handle: (-shares[handle], handle))
    for handle in best[:_DOCUMENTS]:
        record = snapshot.record(handle)
        sections = snapshot.sections(handle, 0, record.chunks)  # no more sections than chunks
        metadata = {name: of for name, of in record.metadata.items() if name != _FILE_DATE}
        names = " ".join([record.title, record.id, *value_texts(metadata)])
        found = find_named_sections(part, sections, names=names)
        if found is not None:
            yield handle, found


def _rows(
    evidence: Evidence, snapshot: Snapshot, handle: int, named: SectionRange
) -> NDArray[np.int64]:
    """Return the first consecutive rows of a document that are in some sections, ascending."""
    ends = [*evidence.starts[1:].tolist(), len(evidence.shares)]
    for span, first, end in zip(evidence.ranges, evidence.starts.tolist(), ends, strict=True):
        if span.handle != handle:
            continue
        (chunk,) = snapshot.chunks(handle, span.start, span.start + 1)
        sections = chunk.section + np.cumsum(evidence.openings[first:end])
        sections -= int(evidence.openings[first])
        inside = np.flatnonzero((sections >= named.start) & (sections < named.end))
        if len(inside):
            return np.asarray(first + inside)
    return np.zeros(0, dtype=np.int64)
