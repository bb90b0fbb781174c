"""Parsing files and bytes to documents, in child processes that can be killed."""

from __future__ import annotations

import os
import queue
from pathlib import Path
from types import TracebackType
from typing import Self

from spanwise.errors import FetchError, OptionError
from spanwise.options import ParseOptions
from spanwise.parsers.child import ParserChild
from spanwise.parsers.parsed import Parsed
from spanwise.parsers.protocol import Header
from spanwise.types import Document

__all__ = ["ParserPool"]


class ParserPool:
    """Parses files and bytes in child processes, as many at a time as it has workers.

    Safe for use by several threads; a call waits for a free worker. Close it, or use it as a
    context manager.
    """

    def __init__(self, *, options: ParseOptions, workers: int = 1) -> None:
        if workers < 1:
            raise OptionError(f"workers is {workers!r}; it must be at least 1")
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
        """End the children at once; a call that waits for one raises. May be called twice."""
        self._closed = True
        for child in self._children:
            child.abandon()
        idle = []
        while not self._idle.empty():
            idle.append(self._idle.get_nowait())
        for child in idle:
            child.stop()
            self._idle.put(child)

    def parse(self, path: Path, *, document_id: str, source: str, source_root: str) -> Document:
        """Parse a file.

        Args:
            path: The file; its content decides what it is, not its extension.
            document_id: Id of the document.
            source: What errors name and the document records: the path as people know it, valid
                UTF-8 (`walk.name_to_id`).
            source_root: Folder or file that was named when it was added.

        Raises:
            ParseError: If it cannot be read as text, with the kind of the cause as `code`.
            FetchError: If it cannot be opened, or is larger than the limit.
        """
        header = self._header(kind="path", name=source)
        parsed, content_hash = self._ask(header, os.fsencode(path.absolute()))
        return _build(
            parsed,
            document_id=document_id,
            source=source,
            source_root=source_root,
            content_hash=content_hash,
        )

    def parse_bytes(
        self,
        data: bytes,
        *,
        document_id: str,
        source: str,
        source_root: str,
        media_type: str | None = None,
        charset: str | None = None,
    ) -> Document:
        """Parse bytes that were fetched.

        Args:
            data: The bytes.
            document_id: Id of the document.
            source: The URL; the extension of its path is a hint.
            source_root: URL that was named when it was added.
            media_type: As the server declared it, without parameters.
            charset: As the server declared it.

        Raises:
            ParseError: As `parse`.
            FetchError: If there are more of them than the limit.
        """
        limit = self._options.max_file_bytes
        if len(data) > limit:
            raise FetchError(
                f"{source}: it has {len(data)} bytes, more than {limit}; raise max_file_bytes",
                source=source,
                code="too_large",
            )
        header = self._header(kind="bytes", name=source)
        header |= {"media_type": media_type, "charset": charset}
        parsed, content_hash = self._ask(header, data)
        return _build(
            parsed,
            document_id=document_id,
            source=source,
            source_root=source_root,
            content_hash=content_hash,
        )

    def _header(self, *, kind: str, name: str) -> dict[str, object]:
        options = self._options
        return {
            "kind": kind,
            "name": name,
            "media_type": None,
            "charset": None,
            "timeout_seconds": options.timeout_seconds,
            "max_file_bytes": options.max_file_bytes,
            "max_unpacked_bytes": options.max_unpacked_bytes,
            "max_pages": options.max_pages,
        }

    def _ask(self, header: Header, payload: bytes) -> tuple[Parsed, str]:
        if self._closed:
            raise OptionError("this ParserPool is closed; open another one")
        child = self._idle.get()
        try:
            return child.ask(header, payload)
        finally:
            if self._closed:
                child.stop()
            self._idle.put(child)


def _build(
    parsed: Parsed, *, document_id: str, source: str, source_root: str, content_hash: str
) -> Document:
    return Document(
        id=document_id,
        text=parsed.text,
        title=parsed.title,
        pages=parsed.pages,
        headings=parsed.headings,
        blocks=parsed.blocks,
        metadata=parsed.metadata,
        media_type=parsed.media_type,
        source=source,
        source_root=source_root,
        content_hash=content_hash,
        warnings=parsed.warnings,
    )
