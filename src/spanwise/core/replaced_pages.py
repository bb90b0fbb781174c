"""Pages of a document whose text is replaced: what points into the others moves with them.

Rules:
    All other pages keep their text, character for character.
    A blank line stands before and after a replaced page, where there is text; it belongs to it.
    Headings and blocks of the earlier text of a page go; of a block that began before it, or goes
    on after it, what stands on other pages stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from spanwise.core.page_markdown import PageText
from spanwise.types import Block, Document, Heading, Page

__all__ = ["replace_pages"]

_BLANK_LINE = "\n\n"


def replace_pages(document: Document, texts: Mapping[int, PageText]) -> Document:
    """Return a document with other text on some of its pages.

    Args:
        document: The document; its pages cover its text.
        texts: The new text by number of the page, from 1; none is empty.
    """
    writer = _Writer(document=document)
    numbers = range(1, len(document.pages) + 1)
    last = max(
        (
            number
            for number, page in zip(numbers, document.pages, strict=True)
            if number in texts or page.start < page.end
        ),
        default=0,
    )
    for is_new, run in groupby(numbers, key=lambda number: number in texts):
        if is_new:
            for number in run:
                writer.put(number, texts[number], is_last=number == last)
        else:
            writer.keep(list(run))
    return replace(
        document,
        text="".join(writer.pieces),
        pages=tuple(writer.pages),
        headings=tuple(writer.headings),
        blocks=tuple(writer.blocks),
    )


@dataclass(slots=True, kw_only=True)
class _Writer:
    """Writes page after page."""

    document: Document
    pieces: list[str] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    _length: int = 0

    def put(self, number: int, page: PageText, *, is_last: bool) -> None:
        """Write a page that is replaced."""
        start = self._length
        if self._length and not self.pieces[-1].endswith(_BLANK_LINE):
            self._write("\n" if self.pieces[-1].endswith("\n") else _BLANK_LINE)
        moved = self._length
        self._write(page.text)
        if not is_last:
            self._write(_BLANK_LINE)
        self._place(number, start, self._length)
        self.headings += [
            replace(one, start=one.start + moved, end=one.end + moved) for one in page.headings
        ]
        self.blocks += [
            replace(one, start=one.start + moved, end=one.end + moved) for one in page.blocks
        ]

    def keep(self, numbers: list[int]) -> None:
        """Write pages that follow each other as they are."""
        old = self.document
        start, end = old.pages[numbers[0] - 1].start, old.pages[numbers[-1] - 1].end
        moved = self._length - start
        self._write(old.text[start:end])
        for number in numbers:
            page = old.pages[number - 1]
            self._place(number, page.start + moved, page.end + moved)
        self.headings += [
            replace(one, start=one.start + moved, end=one.end + moved)
            for one in old.headings
            if start <= one.start and one.end <= end
        ]
        self.blocks += [
            replace(one, start=one.start + moved, end=one.end + moved)
            for one in _cut(old, start, end)
        ]

    def _write(self, piece: str) -> None:
        if piece:
            self.pieces.append(piece)
            self._length += len(piece)

    def _place(self, number: int, start: int, end: int) -> None:
        self.pages.append(replace(self.document.pages[number - 1], start=start, end=end))


def _cut(document: Document, start: int, end: int) -> Iterator[Block]:
    """Yield what of the blocks of a document is inside a range; at a cut without white space."""
    for block in document.blocks:
        first, stop = max(block.start, start), min(block.end, end)
        if (first, stop) != (block.start, block.end):
            text = document.text[first:stop]
            first, stop = first + len(text) - len(text.lstrip()), first + len(text.rstrip())
        if first < stop:
            yield replace(block, start=first, end=stop)
