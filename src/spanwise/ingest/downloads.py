"""Download of sources to local files."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from spanwise.errors import FetchError
from spanwise.threads import run_until_stopped

if TYPE_CHECKING:
    from spanwise.ingest.fetch import Fetched, Fetcher
    from spanwise.ingest.sources import Source
    from spanwise.ingest.temporary_files import TemporarySpace
    from spanwise.options import FetchOptions, ParseOptions


_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """Local file with the media type and charset reported by a server."""

    path: Path
    media_type: str | None = None
    charset: str | None = None
    is_temporary: bool = False

    def discard(self) -> None:
        """Delete the file if it is temporary."""
        if self.is_temporary:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloader:
    """Copies sources to local files."""

    space: TemporarySpace
    fetch: FetchOptions
    parse: ParseOptions
    stopped: threading.Event = field(default_factory=threading.Event)
    _fetchers: list[Fetcher] = field(default_factory=list)
    """At most one fetcher, created for the first URL; it caches robots.txt rules."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def download(self, source: Source) -> LocalFile:
        """Return the local file of a source, created if necessary.

        Raises:
            FetchError: If the source cannot be fetched or read.
            CancelledError: If `stopped` is set first.
        """
        if source.path is not None:
            return LocalFile(path=source.path)
        path = self.space.file()
        try:
            return self._copy(source, path)
        except OSError as exc:
            raise FetchError(
                f"{source.location}: cannot be copied to {path.parent}: {exc.strerror or exc}; "
                "make room there, or set TMPDIR to a larger disk",
                source=source.location,
                code="unreadable",
            ) from exc

    def _copy(self, source: Source, path: Path) -> LocalFile:
        if source.stream is not None:
            spool = partial(_spool, source, source.stream, path, self.parse.max_file_bytes)
            run_until_stopped(spool, stopped=self.stopped)
            return LocalFile(path=path, is_temporary=True)
        if source.object_path:
            from spanwise.ingest.object_storage import download

            download(source, path, max_bytes=self.parse.max_file_bytes, stopped=self.stopped)
            return LocalFile(path=path, is_temporary=True)
        fetched = run_until_stopped(lambda: self._fetch(source.url), stopped=self.stopped)
        path.write_bytes(fetched.data)
        return LocalFile(
            path=path,
            media_type=fetched.media_type,
            charset=fetched.charset,
            is_temporary=True,
        )

    def _fetch(self, url: str) -> Fetched:
        with self._lock:
            if not self._fetchers:
                from spanwise.ingest.fetch import Fetcher

                self._fetchers.append(Fetcher(self.fetch))
        return self._fetchers[0].fetch(url)


def _spool(source: Source, stream: BinaryIO, target: Path, max_bytes: int) -> None:
    """Copy a stream to a file.

    Raises:
        FetchError: If the stream exceeds the limit.
    """
    size = 0
    with target.open("wb") as file:
        while piece := stream.read(_PIECE_BYTES):
            size += len(piece)
            if size > max_bytes:
                raise FetchError(
                    f"{source.location}: stream exceeds {max_bytes} bytes; raise max_file_bytes",
                    source=source.location,
                    code="too_large",
                )
            file.write(piece)
