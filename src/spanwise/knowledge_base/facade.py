"""The knowledge base: documents in, segments out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from spanwise.errors import DocumentNotFoundError, EmbedderMismatchError, OptionError
from spanwise.filters import known_fields, parse_filter
from spanwise.knowledge_base.checks import (
    checked_id,
    checked_list,
    checked_metadata,
    checked_text,
    checked_title,
)
from spanwise.knowledge_base.settings import NO_EMBEDDER, settle, wanted_settings
from spanwise.options import (
    ChunkOptions,
    FetchOptions,
    ParseOptions,
    SearchOptions,
    SectionOptions,
    SegmentOptions,
)
from spanwise.providers.tokens import make_tokenizer
from spanwise.query import Searcher, shipped_model
from spanwise.registry import make_embedder
from spanwise.types import Document, KnowledgeBaseInfo, Scalar

if TYPE_CHECKING:
    from spanwise.core.relevance import RelevanceModel
    from spanwise.filters import Filter
    from spanwise.ingest import Ingestor
    from spanwise.ports import Embedder, Listener, Store
    from spanwise.types import (
        Chunk,
        DocumentRecord,
        IngestProgress,
        IngestReport,
        SearchResult,
        Section,
    )

__all__ = ["KnowledgeBase"]

_MEMORY = ":memory:"


class KnowledgeBase:
    """Documents and everything derived from them, in one folder.

    Safe for use by several threads and processes at once. Closing waits for nothing: what `add`
    has returned, or told `on_document`, is on disk.
    """

    def __init__(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        path: str | Path = "spanwise.kb",
        *,
        create: bool = True,
        embedder: str | Embedder | None = "auto",
        tokenizer: str | None = None,
        sections: SectionOptions | None = None,
        chunks: ChunkOptions | None = None,
        parse: ParseOptions | None = None,
        fetch: FetchOptions | None = None,
        listener: Listener | None = None,
    ) -> None:
        """Open a knowledge base, or make it.

        Args:
            path: Its folder, or ":memory:" for one that is gone when it is closed.
            create: Whether it is made when missing.
            embedder: Name or object; "auto" for the static model that comes with an installed
                package, None for keywords alone. Recorded when the knowledge base is made.
            tokenizer: Whose tokens are counted, "o200k_base" when not given. Recorded.
            sections: How documents are cut into sections. Recorded.
            chunks: How sections are cut into chunks. Recorded.
            parse: Limits for parsing a file.
            fetch: Limits for fetching a URL.
            listener: Hears the steps of searches.

        Raises:
            FormatError: If the folder is no knowledge base, or of a newer version.
            EmbedderMismatchError: If its vectors were made by another embedder.
            OptionError: If it was made with other options than those given.
        """
        self._path = Path(path)
        self._folder = self._path.absolute()  # where it lies when the working folder changes
        self._parse = parse or ParseOptions()
        self._fetch = fetch or FetchOptions()
        self._listener = listener
        self._given_embedder = None if isinstance(embedder, str) else embedder
        wanted = wanted_settings(
            embedder=embedder, tokenizer=tokenizer, sections=sections, chunks=chunks
        )
        self._store = _open_store(path, create=create)
        try:
            self._settings = settle(self._store, wanted)
        except BaseException:
            self._store.close()
            raise

    def add(
        self,
        *sources: str | Path,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        replace: bool = False,
        metadata: Mapping[str, Scalar] | None = None,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add files, folders and URLs; what is there already and unchanged costs a hash.

        Args:
            *sources: Files, folders (taken recursively) and URLs.
            include: Patterns of file names to take from folders, such as "*.pdf"; all when empty.
            exclude: Patterns of file names to leave out.
            replace: Whether a document may take the place of one that came from elsewhere.
            metadata: Fields that every document gets beside its own.
            on_document: Called after each document.

        Returns:
            What was added, replaced, unchanged, and what failed and why; one document that fails
            does not keep the others out.

        Raises:
            OptionError: If nothing is named, a pattern cannot be read, or the metadata cannot be
                stored.
            StoreError: If the knowledge base cannot be written.
        """
        if not sources:
            raise OptionError("no sources are named; name files, folders or URLs")
        from spanwise.ingest import find_sources

        fields = checked_metadata(metadata)
        found = list(
            find_sources(
                sources,
                include=checked_list("include", include),
                exclude=checked_list("exclude", exclude),
            )
        )
        return self._ingestor.add_sources(
            found,
            metadata=fields,
            replace_other=replace,
            on_document=on_document,
        )

    def add_text(
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        metadata: Mapping[str, Scalar] | None = None,
        replace: bool = False,
    ) -> IngestReport:
        """Add a text, kept character for character; a text with the same id is replaced.

        Args:
            text: The document.
            document_id: Its id.
            title: Its title; the words of its id where it is empty.
            metadata: Fields to filter by.
            replace: Whether it may take the place of a document that came from a file or URL.

        Raises:
            OptionError: If the text, its id, title or metadata cannot be stored.
            ParseError: If the text is empty.
            ConflictError: If the id belongs to a document from a file or URL.
        """
        document = Document(
            id=checked_id(document_id),
            text=checked_text(text, document_id),
            title=checked_title(title),
            metadata=checked_metadata(metadata),
            content_hash=hashlib.sha256(text.encode("utf-8")).hexdigest(),
        )
        return self._ingestor.add_document(document, replace_other=replace)

    def search(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        question: str,
        *,
        budget_tokens: int = 4_000,
        preset: str = "balanced",
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
        segment_options: SegmentOptions | None = None,
        headers: bool = True,
        tokenizer: str | None = None,
    ) -> SearchResult:
        """Return the few contiguous segments that answer a question, inside a token budget.

        Args:
            question: What is asked, in any words.
            budget_tokens: Most tokens of `result.context`, headers included.
            preset: "precise", "balanced" or "comprehensive": from scattered to contiguous.
            documents: Ids of the documents to search; all when None.
            where: Filter on metadata, as a tree or as text: 'year >= 2018 and company = "3M"'.
            segment_options: In place of a preset.
            headers: Whether each segment stands under its header in the context.
            tokenizer: Whose tokens are counted; that of the knowledge base when None.

        Raises:
            QueryError: If the question is empty.
            OptionError: If an option is out of range, or the budget holds no relevant chunk.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` names one that does not exist.
        """
        if documents is not None:
            documents = checked_list("documents", documents)
        options = SearchOptions(
            budget_tokens=budget_tokens,
            segments=segment_options or SegmentOptions.preset(preset),
            headers=headers,
            tokenizer=tokenizer,
        )
        return self._searcher.search(
            question, options=options, where=_filter(where), documents=documents
        )

    def list(self, where: Filter | str | None = None) -> list[DocumentRecord]:
        """Return the records of the documents that a filter leaves, ordered by id.

        Raises:
            FilterError: If the filter does not fit the fields of the documents.
        """
        return self._store.list_records(_filter(where))

    def get(self, document_id: str) -> Document:
        """Return a document with its text.

        Raises:
            DocumentNotFoundError: If there is none with this id.
        """
        document = self._store.get_document(document_id)
        if document is None:
            raise DocumentNotFoundError(
                f"no document has the id {document_id!r}; `list` shows those there are"
            )
        return document

    def sections(self, document_id: str) -> tuple[Section, ...]:
        """Return the sections of a document; joined, they are its text.

        Raises:
            DocumentNotFoundError: If there is none with this id.
        """
        return self._store.get_sections(document_id) or self._missing(document_id)

    def chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document; joined, they are its text.

        Raises:
            DocumentNotFoundError: If there is none with this id.
        """
        return self._store.get_chunks(document_id) or self._missing(document_id)

    def delete(self, document_id: str) -> bool:
        """Delete a document; return whether there was one."""
        return self._store.delete_document(document_id)

    def info(self) -> KnowledgeBaseInfo:
        """Return what the knowledge base holds and how it was made."""
        records = self._store.list_records()
        return KnowledgeBaseInfo(
            path=str(self._path),
            documents=len(records),
            chunks=sum(record.chunks for record in records),
            chars=sum(record.chars for record in records),
            tokens=sum(record.tokens for record in records),
            bytes_on_disk=_size(self._folder),
            settings=self._settings.recorded,
            fields=_fields(records),
        )

    def optimise(self) -> None:
        """Bring the index up to date and compact it; searches are right without, and slower."""
        self._store.optimise()

    def close(self) -> None:
        """Release everything."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"KnowledgeBase({str(self._path)!r})"

    def _missing(self, document_id: str) -> tuple[()]:
        self.get(document_id)
        return ()

    @cached_property
    def _embedder(self) -> Embedder | None:
        settings = self._settings
        if settings.embedder == NO_EMBEDDER:
            return None
        if self._given_embedder is not None:
            return self._given_embedder
        try:
            embedder = make_embedder(settings.embedder)
        except OptionError as error:
            raise EmbedderMismatchError(
                f"{self._path} holds vectors of {settings.embedder!r}, which no installed package "
                "offers; install that package, or open it with `embedder=` and the object"
            ) from error
        if embedder.version != settings.embedder_version:
            raise EmbedderMismatchError(
                f"{self._path} holds vectors of {settings.embedder} version "
                f"{settings.embedder_version}, and version {embedder.version} is installed; "
                "install that version, or add the documents to a new knowledge base"
            )
        return embedder

    @cached_property
    def _ingestor(self) -> Ingestor:
        from spanwise.ingest import Ingestor, Preparer  # a search never needs them

        return Ingestor(
            store=self._store,
            preparer=Preparer(
                tokenizer=make_tokenizer(self._settings.tokenizer),
                embedder=self._embedder,
                sections=self._settings.sections,
                chunks=self._settings.chunks,
            ),
            parse=self._parse,
            fetch=self._fetch,
            workers=min(4, os.cpu_count() or 1),
        )

    def searcher(self, model: RelevanceModel) -> Searcher:
        """Return what searches this knowledge base with another relevance model, for evaluation."""
        return Searcher(
            store=self._store,
            embedder=self._embedder,
            tokenizer=self._settings.tokenizer,
            model=model,
            listener=self._listener,
        )

    @cached_property
    def _searcher(self) -> Searcher:
        return self.searcher(shipped_model())


def _open_store(path: str | Path, *, create: bool) -> Store:
    """Return the store of a path; imported here, so that importing Spanwise stays light."""
    if str(path) == _MEMORY:
        from spanwise.stores.memory import MemoryStore

        return MemoryStore()
    from spanwise.stores.embedded import open_embedded

    return open_embedded(Path(path).absolute(), create=create)


def _filter(where: Filter | str | None) -> Filter | None:
    return parse_filter(where) if isinstance(where, str) else where


def _size(path: Path) -> int:
    """Return the bytes of all files below a folder; 0 where there is none."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):  # the index is compacted meanwhile
                total += Path(folder, name).stat().st_size
    return total


def _fields(records: Sequence[DocumentRecord]) -> dict[str, tuple[str, ...]]:
    """Return the metadata fields with the kinds of their values."""
    fields = known_fields(record.metadata for record in records)
    return {name: tuple(sorted(kinds)) for name, kinds in fields.items()}
