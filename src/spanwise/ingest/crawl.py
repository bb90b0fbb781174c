"""Crawl: the pages that web pages and sitemaps link to, breadth first.

Rules:
    1. Every request obeys the rules of the module `fetch`: robots.txt, private networks, sizes and
       times, for each redirect too. One request at a time, with a delay for each host.
    2. Pages of other sites are not requested, unless `same_site` is False. A redirect to another
       site ends there.
    3. A page is requested once, and a document is stored under the address after redirects. A page
       with the same content as another one of the run is not stored, and its links are not
       followed, so a site that generates addresses without end does not keep the crawl running. A
       page that names another address of its site as canonical is replaced by that page.
    4. Pages of the last run that are no longer linked are requested too, if the crawl was complete.
       A page is gone if the server answers 404 or 410, or redirects to another page. Its document
       stays, unless `remove_gone` is set. Other failures remove nothing.
    5. Documents are stored in batches, and pages are logged afterwards (`crawl_log`).
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from spanwise.errors import DocumentError, FetchError, OptionError
from spanwise.ingest.counter import StepEvents, joined_reports
from spanwise.ingest.crawl_addresses import (
    is_readable,
    may_be_page,
    normal_address,
    page_key,
    pattern_path,
    site_of,
    sites_of,
)
from spanwise.ingest.crawl_log import CrawlLog, Visit
from spanwise.ingest.fetch import (
    Fetched,
    Fetcher,
    FetchRequest,
    PrivateAddressError,
    RobotsError,
    StatusError,
    redirects_error,
)
from spanwise.ingest.local_files import TemporarySpace
from spanwise.ingest.locations import fetch_error, unsigned
from spanwise.ingest.sources import Source, check_address, is_sitemap
from spanwise.models.ledger import Ledger
from spanwise.parsers.process.isolation import ParserPool
from spanwise.threads import run_until_stopped, sleep_unless_cancelled
from spanwise.types import IngestProgress

if TYPE_CHECKING:
    from spanwise.ingest.enrich import Enricher
    from spanwise.ingest.folder_walk import PathPatterns
    from spanwise.ingest.job import IngestJob
    from spanwise.ingest.pipeline import Ingestor
    from spanwise.options import CrawlOptions, FetchOptions
    from spanwise.types import DocumentRecord, IngestReport

_GONE = frozenset({404, 410})
_MAX_QUEUE = 100_000
"""Maximum number of pages that wait to be requested."""
_MAX_SITEMAPS = 500
_MAX_FAILURES = 10
"""Number of failed pages in a row after which the crawl ends.

A page that the server answers otherwise ends the row, also if it is left out; a page that is not
requested changes nothing.
"""
_BATCH_PAGES = 20
_BATCH_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """Page to request."""

    url: str
    depth: int
    """Number of links from a start page."""
    is_named: bool = False
    """Whether the caller named the page, so that every failure is reported."""
    follows: bool = True
    """Whether its links are followed."""


class _LeftOutError(Exception):
    """A page is left out, which is not a failure; the message is the reason."""


class _NotRequestedError(_LeftOutError):
    """A page is left out before the server has answered."""


@dataclass(slots=True, kw_only=True)
class Crawler:
    """Requests pages and follows their links; yields their sources."""

    addresses: Sequence[str]
    """Start pages and sitemaps."""
    options: CrawlOptions
    fetch: FetchOptions
    fetcher: Fetcher
    pool: ParserPool
    space: TemporarySpace
    patterns: PathPatterns
    """Patterns of the paths of the pages to request."""
    log: CrawlLog
    find_record: Callable[[str], DocumentRecord | None]
    on_request: Callable[[int], None] = lambda _: None
    """Callback with the number of requested pages before each request."""
    warnings: list[str] = field(default_factory=list)
    gone: dict[str, str] = field(default_factory=dict)
    """Reasons by the id of each stored document whose page is gone."""
    visits: list[Visit] = field(default_factory=list)
    """Visits that are not logged yet."""
    is_complete: bool = False
    """Whether the crawl ended by itself or at the limit on pages."""
    requested: int = 0
    _queue: deque[_Link] = field(default_factory=deque)
    _states: dict[str, str] = field(default_factory=dict)
    """"queued", "done" or "stored", by page key."""
    _sites: frozenset[str] = frozenset()
    _hashes: set[str] = field(default_factory=set)
    """Hashes of the pages of this run."""
    _canonical: set[str] = field(default_factory=set)
    """Keys of pages that another page names as canonical; they are stored in any case."""
    _left_out: dict[str, list[str]] = field(default_factory=dict)
    """Addresses that were left out, by reason."""
    _last_request: dict[str, float] = field(default_factory=dict)
    """Time of the last request by host."""
    _bytes: int = 0
    _failures: int = 0
    _started: float = field(default_factory=time.monotonic)

    @property
    def waiting(self) -> int:
        """Number of pages that may still be requested."""
        return min(len(self._queue), self.options.max_pages - self.requested)

    @property
    def _left(self) -> int:
        """Number of bytes that may still be received."""
        return self.options.max_bytes - self._bytes

    @property
    def has_pages(self) -> bool:
        """Whether this run has read any page."""
        return "stored" in self._states.values()

    @property
    def unseen(self) -> list[Visit]:
        """Pages of earlier runs that this run has not read and whose documents are stored."""
        return [
            visit
            for visit in self.log.known.values()
            if self._states.get(page_key(visit.asked)) != "stored" and self._is_stored(visit)
        ]

    def run(self) -> Iterator[Source | DocumentError]:
        """Yield the source or the error of each page, in the order of the requests.

        A page that is left out yields nothing.
        """
        starts = [normal_address(address) for address in self.addresses]
        self._sites = sites_of(address for address in starts if address is not None)
        for address in self.addresses:
            if is_sitemap(address) or address in self.options.sitemaps:
                yield from self._read_sitemap(address)
            else:
                yield from self._start_at(address)
        yield from self._walk()
        if not self._queue and self.has_pages:
            known = [visit.asked for visit in self.log.known.values() if visit.content_hash]
            for address in known:
                self._add(normal_address(address), depth=self.options.depth, follows=False)
            yield from self._walk()
        self._note_left_out()

    def _start_at(self, address: str) -> Iterator[DocumentError]:
        normal = normal_address(address)
        if normal is None:
            yield fetch_error(unsigned(address), "refused", "is not a valid http or https URL")
        elif page_key(normal) not in self._states:
            self._states[page_key(normal)] = "queued"
            self._queue.append(_Link(url=normal, depth=0, is_named=True))

    def _walk(self) -> Iterator[Source | DocumentError]:
        self.is_complete = False
        while self._queue:
            limit = self._limit()
            if limit:
                self.warnings.append(limit)
                return
            link = self._queue.popleft()
            self.on_request(self.requested)
            try:
                source = self._visit(link)
            except _LeftOutError as reason:
                self._left_out.setdefault(str(reason), []).append(unsigned(link.url))
                if not isinstance(reason, _NotRequestedError):
                    self._failures = 0
                continue
            except FetchError as error:
                if error.code == "too_large" and self._left < self.fetch.max_bytes:
                    self._bytes = self.options.max_bytes
                    self._queue.appendleft(link)
                    continue
                yield error
                self._failures += 1
                continue
            if source is not None:
                yield source
        self.is_complete = True

    def _limit(self) -> str:
        """Return the warning about the limit that is reached; "" if none is."""
        options = self.options
        again = "run the same command again to continue"
        rest = f"{len(self._queue):,} pages were not requested"
        if self.requested >= options.max_pages:
            self.is_complete = True  # a repeated run begins again
            return f"the crawl ended at max_pages={options.max_pages}: {rest}; raise that limit"
        if self._bytes >= options.max_bytes:
            return f"the crawl ended at max_bytes={options.max_bytes}: {rest}; {again}"
        wait = self._delay_left(self._queue[0].url) if self._queue else 0.0
        if time.monotonic() + wait - self._started >= options.max_seconds:
            return f"the crawl ended at max_seconds={options.max_seconds:g}: {rest}; {again}"
        if self._failures >= _MAX_FAILURES:
            return f"the crawl ended after {_MAX_FAILURES} failures in a row: {rest}; {again}"
        return ""

    def _visit(self, link: _Link) -> Source | None:
        """Return the source of a page; None if its document is not stored.

        Raises:
            _LeftOutError: If the page is not to be read.
            FetchError: If it cannot be fetched.
        """
        self._states[page_key(link.url)] = "done"
        self.requested += 1
        done = self.log.done.get(link.url)
        if done is not None and self._is_stored(done):
            return self._accept(link, done, None)
        known = self.log.known.get(link.url)
        known = known if known is not None and self._is_stored(known) else None
        fetched = self._request(link, known)
        self._failures = 0
        if isinstance(fetched, Visit):
            return self._accept(link, fetched, None)
        url = normal_address(unsigned(fetched.url)) or unsigned(link.url)
        if page_key(url) != page_key(link.url):
            if not link.is_named and not self._is_selected(url):
                raise _LeftOutError("redirected to an excluded page")
            self._note_moved(link, url)
            if self._states.get(page_key(url)) in ("done", "stored"):
                return None
            self._states[page_key(url)] = "done"
        path = self.space.file()
        source = None
        try:
            path.write_bytes(fetched.data)
            visit = self._read_links(link, url, fetched, path)
            source = self._accept(link, visit, (path, fetched))
        finally:
            if source is None:
                path.unlink(missing_ok=True)
        return source

    def _is_stored(self, visit: Visit) -> bool:
        """Return whether the document of an earlier visit is stored, or it had none."""
        if not visit.content_hash:
            return False
        record = self.find_record(visit.url)
        return record is not None and record.content_hash == visit.content_hash

    def _request(self, link: _Link, known: Visit | None) -> Fetched | Visit:
        """Return the response, or the earlier visit if the page has not changed since.

        Raises:
            _LeftOutError: If the page is missing, forbidden, on another site or not readable.
            FetchError: If the request fails otherwise.
        """
        headers = {}
        if known is not None and known.etag:
            headers["If-None-Match"] = known.etag
        if known is not None and known.last_modified:
            headers["If-Modified-Since"] = known.last_modified
        try:
            fetched = self._fetch(link.url, headers=headers, checks=True)
            if fetched.is_unmodified:
                final = normal_address(unsigned(fetched.url))
                if known is not None and final == known.url:
                    return known
                fetched = self._fetch(link.url, headers={}, checks=True)
        except StatusError as error:
            if error.status in _GONE:
                self._note_gone(link, f"the server answers with status {error.status}")
                if not link.is_named:
                    raise _LeftOutError("linked, but missing on the server") from error
            raise
        except FetchError as error:
            if error.code == "refused" and not link.is_named:
                raise _NotRequestedError(_refusal(error)) from error
            raise
        return fetched

    def _fetch(self, url: str, *, headers: dict[str, str], checks: bool) -> Fetched:
        """Return the response of a request, after redirects; each one waits for the delay.

        Args:
            url: Address.
            headers: Conditions of the request.
            checks: Whether site and media type are checked.
        """

        def check_address(address: str) -> None:
            if self.options.same_site and site_of(address) not in self._sites:
                raise _LeftOutError("redirected to another site")

        def check_type(media_type: str | None) -> None:
            if not is_readable(media_type):
                raise _LeftOutError(f"of the type {(media_type or '')[:60]}")

        request = FetchRequest(
            headers=headers,
            max_bytes=max(1, self._left),
            follows=False,
            check_address=check_address,
            check_type=check_type if checks else lambda _: None,
        )
        current = url
        for _ in range(self.fetch.max_redirects + 1):
            self._wait(current)
            fetch = partial(self.fetcher.fetch, current, request)
            try:
                fetched = run_until_stopped(fetch, stopped=Event())
            finally:
                self._last_request[site_of(current)] = time.monotonic()
            if not fetched.redirect:
                self._bytes += len(fetched.data)
                return fetched
            current = fetched.redirect
            check_address(current)  # a refused address needs no wait
        raise redirects_error(unsigned(url), self.fetch)

    def _wait(self, url: str) -> None:
        """Wait until the host may be requested again.

        Raises:
            _NotRequestedError: If this is after the time limit.
        """
        wait = self._delay_left(url)
        if wait and time.monotonic() + wait - self._started >= self.options.max_seconds:
            raise _NotRequestedError("not requested before the time limit")
        sleep_unless_cancelled(wait)

    def _delay_left(self, url: str) -> float:
        """Return the seconds until the host may be requested again."""
        host = site_of(url)
        if host not in self._last_request:
            return 0.0
        delay = self.options.delay_seconds
        if self.fetch.robots:
            delay = max(delay, self.fetcher.delay_seconds(url))
        return max(0.0, self._last_request[host] + delay - time.monotonic())

    def _is_selected(self, address: str) -> bool:
        """Return whether the patterns select a page."""
        path = pattern_path(address)
        return self.patterns.reaches(path) and self.patterns.takes(path)

    def _read_links(self, link: _Link, url: str, fetched: Fetched, path: Path) -> Visit:
        """Return the visit of a fetched page with its links."""
        visit = Visit(
            asked=link.url,
            url=url,
            content_hash=hashlib.sha256(fetched.data).hexdigest(),
            etag=fetched.etag,
            last_modified=fetched.last_modified,
        )
        try:
            found = self.pool.page_links(
                path, source=url, media_type=fetched.media_type, charset=fetched.charset
            )
        except DocumentError:  # the ingest reports it
            return visit
        base = normal_address(found.base, base=fetched.url) if found.base else None
        base = base or fetched.url
        addresses = [normal_address(address, base=base) for address in found.links]
        follows = found.follows or not self.fetch.robots
        canonical = normal_address(found.canonical, base=base) if found.canonical else None
        return replace(
            visit,
            links=tuple(dict.fromkeys(a for a in addresses if a is not None)) if follows else (),
            canonical=canonical or "",
            is_indexed=found.is_indexed or not self.fetch.robots,
        )

    def _accept(
        self, link: _Link, visit: Visit, file: tuple[Path, Fetched] | None
    ) -> Source | None:
        """Queue the links of a visited page, and return its source unless it is left out."""
        if visit.content_hash in self._hashes:
            left_out = self._left_out.setdefault("with the content of another page", [])
            left_out.append(unsigned(link.url))
            return None
        if link.follows and link.depth < self.options.depth:
            for address in visit.links:
                self._add(address, depth=link.depth + 1)
        if not visit.is_indexed and not link.is_named:
            raise _LeftOutError('marked "noindex"')
        if self._has_canonical(link, visit):
            return None
        self._hashes.add(visit.content_hash)
        self._states[page_key(visit.url)] = "stored"
        self.visits.append(visit)
        self.gone.pop(visit.url, None)
        source = Source(
            document_id=visit.url,
            location=visit.url,
            root=visit.url,
            path=None,
            bytes=0,
            url=link.url,
            known_hash=visit.content_hash,
        )
        if file is None:
            return source
        path, fetched = file
        return replace(
            source,
            path=path,
            bytes=len(fetched.data),
            media_type=fetched.media_type,
            charset=fetched.charset,
        )

    def _has_canonical(self, link: _Link, visit: Visit) -> bool:
        """Return whether another page replaces a page; queue that page if necessary."""
        key = page_key(visit.canonical) if visit.canonical else ""
        own = {page_key(link.url), page_key(visit.url)}
        if not key or key in own or own & self._canonical:
            return False
        if site_of(visit.canonical) != site_of(visit.url):
            return False
        state = self._states.get(key)
        if state == "done":  # it was left out
            return False
        if state is None and not self._add(visit.canonical, depth=link.depth):
            return False
        self._canonical.add(key)
        return True

    def _add(self, address: str | None, *, depth: int, follows: bool = True) -> bool:
        """Queue a page, unless it was queued before or is not to be requested."""
        if address is None or page_key(address) in self._states:
            return False
        if (
            len(self._queue) >= _MAX_QUEUE
            or not may_be_page(address)
            or (self.options.same_site and site_of(address) not in self._sites)
            or not self._is_selected(address)
        ):
            return False
        self._states[page_key(address)] = "queued"
        self._queue.append(_Link(url=address, depth=depth, follows=follows))
        return True

    def _read_sitemap(self, address: str) -> Iterator[DocumentError]:
        """Queue the pages of a sitemap and of those that it names."""
        waiting = deque([address])
        seen: set[str] = set()
        while waiting and len(seen) < _MAX_SITEMAPS and not self._limit():
            named = waiting.popleft()
            url = normal_address(named)
            if url is None or url in seen:
                continue
            if self.options.same_site and site_of(url) not in self._sites:
                continue
            seen.add(url)
            try:
                fetched = self._fetch(url, headers={}, checks=False)
                path = self.space.file()
                try:
                    path.write_bytes(fetched.data)
                    sitemap = self.pool.sitemap(path, source=unsigned(url))
                finally:
                    path.unlink(missing_ok=True)
            except _LeftOutError as reason:
                self._left_out.setdefault(str(reason), []).append(unsigned(url))
                continue
            except DocumentError as error:
                yield error
                continue
            for page in sitemap.pages:
                self._add(normal_address(page), depth=0)
            waiting.extend(sitemap.sitemaps)

    def _note_gone(self, link: _Link, reason: str) -> None:
        known = self.log.known.get(link.url)
        for document_id in {link.url, known.url if known else link.url}:
            if self.find_record(document_id) is not None:
                self.gone[document_id] = reason

    def _note_moved(self, link: _Link, url: str) -> None:
        """Record the document of a page as gone if the page now redirects to another one."""
        if self.find_record(link.url) is not None:
            self.gone[link.url] = f"it redirects to {url}"

    def _note_left_out(self) -> None:
        for reason, addresses in self._left_out.items():
            more = f" and {len(addresses) - 1:,} more" if len(addresses) > 1 else ""
            self.warnings.append(f"{addresses[0]}{more}: left out: {reason}")


def _refusal(error: FetchError) -> str:
    """Return the reason why a page may not be requested."""
    if isinstance(error, RobotsError):
        return "forbidden by robots.txt"
    if isinstance(error, PrivateAddressError):
        return "on a private network or this machine"
    return "not at an address that can be fetched"


def crawl_pages(  # noqa: PLR0913 - keywords
    addresses: Sequence[str],
    *,
    options: CrawlOptions,
    ingestor: Ingestor,
    job: IngestJob,
    make_enricher: Callable[..., Enricher | None],
    folder: Path | None,
    dry_run: bool,
) -> IngestReport:
    """Add the sources of a job, and then the pages of a crawl.

    Args:
        addresses: URLs of start pages and sitemaps.
        options: Extent and limits of the crawl.
        ingestor: Ingestor of the knowledge base.
        job: Other sources, and the options of all batches.
        make_enricher: Function that returns the enricher of a batch; its argument `budget` is the
            shared budget of the crawl.
        folder: Folder of the knowledge base, for the log; None for one in memory.
        dry_run: Whether nothing is changed, and the report is an estimate. Pages are requested.

    Raises:
        OptionError: If no address is given.
        StoreError: If the store fails; documents stored before are kept.
    """
    addresses = list(dict.fromkeys((*addresses, *options.sitemaps)))
    if not addresses:
        raise OptionError("a crawl needs a URL; name a start page or a sitemap")
    budget = Ledger(max_cost=ingestor.max_cost, parent=ingestor.budget)
    ingestor = replace(ingestor, budget=budget)

    def make_job() -> IngestJob:
        return replace(job, sources=(), enricher=make_enricher(budget=budget))

    batches = _Batches(ingestor=ingestor, make_job=make_job, dry_run=dry_run)
    reports = []
    if job.sources:
        reports = [ingestor.estimate(job) if dry_run else ingestor.run(job)]
    errors = [error for error in map(_credentials_error, addresses) if error is not None]
    if errors:
        return joined_reports([*reports, batches.ingest(errors, waiting=0)])
    with (
        TemporarySpace() as space,
        ParserPool(options=ingestor.parse, workers=1) as pool,
    ):
        crawler = Crawler(
            addresses=addresses,
            options=options,
            fetch=ingestor.fetch,
            fetcher=Fetcher(ingestor.fetch),
            pool=pool,
            space=space,
            patterns=job.patterns,
            log=CrawlLog.open(folder, addresses, writes=not dry_run),
            find_record=ingestor.store.get_record,
            on_request=StepEvents(ingestor.listener).on_fetched,
        )
        reports.append(_crawl(crawler, batches, remove_gone=options.remove_gone))
    return joined_reports(reports)


def _credentials_error(address: str) -> DocumentError | None:
    try:
        check_address(address)
    except FetchError as error:
        return error
    return None


@dataclass(slots=True, kw_only=True)
class _Batches:
    """Ingest of the pages of a crawl in batches, with the progress of the whole crawl."""

    ingestor: Ingestor
    make_job: Callable[[], IngestJob]
    dry_run: bool
    _documents: int = 0
    _bytes: int = 0
    _chunks: int = 0

    def ingest(
        self,
        sources: Sequence[Source | DocumentError],
        *,
        waiting: int,
        deleted: Sequence[DocumentRecord] = (),
    ) -> IngestReport:
        """Ingest one batch.

        Args:
            sources: Pages, and errors of pages that could not be fetched.
            waiting: Number of pages that may follow.
            deleted: Documents to remove.
        """
        job = self.make_job()
        on_document = job.on_document
        last: list[IngestProgress] = []

        def report(progress: IngestProgress) -> None:
            last[:] = [progress]
            if on_document is not None:
                on_document(
                    replace(
                        progress,
                        documents_done=self._documents + progress.documents_done,
                        documents_total=self._documents + progress.documents_total + waiting,
                        bytes_done=self._bytes + progress.bytes_done,
                        bytes_total=self._bytes + progress.bytes_total,
                        chunks=self._chunks + progress.chunks,
                    )
                )

        ids = {source.document_id for source in sources if isinstance(source, Source)}
        job = replace(
            job,
            sources=tuple(sources),
            deleted=deleted,
            given={name: parts for name, parts in job.given.items() if name in ids},
            on_document=report,
        )
        result = self.ingestor.estimate(job) if self.dry_run else self.ingestor.run(job)
        if last:
            self._documents += last[0].documents_done
            self._bytes += last[0].bytes_done
            self._chunks += last[0].chunks
        return result


def _crawl(crawler: Crawler, batches: _Batches, *, remove_gone: bool) -> IngestReport:
    """Ingest the pages of a crawler in batches, log them, and report pages that are gone."""
    reports: list[IngestReport] = []
    batch: list[Source | DocumentError] = []
    started = last = time.monotonic()
    has_ended = False
    for source in crawler.run():
        batch.append(source)
        if len(batch) >= _BATCH_PAGES or time.monotonic() - last >= _BATCH_SECONDS:
            reports.append(_store_batch(batch, crawler, batches))
            has_ended = _has_ended(reports[-1])
            if has_ended:
                break
            last = time.monotonic()
    if batch or not reports:
        reports.append(_store_batch(batch, crawler, batches))
    if crawler.is_complete and not has_ended and not _has_ended(reports[-1]):
        if crawler.has_pages and crawler.gone:
            reports += _remove_gone(crawler, batches, removes=remove_gone)
        crawler.log.append(crawler.unseen)
        crawler.log.finish()
    report = joined_reports(reports)
    return replace(
        report,
        warnings=(*report.warnings, *crawler.warnings),
        seconds=time.monotonic() - started,
    )


def _store_batch(
    batch: list[Source | DocumentError], crawler: Crawler, batches: _Batches
) -> IngestReport:
    """Ingest and log one batch, and empty it."""
    visits, crawler.visits = crawler.visits, []
    report = batches.ingest(batch, waiting=crawler.waiting)
    if not _has_ended(report):
        crawler.log.append(visits)
    for source in batch:
        if isinstance(source, Source) and source.path is not None:
            source.path.unlink(missing_ok=True)
    batch.clear()
    return report


def _has_ended(report: IngestReport) -> bool:
    """Return whether an ingest ended early, so that the crawl ends too."""
    return any(failure.is_left_out for failure in report.failed)


def _remove_gone(crawler: Crawler, batches: _Batches, *, removes: bool) -> list[IngestReport]:
    """Remove the documents of pages that are gone, or add a warning for each."""
    if not removes:
        crawler.warnings += [
            f"{name}: gone: {reason}; its document is kept: remove it by its id, or remove all "
            "such documents (remove_gone=True, --remove-gone)"
            for name, reason in crawler.gone.items()
        ]
        return []
    records = [crawler.find_record(name) for name in crawler.gone]
    deleted = [record for record in records if record is not None]
    return [batches.ingest([], waiting=0, deleted=deleted)]
