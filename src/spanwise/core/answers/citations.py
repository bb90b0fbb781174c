"""The passage of a text that is most like a quote that does not stand in it any more.

Texts are compared by their runs of five characters, so that any script will do, with or without
spaces between its words. The time is linear in the text.

Citations: made for a range of a document, and checked against a later version of it.

Rules:
    A citation holds the hash of the text it points at, and how that text begins: so it is found
    again in any version without keeping the old one.
    What is said to stand somewhere was compared character for character, or by its hash.
    Of several places the first that counts is in a section of the cited path, then the nearest;
    no more than the first 10,000 are compared.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.documents.versions import text_hash
from spanwise.errors import OptionError
from spanwise.types import Citation, CitationLocation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.types import DocumentRecord, Page, Section, WholeDocument

_RUN = 5
_MIN_SIMILARITY = 0.4  # of passages that have nothing to do with each other, none of 240 has it
_LENGTHS = (0.6, 1.0, 1.5)  # of the quote: what was cut out, or put in between
_MAX_WORD_CHARS = 40
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SPACES = {ord(character): " " for character in "\t\n\v\f\r\x85\xa0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage and how much it is like a quote."""

    start: int
    end: int
    similarity: float
    """Dice coefficient of the runs of five characters of both, in (0, 1]."""


def nearest_passage(text: str, quote: str, *, near: int) -> Passage | None:
    """Return the passage of a text that is most like a quote, whole words, if any is like it.

    Args:
        text: The text.
        quote: What is looked for; white space of any kind counts alike.
        near: Place in the text; of two passages that are as like the nearer one counts.
    """
    wanted, runs = _runs(quote), _runs(text)
    known = np.unique(wanted)
    if not len(known):
        return None
    found = np.searchsorted(known, runs)
    found[found == len(known)] = 0
    places = np.flatnonzero(known[found] == runs)
    if not len(places):
        return None
    kinds = found[places]
    weights = 1.0 / np.bincount(kinds)[kinds]  # what is everywhere tells nothing
    passages = []
    for share in _LENGTHS:
        first, last = _densest(places, weights, length=round(share * len(wanted)), near=near)
        # What the quote has before and after its part that is found was edited here.
        before = int(np.flatnonzero(wanted == runs[first])[0])
        after = len(wanted) - 1 - int(np.flatnonzero(wanted == runs[last])[-1])
        start, end = _whole_words(text, max(0, first - before), last + _RUN + after)
        similarity = _similarity(wanted, _runs(text[start:end]))
        passages.append(Passage(start=start, end=end, similarity=similarity))
    best = max(passages, key=lambda passage: (passage.similarity, passage.start - passage.end))
    return best if best.similarity >= _MIN_SIMILARITY else None


def _runs(text: str) -> NDArray[np.uint64]:
    """Return a hash of each run of five characters, in order; none of a shorter text."""
    encoded = text.translate(_SPACES).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, dtype="<u4").astype(np.uint64)
    count = max(0, len(codes) - _RUN + 1)
    hashes = np.zeros(count, dtype=np.uint64)
    for place in range(_RUN):
        hashes = hashes * _FACTOR + codes[place : place + count]
    return hashes


def _densest(
    places: NDArray[np.int64], weights: NDArray[np.float64], *, length: int, near: int
) -> tuple[int, int]:
    """Return the first and the last of the places in the window that holds most weight."""
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    ends = np.searchsorted(places, places + max(1, length))
    held = sums[ends] - sums[:-1]
    best = np.flatnonzero(held >= held.max() - 1e-9)
    first = int(best[np.argmin(np.abs(places[best] - near))])
    return int(places[first]), int(places[ends[first] - 1])


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range that cuts no word, but one that is no word by its length."""
    first, last = start, min(end, len(text))
    while first > 0 and start - first < _MAX_WORD_CHARS and _joins(text, first):
        first -= 1
    while last < len(text) and last - end < _MAX_WORD_CHARS and _joins(text, last):
        last += 1
    return first, last


def _joins(text: str, place: int) -> bool:
    """Return whether the characters on both sides of a place are of one word."""
    return text[place - 1].isalnum() and text[place].isalnum()


def _similarity(wanted: NDArray[np.uint64], found: NDArray[np.uint64]) -> float:
    """Return the Dice coefficient of two multisets."""
    kinds, counts = np.unique(wanted, return_counts=True)
    others, other_counts = np.unique(found, return_counts=True)
    _, here, there = np.intersect1d(kinds, others, assume_unique=True, return_indices=True)
    common = np.minimum(counts[here], other_counts[there]).sum()
    return float(2 * common / (len(wanted) + len(found)))


QUOTE_CHARS = 160
"""Length of the beginning of its text that a citation holds."""

_LABEL = re.compile(r"\w[\w .:/()–-]{0,15}")  # what is longer, or other signs, is no page label
_MAX_PLACES = 10_000
_MAX_HASHED_CHARS = 100_000_000


def cite(
    record: DocumentRecord,
    span: tuple[int, int],
    *,
    pages: Sequence[Page],
    section_path: tuple[str, ...],
    text: str | None,
) -> Citation:
    """Return the citation of a range.

    Args:
        record: Of the document.
        span: First character, and one past the last.
        pages: Of the document.
        section_path: Under which the text stands.
        text: What stands there; None for a citation that is only shown.
    """
    numbers = page_numbers(pages, *span)
    return Citation(
        document_id=record.id,
        title=record.title,
        start=span[0],
        end=span[1],
        pages=numbers,
        page_labels=None if numbers is None else _page_labels(pages, *numbers),
        section_path=section_path,
        source=record.source,
        version=record.version,
        quote="" if text is None else text[:QUOTE_CHARS],
        text_hash="" if text is None else text_hash([text]),
    )


def page_numbers(pages: Sequence[Page], start: int, end: int) -> tuple[int, int] | None:
    """Return the first and last page, 1-based, that hold characters of a range, if any do."""
    if not pages:
        return None
    first = bisect_right(pages, start, key=lambda page: page.end)
    last = bisect_left(pages, max(end, start + 1), key=lambda page: page.start) - 1
    first = min(first, len(pages) - 1)
    return first + 1, max(first, last) + 1


def _page_labels(pages: Sequence[Page], first: int, last: int) -> tuple[str, str] | None:
    """Return what is printed on two pages; None where it is their numbers, or no label."""
    labels = tuple(_page_label(pages[number - 1], number) for number in (first, last))
    return None if labels == (str(first), str(last)) else (labels[0], labels[1])


def _page_label(page: Page, number: int) -> str:
    label = (page.label or "").strip()
    return label if _LABEL.fullmatch(label) else str(number)


def printed_labels(pages: Sequence[Page]) -> list[str]:
    """Return what citations may name besides the numbers of pages, ascending."""
    labels = {
        label
        for number, page in enumerate(pages, start=1)
        if (label := _page_label(page, number)) != str(number)
    }
    return sorted(labels)


def cite_range(whole: WholeDocument, start: int, end: int) -> Citation:
    """Return the citation of a range, under the section that it begins in.

    Raises:
        OptionError: If there is no such range.
    """
    text = whole.document.text
    if not 0 <= start < end <= len(text):
        raise OptionError(
            f"the range {start}-{end} is not inside of the {len(text)} characters of "
            f"{whole.record.id!r}, or empty"
        )
    return _cite_place(whole, start, end, path=None)


def _cite_place(
    whole: WholeDocument, start: int, end: int, *, path: tuple[str, ...] | None
) -> Citation:
    """Return the citation of a range, under a path where one of its sections has that."""
    paths = _paths(whole.sections, start, end)
    return cite(
        whole.record,
        (start, end),
        pages=whole.document.pages,
        section_path=path if path in paths else paths[0],
        text=whole.document.text[start:end],
    )


def _paths(sections: Sequence[Section], start: int, end: int) -> list[tuple[str, ...]]:
    """Return the paths of the sections that hold characters of a range."""
    first = bisect_right(sections, start, key=lambda section: section.end)
    last = bisect_left(sections, end, key=lambda section: section.start)
    return [section.path for section in sections[first:last]]


def locate(whole: WholeDocument, cited: Citation) -> CitationLocation:
    """Return where a cited text stands in a document as it is now.

    Args:
        whole: The document.
        cited: A citation into any version of it, with the hash of its text and, as its quote, as
            much of that as is known, which is not nothing.

    Raises:
        OptionError: If its text begins in more places than can be compared.
    """
    text = whole.document.text
    places = set(islice(_places(text, cited), _MAX_PLACES))
    length = cited.end - cited.start
    there = text[cited.start : cited.end]
    if len(there) == length and text_hash([there]) == cited.text_hash:
        places.add(cited.start)
    if not places:
        return _changed(whole, cited)

    def preference(start: int) -> tuple[bool, int, int]:
        path_differs = cited.section_path not in _paths(whole.sections, start, start + length)
        return path_differs, abs(start - cited.start), start

    start = min(places, key=preference)
    if cited.version == whole.record.version and cited.start in places:
        start = cited.start
    citation = _cite_place(whole, start, start + length, path=cited.section_path)
    is_there = start == cited.start and citation.document_id == cited.document_id
    return CitationLocation(
        cited=cited,
        status="current" if is_there else "moved",
        citation=citation,
        text=text[start : start + length],
        similarity=1.0,
        occurrences=min(len(places), _MAX_PLACES),
        message=_found_message(cited, citation, places=len(places)),
    )


def _places(text: str, cited: Citation) -> Iterator[int]:
    """Yield where the cited text stands, in order.

    Raises:
        OptionError: If its text begins in more places than can be compared.
    """
    length = cited.end - cited.start
    is_whole = len(cited.quote) == length
    hashed_chars = 0
    start = text.find(cited.quote)
    while start >= 0:
        if is_whole:
            yield start
        elif start + length <= len(text):
            hashed_chars += length
            if hashed_chars > _MAX_HASHED_CHARS:
                raise OptionError(
                    f"the text of this citation begins {cited.quote[:40]!r}, which stands in too "
                    f"many places of {cited.document_id!r} to compare them all; give the segment "
                    "that the citation is from, with its text"
                )
            if text_hash([text[start : start + length]]) == cited.text_hash:
                yield start
        start = text.find(cited.quote, start + 1)


def _changed(whole: WholeDocument, cited: Citation) -> CitationLocation:
    """Return the passage that is most like a text that is gone."""
    text = whole.document.text
    nearest = nearest_passage(text, cited.quote, near=cited.start)
    if nearest is None:
        return CitationLocation(
            cited=cited,
            status="changed",
            message=f"the text is gone from {whole.record.id!r}, and nothing there is like it",
        )
    known = "it"
    if len(cited.quote) < cited.end - cited.start:
        known = f"its first {len(cited.quote)} characters"
    citation = _cite_place(whole, nearest.start, nearest.end, path=cited.section_path)
    return CitationLocation(
        cited=cited,
        status="changed",
        citation=citation,
        text=text[nearest.start : nearest.end],
        similarity=nearest.similarity,
        message=f"the text was edited or is gone; most like {known} is what stands at "
        f"{citation.place} ({nearest.similarity:.0%} alike)",
    )


def _found_message(cited: Citation, citation: Citation, *, places: int) -> str:
    """Return for people where the cited text stands."""
    if cited.document_id != citation.document_id:
        said = f"the document is {citation.document_id!r} now, and has the text at {citation.place}"
    elif cited.start != citation.start:
        said = f"the text stands at {citation.place} now, character for character"
    elif cited.version == citation.version:
        said = "the document is as it was cited"
    else:
        said = "the text stands where it was cited"
        said = f"the document has changed elsewhere; {said}" if cited.version else said
    if places == 1:
        return said
    counted = f"{places:,} places" if places < _MAX_PLACES else f"{_MAX_PLACES:,} places or more"
    return f"{said}; it stands in {counted}"
