"""Pool of parsing processes."""

from __future__ import annotations

import os
import queue
from pathlib import Path
from types import TracebackType
from typing import Self

from spanwise.errors import OptionError
from spanwise.options import ParseOptions
from spanwise.parsers.containers import Limit, UnpackBudget, Unpacked
from spanwise.parsers.formats import FormatName
from spanwise.parsers.parsed import PagesToRead
from spanwise.parsers.pdf.ocr import check_engine
from spanwise.parsers.plugins import check_parser
from spanwise.parsers.process.child import ParserChild
from spanwise.parsers.process.protocol import Header, decode_parsed, decode_unpacked
from spanwise.types import Document


class ParserPool:
    """Parses files and bytes in child processes, one per worker.

    Thread-safe; a call waits for a free worker. Close it, or use it as a context manager.
    """

    def __init__(self, *, options: ParseOptions, workers: int = 1) -> None:
        if workers < 1:
            raise OptionError(f"workers is {workers!r}; it must be at least 1")
        check_engine(options.ocr)
        check_parser(options.parser)
        self._options = options
        self._closed = False
        self._children = [ParserChild(options) for _ in range(workers)]
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
    ) -> tuple[Document, PagesToRead]:
        """Parse a file for a caller that reads scanned pages by a vision model.

        Returns:
            The document, which has no text if all pages are scanned, and these pages. They cause no
            warning and no partial status.

        Raises:
            ParseError: As for `parse`.
            FetchError: As for `parse`.
        """
        header = self._header(task="parse", name=source, text_limit=text_limit)
        header |= {"media_type": media_type, "charset": charset, "leaves_pictures": True}
        return self._parse(path, header, document_id=document_id, source_root=source_root)

    def draw_page(
        self,
        origin: Path | bytes,
        *,
        page: int,
        dots_per_inch: float,
        source: str,
        for_model: bool = False,
    ) -> tuple[bytes, str]:
        """Return a page of a PDF as a PNG file, and the SHA-256 of the PDF.

        Args:
            origin: Path of the file, or its bytes.
            page: Number of the page, 1-based.
            dots_per_inch: Resolution.
            source: Name for errors.
            for_model: Whether the image is for a model that charges by size: grey, and with a lower
                resolution if it would be large.

        Raises:
            ParseError: "unsupported" if it is not a PDF or has no such page; else as for `parse`.
            FetchError: As for `parse`.
        """
        header = self._header(task="draw", name=source)
        header |= {"page": page, "dots_per_inch": dots_per_inch, "for_model": for_model}
        answer, png = self._exchange(header, origin)
        return png, answer["content_hash"]

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
            "parser": options.parser,
        }

    def look(self, path: Path, *, source: str) -> FormatName:
        """Return the format of a file by its content.

        Raises:
            ParseError: If no parser reads it.
            FetchError: If it cannot be opened, or is larger than the limit.
        """
        header = self._header(task="look", name=source)
        answer, _ = self._exchange(header, path)
        found: FormatName = answer["format"]
        return found

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
        answer, text = self._exchange(header, path)
        decoded = text.decode("utf-8")
        del text  # a large one is not held twice
        parsed = decode_parsed(answer, decoded)
        document = Document(
            id=document_id,
            text=parsed.text,
            title=parsed.title,
            pages=parsed.pages,
            headings=parsed.headings,
            blocks=parsed.blocks,
            metadata=parsed.metadata,
            media_type=parsed.media_type,
            source=header["name"],
            source_root=source_root,
            content_hash=answer["content_hash"],
            status=parsed.status,
            warnings=parsed.warnings,
        )
        return document, parsed.to_read

    def _exchange(self, header: Header, origin: Path | bytes) -> tuple[Header, bytes]:
        """Send a request about a file or its bytes to a free child and return its answer."""
        if self._closed:
            raise OptionError("this ParserPool is closed; open another one")
        child = self._idle.get()
        try:
            if isinstance(origin, Path):
                return child.ask({**header, "kind": "path"}, os.fsencode(origin.absolute()))
            return child.ask({**header, "kind": "bytes"}, origin)
        finally:
            if self._closed:
                child.stop()
            self._idle.put(child)
