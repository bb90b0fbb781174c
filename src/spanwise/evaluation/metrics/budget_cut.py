"""Cutting what was returned, so that all retrievers are compared at equal tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.metrics.ranges import Count, Place, document_text, page_text, place
from spanwise.evaluation.retrieval import Retrieved

_ROUNDING = 1e-9
"""Sums of fractions of tokens are this far off at most."""


def cut(
    found: Sequence[Retrieved],
    *,
    budget_tokens: float,
    count: Count,
    texts: Mapping[str, DocumentText],
) -> tuple[Retrieved, ...]:
    """Return what a reader with a budget sees: whole texts in order, the last one cut to fit.

    Of characters the longest beginning that fits is kept. Of pages without a text of their own only
    whole ones are; of pages with one, as many as its kept share covers. A budget that is not full
    after such pages is filled by what comes next; after the first text of which nothing fits
    everything else is left out. The headers that a reader may see are not counted: text alone is
    compared.

    Args:
        found: Best first.
        budget_tokens: At most so many together.
        count: Counts the tokens of a text (`counter`).
        texts: Text of every document that is named.

    Raises:
        OptionError: If `found` names a document or place that does not exist.
    """
    kept: list[Retrieved] = []
    left = float(budget_tokens)
    for item in found:
        if left <= _ROUNDING:
            break
        where = place(item, texts)
        if where is None:
            continue
        tokens = count(where.text)
        if tokens <= left + _ROUNDING:
            kept.append(item)
            left -= tokens
            continue
        shorter = _shortened(item, where, left, count, texts)
        if shorter is None:
            break
        kept.append(shorter[0])
        left -= shorter[1]
    return tuple(kept)


def _shortened(
    item: Retrieved, where: Place, room: float, count: Count, texts: Mapping[str, DocumentText]
) -> tuple[Retrieved, float] | None:
    """Return what of an item fits, and its tokens; None where nothing does."""
    if item.start is None and item.pages is not None and item.text is None:
        return _whole_pages(item, room, count, document_text(texts, item.document_id))
    kept = _fitting(where.text, room, count)
    if kept == 0:
        return None
    text = where.text[:kept]
    tokens = count(text)
    if item.start is None and item.text is not None:
        pages = None if item.pages is None else _share_of(item.pages, kept, len(where.text))
        return replace(item, text=text, pages=pages), tokens
    start = 0 if where.characters is None else where.characters[0]
    shown = None if item.text is None else text
    return replace(item, start=start, end=start + kept, text=shown), tokens


def _whole_pages(
    item: Retrieved, room: float, count: Count, document: DocumentText
) -> tuple[Retrieved, float] | None:
    first, last = item.pages or (1, 0)
    fitting, tokens = first - 1, 0.0
    for page in range(first, last + 1):
        more = count(page_text(document, first, page))
        if more > room + _ROUNDING:
            break
        fitting, tokens = page, more
    if fitting < first:
        return None
    return replace(item, pages=(first, fitting)), tokens


def _share_of(pages: tuple[int, int], kept: int, chars: int) -> tuple[int, int]:
    """Return the first of some pages, as many as the kept part of their characters covers."""
    first, last = pages
    return first, first + ceil((last - first + 1) * kept / chars) - 1


def _fitting(text: str, room: float, count: Count) -> int:
    """Return how many characters of a text fit: the most there are, where counts never fall.

    Vocabularies may count a longer text as fewer tokens. What is returned fits all the same: only
    beginnings that were counted are taken.
    """
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if count(text[:middle]) <= room + _ROUNDING:
            fits = middle
        else:
            too_long = middle
    return fits
