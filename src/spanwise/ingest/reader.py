"""Sources read ahead of the store, and containers opened: a member is a source of its own.

Rules
    1. Documents are parsed ahead, side by side; containers are opened one at a time, when it is
       their turn, so that no more than one on each level takes temporary space.
    2. What a container holds is counted against one budget, at whatever depth (`budget`): a small
       archive of archives cannot unpack for ever.
    3. A document that needs more memory than there is fails alone.
    4. The temporary files are gone when the reading ends, however it ends, but by a kill of the
       process.
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
from spanwise.ingest.stoppable import run_until_stopped
from spanwise.parsers.containers import ContainerError
from spanwise.parsers.formats import PARSERS, UNPACKERS
from spanwise.types import Document

if TYPE_CHECKING:
    from spanwise.ingest.counter import IngestCounter
    from spanwise.ingest.downloads import Downloader, LocalFile
    from spanwise.ingest.folder_walk import PathPatterns
    from spanwise.ingest.temporary_files import TemporarySpace
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import UnpackBudget, Unpacked
    from spanwise.parsers.expansion import Limit
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.parsers.process.isolation import ParserPool


ComparedSource = tuple[Source | DocumentError, Verdict]
Reading = Document | Literal["unchanged", "new", "changed"]
"""A source that was read; "new" or "changed" where documents are not parsed."""
ReadSource = tuple[Source | DocumentError, Reading | DocumentError | CostLimitError]


_MODEL_DOTS_PER_INCH = 130
"""A page of letter size is drawn for a model with no more dots than vendors take."""


class _ParseArguments(TypedDict):
    """What a parser is told of a file."""

    media_type: str | None
    charset: str | None
    document_id: str
    source: str
    source_root: str
    text_limit: Limit


class PageReader(Protocol):
    """Reads pages that are pictures or complex tables."""

    def reads(self, document_id: str) -> bool:
        """Return whether it reads pages of a document."""

    def read_pages(
        self,
        document: Document,
        pages: PagesToRead,
        *,
        draw: Callable[[int], bytes],
        parse: Callable[[], Document],
    ) -> Document:
        """Return a document with what it reads on some of its pages.

        Args:
            document: The document, as it is parsed for somebody who reads these pages.
            pages: Some of its pages.
            draw: Returns a page as a PNG file, by its number from 1.
            parse: Parses the document as it is without, where none of them is read.

        Raises:
            ParseError: If the document cannot be read without either.
            CostLimitError: If it would cost more than is allowed.
        """


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a document is."""

    budget: SourceBudget
    level: int
    """In how many containers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inspection:
    """What is known of a source once it was inspection at."""

    place: _Place | None
    """None where it was not opened."""
    reading: Reading | None
    """None where the source is no document itself, or only its members are wanted."""
    file: LocalFile | None
    """What may be a container; None where it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How sources are read."""

    pool: ParserPool
    threads: ThreadPoolExecutor
    space: TemporarySpace
    counter: IngestCounter
    downloader: Downloader
    compared: Callable[[Sequence[Source]], Generator[ComparedSource]]
    """Compares members, and objects that were brought, with what is stored."""
    limits: ParseOptions
    patterns: PathPatterns
    """Which members are taken."""
    ahead: int
    """Documents that the reading may be ahead of the store."""
    parses: bool
    """Whether documents are parsed; else containers are opened all the same."""
    page_reader: PageReader
    """Reads pages that are to be seen."""

    def read(
        self, sources: Iterable[ComparedSource], *, inside: _Place | None = None
    ) -> Generator[ReadSource]:
        """Yield each document with what became of it, in order; members follow their container.

        Args:
            sources: What is to be read, and why.
            inside: Where they are; None for sources that were named, or lie in folders.
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
        except BaseException:  # interrupted: nobody waits for what is being read
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
        """Return what a source is.

        Args:
            source: The source.
            verdict: What is to be done with it.
            inside: Where it is; None for a source that was named, or lies in a folder.
            text_limit: Bytes that its text may have; None for what its own budget says.

        Raises:
            DocumentError: If it cannot be opened, fetched or parsed.
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
        """Return what a file is as a document, None for none, and whether it may be a container."""
        if source.object_path and verdict == "changed":  # it had to be brought to be compared
            verdicts = [said for _, said in self.compared([replace(source, path=file.path)])]
            verdict = verdicts[0]
            if verdict == "unchanged":
                return verdict, "opened" in verdicts
        if isinstance(verdict, DocumentError):
            raise verdict
        if verdict == "opened":
            return None, True
        if not self.parses:
            found = self.pool.look(file.path, source=source.location)
            reading = verdict if found in PARSERS else None
            return reading, found in UNPACKERS
        try:
            document = self._parse(source, file, text_limit)
        except ContainerError:
            return None, True
        return document, has_attachments(document)

    def _parse(self, source: Source, file: LocalFile, text_limit: Limit) -> Document:
        """Return a file parsed, with the pages that are to be seen."""
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
        """Yield what may be a container, where it is a document, and its members."""
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
                else:  # the mail is read, its attachments cannot be
                    yield source, inspection.reading
                    self.counter.note_incomplete(source, error)
                return
            place.budget.spend_members(unpacked)
            if inspection.reading is not None:
                yield source, inspection.reading
            if unpacked.is_container:
                yield from self._members(source, unpacked, folder, place)

    def _unpacked(self, source: Source, file: LocalFile, budget: UnpackBudget) -> Unpacked:
        """Return what a container holds.

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
        """Yield the members of an open container, those first that could not be taken out."""
        members = self._chosen(source, unpacked, folder, place.budget)
        lost = [
            (member, _lost_error(member.location, one.code, one.cause))
            for one in unpacked.lost
            for member in self._chosen_member(source, place.budget, name=one.name)
        ]
        self.counter.note_opened(source, members, len(lost), is_document=unpacked.is_document)
        self.counter.warnings += [f"{source.location}: {said}" for said in unpacked.remarks]
        if unpacked.stopped:
            cause = f"{unpacked.stopped.cause}; what came before is taken"
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
        """Yield members until the budget is exhausted; note the container where some are left."""
        for member in members:
            if budget.exhausted:
                cause = (
                    f"{budget.exhausted}; what came before is taken: raise that limit, or unpack "
                    "it and add the folder"
                )
                self.counter.note_incomplete(
                    source, _lost_error(source.location, "too_large", cause)
                )
                return
            yield member

    def _chosen(
        self, source: Source, unpacked: Unpacked, folder: Path, budget: SourceBudget
    ) -> list[Source]:
        """Return the members that patterns take, as sources."""
        total = max(1, sum(member.bytes for member in unpacked.members))
        share = 0 if unpacked.is_document else source.bytes
        return [
            replace(chosen, path=folder / member.file_name, bytes=share * member.bytes // total)
            for member in unpacked.members
            for chosen in self._chosen_member(source, budget, name=member.name)
        ]

    def _chosen_member(
        self, source: Source, budget: SourceBudget, *, name: str
    ) -> Iterator[Source]:
        """Yield a member as a source, or nothing where patterns leave it out."""
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
