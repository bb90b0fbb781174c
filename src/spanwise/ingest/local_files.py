"""Temporary space of ingests and tuning, and downloads of sources into it.

All files are in one folder, which is created on demand and removed when the work ends
(`temporary_folders`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from spanwise.ingest.locations import fetch_error
from spanwise.ingest.sources import read_stream
from spanwise.temporary_folders import LockedFolder
from spanwise.threads import run_until_stopped

if TYPE_CHECKING:
    from spanwise.ingest.fetch import Fetched, Fetcher
    from spanwise.ingest.sources import Source
    from spanwise.options import FetchOptions, ParseOptions


_PREFIX = "spanwise-ingest-"


class TemporarySpace:
    """Temporary folder that is removed at the end of a `with` block. Thread-safe."""

    def __init__(self) -> None:
        self._creating = threading.Lock()
        self._root: LockedFolder | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the folder; files that a thread is still writing stay for the next process."""
        with self._creating:
            if self._root is not None:
                self._root.close()

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yield a new, empty folder, and remove it at the end of the block.

        Raises:
            FetchError: If it cannot be created.
        """
        path = self._create(lambda root: Path(tempfile.mkdtemp(dir=root)))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def file(self) -> Path:
        """Return a new, empty file.

        Raises:
            FetchError: If it cannot be created.
        """
        return self._create(_new_file)

    def _create(self, make: Callable[[Path], Path]) -> Path:
        try:
            return make(self._folder())
        except OSError as exc:
            raise fetch_error(
                tempfile.gettempdir(),
                "unreadable",
                f"temporary files cannot be created: {exc.strerror or exc}; make room there, or "
                "set TMPDIR to another folder",
            ) from exc

    def _folder(self) -> Path:
        with self._creating:
            if self._root is None:
                self._root = LockedFolder(_PREFIX)
            return self._root.path


def _new_file(folder: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    return Path(name)


_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """Local file with the bytes of a source."""

    path: Path
    media_type: str | None = None
    """Media type that the server of a URL sent; None if not sent."""
    charset: str | None = None
    """Charset that the server of a URL sent; None if not sent."""
    is_temporary: bool = False
    """Whether the file was created for the ingest."""

    def discard(self) -> None:
        """Delete the file if it is temporary."""
        if self.is_temporary:
            self.path.unlink(missing_ok=True)


@dataclass(slots=True, kw_only=True)
class Downloader:
    """Copies sources to local files. Thread-safe."""

    space: TemporarySpace
    fetch: FetchOptions
    parse: ParseOptions
    stopped: threading.Event = field(default_factory=threading.Event)
    """Event that cancels running downloads."""
    _fetcher: Fetcher | None = None
    """HTTP fetcher, created for the first URL; it caches robots.txt rules."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def download(self, source: Source) -> LocalFile:
        """Return the local file of a source; a URL, object or stream is copied to a new file.

        Raises:
            FetchError: If the source cannot be fetched or read.
            CancelledError: If `stopped` is set before the copy is complete.
        """
        if source.path is not None:
            return LocalFile(path=source.path, media_type=source.media_type, charset=source.charset)
        path = self.space.file()
        try:
            return self._copy(source, path)
        except OSError as exc:
            raise fetch_error(
                source.location,
                "unreadable",
                f"cannot be copied to {path.parent}: {exc.strerror or exc}; make room there, or "
                "set TMPDIR to a larger disk",
            ) from exc

    def _copy(self, source: Source, path: Path) -> LocalFile:
        if source.stream is not None:
            spool = partial(_spool, source.location, source.stream, path, self.parse.max_file_bytes)
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
            if self._fetcher is None:
                from spanwise.ingest.fetch import Fetcher

                self._fetcher = Fetcher(self.fetch)
        return self._fetcher.fetch(url)


def _spool(location: str, stream: BinaryIO, target: Path, max_bytes: int) -> None:
    """Copy a stream to a file.

    Raises:
        FetchError: If the stream cannot be read or exceeds the limit.
        OSError: If the file cannot be written.
    """
    size = 0
    with target.open("wb") as file:
        while piece := read_stream(location, stream, _PIECE_BYTES):
            size += len(piece)
            if size > max_bytes:
                message = f"stream exceeds {max_bytes} bytes; raise max_file_bytes"
                raise fetch_error(location, "too_large", message)
            file.write(piece)
