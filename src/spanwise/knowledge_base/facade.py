"""The knowledge base: the public interface to documents, searches and answers."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace as replaced
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, Self, Unpack

from spanwise.config import find_location
from spanwise.core.answers.citations import cite_range
from spanwise.errors import OptionError
from spanwise.events import reported
from spanwise.filters import read_filter
from spanwise.knowledge_base.answer_pipelines import answer_run, make_each_asker
from spanwise.knowledge_base.answer_requests import answer_request
from spanwise.knowledge_base.arguments import (
    check_opening,
    checked_given,
    checked_id,
    checked_list,
    checked_media_type,
    checked_metadata,
    checked_path,
    checked_segment,
    checked_text,
    checked_title,
    each_options,
    excerpt_options,
    find_stored,
    make_scope,
    search_options,
    text_id,
)
from spanwise.knowledge_base.components import Components, QuestionRequest, find_store
from spanwise.knowledge_base.recorded_embedder import approve_embedder, named_embedder
from spanwise.knowledge_base.settings import check_tuning, given_tuning, settle, wanted_settings
from spanwise.options import (
    ChunkOptions,
    FetchOptions,
    ModelOptions,
    ParseOptions,
    SectionOptions,
    Spread,
)
from spanwise.options.checks import check_class, check_whole
from spanwise.stores.opening import open_store
from spanwise.stores.port import check_snapshot

if TYPE_CHECKING:
    from threading import Event

    from numpy.typing import ArrayLike
    from pydantic import BaseModel

    from spanwise.answers.citation_lookup import GivenCitation
    from spanwise.answers.stored_threads import Threads
    from spanwise.answers.stream import AnswerStream
    from spanwise.config import StoreAddress
    from spanwise.filters import Filter, Where
    from spanwise.ingest.tables import TableFormat
    from spanwise.knowledge_base.answer_requests import AskArguments
    from spanwise.knowledge_base.watched_folder import WatchOptions
    from spanwise.models.ports import Embedder, LanguageModel, Reranker
    from spanwise.options import (
        AnswerOptions,
        ContextOptions,
        CrawlOptions,
        ExcerptOptions,
        PublishedOptions,
        QueryOptions,
        RerankOptions,
        SearchOptions,
        SegmentOptions,
    )
    from spanwise.packs.pack_manager import Packs
    from spanwise.search.explanation import Explanation
    from spanwise.stores.copy import Verification
    from spanwise.stores.port import Store
    from spanwise.types import (
        Answer,
        BackupReport,
        CheckReport,
        Chunk,
        Citation,
        CitationLocation,
        CompactReport,
        CopyReport,
        Document,
        DocumentAnswers,
        DocumentRecord,
        Durability,
        ExcerptResult,
        ExportReport,
        Figure,
        GivenChunk,
        GivenParts,
        GivenValue,
        IngestProgress,
        IngestReport,
        KnowledgeBaseInfo,
        MetadataReport,
        Overlap,
        RebuildReport,
        SearchResult,
        Section,
        Segment,
        Turn,
        WrittenQueries,
    )
    from spanwise.types.listener import Listener

_DEFAULT_PATH = "spanwise.kb"


class KnowledgeBase:
    """Documents and their search index, in a folder, a database or a store object.

    Safe for use by several threads and processes at once. A document that `add` has returned or
    reported to `on_document` is on disk and survives a power failure, unless `durability` is
    "fast".
    """

    def __init__(
        self,
        path: str | Path | StoreAddress | None = None,
        *,
        store: Store | None = None,
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
            path: Folder, address of a database such as "postgresql://db/reports", or ":memory:" for
                a temporary knowledge base in memory; None for "spanwise.kb". With `store`, a name
                for messages and results; None for the name of the store's class.
            store: Store object to use instead of a folder; see `spanwise.stores.port.Store`.
                `close` closes it.
            create: Whether to create the knowledge base if it does not exist.
            embedder: Name or object; "auto" for the static model that is installed with Spanwise,
                None for keyword search only. Recorded at creation. Naming an embedder with a server
                address approves that address for the user; a recorded address that the user has
                not approved is refused.
            tokenizer: Tokenizer for all token counts; None for "o200k_base". Recorded.
            sections: Options for splitting documents into sections. Recorded.
            chunks: Options for splitting sections into chunks. Recorded.
            packs: Domain packs: names of shipped packs or paths of pack files; None for all
                shipped packs. Recorded with their content; `packs.use` changes them.
            parse: Limits for parsing one file.
            fetch: Limits for fetching one URL.
            models: Options for model calls: limits, retries and cost.
            tuning: Tuning file of `spanwise tune`; None for the default settings. Not recorded.
                A new knowledge base is created with its chunk options.
            durability: "full": stored documents survive a power failure. "fast": the operating
                system writes them within seconds; a power failure may lose the last documents, but
                never stores part of one. A killed process loses nothing in either mode. Only for
                folders and PostgreSQL.
            listener: Callbacks for the steps of searches and for model calls.

        Raises:
            FormatError: If there is no knowledge base and `create` is False, or the folder or
                database has other content or a newer format.
            EmbedderMismatchError: If its vectors, or the tuning, were made with another embedder.
            OptionError: If it was created with other options, the tuning cannot be read, `store`
                lacks a method, or an address is not valid or needs a package that is missing.
            StoreError: If it cannot be opened or created.
        """
        check_opening(durability, listener=listener, parse=parse, fetch=fetch, models=models)
        location, opened, is_new = find_store(
            _DEFAULT_PATH if path is None and store is None else path,
            store=store,
            create=create,
            durability=durability,
        )
        self._path = location
        with ExitStack() as stack:
            if opened is not None and store is None:
                stack.callback(opened.close)
            models = models or ModelOptions()
            loaded = given_tuning(tuning)
            if chunks is None and is_new and loaded is not None:
                chunks = loaded.chunks
            embedder_name = embedder if isinstance(embedder, str) else ""
            embedder = named_embedder(embedder, models=models)
            wanted = wanted_settings(
                embedder=embedder,
                tokenizer=tokenizer,
                sections=sections,
                chunks=chunks,
                packs=packs,
                is_new=is_new,
            )
            if opened is None:  # a folder is created only if all options are valid
                opened = open_store(location, create=create, durability=durability)
                stack.callback(opened.close)
            settings = settle(opened, wanted, embedder=embedder)
            if store is not None:
                check_snapshot(store)
            if loaded is not None:
                check_tuning(loaded, settings, file=str(tuning))
            approve_embedder(embedder_name, path=location)
            stack.pop_all()
        self._opened = Components(
            path=location,
            folder=location.absolute() if isinstance(location, Path) and store is None else None,
            store=opened,
            settings=settings,
            given_embedder=None if isinstance(embedder, str) else embedder,
            models=models,
            parse=parse or ParseOptions(),
            fetch=fetch or FetchOptions(),
            tuning=loaded,
            listener=listener,
        )
        self._opened.renew_headers()

    @property
    def _components(self) -> Components:
        """Return the components of the current state; a rebuild replaces them."""
        return self._opened.latest()

    @reported("add", counts=["chunks"])
    def add(
        self,
        *sources: str | Path | BinaryIO,
        document_id: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        replace: bool = False,
        metadata: Mapping[str, GivenValue] | None = None,
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: Mapping[str, GivenParts] | None = None,
        prefix: str | None = None,
        follow_links: bool = False,
        crawl: CrawlOptions | None = None,
        dry_run: bool = False,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add files, folders and URLs. Unchanged documents are recognised by their hash.

        Metadata of files is also read from `spanwise.metadata.csv` or `.jsonl` in their folders.

        Archives, mailboxes and e-mails are opened: each member is a document with an id such as
        "reports.zip!/2018/q3.pdf".

        With `llm`, a document that was processed with other options is processed again. Parts that
        the model fails to write are made without it, with a warning in `report.warnings`. If the
        model could not be reached, a repeated call writes these parts with it.

        Args:
            *sources: Files, folders (with subfolders), URLs, objects or prefixes of object storage
                ("s3://bucket/reports"), or one binary stream.
            document_id: Id of the stream; only with a stream.
            include: Glob patterns of file names to read from folders and archives, such as
                "*.pdf"; empty for all.
            exclude: Glob patterns of file names to skip.
            replace: Whether to replace a document with the same id from another source.
            metadata: Fields of every document, which replace those of earlier calls; None keeps
                them. Fields changed by `update_metadata` stay. For a file that belongs to a folder
                added before, they are set as by `update_metadata`.
            llm: Language model that writes parts of each document, such as "openai:gpt-5-mini", or
                an object; None for none.
            context: Parts that the model writes, and how.
            given: Parts by document id that the caller provides; the model does not write them.
            prefix: Prefix of the ids of files from folders, such as "2023". None keeps the prefix
                of the stored documents. New folders then have no prefix; each of several new
                folders has its path below their common parent.
            follow_links: Whether symbolic links that lead out of a folder are followed.
            crawl: Extent of the crawl that starts at the URLs; `include` and `exclude` are patterns
                of URL paths. None to add only the pages themselves, and the pages of sitemaps.
            dry_run: Whether to report the changes without making them. With `llm` or a remote
                embedder, documents are parsed and `report.usage` estimates the calls: input is
                counted, output and cost are upper bounds.
            on_document: Callback after each document.

        Returns:
            Documents that were added, replaced, unchanged or failed. A failed document does not
            stop the others.

        Raises:
            OptionError: If no source is given, an argument is invalid, `llm` and `context` do not
                fit together, or given parts do not fit their document.
            ModelKeyError: If the API key of the model is missing or rejected.
            StoreError: If the knowledge base cannot be written.
        """
        if not sources and (crawl is None or not crawl.sitemaps):
            raise OptionError("no sources are named; name files, folders or URLs")
        from spanwise.ingest import (
            IngestJob,
            PathPatterns,
            find_sources,
            in_stored_folders,
            read_sidecars,
            split_crawled,
        )

        include, exclude = checked_list("include", include), checked_list("exclude", exclude)
        addresses, files, crawl = split_crawled(sources, crawl)
        make_enricher = partial(self._components.enricher, llm, context, dry_run=dry_run)
        opened = find_sources(
            files,
            include=include,
            exclude=exclude,
            document_id=document_id,
            prefix=prefix,
            follow_links=follow_links,
            stored_ids=self._components.ids_from,
        )
        stored_ids = self._components.store.ids_from
        found = () if crawl is not None and not files else in_stored_folders(opened, stored_ids)
        job = IngestJob(
            sources=found,
            sidecars=read_sidecars(found, follow_links=follow_links),
            patterns=PathPatterns.of(include, exclude),
            metadata=checked_metadata(metadata),
            replace_other=replace,
            on_document=on_document,
            given=checked_given(given),
            enricher=make_enricher(),
        )
        ingestor = self._components.ingestor
        if crawl is None:
            return ingestor.estimate(job) if dry_run else ingestor.run(job)
        from spanwise.ingest.crawl import crawl_pages

        return crawl_pages(
            addresses,
            options=crawl,
            ingestor=ingestor,
            job=job,
            make_enricher=make_enricher,
            folder=self._components.log_folder,
            dry_run=dry_run,
        )

    @reported("sync", counts=["chunks"])
    def sync(
        self,
        folder: str | Path,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        metadata: Mapping[str, GivenValue] | None = None,
        replace: bool = False,
        allow_empty: bool = False,
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: Mapping[str, GivenParts] | None = None,
        prefix: str | None = None,
        follow_links: bool = False,
        dry_run: bool = False,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add, replace and remove documents so that those from a folder match its files.

        Documents from other sources are not changed. After an interruption the same call continues.
        Removals come last. If a file cannot be read or parsed, or a subfolder cannot be listed, the
        stored documents stay and the failure is reported.

        Args:
            folder: Folder, identified by its real absolute path, or a prefix of object storage
                ("s3://bucket/reports").
            include: See `add`. Documents of files that no longer match are removed.
            exclude: See `add`.
            metadata: See `add`.
            replace: See `add`.
            allow_empty: Whether all documents of the folder may be removed if no file matches.
            llm: See `add`.
            context: See `add`.
            given: See `add`.
            prefix: See `add`. Documents with another prefix are renamed.
            follow_links: See `add`. Documents of links that are not followed stay.
            dry_run: See `add`. Without `llm` nothing is parsed, so parse errors are not found.
            on_document: Callback after each document.

        Raises:
            FetchError: If the folder does not exist or cannot be listed; nothing was changed.
            OptionError: See `add`; or if no file matches and `allow_empty` is False.
            ModelKeyError: See `add`.
            StoreError: If the knowledge base cannot be written.
        """
        from spanwise.ingest import IngestJob, read_sidecars, scan_folder, sync_folder

        scan = scan_folder(
            folder,
            include=checked_list("include", include),
            exclude=checked_list("exclude", exclude),
            prefix=prefix,
            follow_links=follow_links,
            stored_ids=self._components.ids_from,
        )
        job = IngestJob(
            metadata=checked_metadata(metadata),
            sidecars=read_sidecars(scan.sources, follow_links=follow_links),
            replace_other=replace,
            on_document=on_document,
            given=checked_given(given),
            enricher=self._components.enricher(llm, context, dry_run=dry_run),
        )
        ingestor = self._components.ingestor
        return sync_folder(
            scan, ingestor=ingestor, job=job, allow_empty=allow_empty, dry_run=dry_run
        )

    def watch(
        self,
        folder: str | Path,
        *,
        settle_seconds: float = 2.0,
        stopped: Event | None = None,
        **options: Unpack[WatchOptions],
    ) -> Iterator[IngestReport]:
        """Yield the report of `sync`, then one whenever files of the folder have changed.

        Later runs read only changed files, and report a missing folder. Needs the extra `watch`.

        Args:
            folder: Folder on this machine.
            settle_seconds: Time that a changed file must stay unchanged before it is read.
            stopped: Event that ends the watch, also from another thread.
            **options: Arguments of `sync`, without `given` and `dry_run`.

        Raises:
            OptionError: See `sync`; or if watchfiles is not installed.
            FetchError: If the folder does not exist at the beginning.
            ModelKeyError: See `add`.
            StoreError: If the knowledge base cannot be written.
        """
        from spanwise.knowledge_base.watched_folder import watch_folder

        return watch_folder(
            self._components, folder, options, settle_seconds=settle_seconds, stopped=stopped
        )

    @reported("add_text", counts=["chunks"])
    def add_text(
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        media_type: Literal["text/plain", "text/markdown"] = "text/plain",
        metadata: Mapping[str, GivenValue] | None = None,
        replace: bool = False,
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: GivenParts | None = None,
    ) -> IngestReport:
        """Add a text, stored character for character; it replaces a text with the same id.

        Args:
            text: Text of the document.
            document_id: Id of the document.
            title: Title; empty for that of the front matter, a heading, or the words of the id.
            media_type: "text/markdown" to recognise headings, tables and front matter.
            metadata: Fields of the document; None keeps those of the last call, {} removes them.
                Fields changed by `update_metadata` stay; a warning names those given here.
            replace: Whether to replace a document with the same id from a file or URL.
            llm: See `add`. The model writes no title if one is given.
            context: See `add`.
            given: Parts that the caller provides; the model does not write them.

        Raises:
            OptionError: If an argument is invalid; see `add`.
            ParseError: If the text is empty.
            ConflictError: If the id belongs to a document from a file or URL.
            DocumentError: If its chunks cannot be embedded; the cause is the embedder's error.
            CostLimitError: If model calls would exceed `ModelOptions.max_cost`.
            ModelKeyError: See `add`.
        """
        from spanwise.ingest import IngestJob
        from spanwise.types import GivenParts

        checked_text(text, document_id)
        checked_id(document_id)
        checked_title(title)
        checked_media_type(media_type)
        enricher = self._components.enricher(llm, context, dry_run=False)
        if enricher is not None and title:
            given = replaced(given or GivenParts(), title=title)
        job = IngestJob(
            metadata=checked_metadata(metadata),
            replace_other=replace,
            given=checked_given(None if given is None else {document_id: given}),
            enricher=enricher,
        )
        return self._components.ingestor.add_text(
            text, document_id=document_id, title=title, media_type=media_type, job=job
        )

    @reported("add_chunks", counts=["chunks"])
    def add_chunks(
        self,
        document_id: str,
        chunks: Iterable[str | GivenChunk],
        vectors: ArrayLike | None = None,
        *,
        title: str = "",
        metadata: Mapping[str, GivenValue] | None = None,
        separator: str = "\n\n",
        overlap: Overlap = "refuse",
        replace: bool = False,
    ) -> IngestReport:
        """Add a document that another engine has divided into chunks, which are stored as they are.

        The text of the document is the concatenation of the chunks. The separator is added to the
        end of each chunk but the last one. Chunks with the same id replace the earlier ones.

        Args:
            document_id: Id of the document.
            chunks: 1 to 1,000,000 chunks in reading order: texts, or `GivenChunk` with page and
                headings. Without headings, the document is one section.
            vectors: One vector for each chunk by the embedder of this knowledge base, (chunks,
                dimension), of any norm; None to compute them.
            title: Title; empty for a heading of the text or the words of the id.
            metadata: Fields of the document; see `add_text`.
            separator: White space between two chunks; empty for none.
            overlap: Treatment of chunks that begin with the last 20 or more characters of the chunk
                before them: "refuse" for an error, "remove" to store repeated text once, or "keep".
            replace: Whether to replace a document with the same id from a file or URL.

        Raises:
            OptionError: If an argument is invalid, chunks overlap, or the vectors do not fit.
            ConflictError: If the id belongs to a document from a file or URL.
            DocumentError: If the chunks cannot be embedded; the cause is the embedder's error.
            CostLimitError: If embedding would exceed `ModelOptions.max_cost`.
            ModelKeyError: If the API key of the embedder is missing or rejected.
        """
        from spanwise.ingest.given_chunks import GivenChunks, add_chunks

        given = GivenChunks(
            document_id=checked_id(document_id),
            chunks=chunks,
            vectors=vectors,
            title=checked_title(title),
            metadata=checked_metadata(metadata),
            separator=separator,
            overlap=overlap,
            replace=replace,
        )
        return add_chunks(self._components.ingestor, given)

    @reported("update_metadata")
    def update_metadata(
        self,
        documents: Sequence[str] | Filter | Mapping[str, object],
        fields: Mapping[str, GivenValue | None],
        *,
        title: str | None = None,
        dry_run: bool = False,
    ) -> MetadataReport:
        """Set or remove metadata fields of stored documents, and set their title.

        Nothing is read from the sources, parsed or embedded again. Each document is changed in one
        transaction. These values take precedence over the file, sidecar files and `metadata` of
        `add`, `sync` and `add_text`, until another update changes them.

        Args:
            documents: Ids of documents, or a filter such as `field("year") == 2023` or the result
                of `parse_filter`. The id of an archive or mailbox selects its members.
            fields: Values by field name; None removes a field. Other fields stay.
            title: Title of the document, "" for the title of the file; None keeps the title.
            dry_run: Whether to report the changes without making them.

        Returns:
            The changed documents with their earlier and new values, and the unchanged ones.

        Raises:
            OptionError: If there is nothing to change, `documents` is a text, a value cannot be
                stored, or a title is given for several documents.
            DocumentNotFoundError: If an id is unknown; nothing was changed.
            FilterError: If the filter does not fit the fields of the documents.
            StoreError: If the knowledge base cannot be written; earlier changes are kept.
        """
        from spanwise.knowledge_base.metadata_updates import checked_changes, update_documents

        changes = checked_changes(fields, title=title)
        return update_documents(self._components.ingestor, documents, changes, dry_run=dry_run)

    @reported("search", counts=["candidates", "tokens"])
    def search(
        self,
        question: str,
        *,
        options: SearchOptions | None = None,
        budget_tokens: int = 4_000,
        preset: str | None = None,
        documents: Sequence[str] | None = None,
        where: Where | None = None,
        segment_options: SegmentOptions | PublishedOptions | None = None,
        headers: bool = True,
        tokenizer: str | None = None,
        more_queries: Sequence[str] | WrittenQueries = (),
        method: str = "exact",
        abstain: bool = False,
        deep: bool = True,
        spread: Spread = "auto",
        max_documents: int = 20,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
    ) -> SearchResult:
        """Return the few contiguous segments that answer a question, within a token budget.

        Args:
            question: Question. A phrase in double quotes must occur in the text or title. Misspelt
                words are searched in the spelling of the documents.
            options: All options in one object, in place of `budget_tokens`, `preset`,
                `segment_options`, `headers`, `tokenizer`, `method`, `abstain`,
                `deep`, `spread` and `max_documents`.
            budget_tokens: Maximum tokens of `result.context`, headers included. If it is too small
                for a chunk, the best sentence is returned, without its header if necessary.
            preset: Length of the segments: "precise", "balanced" or "comprehensive". With method
                "greedy": "dsrag-balanced", "dsrag-precision" or "dsrag-find-all". None for the
                balanced one.
            documents: Ids of the documents to search; None for all.
            where: Metadata filter as text ('year >= 2018 and company = "3M"'), as a tree
                (`field("year") >= 2018`), or as a mapping of fields to values: {"company": "3M",
                "year": [2018, 2019]}, where any value of a list is accepted.
            segment_options: Options in place of a preset; `PublishedOptions` with method "greedy".
            headers: Whether each segment has a header in the context.
            tokenizer: Tokenizer for token counts; None for that of the knowledge base.
            more_queries: Additional queries for the same question, or the result of
                `write_queries`. If its filter leaves no evidence, its conditions are dropped
                one at a time, with a warning.
            method: "exact", or "greedy" for the published relevant segment extraction.
            abstain: Whether the result is empty if there is hardly any evidence; ignored with
                method "greedy". If False, `result.weak_evidence` says so.
            deep: Whether MiniLM compares the best candidates with the question, if it is installed.
            spread: "documents" for the best place of each document that contains evidence,
                "passages" for the best segments, or "auto" to decide by the question: "Which
                contracts ...?" asks for documents. `result.documents` counts them.
            max_documents: Maximum number of documents in a search for documents.
            rerank: Reranker of the best candidates, such as "cohere:rerank-v3.5". If it fails, the
                search continues without it, with a warning.
            rerank_options: Number of chunks it reads, and its weight.

        Raises:
            QueryError: If the question or a query is empty or too long, or there are too many.
            OptionError: If an option is out of range, or not even one word fits the budget.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` contains an unknown id.
            ModelKeyError: If the API key of the reranker is missing or rejected.
        """
        return self._components.search(
            options=search_options(
                options,
                budget_tokens=budget_tokens,
                method=method,
                preset=preset,
                segment_options=segment_options,
                headers=headers,
                tokenizer=tokenizer,
                abstain=abstain,
                deep=deep,
                spread=spread,
                max_documents=max_documents,
            ),
            request=QuestionRequest(
                question=question,
                more_queries=more_queries,
                scope=make_scope(documents, where),
                rerank=rerank,
                rerank_options=rerank_options,
            ),
        )

    @reported("explain")
    def explain(
        self,
        question: str,
        *,
        options: SearchOptions | None = None,
        budget_tokens: int = 4_000,
        preset: str | None = None,
        documents: Sequence[str] | None = None,
        where: Where | None = None,
        segment_options: SegmentOptions | PublishedOptions | None = None,
        headers: bool = True,
        tokenizer: str | None = None,
        more_queries: Sequence[str] | WrittenQueries = (),
        method: str = "exact",
        abstain: bool = False,
        deep: bool = True,
        spread: Spread = "auto",
        max_documents: int = 20,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
    ) -> Explanation:
        """Return the result of `search` with the scores, values and decisions for each chunk.

        Takes the arguments of `search` and raises its errors. The `to_html()` of the explanation
        is a page with charts and sliders. Only a search for passages can be explained: `spread`
        must not be "documents", and `result` is that of `spread="passages"` for any question.
        """
        return self._components.explain(
            options=search_options(
                options,
                budget_tokens=budget_tokens,
                method=method,
                preset=preset,
                segment_options=segment_options,
                headers=headers,
                tokenizer=tokenizer,
                abstain=abstain,
                deep=deep,
                spread=spread,
                max_documents=max_documents,
            ),
            request=QuestionRequest(
                question=question,
                more_queries=more_queries,
                scope=make_scope(documents, where),
                rerank=rerank,
                rerank_options=rerank_options,
            ),
        )

    @reported("excerpts", counts=["candidates", "tokens"])
    def excerpts(
        self,
        question: str,
        *,
        options: ExcerptOptions | None = None,
        excerpts: int = 3,
        excerpt_tokens: int = 1_000,
        preset: str | None = None,
        documents: Sequence[str] | None = None,
        where: Where | None = None,
        segment_options: SegmentOptions | None = None,
        headers: bool = True,
        tokenizer: str | None = None,
        more_queries: Sequence[str] | WrittenQueries = (),
        abstain: bool = False,
        deep: bool = True,
        spread: Spread = "auto",
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
    ) -> ExcerptResult:
        """Return a few texts of a fixed size around the evidence for a question.

        Each excerpt is text of one document: the evidence that `search` would choose, and the text
        between and around it up to the size. No text is returned twice.

        Args:
            question: Question.
            options: All options in one object, in place of `excerpts`, `excerpt_tokens`, `preset`,
                `segment_options`, `headers`, `tokenizer`, `abstain`, `deep` and
                `spread`.
            excerpts: Maximum number of excerpts.
            excerpt_tokens: Maximum tokens of each excerpt, headers included. If it is too small for
                a chunk, the best sentence is returned.
            preset: Length of the pieces of evidence inside an excerpt; see `search`.
            documents: Ids of the documents to search; None for all.
            where: Metadata filter; see `search`.
            segment_options: Options in place of a preset.
            headers: Whether the text has the document header and section paths.
            tokenizer: Tokenizer for token counts; None for that of the knowledge base.
            more_queries: Additional queries for the same question; see `search`.
            abstain: Whether the result is empty if there is hardly any evidence.
            deep: Whether MiniLM compares the best candidates with the question, if it is installed.
            spread: "documents" for one excerpt of each document that contains evidence; see
                `search`.
            rerank: Reranker of the best candidates; see `search`.
            rerank_options: Options of the reranker.

        Raises:
            OptionError: See `search`; or if not even one word fits into an excerpt.
            SpanwiseError: The other errors of `search`.
        """
        return self._components.excerpts(
            options=excerpt_options(
                options,
                excerpts=excerpts,
                excerpt_tokens=excerpt_tokens,
                preset=preset,
                segment_options=segment_options,
                headers=headers,
                tokenizer=tokenizer,
                abstain=abstain,
                deep=deep,
                spread=spread,
            ),
            request=QuestionRequest(
                question=question,
                more_queries=more_queries,
                scope=make_scope(documents, where),
                rerank=rerank,
                rerank_options=rerank_options,
            ),
        )

    @reported("write_queries")
    def write_queries(
        self,
        question: str,
        *,
        llm: str | LanguageModel,
        options: QueryOptions | None = None,
        documents: Sequence[str] | None = None,
        where: Where | None = None,
        history: Sequence[Turn] = (),
    ) -> WrittenQueries:
        """Return search queries and a metadata filter that a language model writes for a question.

        Nothing is searched: pass the result as `more_queries` to `search`, `explain` or
        `excerpts`, with the same `where`. The filter uses only values that the question mentions.
        If the model fails, the result is the question alone, with a warning.

        Args:
            question: Question.
            llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
            options: Number of queries, guidance, and whether filters are allowed.
            documents: Ids of the documents to search; None for all.
            where: Metadata filter; see `search`.
            history: Earlier turns of a conversation, oldest first; the question is rewritten so
                that it can be understood without them.

        Raises:
            QueryError: If the question contains no words.
            OptionError: If no installed package offers the model.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` contains an unknown id.
            ModelKeyError: If the API key of the model is missing or rejected.
        """
        from spanwise.answers.search_queries import write_queries
        from spanwise.options import QueryOptions

        check_class("options", options, QueryOptions)
        components = self._components
        return write_queries(
            question,
            caller=components.model_caller(llm, ledger=components.ledger()),
            store=components.store,
            options=options or QueryOptions(),
            scope=make_scope(documents, where),
            history=history,
        )

    @reported("ask")
    def ask(
        self,
        question: str,
        *,
        llm: str | LanguageModel | None = None,
        query_llm: str | LanguageModel | None = None,
        documents: Sequence[str] | None = None,
        where: Where | None = None,
        options: AnswerOptions | None = None,
        budget_tokens: int | None = None,
        preset: str | None = None,
        method: str | None = None,
        segment_options: SegmentOptions | PublishedOptions | None = None,
        temperature: float | None = None,
        write_queries: bool = True,
        query_options: QueryOptions | None = None,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
        answer_type: type[BaseModel] | None = None,
        thread: str | None = None,
        fresh: bool = False,
    ) -> Answer:
        """Return an answer based only on the documents, with every quote checked.

        "[1]" in the text marks `citations[0]`, a quote that was found in the stored text, with its
        document, characters and pages. "[1?]" marks a quote that was not found, "[?]" a statement
        without a quote, and "[!]" a number, date or name that the quotes of its statement do not
        contain; `warnings` name them. If the documents contain no answer, `refused` is True and the
        text describes the search.

        Args:
            question: Question.
            llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
            query_llm: Model that writes the search queries; None for `llm`.
            documents: Ids of the documents to search; None for all.
            where: Metadata filter; see `search`.
            options: Guidance, limits, and whether excerpts are read one by one.
            budget_tokens: Maximum tokens of the context; None for that of `options` (8,000).
            preset: Length of the segments; see `search`. None for that of `options`.
            method: "exact" or "greedy"; see `search`. None for that of `options`.
            segment_options: Options in place of a preset; see `search`.
            temperature: Sampling temperature of the answer; None for that of `options` (0).
            write_queries: Whether the model first writes search queries.
            query_options: Options for writing queries.
            rerank: Reranker of the best candidates; see `search`.
            rerank_options: Options of the reranker.
            answer_type: Structured form of the answer; the result is in `answer.data`.
            thread: Id of a conversation to continue or start. The model sees its earlier turns and
                quotes, and the answer is stored in it.
            fresh: Whether to call models again, and to replace their cached outputs.

        Raises:
            OptionError: If no model is given, it is unknown, or an option does not fit another.
            QueryError: If the question contains no words.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` contains an unknown id.
            ModelKeyError: If the API key of the model is missing or rejected.
            ModelAnswerError: If the model gives no usable answer.
            CostLimitError: If a call would exceed the cost limit.
            ModelError: If the model fails.
        """
        from spanwise.answers.stream import AnswerStream

        request = answer_request(
            llm=llm,
            query_llm=query_llm,
            documents=documents,
            where=where,
            options=options,
            budget_tokens=budget_tokens,
            preset=preset,
            method=method,
            segment_options=segment_options,
            temperature=temperature,
            write_queries=write_queries,
            query_options=query_options,
            rerank=rerank,
            rerank_options=rerank_options,
            answer_type=answer_type,
            thread=thread,
            fresh=fresh,
        )
        return AnswerStream(answer_run(self._components, question, request, streams=False)).answer

    def ask_stream(self, question: str, **arguments: Unpack[AskArguments]) -> AnswerStream:
        """Return an answer as an iterator over its text, while the model is writing.

        The quotes of each piece are checked before it is yielded. `stream.answer` is the complete
        answer. Takes the arguments of `ask`, and raises its errors here or during iteration.

        Args:
            question: Question.
            **arguments: Arguments of `ask`.
        """
        from spanwise.answers.stream import AnswerStream

        request = answer_request(**arguments)
        return AnswerStream(answer_run(self._components, question, request, streams=True))

    @reported("ask_each")
    def ask_each(
        self,
        question: str,
        *,
        llm: str | LanguageModel | None = None,
        query_llm: str | LanguageModel | None = None,
        documents: Sequence[str] | None = None,
        where: Where | None = None,
        options: AnswerOptions | None = None,
        budget_tokens: int | None = None,
        temperature: float | None = None,
        write_queries: bool = True,
        query_options: QueryOptions | None = None,
        fresh: bool = False,
        dry_run: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> DocumentAnswers:
        """Put a question to each document separately, and return the answers of all documents.

        The model reads each document in a separate call, within a small token budget. Answers are
        cached: the same call continues interrupted work. A failed document does not stop the
        others, and at the cost limit the result contains the documents that were read.

        Args:
            question: Question about each document, such as "Which contracts allow termination for
                convenience?" or "What is the governing law?".
            llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
            query_llm: Model that writes the queries; None for `llm`.
            documents: Ids of the documents to read; None for all.
            where: Metadata filter; see `search`.
            options: Guidance and limits of the answers. Excerpts, `deep` and `spread` do not apply.
            budget_tokens: Maximum tokens that the model reads of each document; None for that of
                `options`, or 4,000 without options.
            temperature: Sampling temperature; None for that of `options`.
            write_queries: Whether the model first writes search queries, once for all documents.
            query_options: Options for writing queries; `filters` does not apply.
            fresh: Whether the models are called again instead of using cached outputs.
            dry_run: Whether calls, tokens and cost are only estimated, in `usage`.
            on_progress: Function that is called with the number of finished and of all documents.

        Raises:
            OptionError: If no model is given, it is unknown, or an option does not fit another.
            QueryError: If the question contains no words.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` contains an unknown id.
            ModelKeyError: If the API key of the model is missing or rejected.
            CostLimitError: If the cost limit is reached before any document was read.
            ModelError: If the model fails for all documents.
        """
        request = answer_request(
            llm=llm,
            query_llm=query_llm,
            documents=documents,
            where=where,
            options=each_options(options, budget_tokens),
            temperature=temperature,
            write_queries=write_queries,
            query_options=query_options,
            fresh=fresh,
        )
        asker = make_each_asker(self._components, request, dry_run=dry_run)
        return replaced(asker, on_progress=on_progress).run(question)

    @property
    def listener(self) -> Listener | None:
        """Callbacks that this knowledge base was opened with."""
        return self._opened.listener

    @property
    def threads(self) -> Threads:
        """Stored conversations: list, get and remove them."""
        from spanwise.answers.stored_threads import Threads

        return Threads(self._components.store)

    @property
    def packs(self) -> Packs:
        """Domain packs in use: list, use and remove them, and find their landmarks."""
        from spanwise.packs.pack_manager import Packs

        return Packs(self._components.store)

    def list(self, where: Where | None = None) -> builtins.list[DocumentRecord]:
        """Return the records of the documents that pass a filter, ordered by id.

        Raises:
            FilterError: If the filter does not fit the fields of the documents.
        """
        return self._components.store.list_records(read_filter(where))

    def filter_warning(self, where: Where | None) -> str:
        """Return a message with similar values if no document passes a filter; empty otherwise.

        Searches with such a filter have this message as their first warning.

        Raises:
            FilterError: If the filter does not fit the fields of the documents.
        """
        tree = read_filter(where)
        if tree is None or self._components.store.list_records(tree):
            return ""
        from spanwise.search.result_warnings import unmatched_filter

        return unmatched_filter(tree, self._components.store)

    def get(self, document_id: str) -> Document:
        """Return a document as it was added: text, pages, headings, metadata and warnings.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return find_stored(self._components.store.get_document, document_id)

    def record(self, document_id: str) -> DocumentRecord:
        """Return the record of a document: version, status, title, summary and counts.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return find_stored(self._components.store.get_record, document_id)

    def sections(self, document_id: str) -> tuple[Section, ...]:
        """Return the sections of a document, whose joined texts are its text.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return find_stored(self._components.store.get_sections, document_id)

    def chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document, whose joined texts are its text.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return find_stored(self._components.store.get_chunks, document_id)

    def remove(self, *document_ids: str) -> tuple[str, ...]:
        """Remove documents; an archive, mailbox or e-mail with all its members.

        Args:
            *document_ids: Ids of documents, archives or mailboxes; unknown ids are ignored.

        Returns:
            Ids of the removed documents, in ascending order.
        """
        from spanwise.ingest.sources import containers_of

        store, ids = self._components.store, dict.fromkeys(map(text_id, document_ids))
        # The given ids first and without reading them, because they may be damaged.
        removed = [document_id for document_id in ids if store.delete_document(document_id)]
        removed += [
            record.id
            for record in store.list_records()
            if not ids.keys().isdisjoint(containers_of(record.id))
            and store.delete_document(record.id)
        ]
        return tuple(sorted(removed))

    def cite(self, document_id: str, start: int, end: int) -> Citation:
        """Return the citation of a range of a document.

        Args:
            document_id: Id of the document.
            start: Offset of the first character.
            end: Offset one past the last character.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
            OptionError: If the range is empty or outside of the text.
        """
        whole = find_stored(self._components.store.get_whole, document_id)
        return cite_range(whole, start, end)

    def locate(self, citation: GivenCitation) -> CitationLocation:
        """Return where the text of a citation is now; its document may have changed since.

        Args:
            citation: Citation, segment or excerpt span, or the `to_dict` of one.

        Returns:
            Status "current" or "moved" with the place of the same text, "changed" with the most
            similar passage, or "removed".

        Raises:
            OptionError: If it is not a citation, or contains neither its text nor a hash of it.
        """
        from spanwise.answers.citation_lookup import locate_citation

        return locate_citation(self._components.store, citation)

    def page_image(
        self,
        document_id: str,
        page: int,
        *,
        dots_per_inch: int = 150,
        highlight: tuple[int, int] | str | None = None,
    ) -> bytes:
        """Return a page of a PDF as a PNG file, rendered from the original file.

        Args:
            document_id: Id of the document.
            page: Number of the page, from 1.
            dots_per_inch: Resolution, from 10 to 600.
            highlight: Range of characters of the document to highlight, such as that of a segment
                or citation, or words of the page; None for nothing. Words that were read by OCR or
                by a model are not in the file and cannot be highlighted.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
            OptionError: If the page does not exist, or does not contain the range or words to
                highlight, or the resolution is out of range.
            ParseError: If the document is not a PDF, or rendering exceeds its limits.
            FetchError: If the file is missing or has changed since it was added.
        """
        if highlight is None:
            return self._draw_pages(document_id, [page], dots_per_inch)[0]
        from spanwise.ingest.page_images import highlighted_range

        document = self.get(document_id)
        place = highlighted_range(document, page, highlight)
        return self._draw_pages(document_id, [page], dots_per_inch, document, place)[0]

    def segment_images(
        self,
        segment: Segment,
        *,
        dots_per_inch: int = 150,
        max_pages: int = 8,
        highlight: bool = False,
    ) -> tuple[bytes, ...]:
        """Return the pages of a segment as PNG files, in order.

        Args:
            segment: Segment of a stored document.
            dots_per_inch: Resolution, from 10 to 600.
            max_pages: Maximum number of pages; the first ones are returned.
            highlight: Whether to highlight the text of the segment.

        Raises:
            OptionError: If `max_pages` is below 1.
            SpanwiseError: The errors of `page_image`.
        """
        check_whole("max_pages", max_pages, 1, 1_000_000)
        first, last = checked_segment(segment).citation.pages or (1, 0)
        pages = range(first, min(last, first + max_pages - 1) + 1)
        document = self.get(segment.document_id) if highlight else None
        place = (segment.start, segment.end)
        return self._draw_pages(segment.document_id, pages, dots_per_inch, document, place)

    def _draw_pages(
        self,
        document_id: str,
        pages: Sequence[int],
        dots_per_inch: int,
        document: Document | None = None,
        highlight: tuple[int, int] = (0, 0),
    ) -> tuple[bytes, ...]:
        from spanwise.ingest.page_images import draw_pages

        return draw_pages(
            self.record(document_id),
            pages,
            dots_per_inch=dots_per_inch,
            parse=self._components.parse,
            fetch=self._components.fetch,
            document=document,
            highlight=highlight,
            stored=self._components.stored_file,
        )

    def figures(self, document_id: str) -> tuple[Figure, ...]:
        """Return the charts, drawings and pictures of a document, in order.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return self.get(document_id).figures

    def figure_image(self, document_id: str, number: int) -> bytes:
        """Return a figure as an image file, read from the original file.

        Args:
            document_id: Id of the document.
            number: Position of the figure in `figures`, from 0.

        Returns:
            A PNG file for a part of a PDF page; otherwise the picture as it is in the file. Image
            files other than PNG, JPEG, GIF and WebP are converted to PNG.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
            OptionError: If the document has no such figure.
            ParseError: If the picture is not a PNG, JPEG, GIF or WebP image.
            FetchError: If the file is missing or has changed since it was added.
        """
        from spanwise.ingest.page_images import draw_figure

        return draw_figure(
            self.record(document_id),
            self.figures(document_id),
            number,
            parse=self._components.parse,
            fetch=self._components.fetch,
            stored=self._components.stored_file,
        )

    def info(self) -> KnowledgeBaseInfo:
        """Return the size, settings and metadata fields of the knowledge base."""
        return self._components.info()

    def compact(self) -> CompactReport:
        """Compact the index, and return the space of deleted documents to the disk.

        Searches and writers continue. Searches are correct without it, but may be slower. After
        large deletions, most of their space is returned without this call, in small steps.

        Raises:
            StoreError: If the knowledge base cannot be written, or its index stays locked for
                minutes.
        """
        return self._components.compact()

    def forget_outputs(self) -> int:
        """Delete all cached model outputs, and return their number.

        The cache avoids repeated calls, also for documents that were deleted. Sections, summaries
        and conversations are kept.
        """
        return self._components.store.forget_outputs()

    def check(self, *, repair: bool = False) -> CheckReport:
        """Check documents against their checksums, and the index against the documents.

        Searches and writers continue during the check.

        Args:
            repair: Whether to rebuild derived data. A damaged document is never changed; its
                finding describes the remedy.

        Raises:
            StoreError: If the index stays locked for minutes, or a repair cannot be written.
        """
        return self._components.check(repair=repair)

    def backup(
        self, path: str | Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> BackupReport:
        """Copy a consistent state of the knowledge base to a new folder, while it is in use.

        Args:
            path: Folder to create. It appears under this name once it is complete and on disk.
            on_progress: Callback with the bytes copied and the total bytes of the documents.

        Raises:
            OptionError: If the path exists or is inside of the knowledge base, or its parent folder
                is missing.
            StoreFullError: If the disk is full; the partial copy is removed.
            StoreError: If the copy cannot be written, or the knowledge base is in memory.
        """
        return self._components.backup(checked_path(path), on_progress)

    def copy_to(
        self,
        target: str | Path | StoreAddress,
        *,
        merge: bool = False,
        verify: Verification = "sample",
        on_progress: Callable[[str, int, int], None] | None = None,
    ) -> CopyReport:
        """Copy the knowledge base to another folder or database, or complete such a copy.

        Documents, vectors, settings, packs, cached model outputs and conversations are copied.
        Documents that the target has in the same version are not copied again, so a repeated call
        continues after an interruption, and copies what has changed.

        Args:
            target: Folder, or address of a database such as "postgresql://db/reports". It is
                created if it does not exist.
            merge: Whether the target may have documents that are not a copy of these; they stay.
                Documents with the same id are replaced.
            verify: Documents that are compared in full at the end: "sample" (2 % of the chunks), or
                "all". Settings, records and the order of the documents are always compared.
            on_progress: Callback with the name of a step, and its finished and total items.

        Raises:
            OptionError: If the target has other settings, or documents that are not a copy of
                these.
            StoreFullError: If the disk of the target is full; what was copied is kept.
            StoreError: If the target cannot be written, or differs at the end.
        """
        from spanwise.knowledge_base.copy import copy_to

        return copy_to(
            self._components,
            find_location(target),
            merge=merge,
            verification=verify,
            on_progress=on_progress,
        )

    def export_to(
        self,
        path: str | Path,
        *,
        table_format: TableFormat = "jsonl",
        where: Where | None = None,
        vectors: bool = True,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> ExportReport:
        """Write documents, sections, chunks, vectors and metadata to files for other programs.

        The files are in a new folder: `documents`, `sections` and `chunks`, and `export.json` with
        the settings of the knowledge base.

        Args:
            path: Folder to create. It appears under this name once it is complete.
            table_format: "jsonl" (JSON Lines), "parquet", or "csv" for spreadsheets. CSV has no
                vectors, and cells that a spreadsheet would run as a formula begin with an
                apostrophe.
            where: Filter of the documents; None for all.
            vectors: Whether to write the vectors of the chunks.
            on_progress: Callback with the number of documents written so far and the total.

        Raises:
            OptionError: If the path exists or its parent does not, or the format is unknown or its
                library is not installed.
            FilterError: If the filter does not fit the fields of the documents.
            StoreError: If the files cannot be written.
        """
        from spanwise.ingest.exchange import export_documents

        return export_documents(
            self._components.store,
            checked_path(path),
            table_format=table_format,
            where=read_filter(where),
            vectors=vectors,
            on_progress=on_progress,
        )

    @reported("import_from", counts=["chunks"])
    def import_from(
        self,
        path: str | Path,
        *,
        replace: bool = False,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add the documents of an export, with their titles, summaries, sections and metadata.

        Documents are divided into chunks by the options of this knowledge base. Vectors are reused
        if the export has vectors of the same embedder. Other chunks are embedded again.

        Args:
            path: Folder that `export_to` has written, as JSON Lines or Parquet.
            replace: Whether to replace a document with the same id from another source.
            on_document: Callback after each document.

        Raises:
            OptionError: If the folder is not an export that can be read.
            FormatError: If the export is damaged; documents stored before are kept.
            StoreError: If the knowledge base cannot be written.
        """
        from spanwise.ingest import IngestJob
        from spanwise.ingest.exchange import open_export

        job = IngestJob(replace_other=replace, on_document=on_document)
        return self._components.ingestor.import_documents(open_export(Path(path)), job)

    @reported("rebuild", counts=["chunks"])
    def rebuild(
        self,
        *,
        embedder: str | Embedder | None = "auto",
        tokenizer: str | None = None,
        sections: SectionOptions | None = None,
        chunks: ChunkOptions | None = None,
        dry_run: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> RebuildReport:
        """Rebuild all documents with other settings, from the stored documents.

        No file is read and no URL is fetched: texts, pages, metadata, titles and parts made by a
        model or the caller are kept, and so are conversations and cached model outputs. A document
        with sections from a model or the caller keeps them.

        The new state is prepared next to the current one, on disk. Searches continue in the current
        state, and all handles, also those of other processes, move to the new state at once when it
        is complete. Documents that are added or removed meanwhile are not lost. After an
        interruption the same call continues.

        Args:
            embedder: Name or object; "auto" to keep the recorded one, None for keyword search only.
            tokenizer: Tokenizer for all token counts; None to keep the recorded one.
            sections: Options for splitting documents into sections; None to keep them.
            chunks: Options for splitting sections into chunks; None to keep them.
            dry_run: Whether to change nothing. `usage` then estimates the calls of a remote
                embedder: input is counted, cost is an upper bound.
            on_progress: Callback with the number of characters prepared so far and the total.

        Raises:
            OptionError: If an option is invalid, or the embedder or tokenizer is unknown.
            ModelError: If the embedder fails; the documents before are kept for the next call.
            CostLimitError: If a call would exceed `ModelOptions.max_cost`.
            FormatError: If documents are damaged; the message names them.
            StoreBusyError: If another process is rebuilding, or documents keep changing faster than
                they are prepared.
            StoreError: If the knowledge base cannot be written.
        """
        from spanwise.knowledge_base.rebuild import RebuildRequest, rebuild

        request = RebuildRequest(
            embedder=embedder, tokenizer=tokenizer, sections=sections, chunks=chunks
        )
        return rebuild(self._components, request, dry_run=dry_run, on_progress=on_progress)

    def discard_rebuild(self) -> bool:
        """Delete the unfinished state of an interrupted rebuild, and return whether there was one.

        Raises:
            StoreBusyError: If another process is rebuilding.
        """
        return self._components.store.discard_rebuild()

    def close(self) -> None:
        """Write pending index data and release all resources."""
        self._opened.close()

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
