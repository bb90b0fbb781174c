"""From sources to stored documents: parsed side by side, stored one transaction each, in order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from spanwise.core.filings.covers import cover_fields, cover_title
from spanwise.core.table_heads import searched_text
from spanwise.core.titles import document_title
from spanwise.core.versions import text_version
from spanwise.errors import DocumentError
from spanwise.ingest.compare import compare, kept_fields, typed
from spanwise.ingest.local_files import Porter
from spanwise.ingest.reading import Compared, Found, Reader
from spanwise.ingest.sources import Source
from spanwise.ingest.sync import nothing_taken
from spanwise.ingest.tally import Outcome, Tally
from spanwise.ingest.temporary import TemporarySpace
from spanwise.parsers.pdf.ocr import has_engine
from spanwise.parsers.process.isolation import ParserPool
from spanwise.sources.walk import Choice
from spanwise.types import Document, IngestProgress, IngestReport, Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.ingest.prepare import Preparer
    from spanwise.options import FetchOptions, ParseOptions
    from spanwise.ports import Store
    from spanwise.types import Chunk, DocumentRecord

__all__ = ["IngestJob", "Ingestor"]

_AHEAD = 2  # documents that each parsing process may be ahead of the store
_FEW = 50  # sources whose records are read one by one, not with those of all documents


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
    """What is to be taken in, and how."""

    sources: Sequence[Source | DocumentError] = ()
    """What was found, and what could not be opened."""
    gone: Sequence[DocumentRecord] = ()
    """Documents to remove, once the sources are in."""
    metadata: Mapping[str, Scalar] | None = None
    """Fields that every document gets beside its own; None for those it was given before."""
    replace_other: bool = False
    """Whether documents from other roots may be replaced."""
    on_document: Callable[[IngestProgress], None] | None = None
    """Called after each document."""
    choice: Choice = field(default_factory=Choice)
    """Which members of containers are taken."""
    held: Sequence[DocumentRecord] = ()
    """Documents of the sources and of their members; those that are found no more are removed."""
    allow_empty: bool = False
    """Whether they may be removed where no document at all is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestor:
    """Takes documents into one knowledge base, and out of it."""

    store: Store
    preparer: Callable[[], Preparer]
    """Called when a document is to be prepared: models are loaded only then."""
    embeds: bool
    """Whether the knowledge base has an embedder."""
    parse: ParseOptions
    fetch: FetchOptions
    workers: int = 2
    """Parsing processes."""

    def carry_out(
        self, job: IngestJob, *, records: Mapping[str, DocumentRecord] | None = None
    ) -> IngestReport:
        """Take in all sources, then remove what is gone; what fails is reported alone.

        Unchanged sources come first, then the others in their order. Removals come last: in
        between, and after a kill, a search may find a renamed document twice, but never not at
        all; and its vectors are there to be taken over.

        Args:
            job: What is to be done.
            records: What is stored, by id; looked up where it is None.

        Raises:
            StoreError: If the store fails; what was stored before stays.
        """
        tally = _new_tally(job, warnings=self._lacks())
        changed = []
        with closing(self._compared(job.sources, job, records)) as compared:
            for source, verdict in compared:
                if verdict == "unchanged":
                    tally.note(source, "unchanged")
                else:
                    changed.append((source, verdict))
        if changed:
            self._take_in(changed, job, tally, records)
        for record in _gone(job, tally):
            # What came again meanwhile, from another process, is not what was to be removed.
            if self.store.delete_document(record.id, record=record):
                tally.note(record, "removed")
        return tally.report(embeds=self.embeds)

    def foresee(self, job: IngestJob, *, records: Mapping[str, DocumentRecord]) -> IngestReport:
        """Return the report of a job without doing it; what cannot be parsed is not known yet.

        Containers are opened, in temporary space, so that their members are foreseen too.
        """
        tally = _new_tally(job)
        with (
            closing(self._compared(job.sources, job, records)) as compared,
            self._reading(compared, job, tally, records=records, parses=False) as readings,
        ):
            for source, reading in readings:
                if isinstance(reading, DocumentError):
                    tally.note_failure(source, reading)
                else:
                    foreseen: Mapping[object, Outcome] = {"new": "added", "changed": "replaced"}
                    tally.note(source, foreseen.get(reading, "unchanged"))
        for record in _gone(job, tally):
            tally.note(record, "removed")
        return tally.report(embeds=self.embeds)

    def add_document(self, document: Document, *, replace_other: bool = False) -> IngestReport:
        """Take in one document that is parsed already.

        Raises:
            DocumentError: If it holds no text, or its id belongs to another source.
        """
        job = IngestJob(replace_other=replace_other)
        tally = _new_tally(job, warnings=self._lacks())
        record = self.store.get_record(document.id)
        if record is not None and _is_same(record, document):
            tally.note_given(document.id, "unchanged")
        else:
            tally.note_given(document.id, self._put(document, job, tally, twins={}))
        return tally.report(embeds=self.embeds)

    def _records(self, sources: Sequence[Source | DocumentError]) -> dict[str, DocumentRecord]:
        """Return what is stored under the ids of the sources."""
        if len(sources) > _FEW:
            return {record.id: record for record in self.store.list_records()}
        ids = [source.document_id for source in sources if isinstance(source, Source)]
        found = [self.store.get_record(document_id) for document_id in ids]
        return {record.id: record for record in found if record is not None}

    def _compared(
        self,
        sources: Sequence[Source | DocumentError],
        job: IngestJob,
        records: Mapping[str, DocumentRecord] | None,
    ) -> Generator[Compared]:
        return compare(
            sources,
            records=self._records(sources) if records is None else records,
            metadata=job.metadata,
            replace_other=job.replace_other,
            threads=self.workers if len(sources) > _FEW else 1,
            reads_pictures=has_engine(self.parse.ocr),
        )

    def _lacks(self) -> list[str]:
        """Return what the knowledge base does without, for people."""
        if self.embeds:
            return []
        return ["no vectors: this knowledge base has no embedder and is searched by keywords alone"]

    def _take_in(
        self,
        sources: Sequence[Compared],
        job: IngestJob,
        tally: Tally,
        records: Mapping[str, DocumentRecord] | None,
    ) -> None:
        """Parse and store what is new or changed; note what cannot be opened."""
        twins = {record.content_hash: record.id for record in job.gone}
        with self._reading(sources, job, tally, records=records, parses=True) as readings:
            for source, reading in readings:
                outcome: Outcome = "unchanged"
                try:
                    if isinstance(reading, DocumentError):
                        raise reading
                    tally.check_id(source)
                    if isinstance(reading, Document):
                        record = self.store.get_record(reading.id)
                        document = _with_fields(reading, job.metadata, record=record)
                        if record is None or not _is_same(record, document):
                            outcome = self._put(document, job, tally, twins=twins)
                except DocumentError as error:
                    tally.note_failure(source, error)
                else:
                    tally.note(source, outcome)

    @contextmanager
    def _reading(
        self,
        sources: Iterable[Compared],
        job: IngestJob,
        tally: Tally,
        *,
        records: Mapping[str, DocumentRecord] | None,
        parses: bool,
    ) -> Iterator[Generator[Found]]:
        """Give what yields the sources and their members with what became of them.

        Args:
            sources: What is to be read, and why.
            job: Which members are taken, and with which fields.
            tally: Counts what containers hold.
            records: What is stored, by id; looked up where it is None.
            parses: Whether documents are parsed.
        """
        with (
            TemporarySpace() as space,
            ParserPool(options=self.parse, workers=self.workers) as pool,
            ThreadPoolExecutor(self.workers, thread_name_prefix="spanwise-parse") as threads,
        ):
            reader = Reader(
                pool=pool,
                threads=threads,
                space=space,
                tally=tally,
                porter=Porter(space=space, fetch=self.fetch, parse=self.parse),
                compared=lambda members: self._compared(members, job, records),
                limits=self.parse,
                choice=job.choice,
                ahead=self.workers * _AHEAD,
                parses=parses,
            )
            with closing(reader.read(sources)) as readings:
                yield readings

    def _put(
        self, document: Document, job: IngestJob, tally: Tally, *, twins: Mapping[str, str]
    ) -> Literal["added", "replaced"]:
        """Store a document; `twins` are ids of documents that go, by the hash of their bytes."""
        known = self._known_vectors(document.id, twins.get(document.content_hash))
        packs = self.store.ensure_settings({}).get("packs", "")
        entry = self.preparer().entry(document, known=known, packs=packs)
        outcome = self.store.put_document(entry, replace=job.replace_other)
        kept = sum(_embedded_text(chunk) in known for chunk in entry.chunks)
        tally.count(entry, kept_vectors=kept)
        return outcome

    def _known_vectors(self, *document_ids: str | None) -> dict[str, NDArray[np.float32]]:
        """Return the vectors, by text, of the chunks of the first of these that is stored."""
        for document_id in document_ids:
            embedded = None if document_id is None else self.store.get_embedded(document_id)
            if embedded is not None:
                return {
                    _embedded_text(chunk): vector for chunk, vector in zip(*embedded, strict=True)
                }
        return {}


def _embedded_text(chunk: Chunk) -> str:
    """Return what the vector of a chunk is made of."""
    return searched_text(chunk.text, table_head=chunk.table_head)


def _gone(job: IngestJob, tally: Tally) -> list[DocumentRecord]:
    """Return the documents that are to be removed, once the sources are in.

    Raises:
        OptionError: If containers were opened, nothing in them or beside them is taken, and their
            documents would be removed: it may be a pattern with a slip.
    """
    members = tally.gone(job.held)
    if members and not tally.has_found and not job.allow_empty:
        raise nothing_taken(members[0].source_root, len(members))
    return [*job.gone, *members]


def _new_tally(job: IngestJob, *, warnings: Sequence[str] = ()) -> Tally:
    named = [source for source in job.sources if isinstance(source, Source)]
    unwanted = sum(source.members_only for source in named)
    return Tally(
        total=len(job.sources) - unwanted + len(job.gone),
        bytes_total=sum(source.bytes for source in named),
        on_document=job.on_document,
        warnings=list(warnings),
    )


def _with_fields(
    document: Document, metadata: Mapping[str, Scalar] | None, *, record: DocumentRecord | None
) -> Document:
    """Return a parsed document with what its first page says and what the caller gives.

    What the caller gives goes before the rest; the title of a filing is that of its first page,
    since files of filings are titled by the programs that made them.
    """
    cover = cover_fields(document.text)
    given = kept_fields(record, root=document.source_root) if metadata is None else metadata
    return replace(
        document,
        title=(cover and cover_title({**cover, **given})) or document.title,
        metadata={**cover, **document.metadata, **given},
        given_fields=tuple(sorted(given)),
    )


def _is_same(record: DocumentRecord, document: Document) -> bool:
    """Return whether a document is stored exactly as it is."""
    return (
        record.content_hash == document.content_hash
        and record.version == text_version(document.text)
        and record.status == document.status
        and record.source_root == document.source_root
        and record.media_type == document.media_type
        and record.given_fields == document.given_fields
        and typed(record.metadata) == typed(document.metadata)
        and record.title == document_title(document)
    )
