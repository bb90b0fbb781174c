"""Parallel reading of sources ahead of the store, and opening of containers.

Rules:
    1. Documents are parsed ahead, in parallel. Containers are opened one at a time, in their turn,
       so at most one per nesting level takes temporary space. A member is a source of its own.
    2. The content of a container counts against one budget at any depth (`source_budget`), so a
       small archive of archives cannot unpack without limit.
    3. A document that needs more memory than available fails alone.
    4. Temporary files are removed when reading ends for any reason except a kill of the process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict

from spanwise.errors import CostLimitError, DocumentError, DocumentErrorCode, ParseError
from spanwise.ingest.compare import Verdict, has_attachments
from spanwise.ingest.counter import out_of_memory
from spanwise.ingest.source_budget import SourceBudget
from spanwise.ingest.sources import MEMBER_MARK, Source
from spanwise.parsers.containers import ContainerError
from spanwise.parsers.formats import PARSERS, UNPACKERS
from spanwise.threads import run_until_stopped
from spanwise.types import Document

if TYPE_CHECKING:
    from spanwise.ingest.counter import IngestCounter
    from spanwise.ingest.downloads import Downloader, LocalFile
    from spanwise.ingest.folder_walk import PathPatterns
    from spanwise.ingest.temporary_files import TemporarySpace
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import Limit, UnpackBudget, Unpacked
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.parsers.process.isolation import ParserPool


ComparedSource = tuple[Source | DocumentError, Verdict]
Reading = Document | Literal["unchanged", "new", "changed"]
"""Result of reading a source; "new" or "changed" if documents are not parsed."""
ReadSource = tuple[Source | DocumentError, Reading | DocumentError | CostLimitError]


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


class PageReader(Protocol):
    """Reads pages that are pictures or complex tables."""

    def reads(self, document_id: str) -> bool:
        """Return whether pages of a document are read by this reader."""

    def read_pages(
        self,
        document: Document,
        pages: PagesToRead,
        *,
        draw: Callable[[int], bytes],
        parse: Callable[[], Document],
    ) -> Document:
        """Return a document with the text read on some of its pages.

        Args:
            document: Document, parsed for a page reader.
            pages: Pages to read.
            draw: Returns a page as a PNG file, by its number from 1.
            parse: Parses the document without a page reader, if no page can be read.

        Raises:
            ParseError: If the document cannot be parsed without a page reader either.
            CostLimitError: If reading would exceed the cost limit.
        """


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of a document in nested containers."""

    budget: SourceBudget
    level: int
    """Number of containers around the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inspection:
    """Result of inspecting a source."""

    place: _Place | None
    """Position of the source; None if it was not opened."""
    reading: Reading | None
    """Result as a document; None if only members are read."""
    file: LocalFile | None
    """File that may be a container; None otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads sources and the members of containers."""

    pool: ParserPool
    threads: ThreadPoolExecutor
    space: TemporarySpace
    counter: IngestCounter
    downloader: Downloader
    compared: Callable[[Sequence[Source]], Generator[ComparedSource]]
    """Compares members and downloaded objects with the stored documents."""
    limits: ParseOptions
    patterns: PathPatterns
    """Patterns that select members."""
    ahead: int
    """Maximum number of documents read ahead of the store."""
    parses: bool
    """Whether documents are parsed; containers are opened in any case."""
    page_reader: PageReader
    """Reads pages that the parser cannot read as text."""

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
                look = self.threads.submit(self._inspect, source, verdict, inside, limit)
                waiting.append((source, look))
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
            text_limit: Maximum bytes of its text; None for the limit of its own budget.

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
        if verdict == "unchanged":
            return _Inspection(reading="unchanged", file=None, place=inside)
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

    def _inspect_file(
        self, source: Source, verdict: Verdict, file: LocalFile, text_limit: Limit
    ) -> tuple[Reading | None, bool]:
        """Return the file as a document (None if it is none), and whether it may be a container."""
        if (
            source.object_path and verdict == "changed"
        ):  # an object is downloaded before it can be compared
            verdicts = [verdict for _, verdict in self.compared([replace(source, path=file.path)])]
            verdict = verdicts[0]
            if verdict == "unchanged":
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
        """Return the parsed file, with the text of pages from the page reader."""
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
            return self.pool.parse(file.path, **arguments)
        document, pages = self.pool.parse_seen(file.path, **arguments)
        if not pages.numbers:
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

        return run_until_stopped(
            lambda: reader.read_pages(
                document, pages, draw=draw, parse=lambda: self.pool.parse(file.path, **arguments)
            ),
            stopped=self.downloader.stopped,
        )

    def _results(
        self,
        source: Source | DocumentError,
        future: Future[_Inspection],
        inside: _Place | None,
    ) -> Generator[ReadSource]:
        try:
            inspection = future.result()
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
        """Yield a possible container as a document, if it is one, and its members."""
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
        with closing(compared), closing(self.read(affordable, inside=deeper)) as found:
            yield from found

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
            replace(chosen, path=folder / member.file_name, bytes=share * member.bytes // total)
            for member in unpacked.members
            for chosen in self._select_member(source, budget, name=member.name)
        ]

    def _select_member(
        self, source: Source, budget: SourceBudget, *, name: str
    ) -> Iterator[Source]:
        """Yield a member as a source, or nothing if the patterns exclude it."""
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
                is_member=True,
            )


def _lost_error(location: str, code: DocumentErrorCode, cause: str) -> ParseError:
    return ParseError(f"{location}: {cause}", source=location, code=code)
