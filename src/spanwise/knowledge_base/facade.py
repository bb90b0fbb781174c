"""The knowledge base: documents in, segments out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, Self

from spanwise.errors import OptionError
from spanwise.knowledge_base.checks import (
    checked_id,
    checked_list,
    checked_media_type,
    checked_metadata,
    checked_path,
    checked_text,
    checked_title,
)
from spanwise.knowledge_base.documents import StoredDocuments
from spanwise.knowledge_base.information import information
from spanwise.knowledge_base.opening import open_store
from spanwise.knowledge_base.packs import Packs
from spanwise.knowledge_base.searching import Searching
from spanwise.knowledge_base.settings import settle, wanted_settings
from spanwise.knowledge_base.writing import copy_to, make_ingestor
from spanwise.options import ChunkOptions, FetchOptions, ParseOptions, SectionOptions

if TYPE_CHECKING:
    from spanwise.ingest import Ingestor
    from spanwise.ports import Embedder, Listener
    from spanwise.types import (
        BackupReport,
        CheckReport,
        IngestProgress,
        IngestReport,
        KnowledgeBaseInfo,
        Scalar,
    )

__all__ = ["KnowledgeBase"]


class KnowledgeBase(StoredDocuments, Searching):
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
        packs: Sequence[str | Path] | None = None,
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
            packs: What is known of kinds of documents: names of packs that come with Spanwise, or
                paths of files; those that come with it when None. Recorded with their content;
                `packs.use` changes them.
            parse: Limits for parsing a file.
            fetch: Limits for fetching a URL.
            listener: Hears the steps of searches.

        Raises:
            FormatError: If the folder is no knowledge base, or of a newer version.
            EmbedderMismatchError: If its vectors were made by another embedder.
            OptionError: If it was made with other options than those given.
        """
        self._path = checked_path(path)
        self._folder = self._path.absolute()  # where it lies when the working folder changes
        self._parse = parse or ParseOptions()
        self._fetch = fetch or FetchOptions()
        self._listener = listener
        self._given_embedder = None if isinstance(embedder, str) else embedder
        wanted = wanted_settings(
            embedder=embedder,
            tokenizer=tokenizer,
            sections=sections,
            chunks=chunks,
            packs=packs,
        )
        self._store = open_store(path, create=create)
        try:
            self._settings = settle(self._store, wanted)
        except BaseException:
            self._store.close()
            raise

    def add(
        self,
        *sources: str | Path | BinaryIO,
        document_id: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        replace: bool = False,
        metadata: Mapping[str, Scalar] | None = None,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add files, folders and URLs; what is there already and unchanged costs a hash.

        Archives, mailboxes and e-mails are opened: what is in them are documents of their own,
        with ids such as "reports.zip!/2018/q3.pdf".

        Args:
            *sources: Files, folders (taken recursively), URLs, objects and prefixes of object
                storage ("s3://bucket/reports"), or one stream of bytes.
            document_id: Id of the stream; only with one.
            include: Patterns of file names to take from folders and containers, such as "*.pdf";
                all when empty.
            exclude: Patterns of file names to leave out.
            replace: Whether a document may take the place of one that came from elsewhere.
            metadata: Fields that every document gets beside its own, in place of those that were
                given before; None to keep these.
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
        from spanwise.ingest import Choice, IngestJob, find_sources

        include, exclude = checked_list("include", include), checked_list("exclude", exclude)
        job = IngestJob(
            sources=tuple(
                find_sources(sources, include=include, exclude=exclude, document_id=document_id)
            ),
            choice=Choice.of(include, exclude),
            metadata=None if metadata is None else checked_metadata(metadata),
            replace_other=replace,
            on_document=on_document,
        )
        return self._ingestor.carry_out(job)

    def sync(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        folder: str | Path,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        metadata: Mapping[str, Scalar] | None = None,
        replace: bool = False,
        allow_empty: bool = False,
        dry_run: bool = False,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add, replace and remove, so that the documents that came from a folder equal it.

        Documents from elsewhere are left alone. After an interruption the same call goes on where
        it stopped. Removals come last. A file that cannot be read or parsed now, and everything
        below a subfolder that cannot be listed, keeps what is stored, and is reported as failed.

        Args:
            folder: The folder; however it is spelled, it is known by its real, absolute path. Or
                a prefix of an object storage ("s3://bucket/reports").
            include: As `add`. Documents of files that are not taken any more are removed.
            exclude: As `add`.
            metadata: As `add`.
            replace: As `add`.
            allow_empty: Whether all documents of the folder may be removed, if nothing is taken.
            dry_run: Whether nothing is changed, and the report says what would be; what cannot be
                parsed is not known then.
            on_document: Called after each document.

        Raises:
            FetchError: If there is no such folder, or it cannot be listed; nothing was changed.
            OptionError: As `add`; or if nothing is taken, and `allow_empty` is False.
            StoreError: If the knowledge base cannot be written.
        """
        from spanwise.ingest import IngestJob, look_into, sync_folder

        return sync_folder(
            look_into(
                folder,
                include=checked_list("include", include),
                exclude=checked_list("exclude", exclude),
            ),
            ingestor=self._ingestor,
            job=IngestJob(
                metadata=None if metadata is None else checked_metadata(metadata),
                replace_other=replace,
                on_document=on_document,
            ),
            allow_empty=allow_empty,
            dry_run=dry_run,
        )

    def add_text(
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        media_type: Literal["text/plain", "text/markdown"] = "text/plain",
        metadata: Mapping[str, Scalar] | None = None,
        replace: bool = False,
    ) -> IngestReport:
        """Add a text, kept character for character; a text with the same id is replaced.

        Args:
            text: The document.
            document_id: Its id.
            title: Its title; where it is empty, that of the front matter, or the words of its id.
            media_type: "text/markdown" to read headings, tables and front matter in it.
            metadata: Fields to filter by.
            replace: Whether it may take the place of a document that came from a file or URL.

        Raises:
            OptionError: If the text, its id, title, media type or metadata cannot be stored.
            ParseError: If the text is empty.
            ConflictError: If the id belongs to a document from a file or URL.
        """
        from spanwise.ingest import given_document

        document = given_document(
            checked_text(text, document_id),
            document_id=checked_id(document_id),
            title=checked_title(title),
            media_type=checked_media_type(media_type),
            metadata=checked_metadata(metadata),
        )
        return self._ingestor.add_document(document, replace_other=replace)

    def page_image(self, document_id: str, page: int, *, dots_per_inch: int = 150) -> bytes:
        """Return a page of a PDF as a PNG file, drawn from the very file that was added.

        Args:
            document_id: Id of the document.
            page: Number of the page, from 1.
            dots_per_inch: How finely it is drawn, from 10 to 600.

        Raises:
            DocumentNotFoundError: If there is none with this id.
            OptionError: If it has no such page, or the fineness is out of range.
            ParseError: If it is no PDF, or drawing takes too long or too much memory.
            FetchError: If the file is gone, or has changed since it was added.
        """
        from spanwise.knowledge_base.page_images import draw_page

        return draw_page(
            self.record(document_id),
            page,
            dots_per_inch=dots_per_inch,
            parse=self._parse,
            fetch=self._fetch,
        )

    def info(self) -> KnowledgeBaseInfo:
        """Return what the knowledge base holds and how it was made."""
        return information(
            self._store.list_records(),
            path=self._path,
            folder=self._folder,
            settings=self._store.ensure_settings({}),
        )

    def optimise(self) -> None:
        """Bring the index up to date and compact it; searches are right without, and slower."""
        self._store.optimise()

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return what is damaged: documents against what was stored, the index against them.

        Searches and writers go on meanwhile.

        Args:
            repair: Whether to make anew what is derived. A damaged document is never changed; its
                finding says what to do.

        Raises:
            StoreError: If the index is being written for minutes, or a repair cannot be written.
        """
        return self._store.check(repair=repair)

    def backup(
        self, path: str | Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> BackupReport:
        """Copy the knowledge base to a new folder, as it is at one moment, while it is in use.

        Args:
            path: Folder to make. It appears under this name when it is whole and safe on the disk.
            on_progress: Called with the bytes of the documents copied so far, and all of them.

        Raises:
            OptionError: If the path is there already, is inside of the knowledge base, or the
                folder that it is to lie in is missing.
            StoreFullError: If its disk is full; nothing is left of the copy.
            StoreError: If it cannot be written, or the knowledge base is in memory.
        """
        return copy_to(path, self._store, on_progress=on_progress)

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

    @cached_property
    def packs(self) -> Packs:
        """The packs that are in use: list them, use others, see what one finds."""
        return Packs(self._store)

    @cached_property
    def _ingestor(self) -> Ingestor:
        return make_ingestor(
            self._store,
            settings=self._settings,
            embedder=lambda: self._embedder,
            parse=self._parse,
            fetch=self._fetch,
        )
