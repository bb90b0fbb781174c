"""Character ranges: set operations, positions of returned texts, truncation, and overlap metrics.

A union is a sorted list of disjoint, half-open ranges.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.retrieval import Retrieved
from spanwise.models.providers.tokenizer import CharacterTokenizer

if TYPE_CHECKING:
    from spanwise.models.ports import Tokenizer


Count = Callable[[str], float]
"""Function that returns the number of tokens of a text; 0 for an empty text."""


def counter(tokenizer: Tokenizer) -> Count:
    """Return the token counter for `cut` and `score`.

    A tokenizer that estimates tokens from characters returns fractions. They are not rounded:
    rounding up would penalise retrievers that return many short texts.
    """
    if isinstance(tokenizer, CharacterTokenizer):
        chars = tokenizer.chars
        return lambda text: len(text) / chars
    return lambda text: tokenizer.count([text])[0]


Range = tuple[int, int]
"""Index of the first character, and index after the last character."""


def union(ranges: Iterable[Range]) -> list[Range]:
    """Return the union of ranges. Adjacent ranges are joined, empty ranges are dropped."""
    out: list[Range] = []
    for start, end in sorted(ranges):
        if end <= start:
            continue
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def length(ranges: Iterable[Range]) -> int:
    """Return the number of characters of disjoint ranges."""
    return sum(end - start for start, end in ranges)


def intersection(first: Sequence[Range], second: Sequence[Range]) -> list[Range]:
    """Return the intersection of two unions."""
    out: list[Range] = []
    one = other = 0
    while one < len(first) and other < len(second):
        start = max(first[one][0], second[other][0])
        end = min(first[one][1], second[other][1])
        if start < end:
            out.append((start, end))
        if first[one][1] < second[other][1]:
            one += 1
        else:
            other += 1
    return out


def difference(first: Sequence[Range], second: Sequence[Range]) -> list[Range]:
    """Return the characters of the first union that are not in the second."""
    out: list[Range] = []
    for start, end in first:
        at = start
        for held_start, held_end in intersection([(start, end)], second):
            if held_start > at:
                out.append((at, held_start))
            at = held_end
        if at < end:
            out.append((at, end))
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Returned text with its position."""

    document_id: str
    characters: Range | None
    """Character range in the document; None if unknown."""
    pages: range
    """Page numbers, counted from 1; empty if the document has no pages."""
    text: str
    """Document text in the character range; the returned text if the range is unknown."""


def place(found: Retrieved, texts: Mapping[str, DocumentText]) -> Place | None:
    """Return a returned text with its position; None for an empty text.

    A character range takes precedence over pages. A result without text, range and pages is the
    whole document.

    Raises:
        OptionError: If the document, range or page does not exist.
    """
    document = document_text(texts, found.document_id)
    if found.start is not None:
        return _at_characters(found, document)
    if found.pages is not None:
        return _at_pages(found, document)
    if found.text is not None:
        return Place(
            document_id=found.document_id, characters=None, pages=range(0), text=found.text
        )
    return _at(found.document_id, (0, len(document.text)), document)


def document_text(texts: Mapping[str, DocumentText], document_id: str) -> DocumentText:
    """Return the text of a document.

    Raises:
        OptionError: If the document id is unknown.
    """
    try:
        return texts[document_id]
    except KeyError:
        raise OptionError(
            f"there is no document {document_id!r} in the evaluation; evidence and retrievers must "
            "use the document ids of the knowledge base"
        ) from None


def page_text(document: DocumentText, first: int, last: int) -> str:
    """Return the joined text of pages; `first` and `last` count from 1, both inclusive."""
    return "".join(
        document.text[page.start : page.end] for page in document.pages[first - 1 : last]
    )


def _at_characters(found: Retrieved, document: DocumentText) -> Place | None:
    start, end = found.start, found.end
    if start is None or end is None or not 0 <= start <= end <= len(document.text):
        raise OptionError(
            f"characters {start} to {end} were returned of document {found.document_id!r}, "
            f"which has {len(document.text)}; give 0 <= start <= end <= its length"
        )
    return _at(found.document_id, (start, end), document)


def _at(document_id: str, characters: Range, document: DocumentText) -> Place | None:
    start, end = characters
    if start == end:
        return None
    # An empty page is included if it is between the first and the last page of the range.
    first = bisect_right(document.pages, start, key=lambda page: page.end)
    stop = bisect_left(document.pages, end, key=lambda page: page.start)
    return Place(
        document_id=document_id,
        characters=characters,
        pages=range(first + 1, stop + 1),
        text=document.text[start:end],
    )


def _at_pages(found: Retrieved, document: DocumentText) -> Place:
    first, last = found.pages or (0, 0)
    known = len(document.pages)
    outside = last > known and (known > 0 or found.text is None)
    if not 1 <= first <= last or outside:
        raise OptionError(
            f"pages {first} to {last} were returned of document {found.document_id!r}, "
            f"which has {known}; pages count from 1"
        )
    characters = (document.pages[first - 1].start, document.pages[last - 1].end) if known else None
    text = page_text(document, first, last) if found.text is None else found.text
    return Place(
        document_id=found.document_id,
        characters=characters,
        pages=range(first, last + 1),
        text=text,
    )


Span = tuple[str, Range]
"""Document id and a non-empty character range."""

_WHOLE = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes of the evidence, of the returned text, and of their intersection."""

    evidence: float
    returned: float
    shared: float

    def metrics(self, prefix: str) -> dict[str, float]:
        both = self.evidence + self.returned
        return {
            f"{prefix}recall": self.shared / self.evidence if self.evidence else 0.0,
            f"{prefix}precision": self.shared / self.returned if self.returned else 0.0,
            f"{prefix}iou": self.shared / (both - self.shared) if both else 0.0,
            f"{prefix}f1": 2 * self.shared / both if both else 0.0,
        }


def united(spans: Sequence[Span]) -> dict[str, list[Range]]:
    """Return the union of spans by document."""
    by_document: dict[str, list[Range]] = {}
    for document_id, characters in spans:
        by_document.setdefault(document_id, []).append(characters)
    return {document_id: union(ranges) for document_id, ranges in by_document.items()}


def returned_characters(places: Sequence[Place]) -> dict[str, list[Range]]:
    """Return the union of known character ranges, by document."""
    return united([(place.document_id, place.characters) for place in places if place.characters])


def character_metrics(spans: Sequence[Span], places: Sequence[Place]) -> dict[str, float]:
    """Return recall, precision, IoU and F1 in characters, and the share of repeated characters.

    A text without a known position counts as returned text without evidence and without repetition.

    Args:
        spans: Evidence, at least one span.
        places: Returned texts.
    """
    evidence, returned = united(spans), returned_characters(places)
    shared = sum(
        length(intersection(ranges, returned.get(document_id, [])))
        for document_id, ranges in evidence.items()
    )
    different = sum(map(length, returned.values()))
    chars = sum(len(place.text) for place in places if place.characters)
    lost = sum(len(place.text) for place in places if not place.characters)
    return {
        **_Sizes(sum(map(length, evidence.values())), different + lost, shared).metrics(""),
        "chars_union": different,
        "dup": 1 - different / chars if chars else 0.0,
    }


def token_metrics(
    spans: Sequence[Span],
    places: Sequence[Place],
    texts: Mapping[str, DocumentText],
    count: Count,
) -> dict[str, float]:
    """Return recall, precision, IoU and F1 in tokens.

    The tokens of each range are counted separately. A range that begins inside a word may have one
    token more, so the size of the intersection is limited to the sizes of both sides.
    """
    evidence, returned = united(spans), returned_characters(places)

    def tokens(ranges: Mapping[str, Sequence[Range]]) -> float:
        return sum(
            count(document_text(texts, document_id).text[start:end])
            for document_id, runs in ranges.items()
            for start, end in runs
        )

    shared = {
        document_id: intersection(ranges, returned.get(document_id, []))
        for document_id, ranges in evidence.items()
    }
    lost = sum(count(place.text) for place in places if not place.characters)
    of_evidence, of_returned = tokens(evidence), tokens(returned) + lost
    both = min(tokens(shared), of_evidence, of_returned)
    return _Sizes(of_evidence, of_returned, both).metrics("token_")


def hit_metrics(
    spans: Sequence[Span], places: Sequence[Place], texts: Mapping[str, DocumentText]
) -> dict[str, float]:
    """Return the shares of evidence spans returned at least by half and completely.

    White space is ignored.
    """
    returned = returned_characters(places)
    held = []
    for document_id, characters in spans:
        text = document_text(texts, document_id).text
        parts = intersection([characters], returned.get(document_id, []))
        written = _written(text, [characters])
        held.append(_written(text, parts) / written if written else 0.0)
    half = [share >= 0.5 for share in held]
    whole = [share >= _WHOLE for share in held]
    return {
        "ev_hit50": sum(half) / len(held),
        "ev_hit100": sum(whole) / len(held),
        "all_hit50": float(all(half)),
        "all_hit100": float(all(whole)),
    }


def _written(text: str, ranges: Sequence[Range]) -> int:
    """Return the number of characters in ranges, without white space."""
    return sum(len(word) for start, end in ranges for word in text[start:end].split())


_ROUNDING = 1e-9
"""Tolerance for rounding errors in sums of fractional tokens."""


def cut(
    found: Sequence[Retrieved],
    *,
    budget_tokens: float,
    count: Count,
    texts: Mapping[str, DocumentText],
) -> tuple[Retrieved, ...]:
    """Return the first texts up to a token budget, with the last one truncated.

    A text with a known character range is truncated to its longest prefix that fits. Results that
    name only pages are truncated to whole pages; if room remains, the next text follows. The list
    ends before the first text of which no part fits. Headers are not counted.

    Args:
        found: Returned texts, best first.
        budget_tokens: Maximum number of tokens.
        count: Function that counts the tokens of a text (`counter`).
        texts: Texts of all documents named in `found`.

    Raises:
        OptionError: If `found` names a document, range or page that does not exist.
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
    """Return the prefix of an item that fits, and its number of tokens; None if nothing fits."""
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
    """Return the pages that a truncated text reaches, in proportion to its length."""
    first, last = pages
    return first, first + ceil((last - first + 1) * kept / chars) - 1


def _fitting(text: str, room: float, count: Count) -> int:
    """Return the length in characters of a prefix of a text that fits.

    Binary search. The result is the longest prefix if a longer text never has fewer tokens. With
    some vocabularies it can have fewer. The tokens of the result were counted, so it always fits.
    """
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if count(text[:middle]) <= room + _ROUNDING:
            fits = middle
        else:
            too_long = middle
    return fits
