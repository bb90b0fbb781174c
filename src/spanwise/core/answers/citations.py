"""Citations: creation for a range of a document, and location in a later version of it.

Rules:
    A citation contains the hash of its text and the beginning of the text. It can be located in any
    version of the document, and the cited version is not needed.
    A location is confirmed by comparing every character, or the hash.
    If the text occurs several times, an occurrence in a section with the cited path is preferred,
    then the nearest one. At most the first 10,000 occurrences are compared.
    If the text was removed, the most similar passage is found by hashed character 5-grams. This
    works for any script, in time linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.documents.versions import text_hash
from spanwise.errors import OptionError, shown
from spanwise.types import Citation, CitationLocation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.types import DocumentRecord, Figure, Page, Section, WholeDocument

_NGRAM = 5
_MIN_SIMILARITY = 0.4  # none of 240 pairs of unrelated passages reaches it
_LENGTHS = (0.6, 1.0, 1.5)  # lengths of passages to try, relative to the quote
_MAX_WORD_CHARS = 40
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SPACES = {ord(character): " " for character in "\t\n\v\f\r\x85\xa0"}


class Passage(NamedTuple):
    """Range of a text, and its similarity to a quote."""

    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    similarity: float
    """Dice coefficient of the character 5-grams, in (0, 1]."""


def nearest_passage(text: str, quote: str, *, near: int) -> Passage | None:
    """Return the passage of whole words that is most similar to a quote; None if none is similar.

    Args:
        text: The text.
        quote: The quote; all kinds of white space count as equal.
        near: Offset in the text; of two equal matches the one nearer to it is used.
    """
    quote_hashes, text_hashes = _ngram_hashes(quote), _ngram_hashes(text)
    ngrams_of_quote = distinct(quote_hashes)
    if not len(ngrams_of_quote):
        return None
    indexes = np.searchsorted(ngrams_of_quote, text_hashes)
    indexes[indexes == len(ngrams_of_quote)] = 0
    places = np.flatnonzero(ngrams_of_quote[indexes] == text_hashes)
    if not len(places):
        return None
    ngrams = indexes[places]
    weights = 1.0 / np.bincount(ngrams)[ngrams]  # frequent 5-grams carry little information
    passages = []
    for share in _LENGTHS:
        first, last = _densest(places, weights, length=round(share * len(quote_hashes)), near=near)
        # Extend by the parts of the quote before and after its first and last match.
        before = int(np.flatnonzero(quote_hashes == text_hashes[first])[0])
        after = len(quote_hashes) - 1 - int(np.flatnonzero(quote_hashes == text_hashes[last])[-1])
        start, end = _whole_words(text, max(0, first - before), last + _NGRAM + after)
        similarity = _similarity(quote_hashes, _ngram_hashes(text[start:end]))
        passages.append(Passage(start=start, end=end, similarity=similarity))
    best = max(passages, key=lambda passage: (passage.similarity, passage.start - passage.end))
    return best if best.similarity >= _MIN_SIMILARITY else None


def _ngram_hashes(text: str) -> NDArray[np.uint64]:
    """Return a hash of each character 5-gram, in order; empty for a shorter text."""
    encoded = text.translate(_SPACES).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, dtype="<u4").astype(np.uint64)
    count = max(0, len(codes) - _NGRAM + 1)
    hashes = np.zeros(count, dtype=np.uint64)
    for place in range(_NGRAM):
        hashes = hashes * _FACTOR + codes[place : place + count]
    return hashes


def _densest(
    places: NDArray[np.int64], weights: NDArray[np.float64], *, length: int, near: int
) -> tuple[int, int]:
    """Return the first and last place in the window of `length` with the greatest weight."""
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    ends = np.searchsorted(places, places + max(1, length))
    window_weights = sums[ends] - sums[:-1]
    best = np.flatnonzero(window_weights >= window_weights.max() - 1e-9)
    first = int(best[np.argmin(np.abs(places[best] - near))])
    return int(places[first]), int(places[ends[first] - 1])


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range extended to whole words, by at most 40 characters on either side."""
    first, last = start, min(end, len(text))
    while first > 0 and start - first < _MAX_WORD_CHARS and _joins(text, first):
        first -= 1
    while last < len(text) and last - end < _MAX_WORD_CHARS and _joins(text, last):
        last += 1
    return first, last


def _joins(text: str, place: int) -> bool:
    """Return whether the characters on both sides of an offset belong to one word."""
    return text[place - 1].isalnum() and text[place].isalnum()


def _similarity(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> float:
    """Return the Dice coefficient of two multisets."""
    first_values, first_counts = np.unique(first, return_counts=True)
    second_values, second_counts = np.unique(second, return_counts=True)
    _, first_at, second_at = np.intersect1d(
        first_values, second_values, assume_unique=True, return_indices=True
    )
    common = np.minimum(first_counts[first_at], second_counts[second_at]).sum()
    return float(2 * common / (len(first) + len(second)))


QUOTE_CHARS = 160
"""Maximum length of `Citation.quote`, the beginning of the cited text, in characters."""

_LABEL = re.compile(r"\w[\w .:/()–-]{0,15}")  # labels that do not match are ignored
_NUMBER = re.compile(r"[0-9]{1,16}")
_MAX_PLACES = 10_000
_MAX_HASHED_CHARS = 100_000_000


def cite(  # noqa: PLR0913 - parts of one document
    record: DocumentRecord,
    span: tuple[int, int],
    *,
    pages: Sequence[Page],
    section_path: tuple[str, ...],
    text: str | None,
    sections: Sequence[tuple[str, ...]] = (),
    figures: Sequence[Figure] = (),
) -> Citation:
    """Return the citation of a range.

    Args:
        record: Record of the document.
        span: Offset of the first character, and offset after the last one.
        pages: Pages of the document.
        section_path: Section path of the range.
        text: Text of the range; None for a citation that is displayed but never located.
        sections: Section paths of all sections in the range; empty if there is only one.
        figures: Figures of the document, whose descriptions are not its own words.
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
        sections=tuple(sections) if len(sections) > 1 else (),
        source=record.source,
        version=record.version,
        quote="" if text is None else text[:QUOTE_CHARS],
        text_hash="" if text is None else text_hash([text]),
        knowledge_base=record.knowledge_base,
        described_by=next(
            (figure.described_by for figure in figures_in(figures, *span) if figure.described_by),
            "",
        ),
    )


def figures_in(figures: Sequence[Figure], start: int, end: int) -> tuple[Figure, ...]:
    """Return the figures whose place is in a range, or whose description overlaps it."""
    return tuple(f for f in figures if f.start < end and (f.end > start or f.start >= start))


def page_numbers(pages: Sequence[Page], start: int, end: int) -> tuple[int, int] | None:
    """Return the first and last page number (1-based) of a range; None without pages."""
    if not pages:
        return None
    first = bisect_right(pages, start, key=lambda page: page.end)
    last = bisect_left(pages, max(end, start + 1), key=lambda page: page.start) - 1
    first = min(first, len(pages) - 1)
    return first + 1, max(first, last) + 1


def _page_labels(pages: Sequence[Page], first: int, last: int) -> tuple[str, str] | None:
    """Return the printed labels of the first and last page of a range.

    None if one of the pages has no label, or if the labels are not in order ("37 to 34").
    """
    start, end = (_page_label(pages[number - 1], number) for number in (first, last))
    if start == str(first) or end == str(last):
        return None
    return (start, end) if _is_sequence(start, end) else None


def _is_sequence(start: str, end: str) -> bool:
    """Return whether two labels are in order; labels of different kinds ("xii", "1") always are."""
    numbers = _NUMBER.search(start), _NUMBER.search(end)
    if numbers[0] is None or numbers[1] is None:
        return True
    prefixes = start[: numbers[0].start()], end[: numbers[1].start()]
    return prefixes[0] != prefixes[1] or int(numbers[0].group()) <= int(numbers[1].group())


def _page_label(page: Page, number: int) -> str:
    label = (page.label or "").strip()
    return label if _LABEL.fullmatch(label) else str(number)


def printed_labels(pages: Sequence[Page]) -> list[str]:
    """Return the distinct page labels that citations show besides page numbers, ascending."""
    labels = {
        label
        for number, page in enumerate(pages, start=1)
        if (label := _page_label(page, number)) != str(number)
    }
    return sorted(labels)


def cite_range(whole: WholeDocument, start: int, end: int) -> Citation:
    """Return the citation of a range, with the section that it begins in.

    Raises:
        OptionError: If the range is empty or outside the text, or its ends are not whole numbers.
    """
    text = whole.document.text
    if not all(isinstance(place, Integral) for place in (start, end)):
        raise OptionError(f"the range is {shown((start, end))}; give two whole numbers")
    if not 0 <= start < end <= len(text):
        raise OptionError(
            f"the range {start}-{end} is not inside of the {len(text)} characters of "
            f"{whole.record.id!r}, or empty"
        )
    return _cite_place(whole, start, end, path=None)


def _cite_place(
    whole: WholeDocument, start: int, end: int, *, path: tuple[str, ...] | None
) -> Citation:
    """Return the citation of a range, with `path` if a section of the range has it."""
    paths = _paths(whole.sections, start, end)
    return cite(
        whole.record,
        (start, end),
        pages=whole.document.pages,
        section_path=path if path in paths else paths[0],
        sections=paths,
        text=whole.document.text[start:end],
        figures=whole.document.figures,
    )


def _paths(sections: Sequence[Section], start: int, end: int) -> list[tuple[str, ...]]:
    """Return the paths of the sections that overlap a range."""
    first = bisect_right(sections, start, key=lambda section: section.end)
    last = bisect_left(sections, end, key=lambda section: section.start)
    return [section.path for section in sections[first:last]]


def locate(whole: WholeDocument, cited: Citation) -> CitationLocation:
    """Return the location of a cited text in the current version of a document.

    Args:
        whole: The document.
        cited: A citation of any version of it, with the hash of its text and a non-empty quote.

    Raises:
        OptionError: If the beginning of the text has too many occurrences to compare.
    """
    text = whole.document.text
    places = set(islice(_places(text, cited), _MAX_PLACES))
    length = cited.end - cited.start
    text_there = text[cited.start : cited.end]
    if len(text_there) == length and text_hash([text_there]) == cited.text_hash:
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
    """Yield the offsets at which the cited text occurs, in order.

    Raises:
        OptionError: If the beginning of its text occurs in too many places to compare.
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
                    f"the text of this citation begins {cited.quote[:40]!r}, which occurs too "
                    f"often in {cited.document_id!r} to compare all occurrences; give the segment "
                    "of the citation, with its text"
                )
            if text_hash([text[start : start + length]]) == cited.text_hash:
                yield start
        start = text.find(cited.quote, start + 1)


def _changed(whole: WholeDocument, cited: Citation) -> CitationLocation:
    """Return the location of the passage that is most similar to a removed text."""
    text = whole.document.text
    nearest = nearest_passage(text, cited.quote, near=cited.start)
    if nearest is None:
        return CitationLocation(
            cited=cited,
            status="changed",
            message=f"the text was removed from {whole.record.id!r}; no passage is similar to it",
        )
    quoted = "it"
    if len(cited.quote) < cited.end - cited.start:
        quoted = f"its first {len(cited.quote)} characters"
    citation = _cite_place(whole, nearest.start, nearest.end, path=cited.section_path)
    return CitationLocation(
        cited=cited,
        status="changed",
        citation=citation,
        text=text[nearest.start : nearest.end],
        similarity=nearest.similarity,
        message=f"the text was edited or removed; the passage most similar to {quoted} is at "
        f"{citation.place} ({nearest.similarity:.0%} similar)",
    )


def _found_message(cited: Citation, citation: Citation, *, places: int) -> str:
    """Return a message about the new location of a cited text."""
    if cited.document_id != citation.document_id:
        message = (
            f"the document is now {citation.document_id!r}, and has the text at {citation.place}"
        )
    elif cited.start != citation.start:
        message = f"the text is now at {citation.place}, unchanged"
    elif cited.version == citation.version:
        message = "the document is unchanged"
    else:
        message = "the text is at the cited place"
        message = f"the document has changed elsewhere; {message}" if cited.version else message
    if places == 1:
        return message
    counted = f"{places:,} places" if places < _MAX_PLACES else f"{_MAX_PLACES:,} places or more"
    return f"{message}; it occurs in {counted}"
