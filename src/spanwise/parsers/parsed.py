"""Input (`Source`) and output (`Parsed`) of a parser, and the losses of a damaged document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from spanwise.errors import DocumentErrorCode, ParseError
from spanwise.parsers.writer import TextWriter
from spanwise.types import Block, DocumentStatus, Figure, Heading, Page, Scalar

_BYTES_PER_PAGE = 100_000
"""Bytes of a format without pages that count as one page of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Next step of a parser, which determines its time limit."""

    pages: int
    """Work of this step, in pages."""
    of: int
    """Work of the whole document, in pages."""
    page: int | None = None
    """Number of the page, 1-based, if the step is a single page."""

    @classmethod
    def of_bytes(cls, count: int) -> Step:
        """Return the step that reads `count` bytes of a format without pages."""
        pages = 1 + count // _BYTES_PER_PAGE
        return cls(pages=pages, of=pages)


def _ignore_step(step: Step) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """Links of a web page, as they are written."""

    links: tuple[str, ...] = ()
    """Addresses of the links, without duplicates and without those marked "nofollow"."""
    base: str = ""
    """Address that relative links refer to; empty for that of the page."""
    canonical: str = ""
    """Address that the page names as its preferred one; empty if it names none."""
    follows: bool = True
    """Whether the page allows programs to follow its links."""
    is_indexed: bool = True
    """Whether the page allows programs to index it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """Addresses in a sitemap, as they are written."""

    pages: tuple[str, ...] = ()
    """Addresses of pages."""
    sitemaps: tuple[str, ...] = ()
    """Addresses of other sitemaps, if it is a sitemap index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Bytes of one document, with its name, declared types and limits."""

    data: bytes
    name: str
    """File name or URL; the extension is only a hint."""
    media_type: str | None = None
    """Media type that a server declared, lower case, without parameters."""
    charset: str | None = None
    """Charset that a server declared."""
    max_unpacked_bytes: int = 1_000_000_000
    max_pages: int = 20_000
    max_text_bytes: int = 100_000_000
    text_option: str = "max_text_bytes"
    """Option that sets `max_text_bytes`, with its value, for error messages."""
    skipped_pages: frozenset[int] = frozenset()
    """Numbers of the pages, 1-based, on which an earlier attempt hung or crashed."""
    timeout_seconds: float = 3_600.0
    """Time limit for the whole document."""
    ocr: str = "off"
    """OCR engine for pages without text, as in `ParseOptions.ocr`."""
    leaves_pictures: bool = False
    """Whether the caller reads the pages of `Parsed.to_read`: they are not sent to OCR, and missing
    ones cause no error, no warning and no partial status."""
    leaves_figures: bool = False
    """Whether the caller describes the figures. A document without text is then accepted if it has
    figures."""
    on_step: Callable[[Step], None] = _ignore_step
    """Callback before each step that may take long."""

    @property
    def max_chars(self) -> int:
        """Maximum number of characters whose UTF-8 encoding cannot exceed `max_text_bytes`."""
        return self.max_text_bytes if self.data.isascii() else self.max_text_bytes // 4

    def error(self, code: DocumentErrorCode, cause: str) -> ParseError:
        """Return the error for a source that cannot be read.

        Args:
            code: Kind of the cause.
            cause: Cause and advice; the name of the source is put before it.
        """
        return ParseError(f"{self.name}: {cause}", source=self.name, code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesToRead:
    """Pages that a vision model reads better; numbers are 1-based, ascending."""

    scans: tuple[int, ...] = ()
    """Scans: images of text, with little or no text of their own."""
    garbled: tuple[int, ...] = ()
    """Pages whose characters have no meaning in their font."""
    tables: tuple[int, ...] = ()
    """Pages with a ruled table that has merged cells."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of all of these pages."""
        return tuple(sorted((*self.scans, *self.garbled, *self.tables)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Text of a document with its pages, headings and blocks; validated at creation.

    Raises:
        ValueError: If a range is outside the text, ranges are out of order, or pages do not cover
            the text.
    """

    text: str
    media_type: str
    title: str = ""
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()
    figures: tuple[Figure, ...] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    status: DocumentStatus = "ok"
    warnings: tuple[str, ...] = ()
    to_read: PagesToRead = field(default_factory=PagesToRead)
    """Pages that the caller reads by a vision model, if `Source.leaves_pictures` is set."""

    @classmethod
    def of(cls, writer: TextWriter, **fields: Any) -> Parsed:
        """Return the document that was written, with the other fields by name."""
        headings, blocks = tuple(writer.headings), tuple(writer.blocks)
        return cls(text=writer.text, headings=headings, blocks=blocks, **fields)

    def __post_init__(self) -> None:
        _check_pages(self.text, self.pages)
        _check_headings(self.text, self.headings)
        _check_disjoint("block", ((block.start, block.end) for block in self.blocks), self.text)
        starts = [0, *(figure.start for figure in self.figures), len(self.text)]
        if starts != sorted(starts):
            raise ValueError(f"figures are at {starts[1:-1]} in {len(self.text)} characters")


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


_MAX_WARNINGS = 100


class Losses:
    """Losses of one document; any loss makes its status partial."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._causes: list[str] = []
        self._more = 0
        self._error: ParseError | None = None

    @contextmanager
    def noted(self, what: str) -> Iterator[None]:
        """Record a loss if the block raises for damage, and continue after the block.

        Args:
            what: Name of the part for users ("slide 3").
        """
        try:
            yield
        except ParseError as error:
            if error.code != "corrupt":
                raise
            self._error = self._error or error
            cause = str(error).removeprefix(f"{self._source.name}: ")
            self.add(f"{what} could not be read completely: {cause}")

    def add(self, loss: str) -> None:
        """Record a loss."""
        if len(self._causes) < _MAX_WARNINGS:
            self._causes.append(loss)
        else:
            self._more += 1

    def require_text(self, text: str, advice: str) -> None:
        """Raise if a document has no text.

        Args:
            text: Complete text.
            advice: Possible cause, used if no loss is known.

        Raises:
            ParseError: The first loss, or "no_text".
        """
        if text:
            return
        if self._error is not None:
            raise self._error
        raise self._source.error("no_text", "; ".join([advice, *self.warnings]))

    @property
    def status(self) -> DocumentStatus:
        """Status of the document: partial if anything is lost."""
        return "partial" if self._causes else "ok"

    @property
    def warnings(self) -> tuple[str, ...]:
        """The first hundred losses, in order."""
        more = (f"and {self._more} more",) if self._more else ()
        return (*self._causes, *more)

    def parsed(
        self,
        writer: TextWriter,
        *,
        media_type: str,
        properties: tuple[str, Mapping[str, Scalar]],
        pages: tuple[Page, ...] = (),
        figures: tuple[Figure, ...] = (),
    ) -> Parsed:
        """Return the document that was written, with its losses.

        Args:
            writer: Text, headings and blocks.
            media_type: Media type of the document.
            properties: Title and metadata.
            pages: Pages in order; none if the format has none.
            figures: Figures in order.
        """
        title, metadata = properties
        return Parsed.of(
            writer,
            media_type=media_type,
            title=title,
            pages=pages,
            figures=figures,
            metadata=metadata,
            status=self.status,
            warnings=self.warnings,
        )
