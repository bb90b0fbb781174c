"""Truncation of returned texts to a token budget, the same for all retrievers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.metrics.ranges import Count, Place, document_text, page_text, place
from spanwise.evaluation.retrieval import Retrieved

_ROUNDING = 1e-9
"""Greatest rounding error of sums of fractional tokens."""


def cut(
    found: Sequence[Retrieved],
    *,
    budget_tokens: float,
    count: Count,
    texts: Mapping[str, DocumentText],
) -> tuple[Retrieved, ...]:
    """Return the texts that fit into a token budget, in order, the last one truncated.

    Texts with known characters keep their longest beginning that fits. Pages without a text of
    their own are kept whole or not at all; of pages with a text, as many are kept as the kept share
    covers. If pages leave room, the next text follows. After the first text of which nothing fits,
    the rest is left out. Headers are not counted.

    Args:
        found: Returned texts, best first.
        budget_tokens: Maximum number of tokens.
        count: Counts the tokens of a text (`counter`).
        texts: Texts of all documents that are named.

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
    """Return the part of an item that fits and its tokens; None if nothing fits."""
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
    """Return the first pages, as many as the kept share of their characters covers."""
    first, last = pages
    return first, first + ceil((last - first + 1) * kept / chars) - 1


def _fitting(text: str, room: float, count: Count) -> int:
    """Return the number of characters of a text that fit.

    It is the greatest number if longer texts never count fewer tokens. Some vocabularies count a
    longer text as fewer tokens; the returned beginning was counted, so it fits in any case.
    """
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if count(text[:middle]) <= room + _ROUNDING:
            fits = middle
        else:
            too_long = middle
    return fits
