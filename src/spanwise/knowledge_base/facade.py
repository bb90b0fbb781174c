"""The knowledge base: the public interface to documents, searches and answers."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replaced
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, Never, Self

from spanwise.answers.citation_lookup import locate_citation
from spanwise.answers.stored_threads import Threads
from spanwise.config import local_folder
from spanwise.core.answers.citations import cite_range
from spanwise.errors import DocumentNotFoundError, OptionError
from spanwise.knowledge_base.arguments import (
    checked_durability,
    checked_given,
    checked_id,
    checked_list,
    checked_media_type,
    checked_metadata,
    checked_text,
    checked_title,
    excerpt_options,
    make_scope,
    read_filter,
    search_options,
)
from spanwise.knowledge_base.components import (
    AnswerRequest,
    Components,
    QuestionRequest,
    open_store,
)
from spanwise.knowledge_base.recorded_embedder import approve_embedder, named_embedder
from spanwise.knowledge_base.settings import check_tuning, settle, wanted_settings
from spanwise.options import (
    AnswerOptions,
    ChunkOptions,
    FetchOptions,
    ModelOptions,
    ParseOptions,
    QueryOptions,
    SectionOptions,
    Spread,
)
from spanwise.packs.pack_manager import Packs
from spanwise.search.tuned_options import read_tuning
from spanwise.types import GivenParts

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spanwise.answers.citation_lookup import GivenCitation
    from spanwise.answers.stream import AnswerStream
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder, LanguageModel, Reranker
    from spanwise.options import (
        ContextOptions,
        ExcerptOptions,
        PublishedOptions,
        RerankOptions,
        SearchOptions,
        SegmentOptions,
    )
    from spanwise.search.explanation import Explanation
    from spanwise.types import (
        Answer,
        BackupReport,
        CheckReport,
        Chunk,
        Citation,
        CitationLocation,
        Document,
        DocumentRecord,
        Durability,
        ExcerptResult,
        IngestProgress,
        IngestReport,
        KnowledgeBaseInfo,
        Scalar,
        SearchResult,
        Section,
        Segment,
        Turn,
        WrittenQueries,
    )
    from spanwise.types.listener import Listener


class KnowledgeBase:
    """Documents and everything derived from them, in one folder.

    Safe for use by several threads and processes at once. A document that `add` has returned or
    reported to `on_document` is on disk and survives a power failure, unless `durability` is
    "fast".
    """

    def __init__(
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
            create: Whether to create the folder if it does not exist.
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
            tuning: Settings file of `spanwise tune`; None for the shipped settings. Not recorded.
                A new knowledge base is created with its chunk options.
            durability: "full": stored documents survive a power failure. "fast": the operating
                system writes them within seconds; a power failure may lose the last documents, but
                never stores part of one. A killed process loses nothing in either mode.
            listener: Callbacks for the steps of searches and for model calls.

        Raises:
            FormatError: If the folder is not a knowledge base, or has a newer format.
            EmbedderMismatchError: If its vectors, or the tuning, were made with another embedder.
            OptionError: If it was created with other options, or the tuning cannot be read.
        """
        self._path = local_folder(path)
        models = models or ModelOptions()
        loaded = None if tuning is None else read_tuning(tuning)
        is_new = not self._path.exists()
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
        store = open_store(self._path, create=create, durability=checked_durability(durability))
        try:
            settings = settle(store, wanted, embedder=embedder)
            if loaded is not None:
                check_tuning(loaded, settings, file=str(tuning))
            approve_embedder(embedder_name, path=self._path)
        except BaseException:
            store.close()
            raise
        self._components = Components(
            path=self._path,
            folder=self._path.absolute(),
            store=store,
            settings=settings,
            given_embedder=None if isinstance(embedder, str) else embedder,
            models=models,
            parse=parse or ParseOptions(),
            fetch=fetch or FetchOptions(),
            tuning=loaded,
            listener=listener,
        )
        self._components.renew_headers()

    def add(
        self,
        *sources: str | Path | BinaryIO,
        document_id: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        replace: bool = False,
        metadata: Mapping[str, Scalar] | None = None,
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: Mapping[str, GivenParts] | None = None,
        dry_run: bool = False,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add files, folders and URLs. Unchanged documents are recognised by their hash.

        Archives, mailboxes and e-mails are opened: each member is a document with an id such as
        "reports.zip!/2018/q3.pdf".

        With `llm`, a document that was made with other options is made again. Parts that the model
        fails to make are made without it, with a warning in `report.warnings`. If the model could
        not be reached, a repeated call makes these parts with it.

        Args:
            *sources: Files, folders (with subfolders), URLs, objects or prefixes of object storage
                ("s3://bucket/reports"), or one binary stream.
            document_id: Id of the stream; only with a stream.
            include: Glob patterns of file names to read from folders and archives, such as
                "*.pdf"; empty for all.
            exclude: Glob patterns of file names to skip.
            replace: Whether to replace a document with the same id from another source.
            metadata: Fields of every document, which replace earlier ones; None keeps them.
            llm: Language model that makes parts of each document, such as "openai:gpt-5-mini", or
                an object; None for none.
            context: Parts that the model makes, and how.
            given: Parts by document id that the caller provides; they are not made.
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
        if not sources:
            raise OptionError("no sources are named; name files, folders or URLs")
        from spanwise.ingest import IngestJob, PathPatterns, find_sources

        include, exclude = checked_list("include", include), checked_list("exclude", exclude)
        job = IngestJob(
            sources=tuple(
                find_sources(sources, include=include, exclude=exclude, document_id=document_id)
            ),
            patterns=PathPatterns.of(include, exclude),
            metadata=checked_metadata(metadata),
            replace_other=replace,
            on_document=on_document,
            given=checked_given(given),
            enricher=self._components.enricher(llm, context, dry_run=dry_run),
        )
        ingestor = self._components.ingestor
        return ingestor.estimate(job) if dry_run else ingestor.run(job)

    def sync(
        self,
        folder: str | Path,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        metadata: Mapping[str, Scalar] | None = None,
        replace: bool = False,
        allow_empty: bool = False,
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: Mapping[str, GivenParts] | None = None,
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
            dry_run: See `add`. Without `llm` nothing is parsed, so parse errors are not found.
            on_document: Callback after each document.

        Raises:
            FetchError: If the folder does not exist or cannot be listed; nothing was changed.
            OptionError: See `add`; or if no file matches and `allow_empty` is False.
            ModelKeyError: See `add`.
            StoreError: If the knowledge base cannot be written.
        """
        from spanwise.ingest import IngestJob, scan_folder, sync_folder

        scan = scan_folder(
            folder,
            include=checked_list("include", include),
            exclude=checked_list("exclude", exclude),
        )
        job = IngestJob(
            metadata=checked_metadata(metadata),
            replace_other=replace,
            on_document=on_document,
            given=checked_given(given),
            enricher=self._components.enricher(llm, context, dry_run=dry_run),
        )
        ingestor = self._components.ingestor
        return sync_folder(
            scan, ingestor=ingestor, job=job, allow_empty=allow_empty, dry_run=dry_run
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
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: GivenParts | None = None,
    ) -> IngestReport:
        """Add a text, stored character for character; it replaces a text with the same id.

        Args:
            text: Text of the document.
            document_id: Id of the document.
            title: Title; empty for the title in the front matter or the words of the id.
            media_type: "text/markdown" to recognise headings, tables and front matter.
            metadata: Fields of the document; None keeps the stored ones, {} removes them.
            replace: Whether to replace a document with the same id from a file or URL.
            llm: See `add`. The model makes no title if one is given.
            context: See `add`.
            given: Parts that the caller provides; they are not made.

        Raises:
            OptionError: If an argument is invalid; see `add`.
            ParseError: If the text is empty.
            ConflictError: If the id belongs to a document from a file or URL.
            DocumentError: If its chunks cannot be embedded; the cause is the embedder's error.
            CostLimitError: If model calls would exceed `ModelOptions.max_cost`.
            ModelKeyError: See `add`.
        """
        from spanwise.ingest import IngestJob

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

    def search(
        self,
        question: str,
        *,
        options: SearchOptions | None = None,
        budget_tokens: int = 4_000,
        preset: str | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
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
            budget_tokens: Maximum tokens of `result.context`, headers included.
            preset: Length of the segments: "precise", "balanced" or "comprehensive". With method
                "greedy": "dsrag-balanced", "dsrag-precision" or "dsrag-find-all". None for the
                balanced one.
            documents: Ids of the documents to search; None for all.
            where: Metadata filter as a tree or as text: 'year >= 2018 and company = "3M"'.
            segment_options: Options in place of a preset; `PublishedOptions` with method "greedy".
            headers: Whether each segment has a header in the context.
            tokenizer: Tokenizer for token counts; None for that of the knowledge base.
            more_queries: Additional queries for the same question, or the result of
                `write_queries`, whose filter is dropped with a warning if it leaves no evidence.
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
            OptionError: If an option is out of range, or no relevant chunk fits the budget.
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

    def explain(
        self,
        question: str,
        *,
        options: SearchOptions | None = None,
        budget_tokens: int = 4_000,
        preset: str | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
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
        is a page with charts and sliders. Only a search for passages can be explained; `spread`
        must not be "documents".
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

    def excerpts(
        self,
        question: str,
        *,
        options: ExcerptOptions | None = None,
        excerpts: int = 3,
        excerpt_tokens: int = 1_000,
        preset: str | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
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
            question: Question in any words.
            options: All options in one object, in place of `excerpts`, `excerpt_tokens`, `preset`,
                `segment_options`, `headers`, `tokenizer`, `abstain`, `deep` and
                `spread`.
            excerpts: Maximum number of excerpts.
            excerpt_tokens: Maximum tokens of each excerpt, headers included.
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
            OptionError: See `search`; or if no relevant chunk fits into an excerpt.
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

    def write_queries(
        self,
        question: str,
        *,
        llm: str | LanguageModel,
        options: QueryOptions | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
        history: Sequence[Turn] = (),
    ) -> WrittenQueries:
        """Return search queries and a metadata filter that a language model writes for a question.

        Nothing is searched: pass the result as `more_queries` to `search`, `explain` or
        `excerpts`, with the same `where`. The filter uses only values that the question mentions.
        If the model fails, the result is the question alone, with a warning.

        Args:
            question: Question in any words.
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

        components = self._components
        return write_queries(
            question,
            caller=components.model_caller(llm, ledger=components.ledger()),
            store=components.store,
            options=options or QueryOptions(),
            scope=make_scope(documents, where),
            history=history,
        )

    def ask(
        self,
        question: str,
        *,
        llm: str | LanguageModel | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
        options: AnswerOptions | None = None,
        write_queries: bool = True,
        query_options: QueryOptions | None = None,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
        answer_type: type[BaseModel] | None = None,
        thread: str | None = None,
    ) -> Answer:
        """Return an answer based only on the documents, with every quote checked.

        "[1]" in the text marks `citations[0]`, a quote that was found in the stored text, with its
        document, characters and pages. "[1?]" marks a quote that was not found, and "[?]" a
        statement without a quote; `warnings` count both. If the documents contain no answer,
        `refused` is True and the text describes the search.

        Args:
            question: Question in any words.
            llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
            documents: Ids of the documents to search; None for all.
            where: Metadata filter; see `search`.
            options: Token budget, guidance, and whether excerpts are read one by one.
            write_queries: Whether the model first writes search queries.
            query_options: Options for writing queries.
            rerank: Reranker of the best candidates; see `search`.
            rerank_options: Options of the reranker.
            answer_type: Structured form of the answer; the result is in `answer.data`.
            thread: Id of a conversation to continue or start. The model sees its earlier turns and
                quotes, and the answer is stored in it.

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

        request = AnswerRequest(
            llm=llm,
            scope=make_scope(documents, where),
            options=options or AnswerOptions(),
            query_options=(query_options or QueryOptions()) if write_queries else None,
            rerank=rerank,
            rerank_options=rerank_options,
            answer_type=answer_type,
            thread=thread,
        )
        return AnswerStream(self._components.answer_run(question, request, streams=False)).answer

    def ask_stream(
        self,
        question: str,
        *,
        llm: str | LanguageModel | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
        options: AnswerOptions | None = None,
        write_queries: bool = True,
        query_options: QueryOptions | None = None,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
        answer_type: type[BaseModel] | None = None,
        thread: str | None = None,
    ) -> AnswerStream:
        """Return an answer as an iterator over its text, while the model is writing.

        The quotes of each piece are checked before it is yielded. `stream.answer` is the complete
        answer. Takes the arguments of `ask`, and raises its errors here or during iteration.
        """
        from spanwise.answers.stream import AnswerStream

        request = AnswerRequest(
            llm=llm,
            scope=make_scope(documents, where),
            options=options or AnswerOptions(),
            query_options=(query_options or QueryOptions()) if write_queries else None,
            rerank=rerank,
            rerank_options=rerank_options,
            answer_type=answer_type,
            thread=thread,
        )
        return AnswerStream(self._components.answer_run(question, request, streams=True))

    @cached_property
    def threads(self) -> Threads:
        """Stored conversations: list, get and delete them."""
        return Threads(self._components.store)

    @cached_property
    def packs(self) -> Packs:
        """Domain packs in use: list, add and remove them, and show what they find."""
        return Packs(self._components.store)

    def list(self, where: Filter | str | None = None) -> builtins.list[DocumentRecord]:
        """Return the records of the documents that pass a filter, ordered by id.

        Raises:
            FilterError: If the filter does not fit the fields of the documents.
        """
        return self._components.store.list_records(read_filter(where))

    def get(self, document_id: str) -> Document:
        """Return a document as it was added: text, pages, headings, metadata and warnings.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return self._components.store.get_document(document_id) or _raise_missing(document_id)

    def record(self, document_id: str) -> DocumentRecord:
        """Return the record of a document: version, status, title, summary and counts.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return self._components.store.get_record(document_id) or _raise_missing(document_id)

    def sections(self, document_id: str) -> tuple[Section, ...]:
        """Return the sections of a document, whose joined texts are its text.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return self._components.store.get_sections(document_id) or _raise_missing(document_id)

    def chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document, whose joined texts are its text.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return self._components.store.get_chunks(document_id) or _raise_missing(document_id)

    def delete(self, *document_ids: str) -> tuple[str, ...]:
        """Delete documents. An archive, mailbox or e-mail is deleted with all its members.

        Args:
            *document_ids: Ids of documents, archives or mailboxes.

        Returns:
            Ids of the deleted documents, in ascending order.
        """
        from spanwise.ingest.sources import containers_of

        store, ids = self._components.store, dict.fromkeys(document_ids)
        # The given ids first and without reading them, because they may be damaged.
        deleted = [document_id for document_id in ids if store.delete_document(document_id)]
        deleted += [
            record.id
            for record in store.list_records()
            if not ids.keys().isdisjoint(containers_of(record.id))
            and store.delete_document(record.id)
        ]
        return tuple(sorted(deleted))

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
        whole = self._components.store.get_whole(document_id) or _raise_missing(document_id)
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
        return locate_citation(self._components.store, citation)

    def page_image(self, document_id: str, page: int, *, dots_per_inch: int = 150) -> bytes:
        """Return a page of a PDF as a PNG file, rendered from the original file.

        Args:
            document_id: Id of the document.
            page: Number of the page, from 1.
            dots_per_inch: Resolution, from 10 to 600.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
            OptionError: If the page does not exist, or the resolution is out of range.
            ParseError: If the document is not a PDF, or rendering exceeds its limits.
            FetchError: If the file is missing or has changed since it was added.
        """
        return self._draw_pages(document_id, [page], dots_per_inch)[0]

    def segment_images(
        self, segment: Segment, *, dots_per_inch: int = 150, max_pages: int = 8
    ) -> tuple[bytes, ...]:
        """Return the pages of a segment as PNG files, in order.

        Args:
            segment: Segment of a stored document.
            dots_per_inch: Resolution, from 10 to 600.
            max_pages: Maximum number of pages; the first ones are returned.

        Raises:
            OptionError: If `max_pages` is below 1.
            SpanwiseError: The errors of `page_image`.
        """
        if max_pages < 1:
            raise OptionError(f"max_pages is {max_pages!r}; it must be at least 1")
        first, last = segment.citation.pages or (1, 0)
        pages = range(first, min(last, first + max_pages - 1) + 1)
        return self._draw_pages(segment.document_id, pages, dots_per_inch)

    def _draw_pages(
        self, document_id: str, pages: Sequence[int], dots_per_inch: int
    ) -> tuple[bytes, ...]:
        from spanwise.ingest.page_images import draw_pages

        return draw_pages(
            self.record(document_id),
            pages,
            dots_per_inch=dots_per_inch,
            parse=self._components.parse,
            fetch=self._components.fetch,
        )

    def info(self) -> KnowledgeBaseInfo:
        """Return the size, settings and metadata fields of the knowledge base."""
        return self._components.info()

    def optimise(self) -> None:
        """Update and compact the index. Searches are correct without it, but slower."""
        self._components.store.optimise()

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
        return self._components.store.check(repair=repair)

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
        return self._components.backup(path, on_progress)

    def close(self) -> None:
        """Write pending index data and release all resources."""
        self._components.store.close()

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


def _raise_missing(document_id: str) -> Never:
    raise DocumentNotFoundError(
        f"no document has the id {document_id!r}; `list` shows those there are"
    )
