"""Upload of files of this machine, and addition of URLs, as ingest jobs of a server.

Rules:
    Files are sent in batches, one job each. A batch that the server refuses because of its size or
    of a name is halved, so that a single file does not stop the others.
    A file that the server already has unchanged is not sent: an interrupted call can be repeated.
    If a connection breaks during an upload, the job is looked up before the batch is sent again.
    Metadata and the rows of sidecar files are sent as a sidecar file of each batch.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

from spanwise.client.arguments import AddArguments, check_arguments
from spanwise.client.jobs import MEMBER_MARK, JobRequests, Progress, RemoteIngest, RemoteJob
from spanwise.client.methods import Requests, read_result
from spanwise.client.session import encoded
from spanwise.client.steps import Call, Pause, Steps, Work
from spanwise.errors import (
    DocumentError,
    DocumentNotFoundError,
    OptionError,
    ServerError,
    SpanwiseError,
)
from spanwise.types import IngestFailure, IngestReport
from spanwise.types.plain import to_plain

if TYPE_CHECKING:
    from spanwise.ingest.sources import Source
    from spanwise.types import DocumentRecord

_BATCH_FILES = 100
_BATCH_BYTES = 16_000_000
_UNFINISHED_JOBS = 3  # sent before the first of them has finished
_SINGLE_RECORDS = 20  # more records are read in one list
_TITLE = "title"
_SIDECAR = "spanwise.metadata.jsonl"
_PIECE_BYTES = 1 << 20
_UPLOADS = 3  # of one batch, if connections break
_LOOKUP_SECONDS = 1.0
_TOO_LARGE = 413
_REFUSED = frozenset({408, _TOO_LARGE, 422})
"""Status of an upload that is too slow, too large, or contains a name that is not allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upload:
    """File to send."""

    document_id: str
    location: str
    size: int
    row: Mapping[str, Any] = field(default_factory=dict)
    """Metadata fields and title."""
    path: Path | None = None
    data: bytes = b""
    """Content of a stream; empty if there is a path."""
    is_container: bool = False

    def open(self) -> BinaryIO:
        """Open the file.

        Raises:
            OSError: If it cannot be read.
        """
        return io.BytesIO(self.data) if self.path is None else self.path.open("rb")


@dataclass(slots=True, kw_only=True)
class _Found:
    """Sources of an addition."""

    files: list[_Upload] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    failed: list[IngestFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    changed_rows: list[_Upload] = field(default_factory=list)
    """Files whose content the server has with other metadata."""
    same: set[str] = field(default_factory=set)
    """Ids of files to send although the server has their content, because a model writes parts."""
    locations: dict[str, str] = field(default_factory=dict)

    def fail(self, source: str, code: Any, message: str) -> None:
        """Record a source that is not sent."""
        self.failed.append(IngestFailure(source=source, code=code, message=message))


class AddRequests(Requests):
    """All methods of a remote knowledge base except streams."""

    def add(
        self,
        *sources: str | Path | BinaryIO,
        wait: bool = True,
        **arguments: Unpack[AddArguments],
    ) -> Steps[IngestReport | RemoteIngest]:
        """Upload files and folders of this machine, and add URLs; see `RemoteKnowledgeBase.add`.

        If a call is interrupted (Ctrl-C, or a cancelled task), its jobs are cancelled.

        Raises:
            OptionError: If no source is given, or an argument is invalid or not offered.
            ServerError: If the server cannot be reached, refuses the request, or has no ingest
                queue.
        """
        check_arguments("add", arguments, allowed=AddArguments)
        crawl = arguments.get("crawl")
        if not sources and (crawl is None or not crawl.sitemaps):
            raise OptionError("no sources are named; name files, folders or URLs")
        on_document = arguments.get("on_document")
        found: _Found = yield Work(action=partial(_find, sources, arguments))
        yield from self._compare(found, needs_sending=bool(_parts(arguments)))
        progress = Progress(
            on_document if wait else None,
            files=len(found.files) + len(found.urls),
            size=sum(upload.size for upload in found.files),
        )
        sending = _Sending(self, found, progress, arguments, waits=wait)
        try:
            updated = yield from self.change_rows(found)
            yield from sending.send()
            if not wait:
                return sending.ingest(updated)
            yield from sending.wait(0)
        except BaseException as error:  # an interrupt, or an error of `on_document`
            if not isinstance(error, SpanwiseError | GeneratorExit):
                yield from sending.cancel()
            raise
        return sending.ingest(updated).report(
            [job.result() for job in sending.jobs.values() if job is not None]
        )

    def _compare(self, found: _Found, *, needs_sending: bool) -> Steps[None]:
        """Set aside the files whose content the server has, unless a model writes parts of them."""
        files = [upload for upload in found.files if upload.path and not upload.is_container]
        if len(files) > _SINGLE_RECORDS:
            records = yield from self.list()
            stored = {record.id: record for record in records}
        else:
            stored = {}
            for upload in files:
                try:
                    record = yield from self.record(upload.document_id)
                except DocumentNotFoundError:
                    continue
                stored[record.id] = record
        known = [upload for upload in files if upload.document_id in stored]
        hashes = (yield Work(action=partial(_hashes, known))) if known else {}
        same = {name for name, value in hashes.items() if stored[name].content_hash == value}
        if needs_sending:
            found.same = same
            return
        found.changed_rows = [
            upload
            for upload in known
            if upload.document_id in same and not _has_row(stored[upload.document_id], upload.row)
        ]
        changed = {upload.document_id for upload in found.changed_rows}
        found.unchanged = [name for name in found.locations if name in same - changed]
        found.files = [one for one in found.files if one.document_id not in same]

    def change_rows(self, found: _Found) -> Steps[list[str]]:
        """Set the metadata of files whose content the server has, and return their ids."""
        for upload in found.changed_rows:
            fields = {name: value for name, value in upload.row.items() if name != _TITLE}
            title = upload.row.get(_TITLE)
            yield from self.update_metadata([upload.document_id], fields, title=title)
        return [upload.document_id for upload in found.changed_rows]

    def upload(
        self,
        batch: Sequence[_Upload],
        options: Mapping[str, Any],
        *,
        replace: bool,
        known_jobs: Collection[str],
    ) -> Steps[RemoteJob]:
        """Upload files as one job.

        Args:
            batch: The files.
            options: Options of the job.
            replace: Whether documents from other sources are replaced.
            known_jobs: Ids of jobs that are not the new one.

        Raises:
            ServerError: If the server refuses them, or cannot be reached.
            OSError: If a file cannot be read.
        """
        names = tuple(upload.document_id for upload in batch)
        jobs = self.job_requests()
        attempt = 0
        while True:
            with ExitStack() as stack:
                files = yield Work(action=partial(_opened, batch, stack))
                call = Call(
                    method="POST",
                    path=self._place.path("documents"),
                    parameters={"replace": str(replace).lower()},
                    files=files,
                    form={"options": encoded(options).decode()} if options else None,
                    changes=True,
                )
                try:
                    return read_result(RemoteJob, (yield call))
                except ServerError as error:
                    attempt += 1
                    if error.status is not None or attempt == _UPLOADS:
                        raise
            yield Pause(seconds=_LOOKUP_SECONDS)
            for job in (yield from jobs.latest()):
                if job.documents == names and job.id not in known_jobs:
                    return job

    def add_url(self, url: str, options: Mapping[str, Any], *, replace: bool) -> Steps[RemoteJob]:
        """Let the server fetch a URL.

        Raises:
            ServerError: If the server refuses it, or cannot be reached.
        """
        path = self._place.path("documents")
        body = {"url": url, "replace": replace, **options}
        return read_result(
            RemoteJob, (yield Call(method="POST", path=path, body=body, changes=True))
        )

    def job_requests(self) -> JobRequests:
        """Return the methods for jobs of the knowledge base."""
        return JobRequests(self._place)


class _Sending:
    """Sends the files of an addition, and waits for their jobs."""

    def __init__(
        self,
        requests: AddRequests,
        found: _Found,
        progress: Progress,
        arguments: AddArguments,
        *,
        waits: bool,
    ) -> None:
        self.jobs: dict[str, RemoteJob | None] = {}
        """Finished jobs by id, in the order of the sources; None for an unfinished one."""
        self._requests = requests
        self._queue = requests.job_requests()
        self._found = found
        self._progress = progress
        self._arguments = arguments
        self._replace = arguments.get("replace", False)
        self._waits = waits
        self._known: set[str] = set()

    def send(self) -> Steps[None]:
        """Send all files and URLs.

        Raises:
            ServerError: If the server has no ingest queue, or cannot be reached.
        """
        if self._found.files or self._found.urls:
            self._known = {job.id for job in (yield from self._queue.latest())}
        for group in _groups(self._found.files, self._found.same, self._arguments):
            for batch in _batches(group):
                yield from self._send(batch)
        for url in self._found.urls:
            options = _url_options(self._arguments)
            try:
                job = yield from self._requests.add_url(url, options, replace=self._replace)
            except ServerError as error:
                if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
                    raise
                self._found.fail(url, "refused", f"{url}: {error}")
                continue
            except DocumentError as error:
                self._found.fail(url, error.code, str(error))
                continue
            yield from self._sent(job)

    def _send(self, batch: Sequence[_Upload]) -> Steps[None]:
        try:
            replace = self._replace or batch[0].document_id in self._found.same
            options = _batch_options(batch, self._arguments)
            job = yield from self._requests.upload(
                batch, options, replace=replace, known_jobs={*self._known, *self.jobs}
            )
        except (ServerError, OSError) as error:
            if isinstance(error, ServerError) and error.status not in _REFUSED:
                raise
            if len(batch) > 1:
                half = len(batch) // 2
                yield from self._send(batch[:half])
                yield from self._send(batch[half:])
                return
            self._fail(batch[0], error)
            return
        yield from self._sent(job)

    def _fail(self, upload: _Upload, error: ServerError | OSError) -> None:
        if isinstance(error, OSError):
            code, message = "unreadable", f"cannot be read: {error.strerror or error}"
        else:
            code = "too_large" if error.status == _TOO_LARGE else "refused"
            message = str(error)
        self._found.fail(upload.location, code, f"{upload.location}: {message}")

    def _sent(self, job: RemoteJob) -> Steps[None]:
        self.jobs[job.id] = None
        if self._waits:
            yield from self.wait(_UNFINISHED_JOBS)

    def wait(self, most: int) -> Steps[None]:
        """Wait until at most a number of jobs are unfinished."""
        unfinished = [job_id for job_id, job in self.jobs.items() if job is None]
        for job_id in unfinished[: max(len(unfinished) - most, 0)]:
            self.jobs[job_id] = yield from self._queue.finished(job_id, self._progress.note)

    def cancel(self) -> Steps[None]:
        """Cancel the unfinished jobs."""
        unfinished = [job_id for job_id, job in self.jobs.items() if job is None]
        yield from self._queue.cancel_all(unfinished)

    def ingest(self, updated: Sequence[str]) -> RemoteIngest:
        """Return what was sent.

        Args:
            updated: Ids of documents whose metadata was changed.
        """
        return RemoteIngest(
            jobs=tuple(self.jobs),
            locations=self._found.locations,
            unchanged=tuple(self._found.unchanged),
            updated=tuple(updated),
            failed=tuple(self._found.failed),
            warnings=tuple(self._found.warnings),
        )


def _find(sources: Sequence[str | Path | BinaryIO], arguments: AddArguments) -> _Found:
    """Return the files and URLs that a caller names."""
    from spanwise.ingest.sidecar import read_sidecars
    from spanwise.ingest.sources import find_sources, is_sitemap, is_url
    from spanwise.knowledge_base.arguments import checked_list, checked_metadata

    given = checked_metadata(arguments.get("metadata"))
    found = _Found()
    sitemaps = [one for one in sources if isinstance(one, str) and is_url(one) and is_sitemap(one)]
    follow_links = arguments.get("follow_links", False)
    named = [one for one in sources if one not in sitemaps]
    opened = list(
        find_sources(
            named,
            include=checked_list("include", arguments.get("include", ())),
            exclude=checked_list("exclude", arguments.get("exclude", ())),
            document_id=arguments.get("document_id"),
            prefix=arguments.get("prefix"),
            follow_links=follow_links,
        )
        if named
        else ()
    )
    sidecars = read_sidecars(opened, follow_links=follow_links)
    found.warnings += sidecars.warnings
    for error in sidecars.errors:
        found.fail(error.source, error.code, str(error))
    for source in opened:
        if isinstance(source, DocumentError):
            found.fail(source.source, source.code, str(source))
        elif source.url:
            found.urls.append(source.url)
            found.locations[source.document_id] = source.location
        elif source.object_path or (source.members_only and source.prefix):
            found.warnings.append(f"{source.location}: {_reason(source)}")
        else:
            row = sidecars.row(source)
            fields = {**(row.fields if row else {}), **(given or {})}
            title = {_TITLE: row.title} if row and row.title else {}
            _add_file(found, source, {**fields, **title})
    crawl = arguments.get("crawl")
    if crawl is not None and not found.urls and not sitemaps:
        if not crawl.sitemaps:
            raise OptionError(
                "crawl is given, and no source is a URL; name a start page or a sitemap"
            )
        sitemaps = list(crawl.sitemaps[:1])
    found.urls += sitemaps
    return found


def _reason(source: Source) -> str:
    """Return why a source is not sent."""
    if source.object_path:
        return "it is not sent; add objects on the machine of the server, or download them first"
    return (
        "it is not sent, because its members are chosen by patterns, and a prefix is given; unpack "
        "it, or leave the prefix out"
    )


def _add_file(found: _Found, source: Source, row: Mapping[str, Any]) -> None:
    from spanwise.ingest.sources import read_stream
    from spanwise.parsers.formats import CONTAINER_EXTENSIONS

    if source.document_id in found.locations:
        found.fail(
            source.location,
            "conflict",
            f"{source.location}: another file of this call has the id {source.document_id!r}; add "
            "it with another prefix",
        )
        return
    try:
        data = b"" if source.stream is None else read_stream(source.location, source.stream)
    except DocumentError as error:
        found.fail(source.location, error.code, str(error))
        return
    found.locations[source.document_id] = source.location
    found.files.append(
        _Upload(
            document_id=source.document_id,
            location=source.location,
            size=source.bytes,
            row=row,
            path=source.path,
            data=data,
            is_container=Path(source.document_id.lower()).suffix in CONTAINER_EXTENSIONS,
        )
    )


def _parts(arguments: AddArguments) -> dict[str, Any]:
    """Return the arguments for parts that a model writes or the caller provides."""
    parts = {"context": arguments.get("context"), "given": arguments.get("given")}
    return {name: value for name, value in parts.items() if value is not None}


def _patterns(arguments: AddArguments) -> dict[str, Any]:
    """Return the patterns of members of containers."""
    given = {
        "include": list(arguments.get("include", ())),
        "exclude": list(arguments.get("exclude", ())),
    }
    return {name: patterns for name, patterns in given.items() if patterns}


def _batch_options(batch: Sequence[_Upload], arguments: AddArguments) -> dict[str, Any]:
    """Return the options of the job of a batch."""
    parts = _parts(arguments)
    ids = {upload.document_id for upload in batch}
    given = {
        document_id: to_plain(one)
        for document_id, one in parts.pop("given", {}).items()
        if document_id.partition(MEMBER_MARK)[0] in ids
    }
    options = {name: to_plain(value) for name, value in parts.items()}
    patterns = _patterns(arguments) if batch[0].is_container else {}
    return {**options, **patterns, **({"given": given} if given else {})}


def _url_options(arguments: AddArguments) -> dict[str, Any]:
    """Return the options of the jobs of URLs."""
    given = arguments.get("given")
    options = {
        "context": to_plain(arguments.get("context")),
        "crawl": to_plain(arguments.get("crawl")),
        "given": None if given is None else {name: to_plain(given[name]) for name in given},
        "metadata": arguments.get("metadata"),
        **_patterns(arguments),
    }
    return {name: value for name, value in options.items() if value is not None}


def _groups(
    files: Sequence[_Upload], same: set[str], arguments: AddArguments
) -> list[list[_Upload]]:
    """Return the files in groups whose jobs have the same options."""
    has_patterns = bool(_patterns(arguments))
    groups: dict[tuple[bool, bool], list[_Upload]] = {}
    for upload in files:
        key = (has_patterns and upload.is_container, upload.document_id in same)
        groups.setdefault(key, []).append(upload)
    return list(groups.values())


def _batches(files: Sequence[_Upload]) -> Iterator[list[_Upload]]:
    """Yield files in batches of limited number and size; a larger file is alone."""
    batch, size = list[_Upload](), 0
    for upload in files:
        if batch and (len(batch) == _BATCH_FILES or size + upload.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(upload)
        size += upload.size
    if batch:
        yield batch


def _opened(batch: Sequence[_Upload], stack: ExitStack) -> list[tuple[str, BinaryIO]]:
    """Open files, and the sidecar file with their metadata.

    Raises:
        OSError: If a file cannot be read.
    """
    files = [(upload.document_id, stack.enter_context(upload.open())) for upload in batch]
    rows = [{"path": upload.document_id, **upload.row} for upload in batch if upload.row]
    if rows:
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        files.append((_SIDECAR, io.BytesIO(text.encode())))
    return files


def _hashes(files: Sequence[_Upload]) -> dict[str, str]:
    """Return the hashes of files by document id; a file that cannot be read is left out."""
    found = {}
    for upload in files:
        try:
            with upload.open() as file:
                found[upload.document_id] = _hash(file)
        except OSError:  # reported when it is sent
            continue
    return found


def _has_row(record: DocumentRecord, row: Mapping[str, Any]) -> bool:
    """Return whether a stored document has the fields and the title of a row."""
    return all(
        (record.title if name == _TITLE else record.metadata.get(name)) == value
        for name, value in row.items()
    )


def _hash(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
    return digest.hexdigest()
