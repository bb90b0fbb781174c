"""What goes into a parser (`Source`) and what comes out of it (`Parsed`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spanwise.errors import DocumentErrorCode, ParseError
from spanwise.types import Block, Heading, Page, Scalar

__all__ = ["Parsed", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The bytes of one document and what is known of them before they are read."""

    data: bytes
    name: str
    """File name or URL; its extension is a hint, nothing more."""
    media_type: str | None = None
    """As a server declared it, lower case, without parameters."""
    charset: str | None = None
    """As a server declared it."""
    max_unpacked_bytes: int = 1_000_000_000
    max_pages: int = 20_000

    def error(self, code: DocumentErrorCode, cause: str) -> ParseError:
        """Return the error that says why this source cannot be read.

        Args:
            code: Kind of the cause.
            cause: What was found and what to do; the name stands before it.
        """
        return ParseError(f"{self.name}: {cause}", source=self.name, code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Text of a document with all that points into it; checked when it is made.

    Raises:
        ValueError: If a range points outside the text, ranges are out of order, or pages do not
            cover the text.
    """

    text: str
    media_type: str
    title: str = ""
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_pages(self.text, self.pages)
        _check_headings(self.text, self.headings)
        _check_disjoint("block", ((block.start, block.end) for block in self.blocks), self.text)


def _check_pages(text: str, pages: tuple[Page, ...]) -> None:
    end = 0
    for number, page in enumerate(pages, start=1):
        if page.start != end or page.end < page.start:
            raise ValueError(f"page {number} is [{page.start}, {page.end}) after position {end}")
        end = page.end
    if pages and end != len(text):
        raise ValueError(f"pages end at {end}, the text at {len(text)}")


def _check_headings(text: str, headings: tuple[Heading, ...]) -> None:
    _check_disjoint("heading", ((heading.start, heading.end) for heading in headings), text)
    for heading in headings:
        if heading.level < 1 or not heading.title.strip():
            raise ValueError(f"heading {heading.title!r} has level {heading.level}")
        if text[heading.start].isspace() or text[heading.end - 1].isspace():
            raise ValueError(f"heading {heading.title!r} has white space at its edges")


def _check_disjoint(kind: str, ranges: Iterable[tuple[int, int]], text: str) -> None:
    last = 0
    for start, end in ranges:
        if not last <= start < end <= len(text):
            raise ValueError(f"{kind} [{start}, {end}) after {last} in {len(text)} characters")
        last = end
