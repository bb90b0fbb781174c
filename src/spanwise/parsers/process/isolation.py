"""Pool of parsing processes.

Two kinds of files are read in the calling process: those of parser functions of the caller, and
short text files in UTF-8 (`short_texts`).
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from spanwise.errors import OptionError, ParseError
from spanwise.options import ParseOptions
from spanwise.parsers.containers import Limit, UnpackBudget, Unpacked
from spanwise.parsers.formats import UNPACKERS, FormatName
from spanwise.parsers.parsed import PageLinks, PagesToRead, Sitemap, Step
from spanwise.parsers.pdf.ocr import check_engine
from spanwise.parsers.plugins import OWN_PARSERS, OwnParser, check_parser, own_parser
from spanwise.parsers.process.child import ParserChild
from spanwise.parsers.process.protocol import Header, decode_parsed, decode_unpacked
from spanwise.parsers.process.short_texts import read_short_text
from spanwise.parsers.process.worker import respond
from spanwise.types import Document, Figure

_FIGURE_DOTS_PER_INCH = 110
_FIGURE_MARGIN = 18.0
"""Margin around a figure in points, for labels of axes."""


def _ignore_step(step: Step) -> None:
    """Do nothing, because a function of the caller has no time limits."""


class ParserPool:
    """Parses files and bytes in child processes, one per worker, and short texts in this process.

    Thread-safe; a call waits for a free worker. Close it, or use it as a context manager.
    """

    def __init__(
        self,
        *,
        options: ParseOptions,
        workers: int = 1,
        on_step: Callable[[Step], None] = lambda _: None,
    ) -> None:
        """Create a pool.

        Args:
            options: Limits of each file.
            workers: Number of processes.
            on_step: Callback before each step of a parser, such as a page; called by several
                threads.
        """
        if workers < 1:
            raise OptionError(f"workers is {workers!r}; it must be at least 1")
        check_engine(options.ocr)
        check_parser(options.parser)
        self._parser = options.parser
        if not isinstance(options.parser, str):  # functions stay in this process
            options = replace(options, parser=OWN_PARSERS)
        self._options = options
        self._on_step = on_step
        self._own_turn = threading.Lock()
        self._closed = False
        self._children = [ParserChild(options, on_step) for _ in range(workers)]
        self._idle: queue.LifoQueue[ParserChild] = queue.LifoQueue()
        for child in self._children:
            self._idle.put(child)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the children immediately; waiting calls raise. May be called twice."""
        self._closed = True
        for child in self._children:
            child.abandon()
        idle = []
        while not self._idle.empty():
            idle.append(self._idle.get_nowait())
        for child in idle:
            child.stop()
            self._idle.put(child)

    def parse(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        path: Path,
        *,
        document_id: str,
        source: str,
        source_root: str,
        media_type: str | None = None,
        charset: str | None = None,
        text_limit: Limit | None = None,
    ) -> Document:
        """Parse a file.

        Args:
            path: The file; its format is detected by its content, not its extension.
            document_id: Id of the document.
            source: Path or URL for errors and for the document, valid UTF-8 (`name_to_id`); its
                extension is a hint.
            source_root: Folder, file or URL that was given when it was added.
            media_type: Media type that a server declared, without parameters.
            charset: Charset that a server declared.
            text_limit: Maximum size of the text in bytes of UTF-8; None for `max_text_bytes`.

        Raises:
            ParseError: If it cannot be read as text, with the kind of the cause as `code`.
            FetchError: If it cannot be opened, or is larger than the limit.
        """
        header = self._header(task="parse", name=source, text_limit=text_limit)
        header |= {"media_type": media_type, "charset": charset}
        document, _ = self._parse(path, header, document_id=document_id, source_root=source_root)
        return document

    def parse_seen(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        path: Path,
        *,
        document_id: str,
        source: str,
        source_root: str,
        media_type: str | None = None,
        charset: str | None = None,
        text_limit: Limit | None = None,
        leaves_figures: bool = False,
    ) -> tuple[Document, PagesToRead]:
        """Parse a file for a caller that reads scanned pages by a vision model.

        With `leaves_figures`, the caller describes the figures too, and a document without text but
        with figures is accepted.

        Returns:
            The document, which has no text if all pages are scanned, and these pages. They cause no
            warning and no partial status.

        Raises:
            ParseError: As for `parse`.
            FetchError: As for `parse`.
        """
        header = self._header(task="parse", name=source, text_limit=text_limit)
        header |= {"media_type": media_type, "charset": charset, "leaves_pictures": True}
        header |= {"leaves_figures": leaves_figures}
        return self._parse(path, header, document_id=document_id, source_root=source_root)

    def draw_page(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        origin: Path | bytes,
        *,
        page: int,
        dots_per_inch: float,
        source: str,
        for_model: bool = False,
        highlight: Header | None = None,
        box: Sequence[float] | None = None,
    ) -> tuple[bytes, str]:
        """Return a page of a PDF, or a part of it, as a PNG file, and the SHA-256 of the PDF.

        Args:
            origin: Path of the file, or its bytes.
            page: Number of the page, 1-based.
            dots_per_inch: Resolution.
            source: Name for errors.
            for_model: Whether the image is for a model that charges by size: grey, and with a lower
                resolution if it would be large.
            highlight: `text` of the page, and `start` and `end` of the range in it to highlight.
            box: Left, top, right and bottom of the part to draw in points from the upper left
                corner; None for the whole page.

        Raises:
            ParseError: "unsupported" if it is not a PDF or has no such page; else as for `parse`.
            FetchError: As for `parse`.
        """
        header = self._header(task="draw", name=source)
        header |= {"page": page, "dots_per_inch": dots_per_inch, "for_model": for_model}
        header |= {"highlight": highlight, "box": None if box is None else list(box)}
        answer, png = self._exchange(header, origin)
        return png, answer["content_hash"]

    def draw_figure(
        self, origin: Path | bytes, figure: Figure, *, source: str
    ) -> tuple[bytes, str]:
        """Return a figure as an image file, and the SHA-256 of the document.

        A part of a page is drawn as a PNG file; a picture of the file is returned as it is.

        Args:
            origin: Path of the file, or its bytes.
            figure: Figure of the file.
            source: Name for errors.

        Raises:
            ParseError: "unsupported" if it is not a PNG, JPEG, GIF or WebP image; else as for
                `parse`.
            FetchError: As for `parse`.
        """
        if figure.member:
            header = self._header(task="member", name=source) | {"member": figure.member}
            answer, image = self._exchange(header, origin)
            return image, answer["content_hash"]
        left, top, right, bottom = figure.box or (0.0, 0.0, 1e6, 1e6)
        margin = _FIGURE_MARGIN
        return self.draw_page(
            origin,
            page=figure.page or 1,
            dots_per_inch=_FIGURE_DOTS_PER_INCH,
            source=source,
            box=(left - margin, top - margin, right + margin, bottom + margin),
        )

    def _header(
        self, *, task: str, name: str, text_limit: Limit | None = None
    ) -> dict[str, object]:
        options = self._options
        most = options.max_text_bytes
        text = text_limit or Limit(most=most, option=f"max_text_bytes={most}")
        return {
            "task": task,
            "name": name,
            "media_type": None,
            "charset": None,
            "timeout_seconds": options.timeout_seconds,
            "max_file_bytes": options.max_file_bytes,
            "max_unpacked_bytes": options.max_unpacked_bytes,
            "max_text_bytes": text.most,
            "text_option": text.option,
            "max_pages": options.max_pages,
            "ocr": options.ocr,
            "leaves_pictures": False,
            "leaves_figures": False,
            "parser": options.parser,
        }

    def look(self, path: Path, *, source: str) -> FormatName:
        """Return the format of a file by its content; "text" if a function of the caller parses it.

        Raises:
            ParseError: If no parser reads it.
            FetchError: If it cannot be opened, or is larger than the limit.
        """
        if self._own_parser(path, source) is not None:
            return "text"
        return self._detect(path, source)

    def _detect(self, path: Path, source: str) -> FormatName:
        header = self._header(task="look", name=source)
        answer, _ = self._exchange(header, path)
        found: FormatName = answer["format"]
        return found

    def _own_parser(self, path: Path, source: str) -> OwnParser | None:
        """Return the function of the caller that parses a file, or None.

        A function for all documents gets no containers and no e-mails. It gets files of formats
        that no other parser reads.
        """
        own = own_parser(self._parser, source=source)
        if own is None or not own.takes_all:
            return own
        try:
            return None if self._detect(path, source) in UNPACKERS else own
        except ParseError as error:
            if error.code == "unsupported":
                return own
            raise

    def page_links(
        self, path: Path, *, source: str, media_type: str | None, charset: str | None
    ) -> PageLinks:
        """Return the links of a web page; empty if the file is not HTML.

        Args:
            path: The file.
            source: URL for errors.
            media_type: Media type that the server declared, without parameters.
            charset: Charset that the server declared.

        Raises:
            ParseError: As for `parse`.
            FetchError: As for `parse`.
        """
        header = self._header(task="links", name=source)
        answer, _ = self._exchange({**header, "media_type": media_type, "charset": charset}, path)
        return PageLinks(**{**answer, "links": tuple(answer["links"])})

    def sitemap(self, path: Path, *, source: str) -> Sitemap:
        """Return the addresses in a sitemap.

        Args:
            path: The file; it may be compressed by gzip.
            source: URL for errors.

        Raises:
            ParseError: If it is not a sitemap, or is too large.
            FetchError: As for `parse`.
        """
        answer, _ = self._exchange(self._header(task="sitemap", name=source), path)
        return Sitemap(pages=tuple(answer["pages"]), sitemaps=tuple(answer["sitemaps"]))

    def unpack(self, path: Path, *, source: str, budget: UnpackBudget) -> Unpacked:
        """Write the members of a container to a folder, as files with numbers as names.

        Args:
            path: Possible container; its format is detected by its content.
            source: Name for errors.
            budget: Target folder and limits.

        Raises:
            ParseError: If it cannot be read at all; readable members are extracted.
            FetchError: If it cannot be opened, or is larger than the limit.
        """
        header = self._header(task="unpack", name=source)
        header |= {
            "into": str(budget.into),
            "max_members": budget.members.most,
            "members_option": budget.members.option,
            "max_attachments": self._options.max_attachments,
            "max_container_bytes": budget.unpacked.most,
            "container_option": budget.unpacked.option,
        }
        answer, _ = self._exchange(header, path)
        return decode_unpacked(answer)

    def _parse(
        self, path: Path, header: Header, *, document_id: str, source_root: str
    ) -> tuple[Document, PagesToRead]:
        own = self._own_parser(path, header["name"])
        if own is not None:
            answer, text = self._call(own, path, header)
        else:
            self._check_open()
            short = read_short_text(path, header, on_step=self._on_step)
            answer, text = self._exchange(header, path) if short is None else short
        try:
            decoded = text.decode("utf-8")
            del text  # a large one is not held twice
            parsed = decode_parsed(answer, decoded)
        except ValueError as exc:
            raise ParseError(
                f"{header['name']}: the parser's answer cannot be read: {exc}; leave it out",
                source=str(header["name"]),
                code="crashed",
            ) from exc
        document = Document(
            id=document_id,
            text=parsed.text,
            title=parsed.title,
            pages=parsed.pages,
            headings=parsed.headings,
            blocks=parsed.blocks,
            figures=parsed.figures,
            metadata=parsed.metadata,
            media_type=parsed.media_type,
            source=header["name"],
            source_root=source_root,
            content_hash=answer["content_hash"],
            status=parsed.status,
            warnings=parsed.warnings,
        )
        return document, parsed.to_read

    def _call(self, own: OwnParser, path: Path, header: Header) -> tuple[Header, bytes]:
        """Return the answer of a function of the caller, which runs in this process.

        One file at a time, because the function may not be safe for several threads.
        """
        request = {**header, "kind": "path", "skipped_pages": ()}
        with self._own_turn:
            return respond(
                request, os.fsencode(path.absolute()), on_step=_ignore_step, own_parser=own
            )

    def _check_open(self) -> None:
        if self._closed:
            raise OptionError("this ParserPool is closed; open another one")

    def _exchange(self, header: Header, origin: Path | bytes) -> tuple[Header, bytes]:
        """Send a request about a file or its bytes to a free child and return its answer."""
        self._check_open()
        child = self._idle.get()
        try:
            if isinstance(origin, Path):
                return child.ask({**header, "kind": "path"}, os.fsencode(origin.absolute()))
            return child.ask({**header, "kind": "bytes"}, origin)
        finally:
            if self._closed:
                child.stop()
            self._idle.put(child)
