"""The knowledge base: documents in, segments out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from spanwise.errors import OptionError
from spanwise.knowledge_base.adding import Adding
from spanwise.knowledge_base.answering import Answering
from spanwise.knowledge_base.checks import checked_durability, checked_path
from spanwise.knowledge_base.documents import StoredDocuments
from spanwise.knowledge_base.information import information
from spanwise.knowledge_base.opening import approve_embedder, named_embedder, open_store
from spanwise.knowledge_base.query_writing import QueryWriting
from spanwise.knowledge_base.settings import settle, wanted_settings
from spanwise.knowledge_base.threads import KeptThreads
from spanwise.knowledge_base.tuning import check_tuning
from spanwise.knowledge_base.writing import copy_to
from spanwise.options import ChunkOptions, FetchOptions, ModelOptions, ParseOptions, SectionOptions
from spanwise.packs.pack_manager import Packs
from spanwise.search.tuned_options import read_tuning

if TYPE_CHECKING:
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Embedder
    from spanwise.types import BackupReport, CheckReport, Durability, KnowledgeBaseInfo, Segment
    from spanwise.types.listener import Listener


class KnowledgeBase(Adding, StoredDocuments, Answering, QueryWriting, KeptThreads):
    """Documents and everything derived from them, in one folder.

    Safe for use by several threads and processes at once. A document that `add` has returned or
    reported to `on_document` is on disk and survives a power failure, unless `durability` is
    "fast".
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
        models: ModelOptions | None = None,
        tuning: str | Path | None = None,
        durability: Durability = "full",
        listener: Listener | None = None,
    ) -> None:
        """Open a knowledge base, or create it.

        Args:
            path: Folder, or ":memory:" for a temporary knowledge base in memory.
            create: Whether to create it if it does not exist.
            embedder: Name or object; "auto" for the static model that comes with an installed
                package, None for keywords alone. Recorded when the knowledge base is made. A name
                with an address approves the address for the user. A recorded address that the
                user has not approved is refused where it would be contacted.
            tokenizer: Tokenizer for all token counts; None for "o200k_base". Recorded.
            sections: Options for splitting documents into sections. Recorded.
            chunks: Options for splitting sections into chunks. Recorded.
            packs: What is known of kinds of documents: names of packs that come with Spanwise, or
                paths of files; those that come with it when None. Recorded with their content;
                `packs.use` changes them.
            parse: Limits for parsing one file.
            fetch: Limits for fetching one URL.
            models: Options for model calls: limits, retries and cost.
            tuning: File of settings that `spanwise tune` wrote for these documents; None for the
                shipped ones. Not recorded. A new knowledge base gets the chunks that it wants.
            durability: "full": what is acknowledged survives a power failure. "fast": the operating
                system writes it within seconds; a power failure may lose the last writes, and
                never leaves half a document. A killed process loses nothing with either.
            listener: Callbacks for the steps of searches and for model calls during an ingest.

        Raises:
            FormatError: If the folder is not a knowledge base, or of a newer version.
            EmbedderMismatchError: If its vectors were made by another embedder, or the tuning was
                made for another one.
            OptionError: If it was made with other options than those given, or the tuning cannot
                be read.
        """
        self._path = checked_path(path)
        self._folder = self._path.absolute()  # where it lies when the working folder changes
        self._parse = parse or ParseOptions()
        self._fetch = fetch or FetchOptions()
        self._models = models or ModelOptions()
        self._listener = listener
        self._budget: Ledger | None = None
        self._tuning = None if tuning is None else read_tuning(tuning)
        is_new = not self._path.exists()
        if chunks is None and is_new and self._tuning is not None:
            chunks = self._tuning.chunks
        named = embedder if isinstance(embedder, str) else ""
        embedder = named_embedder(embedder, models=self._models)
        self._given_embedder = None if isinstance(embedder, str) else embedder
        wanted = wanted_settings(
            embedder=embedder,
            tokenizer=tokenizer,
            sections=sections,
            chunks=chunks,
            packs=packs,
            is_new=is_new,
        )
        self._store = open_store(path, create=create, durability=checked_durability(durability))
        try:
            self._settings = settle(self._store, wanted, embedder=embedder)
            if self._tuning is not None:
                check_tuning(self._tuning, self._settings, place=str(tuning))
            approve_embedder(named, path=self._path)
        except BaseException:
            self._store.close()
            raise

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
        return self._drawn(document_id, [page], dots_per_inch)[0]

    def segment_images(
        self, segment: Segment, *, dots_per_inch: int = 150, max_pages: int = 8
    ) -> tuple[bytes, ...]:
        """Return the pages that a segment stands on, in order, as PNG files.

        Args:
            segment: A segment of a document that is stored.
            dots_per_inch: How finely they are drawn, from 10 to 600.
            max_pages: Most pages; of a segment on more of them, the first ones.

        Raises:
            DocumentNotFoundError: If the document is gone.
            OptionError: If `max_pages` is below 1, or the fineness is out of range.
            ParseError: If it is no PDF, or drawing takes too long or too much memory.
            FetchError: If the file is gone, or has changed since it was added.
        """
        if max_pages < 1:
            raise OptionError(f"max_pages is {max_pages!r}; it must be at least 1")
        first, last = segment.citation.pages or (1, 0)
        pages = range(first, min(last, first + max_pages - 1) + 1)
        return self._drawn(segment.document_id, pages, dots_per_inch)

    def _drawn(
        self, document_id: str, pages: Sequence[int], dots_per_inch: int
    ) -> tuple[bytes, ...]:
        from spanwise.knowledge_base.page_images import draw_pages

        return draw_pages(
            self.record(document_id),
            pages,
            dots_per_inch=dots_per_inch,
            parse=self._parse,
            fetch=self._fetch,
        )

    def info(self) -> KnowledgeBaseInfo:
        """Return what the knowledge base holds and how it was made."""
        return information(self._store, path=self._path, folder=self._folder, tuning=self._tuning)

    def optimise(self) -> None:
        """Bring the index up to date and compact it; searches are right without, and slower."""
        self._store.optimise()

    def forget_outputs(self) -> int:
        """Delete the outputs of models that are kept, and return how many there were.

        They are kept so that the same is never asked for twice, also when the documents that they
        were made of are gone. Sections, summaries and conversations stay.
        """
        return self._store.forget_outputs()

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return what is damaged: documents against what was stored, the index against them.

        Searches and writers go on meanwhile.

        Args:
            repair: Whether to rebuild derived data. A damaged document is never changed; its
                finding describes the remedy.

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
