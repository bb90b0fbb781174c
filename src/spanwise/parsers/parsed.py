"""What goes into a parser (`Source`) and what comes out of it (`Parsed`).

What of a document could not be read: noted while the rest is, and never passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from spanwise.errors import DocumentErrorCode, ParseError
from spanwise.parsers.writer import TextWriter
from spanwise.types import Block, DocumentStatus, Heading, Page, Scalar

_BYTES_PER_PAGE = 100_000
"""What a format without pages holds in a page's worth of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a parser is about to do: it tells how long it may be waited for."""

    pages: int
    """Pages' worth of work in this step."""
    of: int
    """Pages' worth of work in all of the document."""
    page: int | None = None
    """Number of the page, 1-based, where the step is a single one."""

    @classmethod
    def of_bytes(cls, count: int) -> Step:
        """Return the step that reads so many bytes of a format without pages."""
        pages = 1 + count // _BYTES_PER_PAGE
        return cls(pages=pages, of=pages)


def _unheard(step: Step) -> None:
    """Tell nobody."""


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
    max_text_bytes: int = 100_000_000
    text_option: str = "max_text_bytes"
    """The option that sets this limit, with its value, as errors name it."""
    skipped_pages: frozenset[int] = frozenset()
    """Numbers of pages, 1-based, on which an earlier attempt hung or died."""
    timeout_seconds: float = 3_600.0
    """After which whoever waits for all of it will not wait any more."""
    ocr: str = "off"
    """Engine that reads pages without text, as `ParseOptions.ocr`."""
    leaves_pictures: bool = False
    """Whether somebody else reads the pages of `Parsed.to_read`: no engine does, and that they are
    missing is no error, no warning and not in the status."""
    on_step: Callable[[Step], None] = _unheard
    """Is told before each step that may take long."""

    @property
    def max_chars(self) -> int:
        """Characters of the text that never take more than `max_text_bytes`."""
        return self.max_text_bytes if self.data.isascii() else self.max_text_bytes // 4

    def error(self, code: DocumentErrorCode, cause: str) -> ParseError:
        """Return the error that says why this source cannot be read.

        Args:
            code: Kind of the cause.
            cause: What was found and what to do; the name stands before it.
        """
        return ParseError(f"{self.name}: {cause}", source=self.name, code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesToRead:
    """Pages that a model which sees them reads better; numbers are 1-based, ascending."""

    scans: tuple[int, ...] = ()
    """Pictures of text, without text of their own, or hardly any."""
    garbled: tuple[int, ...] = ()
    """Their letters have no meaning in their font."""
    tables: tuple[int, ...] = ()
    """Each with a ruled table that has cells over several rows, or over some of its columns."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(sorted((*self.scans, *self.garbled, *self.tables)))


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
    status: DocumentStatus = "ok"
    warnings: tuple[str, ...] = ()
    to_read: PagesToRead = field(default_factory=PagesToRead)
    """Pages that are left to somebody else; none where nobody asks for them."""

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


_MAX_WARNINGS = 100


class Losses:
    """Collects the losses of one document; a loss makes it partial."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._causes: list[str] = []
        self._more = 0
        self._error: ParseError | None = None

    @contextmanager
    def noted(self, what: str) -> Iterator[None]:
        """Note it where what is read inside turns out to be damaged, and go on.

        Args:
            what: The part of the document, as people know it ("slide 3").
        """
        try:
            yield
        except ParseError as error:
            if error.code != "corrupt":
                raise
            self._error = self._error or error
            self.add(f"{what} is incomplete: {str(error).removeprefix(f'{self._source.name}: ')}")

    def add(self, loss: str) -> None:
        """Note a loss."""
        if len(self._causes) < _MAX_WARNINGS:
            self._causes.append(loss)
        else:
            self._more += 1

    def require_text(self, text: str, advice: str) -> None:
        """Refuse a document that shows no text.

        Args:
            text: All of its text.
            advice: What the lack of it may come from, where nothing is known to be lost.

        Raises:
            ParseError: The first damage, or "no_text".
        """
        if text:
            return
        if self._error is not None:
            raise self._error
        raise self._source.error("no_text", "; ".join([advice, *self.warnings]))

    @property
    def status(self) -> DocumentStatus:
        """Whether anything is lost."""
        return "partial" if self._causes else "ok"

    @property
    def warnings(self) -> tuple[str, ...]:
        """The losses in order, the first hundred of them."""
        more = (f"and {self._more} more",) if self._more else ()
        return (*self._causes, *more)

    def parsed(
        self,
        writer: TextWriter,
        *,
        media_type: str,
        properties: tuple[str, Mapping[str, Scalar]],
        pages: tuple[Page, ...] = (),
    ) -> Parsed:
        """Return what was written of the document, with what is lost of it.

        Args:
            writer: Its text, headings and blocks.
            media_type: Of the document.
            properties: Its title and its metadata.
            pages: In order, where the format has pages.
        """
        title, metadata = properties
        return Parsed(
            text=writer.text,
            media_type=media_type,
            title=title,
            pages=pages,
            headings=tuple(writer.headings),
            blocks=tuple(writer.blocks),
            metadata=metadata,
            status=self.status,
            warnings=self.warnings,
        )
