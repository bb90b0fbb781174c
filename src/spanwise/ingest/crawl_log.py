"""Log of a crawl: the pages that were requested, for the next run and after an interruption.

Rules:
    1. The log is a cache: without it, every page is requested and compared by its content.
    2. A page is logged after its document is stored. After an interruption, the next run within a
       day takes logged pages from the log and does not request them again.
    3. A complete run replaces the log of the run before. The next run sends the ETag and the
       Last-Modified of each page, so that the server can answer "304 Not Modified".
    4. A page with secrets in its address or in those of its links is not logged.
    5. The log is untrusted: addresses in it are checked like the links of a page.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from spanwise.ingest.locations import unsigned

_logger = logging.getLogger("spanwise")

FOLDER_NAME = "crawls"
"""Folder of the logs in a knowledge base."""
_RESUME_SECONDS = 86_400
_MAX_LINE_CHARS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Page as the server returned it."""

    asked: str
    """Requested address."""
    url: str
    """Address after redirects, which is the id of the document."""
    content_hash: str = ""
    """SHA-256 of the page; empty if it is not a document."""
    etag: str = ""
    last_modified: str = ""
    links: tuple[str, ...] = ()
    """Normalised addresses of the links that may be followed."""
    canonical: str = ""
    """Normalised address that the page names as its preferred one; empty if there is none."""
    is_indexed: bool = True
    """Whether the page allows programs to index it."""


@dataclass(slots=True, kw_only=True)
class CrawlLog:
    """Log of one crawl. Without a folder, nothing is read or written."""

    path: Path | None
    """File of the last complete run; None for a knowledge base in memory."""
    writes: bool = True
    """Whether this run is logged."""
    known: dict[str, Visit] = field(default_factory=dict)
    """Last visit of each page by its requested address."""
    done: dict[str, Visit] = field(default_factory=dict)
    """Visits of an interrupted run, which are not repeated, by requested address."""

    @classmethod
    def open(cls, folder: Path | None, addresses: Sequence[str], *, writes: bool) -> CrawlLog:
        """Read the log of a crawl.

        Args:
            folder: Folder of the logs; None for none.
            addresses: Start pages and sitemaps, which identify the crawl.
            writes: Whether this run is logged.
        """
        if folder is None:
            return cls(path=None, writes=False)
        name = hashlib.sha256(json.dumps(sorted(addresses)).encode()).hexdigest()[:32]
        path = folder / FOLDER_NAME / f"{name}.jsonl"
        log = cls(path=path, writes=writes)
        log._read(path)
        return log

    def _read(self, path: Path) -> None:
        self.known = {visit.asked: visit for visit in _visits(path)}
        interrupted = {visit.asked: visit for visit in _visits(_running(path))}
        self.known |= interrupted
        try:
            age = time.time() - _running(path).stat().st_mtime
        except OSError:
            return
        if age < _RESUME_SECONDS:
            self.done = interrupted
        elif self.writes:
            _running(path).unlink(missing_ok=True)

    def append(self, visits: Sequence[Visit]) -> None:
        """Log the visits of pages whose documents are stored."""
        lines = "".join(
            f"{json.dumps(asdict(visit))}\n" for visit in visits if not _has_secrets(visit)
        )
        if not self.writes or not lines or self.path is None:
            return
        running = _running(self.path)
        try:
            running.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            with open(os.open(running, flags, 0o600), "a", encoding="utf-8") as file:  # noqa: PTH123 - has a descriptor
                file.write(lines)
        except OSError as error:
            self.writes = False
            _logger.warning(
                "%s cannot be written: %s; an interrupted crawl starts again",
                running,
                error.strerror or error,
            )

    def finish(self) -> None:
        """Save the log of this run as the log of the last complete run."""
        if self.path is None or not self.writes or not _running(self.path).exists():
            return
        try:
            _running(self.path).replace(self.path)
        except OSError as error:
            _logger.warning("%s cannot be replaced: %s", self.path, error.strerror or error)


def _running(path: Path) -> Path:
    """Return the file of a run that is not complete."""
    return path.with_suffix(".part")


def _has_secrets(visit: Visit) -> bool:
    addresses = (visit.asked, visit.canonical, *visit.links)
    return any(unsigned(address) != address for address in addresses)


def _visits(path: Path) -> Iterator[Visit]:
    """Yield the valid entries of a log; an interrupted write leaves half a line."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            while line := file.readline(_MAX_LINE_CHARS):
                visit = _visit(line)
                if visit is not None:
                    yield visit
    except OSError:
        return


def _visit(line: str) -> Visit | None:
    try:
        entry = json.loads(line)
        entry["links"] = tuple(entry["links"])
        visit = Visit(**entry)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    texts = (
        visit.asked, visit.url, visit.content_hash, visit.etag, visit.last_modified,
        visit.canonical, *visit.links,
    )  # fmt: skip
    return visit if all(isinstance(text, str) for text in texts) else None
