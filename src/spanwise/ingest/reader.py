"""Parallel reading of sources, opening of containers, and the expansion budget of a source.

Rules:
    1. Several documents are parsed in parallel before they are stored. Containers are opened one
       at a time, in order, so at most one per nesting level takes temporary space. Each member of a
       container is read like a source.
    2. If a document needs more memory than is available, only this document fails.
    3. Temporary files are removed when reading ends for any reason except a kill of the process.
    4. Each file, URL or object that the caller names has a budget of its own, and so has each file
       of a named folder. The budget covers everything inside at any depth, so a small archive of
       archives cannot unpack without limit.
    5. The budget limits members, their unpacked bytes and the text of documents. Bytes and text may
       be `max_expansion` times the size of the source; the first 20 MB are always allowed.
    6. The budget is read and changed in the order of the documents, in one thread. Documents that
       are read in parallel are counted in order, so the result does not depend on timing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypedDict

from spanwise.errors import CostLimitError, DocumentError, DocumentErrorCode, ParseError
from spanwise.ingest.compare import Verdict, has_attachments
from spanwise.ingest.counter import out_of_memory
from spanwise.ingest.locations import fetch_error
from spanwise.ingest.sources import MEMBER_MARK, Source
from spanwise.parsers.containers import ContainerError, Limit, UnpackBudget
from spanwise.parsers.formats import PARSERS, UNPACKERS
from spanwise.threads import result_of, run_until_stopped
from spanwise.types import Document, Figure

if TYPE_CHECKING:
    from threading import Event

    from spanwise.ingest.counter import IngestCounter
    from spanwise.ingest.folder_walk import PathPatterns
    from spanwise.ingest.local_files import Downloader, LocalFile, TemporarySpace
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import Unpacked
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.parsers.process.isolation import ParserPool


ComparedSource = tuple[Source | DocumentError, Verdict]
Reading = Document | Literal["unchanged", "updated", "new", "changed"]
"""Result of reading a source; "new" or "changed" if documents are not parsed."""
ReadSource = tuple[Source | DocumentError, Reading | DocumentError | CostLimitError]
"""Source with the result of reading it, or the error."""


_MODEL_DOTS_PER_INCH = 130
"""Resolution of page images for a model, within the size limits of vendors."""


class _ParseArguments(TypedDict):
    """Arguments of a parser call."""

    media_type: str | None
    charset: str | None
    document_id: str
    source: str
    source_root: str
    text_limit: Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Document with pages that the parser could not read completely."""

    document: Document
    """Document with the text of the parser."""
    pages: PagesToRead
    """Numbers of these pages, by their kind."""
    draw: Callable[[int], bytes]
    """Function that returns a page as a PNG file, by its number from 1."""
    draw_figure: Callable[[Figure], bytes]
    """Function that returns a figure as an image file."""
    parse: Callable[[], Document]
    """Function that parses the document again, as if there were no page reader."""


class PageReader(Protocol):
    """Reads pages that the parser cannot read: images of text, and tables with merged cells."""

    @property
    def describes_figures(self) -> bool:
        """Whether the reader describes figures too."""

    def reads(self, document_id: str) -> bool:
        """Return whether the reader is used for a document."""

    def read_pages(self, request: PageRequest) -> Document:
        """Return a document with the text that is read on some of its pages.

        Raises:
            ParseError: If no page can be read, and the document cannot be parsed without them.
            CostLimitError: If a call would exceed the cost limit.
        """


class RemoteParser(Protocol):
    """Parses files on other machines."""

    @property
    def ahead(self) -> int:
        """Number of documents that are parsed at once."""

    def parse(
        self, source: Source, file: LocalFile | None, *, text_limit: Limit, stopped: Event
    ) -> Document:
        """Return a parsed document.

        Args:
            source: Source of the document.
            file: Local file with its bytes; None for an object that the other machine downloads.
            text_limit: Maximum size of its text.
            stopped: Event that ends the wait for the result.

        Raises:
            DocumentError: If it cannot be downloaded or parsed.
        """


_FLOOR_BYTES = 20_000_000
"""Bytes of members, and of text, that are allowed for a source of any size."""
_REFUSED_BYTES = 20_000_000
"""Text bytes charged for a document that was rejected for its size, because parsing took time."""


@dataclass(slots=True, kw_only=True)
class SourceBudget:
    """Remaining budget of one source for members, unpacked bytes and text."""

    source: Source
    limits: ParseOptions
    members: int
    unpacked: Limit
    """Remaining bytes of members."""
    text: Limit
    """Remaining bytes of text."""

    @classmethod
    def of(cls, source: Source, path: Path, *, limits: ParseOptions) -> Self:
        """Return the full budget of a source.

        Args:
            source: Source of the documents.
            path: Local file with the bytes of the source.
            limits: Limits from the options.

        Raises:
            FetchError: If the file cannot be read.
        """
        try:
            size = path.stat().st_size
        except OSError as exc:
            cause = f"{exc.strerror or exc}; check the path and its permissions"
            raise fetch_error(source.location, "unreadable", cause) from exc
        return cls.of_size(source, size, limits=limits)

    @classmethod
    def of_size(cls, source: Source, size: int, *, limits: ParseOptions) -> Self:
        """Return the full budget of a source of a known size in bytes."""
        expanded = Limit(
            most=max(_FLOOR_BYTES, limits.max_expansion * size),
            option=f"max_expansion={limits.max_expansion} for a source of {size} bytes",
        )
        return cls(
            source=source,
            limits=limits,
            members=limits.max_members,
            unpacked=_lower(expanded, limits, "max_container_bytes"),
            text=_lower(expanded, limits, "max_total_text_bytes"),
        )

    def closed(self, level: int) -> str:
        """Return the reason for which containers are not opened; empty if they may be opened.

        Args:
            level: Number of containers around these containers.
        """
        if level >= self.limits.max_nesting:
            return f"it is a container in max_nesting={self.limits.max_nesting} others, or more"
        if self.members <= 0:
            return f"max_members={self.limits.max_members} of the container it is in was reached"
        if self.unpacked.most <= 0:
            return f"the limit of the container it is in was reached: {self.unpacked.option}"
        return self.exhausted

    @property
    def exhausted(self) -> str:
        """Reason for which no more documents are read; empty while documents may be read."""
        if self.text.most > 0:
            return ""
        return f"the text of its documents reached the limit {self.text.option}"

    def text_limit(self) -> Limit:
        """Return the text limit of the next document."""
        return _lower(self.text, self.limits, "max_text_bytes")

    def spend_text(self, document: Document) -> None:
        """Subtract the text of a document from the budget."""
        text = document.text
        self.text = self.text.less(len(text) if text.isascii() else len(text.encode()))

    def spend_failure(self, error: DocumentError) -> None:
        """Subtract a fixed amount from the budget for a document that was rejected for its size."""
        if error.code == "too_large":
            self.text = self.text.less(_REFUSED_BYTES)

    def spend_members(self, unpacked: Unpacked) -> None:
        """Subtract the members unpacked from a container from the budget."""
        self.members -= len(unpacked.members) + len(unpacked.lost)
        self.unpacked = self.unpacked.less(sum(member.bytes for member in unpacked.members))

    def for_container(self, folder: Path) -> UnpackBudget:
        """Return the budget for unpacking one container into a folder."""
        return UnpackBudget(
            into=folder,
            members=Limit(most=self.members, option=f"max_members={self.limits.max_members}"),
            unpacked=self.unpacked,
        )

    def pattern_path(self, member_id: str) -> str:
        """Return the path of a member for patterns, in which containers are folders."""
        source = self.source
        start = len(source.prefix) if source.from_folder else len(source.document_id + MEMBER_MARK)
        return member_id[start:].replace(MEMBER_MARK, "/")


def _lower(limit: Limit, limits: ParseOptions, option: str) -> Limit:
    """Return the lower of a limit and the limit that an option sets.

    Args:
        limit: The limit.
        limits: Options.
        option: Name of the option.
    """
    most: int = getattr(limits, option)
    return limit if limit.most <= most else Limit(most=most, option=f"{option}={most}")


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of a source in nested containers."""

    budget: SourceBudget
    level: int
    """Number of containers around the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inspection:
    """Result of reading a source, without its members."""

    place: _Place | None
    """Position of the source; None if an unchanged source was not opened."""
    reading: Reading | None
    """Result for the source as a document; None if only its members are read."""
    file: LocalFile | None
    """Local file, if it may be a container; None otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads sources and the members of containers."""

    pool: ParserPool
    threads: ThreadPoolExecutor
    space: TemporarySpace
    counter: IngestCounter
    downloader: Downloader
    compared: Callable[[Sequence[Source]], Generator[ComparedSource]]
    """Function that compares members and downloaded objects with the stored documents."""
    limits: ParseOptions
    patterns: PathPatterns
    """Patterns that select members."""
    ahead: int
    """Maximum number of documents that are read before the consumer requests them."""
    parses: bool
    """Whether documents are parsed; containers are opened in any case."""
    page_reader: PageReader
    """Reader of pages that the parser cannot read."""
    remote: RemoteParser | None = None
    """Parser on other machines; None to parse on this machine."""

    def read(
        self, sources: Iterable[ComparedSource], *, inside: _Place | None = None
    ) -> Generator[ReadSource]:
        """Yield each document with its result, in order; members follow their container.

        Args:
            sources: Sources to read, with their verdicts.
            inside: Position of the sources; None for named sources and files of folders.
        """
        waiting: deque[tuple[Source | DocumentError, Future[_Inspection]]] = deque()
        try:
            for source, verdict in sources:
                limit = None if inside is None else inside.budget.text_limit()
                future = self.threads.submit(self._inspect, source, verdict, inside, limit)
                waiting.append((source, future))
                if len(waiting) > self.ahead:
                    yield from self._results(*waiting.popleft(), inside)
            while waiting:
                yield from self._results(*waiting.popleft(), inside)
        except BaseException:  # interrupted: do not wait for running reads
            self.downloader.stopped.set()
            for _, future in waiting:
                future.cancel()
            self.pool.close()
            raise

    def _inspect(
        self,
        source: Source | DocumentError,
        verdict: Verdict,
        inside: _Place | None,
        text_limit: Limit | None,
    ) -> _Inspection:
        """Return the inspection of a source.

        Args:
            source: Source to inspect.
            verdict: Verdict of the comparison with the stored document.
            inside: Position of the source; None for a named source or a file of a folder.
            text_limit: Maximum bytes of its text; None for the limit of the source's own budget.

        Raises:
            DocumentError: If the source cannot be opened, fetched or parsed.
        """
        if isinstance(verdict, DocumentError):
            raise verdict
        if isinstance(source, DocumentError):
            raise source
        try:
            return self._inspect_source(source, verdict, inside, text_limit)
        except MemoryError as exc:
            raise out_of_memory(source) from exc

    def _inspect_source(
        self, source: Source, verdict: Verdict, inside: _Place | None, text_limit: Limit | None
    ) -> _Inspection:
        if verdict in ("unchanged", "updated"):
            return _Inspection(reading=verdict, file=None, place=inside)
        if source.object_path and verdict == "new" and inside is None:
            inspection = self._inspect_object(source)
            if inspection is not None:
                return inspection
        file = self.downloader.download(source)
        try:
            place = inside or _Place(SourceBudget.of(source, file.path, limits=self.limits), 0)
            limit = text_limit or place.budget.text_limit()
            reading, is_container = self._inspect_file(source, verdict, file, limit)
            inspection = _Inspection(
                reading=reading, file=file if is_container else None, place=place
            )
        except BaseException:
            file.discard()
            raise
        if inspection.file is None:
            file.discard()
        return inspection

    def _inspect_object(self, source: Source) -> _Inspection | None:
        """Return the inspection of a new object that another machine downloads and parses.

        None if this machine must download it, because it may be a container.
        """
        if self.remote is None or not self.parses or self.page_reader.reads(source.document_id):
            return None
        budget = SourceBudget.of_size(source, source.bytes, limits=self.limits)
        try:
            document = self.remote.parse(
                source, None, text_limit=budget.text_limit(), stopped=self.downloader.stopped
            )
        except ContainerError:
            return None
        if has_attachments(document):
            return None
        return _Inspection(reading=document, file=None, place=_Place(budget, 0))

    def _inspect_file(
        self, source: Source, verdict: Verdict, file: LocalFile, text_limit: Limit
    ) -> tuple[Reading | None, bool]:
        """Return the result for a file as a document, and whether the file may be a container.

        The first is None for a file that is not a document.
        """
        if source.object_path and verdict == "changed":  # now that its content is known
            verdicts = [verdict for _, verdict in self.compared([replace(source, path=file.path)])]
            verdict = verdicts[0]
            if verdict in ("unchanged", "updated"):
                return verdict, "opened" in verdicts
        if isinstance(verdict, DocumentError):
            raise verdict
        if verdict == "opened":
            return None, True
        if not self.parses:
            media_type = self.pool.look(file.path, source=source.location)
            reading = verdict if media_type in PARSERS else None
            return reading, media_type in UNPACKERS
        try:
            document = self._parse(source, file, text_limit)
        except ContainerError:
            return None, True
        return document, has_attachments(document)

    def _parse(self, source: Source, file: LocalFile, text_limit: Limit) -> Document:
        """Return the parsed document, with the text that the page reader reads on its pages."""
        arguments = _ParseArguments(
            media_type=file.media_type,
            charset=file.charset,
            document_id=source.document_id,
            source=source.location,
            source_root=source.root,
            text_limit=text_limit,
        )
        reader = self.page_reader
        if not reader.reads(source.document_id):
            if self.remote is not None:
                return self.remote.parse(
                    source, file, text_limit=text_limit, stopped=self.downloader.stopped
                )
            return self.pool.parse(file.path, **arguments)
        document, pages = self.pool.parse_seen(
            file.path, leaves_figures=reader.describes_figures, **arguments
        )
        if not pages.numbers and not (document.figures and reader.describes_figures):
            return document

        def draw(page: int) -> bytes:
            png, _ = self.pool.draw_page(
                file.path,
                page=page,
                dots_per_inch=_MODEL_DOTS_PER_INCH,
                source=source.location,
                for_model=True,
            )
            return png

        request = PageRequest(
            document=document,
            pages=pages,
            draw=draw,
            draw_figure=lambda figure: self.pool.draw_figure(
                file.path, figure, source=source.location
            )[0],
            parse=lambda: self.pool.parse(file.path, **arguments),
        )
        return run_until_stopped(
            lambda: reader.read_pages(request), stopped=self.downloader.stopped
        )

    def _results(
        self,
        source: Source | DocumentError,
        future: Future[_Inspection],
        inside: _Place | None,
    ) -> Generator[ReadSource]:
        try:
            inspection = result_of(future)
        except (DocumentError, CostLimitError) as error:
            if inside is not None and isinstance(error, DocumentError):
                inside.budget.spend_failure(error)
            yield source, error
            return
        if inspection.place is not None and isinstance(inspection.reading, Document):
            inspection.place.budget.spend_text(inspection.reading)
        if (
            inspection.file is not None
            and inspection.place is not None
            and isinstance(source, Source)
        ):
            try:
                yield from self._open(source, inspection, inspection.file, inspection.place)
            finally:
                inspection.file.discard()
        elif inspection.reading is not None:
            yield source, inspection.reading

    def _open(
        self, source: Source, inspection: _Inspection, file: LocalFile, place: _Place
    ) -> Generator[ReadSource]:
        """Yield a possible container as a document, if it is also a document, and its members."""
        closed = place.budget.closed(place.level)
        if closed:
            if inspection.reading is not None:
                yield source, inspection.reading
            self.counter.note_unopened(source, closed)
            return
        with self.space.folder() as folder:
            try:
                unpacked = self._unpacked(source, file, place.budget.for_container(folder))
            except DocumentError as error:
                if inspection.reading is None:
                    yield source, error
                else:  # the e-mail is readable, its attachments are not
                    yield source, inspection.reading
                    self.counter.note_incomplete(source, error)
                return
            place.budget.spend_members(unpacked)
            if inspection.reading is not None:
                yield source, inspection.reading
            if unpacked.is_container:
                yield from self._members(source, unpacked, folder, place)

    def _unpacked(self, source: Source, file: LocalFile, budget: UnpackBudget) -> Unpacked:
        """Return the content of a container.

        Raises:
            DocumentError: If it cannot be opened.
        """
        try:
            return self.pool.unpack(file.path, source=source.location, budget=budget)
        except MemoryError as exc:
            raise out_of_memory(source) from exc

    def _members(
        self, source: Source, unpacked: Unpacked, folder: Path, place: _Place
    ) -> Generator[ReadSource]:
        """Yield the members of an open container; members that could not be unpacked come first."""
        members = self._select_members(source, unpacked, folder, place.budget)
        lost = [
            (member, _lost_error(member.location, loss.code, loss.cause))
            for loss in unpacked.lost
            for member in self._select_member(source, place.budget, name=loss.name)
        ]
        self.counter.note_opened(source, members, len(lost), is_document=unpacked.is_document)
        self.counter.warnings += [f"{source.location}: {remark}" for remark in unpacked.remarks]
        if unpacked.stopped:
            cause = f"{unpacked.stopped.cause}; earlier members are added"
            error = _lost_error(source.location, unpacked.stopped.code, cause)
            self.counter.note_incomplete(source, error)
        yield from lost
        compared = self.compared(members)
        deeper = _Place(place.budget, level=place.level + 1)
        affordable = self._affordable(source, compared, place.budget)
        with closing(compared), closing(self.read(affordable, inside=deeper)) as results:
            yield from results

    def _affordable(
        self, source: Source, members: Iterable[ComparedSource], budget: SourceBudget
    ) -> Iterator[ComparedSource]:
        """Yield members until the budget is exhausted; then record the container as incomplete."""
        for member in members:
            if budget.exhausted:
                cause = (
                    f"{budget.exhausted}; earlier members are added: raise that limit, or unpack "
                    "it and add the folder"
                )
                self.counter.note_incomplete(
                    source, _lost_error(source.location, "too_large", cause)
                )
                return
            yield member

    def _select_members(
        self, source: Source, unpacked: Unpacked, folder: Path, budget: SourceBudget
    ) -> list[Source]:
        """Return the members that the patterns select, as sources."""
        total = max(1, sum(member.bytes for member in unpacked.members))
        share = 0 if unpacked.is_document else source.bytes
        return [
            replace(selected, path=folder / member.file_name, bytes=share * member.bytes // total)
            for member in unpacked.members
            for selected in self._select_member(source, budget, name=member.name)
        ]

    def _select_member(
        self, source: Source, budget: SourceBudget, *, name: str
    ) -> Iterator[Source]:
        """Yield a member as a source, if the patterns select it."""
        document_id = f"{source.document_id}{MEMBER_MARK}{name}"
        path = budget.pattern_path(document_id)
        if self.patterns.reaches(path) and (self.patterns.takes(path) or self.patterns.opens(path)):
            yield Source(
                document_id=document_id,
                location=f"{source.location}{MEMBER_MARK}{name}",
                root=source.root,
                path=None,
                bytes=0,
                members_only=not self.patterns.takes(path),
                prefix=source.prefix,
                in_stored_folder=source.in_stored_folder,
                is_member=True,
            )


def _lost_error(location: str, code: DocumentErrorCode, cause: str) -> ParseError:
    return ParseError(f"{location}: {cause}", source=location, code=code)
