"""Sources read ahead of the store, and containers opened: a member is a source of its own.

Rules
    1. Documents are parsed ahead, side by side; containers are opened one at a time, when it is
       their turn, so that no more than one on each level takes temporary space.
    2. What a container holds is counted against one allowance, at whatever depth: a small archive
       of archives cannot unpack for ever.
    3. The temporary files are gone when the reading ends, however it ends, but by a kill of the
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
from spanwise.ingest.sources import MEMBER_MARK, Source
from spanwise.ingest.stoppable import run_until_stopped
from spanwise.parsers.containers import ContainerError, UnpackBudget
from spanwise.parsers.formats import PARSERS, UNPACKERS
from spanwise.types import Document

if TYPE_CHECKING:
    from spanwise.ingest.counter import IngestCounter
    from spanwise.ingest.downloads import Downloader, LocalFile
    from spanwise.ingest.folder_walk import Choice
    from spanwise.ingest.temporary_files import TemporarySpace
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import Unpacked
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.parsers.process.isolation import ParserPool


Compared = tuple[Source | DocumentError, Verdict]
Reading = Document | Literal["unchanged", "new", "changed"]
"""A source that was read; "new" or "changed" where documents are not parsed."""
Found = tuple[Source | DocumentError, Reading | DocumentError | CostLimitError]


_MODEL_DOTS_PER_INCH = 130
"""A page of letter size is drawn for a model with no more dots than vendors take."""


class _Origin(TypedDict):
    """What a parser is told of a file."""

    media_type: str | None
    charset: str | None
    document_id: str
    source: str
    source_root: str


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


@dataclass(slots=True)
class _Outermost:
    """The container that was named, or lies in a folder, and what is left of its limits."""

    source: Source
    members: int
    bytes: int

    def closed(self, level: int, limits: ParseOptions) -> str:
        """Return why nothing at this level is opened any more; empty where it is."""
        if level >= limits.max_nesting:
            return f"it is a container in max_nesting={limits.max_nesting} others, or more"
        if self.members <= 0 or self.bytes <= 0:
            return "max_members or max_container_bytes of the container it is in was reached"
        return ""

    def spend(self, unpacked: Unpacked) -> None:
        """Count what was taken out of one of its containers."""
        self.members -= len(unpacked.members) + len(unpacked.lost)
        self.bytes -= sum(member.bytes for member in unpacked.members)

    def budget(self, folder: Path) -> UnpackBudget:
        """Return what one of its containers, or it itself, may take."""
        return UnpackBudget(into=folder, max_members=self.members, max_bytes=self.bytes)

    def pattern_path(self, member_id: str) -> str:
        """Return what patterns are matched against: containers are folders."""
        start = 0 if self.source.from_folder else len(self.source.document_id + MEMBER_MARK)
        return member_id[start:].replace(MEMBER_MARK, "/")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where members are."""

    outermost: _Outermost
    level: int
    """In how many containers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What is known of a source once it was looked at."""

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
    tally: IngestCounter
    porter: Downloader
    compared: Callable[[Sequence[Source]], Generator[Compared]]
    """Compares members, and objects that were brought, with what is stored."""
    limits: ParseOptions
    choice: Choice
    """Which members are taken."""
    ahead: int
    """Documents that the reading may be ahead of the store."""
    parses: bool
    """Whether documents are parsed; else containers are opened all the same."""
    page_reader: PageReader
    """Reads pages that are to be seen."""

    def read(
        self, sources: Iterable[Compared], *, inside: _Place | None = None
    ) -> Generator[Found]:
        """Yield each document with what became of it, in order; members follow their container.

        Args:
            sources: What is to be read, and why.
            inside: Where they are; None for sources that were named, or lie in folders.
        """
        waiting: deque[tuple[Source | DocumentError, Future[_Looked]]] = deque()
        try:
            for source, verdict in sources:
                waiting.append((source, self.threads.submit(self._look, source, verdict)))
                if len(waiting) > self.ahead:
                    yield from self._settled(*waiting.popleft(), inside)
            while waiting:
                yield from self._settled(*waiting.popleft(), inside)
        except BaseException:  # interrupted: nobody waits for what is being read
            self.porter.stopped.set()
            for _, future in waiting:
                future.cancel()
            self.pool.close()
            raise

    def _look(self, source: Source | DocumentError, verdict: Verdict) -> _Looked:
        """Return what a source is.

        Raises:
            DocumentError: If it cannot be opened, fetched or parsed.
        """
        if isinstance(verdict, DocumentError):
            raise verdict
        if isinstance(source, DocumentError):
            raise source
        if verdict == "unchanged":
            return _Looked(reading="unchanged", file=None)
        file = self.porter.bring(source)
        try:
            looked = self._look_into(source, verdict, file)
        except BaseException:
            file.discard()
            raise
        if looked.file is None:
            file.discard()
        return looked

    def _look_into(self, source: Source, verdict: Verdict, file: LocalFile) -> _Looked:
        if source.object_path and verdict == "changed":  # it had to be brought to be compared
            verdicts = [said for _, said in self.compared([replace(source, path=file.path)])]
            verdict = verdicts[0]
            if verdict == "unchanged":
                return _Looked(reading=verdict, file=file if "opened" in verdicts else None)
        if isinstance(verdict, DocumentError):
            raise verdict
        if verdict == "opened":
            return _Looked(reading=None, file=file)
        if not self.parses:
            found = self.pool.look(file.path, source=source.location)
            return _Looked(
                reading=verdict if found in PARSERS else None,
                file=file if found in UNPACKERS else None,
            )
        try:
            document = self._parse(source, file)
        except ContainerError:
            return _Looked(reading=None, file=file)
        return _Looked(reading=document, file=file if has_attachments(document) else None)

    def _parse(self, source: Source, file: LocalFile) -> Document:
        """Return a file parsed, with the pages that are to be seen."""
        origin = _Origin(
            media_type=file.media_type,
            charset=file.charset,
            document_id=source.document_id,
            source=source.location,
            source_root=source.root,
        )
        reader = self.page_reader
        if not reader.reads(source.document_id):
            return self.pool.parse(file.path, **origin)
        document, pages = self.pool.parse_seen(file.path, **origin)
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
                document, pages, draw=draw, parse=lambda: self.pool.parse(file.path, **origin)
            ),
            stopped=self.porter.stopped,
        )

    def _settled(
        self,
        source: Source | DocumentError,
        future: Future[_Looked],
        inside: _Place | None,
    ) -> Generator[Found]:
        try:
            looked = future.result()
        except (DocumentError, CostLimitError) as error:
            yield source, error
            return
        if looked.file is not None and isinstance(source, Source):
            limits = self.limits
            outermost = _Outermost(source, limits.max_members, limits.max_container_bytes)
            place = inside or _Place(outermost, level=0)
            try:
                yield from self._open(source, looked, looked.file, place)
            finally:
                looked.file.discard()
        elif looked.reading is not None:
            yield source, looked.reading

    def _open(
        self, source: Source, looked: _Looked, file: LocalFile, place: _Place
    ) -> Generator[Found]:
        """Yield what may be a container, where it is a document, and its members."""
        outermost = place.outermost
        closed = outermost.closed(place.level, self.limits)
        if closed:
            if looked.reading is not None:
                yield source, looked.reading
            self.tally.note_closed(source, closed)
            return
        with self.space.folder() as folder:
            try:
                unpacked = self.pool.unpack(
                    file.path, source=source.location, budget=outermost.budget(folder)
                )
            except DocumentError as error:
                if looked.reading is None:
                    yield source, error
                else:  # the mail is read, its attachments cannot be
                    yield source, looked.reading
                    self.tally.note_incomplete(source, error)
                return
            outermost.spend(unpacked)
            if looked.reading is not None:
                yield source, looked.reading
            if unpacked.is_container:
                yield from self._members(source, unpacked, folder, place)

    def _members(
        self, source: Source, unpacked: Unpacked, folder: Path, place: _Place
    ) -> Generator[Found]:
        """Yield the members of an open container, those first that could not be taken out."""
        members = self._chosen(source, unpacked, folder, place.outermost)
        lost = [
            (member, _lost_error(member.location, one.code, one.cause))
            for one in unpacked.lost
            for member in self._chosen_member(source, place.outermost, name=one.name)
        ]
        self.tally.note_opened(source, members, len(lost), is_document=unpacked.is_document)
        self.tally.warnings += [f"{source.location}: {said}" for said in unpacked.remarks]
        if unpacked.stopped:
            cause = f"{unpacked.stopped.cause}; what came before is taken"
            error = _lost_error(source.location, unpacked.stopped.code, cause)
            self.tally.note_incomplete(source, error)
        yield from lost
        compared = self.compared(members)
        deeper = _Place(place.outermost, level=place.level + 1)
        with closing(compared), closing(self.read(compared, inside=deeper)) as found:
            yield from found

    def _chosen(
        self, source: Source, unpacked: Unpacked, folder: Path, outermost: _Outermost
    ) -> list[Source]:
        """Return the members that patterns take, as sources."""
        total = max(1, sum(member.bytes for member in unpacked.members))
        share = 0 if unpacked.is_document else source.bytes
        return [
            replace(chosen, path=folder / member.file_name, bytes=share * member.bytes // total)
            for member in unpacked.members
            for chosen in self._chosen_member(source, outermost, name=member.name)
        ]

    def _chosen_member(
        self, source: Source, outermost: _Outermost, *, name: str
    ) -> Iterator[Source]:
        """Yield a member as a source, or nothing where patterns leave it out."""
        document_id = f"{source.document_id}{MEMBER_MARK}{name}"
        path = outermost.pattern_path(document_id)
        if self.choice.reaches(path) and (self.choice.takes(path) or self.choice.opens(path)):
            yield Source(
                document_id=document_id,
                location=f"{source.location}{MEMBER_MARK}{name}",
                root=source.root,
                path=None,
                bytes=0,
                members_only=not self.choice.takes(path),
                is_member=True,
            )


def _lost_error(location: str, code: DocumentErrorCode, cause: str) -> ParseError:
    return ParseError(f"{location}: {cause}", source=location, code=code)
