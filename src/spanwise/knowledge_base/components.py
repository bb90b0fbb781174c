"""Components of an open knowledge base: store, settings, models and pipelines."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from spanwise.config import (
    StoreAddress,
    find_location,
    local_folder,
    user_cache_folder,
    variable,
)
from spanwise.errors import FormatError, OptionError, SpanwiseError
from spanwise.filters import known_fields, read_filter, record_fields
from spanwise.knowledge_base.arguments import checked_id, checked_list
from spanwise.knowledge_base.recorded_embedder import open_embedder
from spanwise.knowledge_base.settings import (
    ADDED,
    HEADERS,
    NO_EMBEDDER,
    RECORDED,
    Settings,
    check_tuning,
    settle,
)
from spanwise.models.ledger import Ledger
from spanwise.models.providers.catalog import MINILM
from spanwise.models.providers.wordllama import WordLlama
from spanwise.options import (
    ExcerptOptions,
    FetchOptions,
    ModelOptions,
    ParseOptions,
    SearchOptions,
)
from spanwise.options.checks import check_class
from spanwise.packs.pack_file import recorded_packs
from spanwise.search.pipeline import Searcher, SearchRequest
from spanwise.search.scoring import Scope
from spanwise.search.shipped_model import shipped_model
from spanwise.stores.copy_origin import unfinished_copy
from spanwise.stores.folder import folder_bytes
from spanwise.stores.opening import MEMORY, open_store
from spanwise.stores.port import SharedStore, check_store, with_latest
from spanwise.threads import available_cores, processor_turn
from spanwise.types import WrittenQueries

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spanwise.answers.conversation import Conversation
    from spanwise.config import Location
    from spanwise.ingest import Ingestor, Preparer
    from spanwise.ingest.enrich import Enricher
    from spanwise.ingest.workers import WorkerSettings
    from spanwise.models.caller import ModelCaller
    from spanwise.models.ports import Embedder, LanguageModel, Reranker
    from spanwise.options import AnswerOptions, ContextOptions, QueryOptions, RerankOptions
    from spanwise.search.deep import DeepReader
    from spanwise.search.explanation import Explanation
    from spanwise.search.rerank import Reranking
    from spanwise.search.tuned_options import Tuning
    from spanwise.stores.port import Store
    from spanwise.types import (
        BackupReport,
        CheckReport,
        Citation,
        CompactReport,
        DocumentRecord,
        Durability,
        ExcerptResult,
        KnowledgeBaseInfo,
        SearchResult,
        WholeDocument,
    )
    from spanwise.types.listener import Listener
    from spanwise.types.output_cache import OutputCache

_logger = logging.getLogger("spanwise")
_NOTE_SECONDS = 60.0
"""Time after which a search looks again whether the knowledge base is an unfinished copy."""
DEEP_VARIABLE = "SPANWISE_DEEP"
"""Environment variable. The value "off" disables the comparison by MiniLM in the process."""


def check_given_store(
    store: Store,
    *,
    path: str | Path | StoreAddress | None,
    create: bool,
    durability: Durability,
) -> tuple[Path, bool]:
    """Check the store object of a caller, and the arguments that describe a folder.

    Args:
        store: Object of the caller.
        path: Name of the knowledge base; None for the name of the store's class.
        create: Whether the store may be empty.
        durability: Durability of a folder.

    Returns:
        Name of the knowledge base, as a path for messages, and whether nothing is recorded yet.

    Raises:
        OptionError: If the object lacks methods, or an argument needs a folder.
        FormatError: If the store is empty and `create` is False.
    """
    check_store(store)
    name = local_folder(type(store).__name__ if path is None else path)
    if str(name) == MEMORY:
        raise OptionError('path is ":memory:" and a store is given; leave one of them out')
    if durability != "full":
        raise OptionError(
            f"durability is {durability!r} and a store is given; it is an option of folders: set "
            "it in the store, if it has such an option"
        )
    is_new = RECORDED not in store.ensure_settings({})
    if is_new and not create:
        raise FormatError(f"{name} holds no knowledge base; open it with create=True to make one")
    return name, is_new


def find_store(
    path: str | Path | StoreAddress | None,
    *,
    store: Store | None,
    create: bool,
    durability: Durability,
) -> tuple[Location, Store | None, bool]:
    """Return the place of a knowledge base, its store, and whether nothing is recorded yet.

    The store of a folder is None: it is opened once all options of the caller are valid, so that
    an invalid option creates no folder.

    Args:
        path: Folder, address, or name of a store of the caller.
        store: Store of the caller; None to open one.
        create: Whether the knowledge base may be new.
        durability: Durability of its writes.
    """
    if store is not None:
        name, is_new = check_given_store(store, path=path, create=create, durability=durability)
        return name, store, is_new
    location = find_location("" if path is None else path)
    if isinstance(location, StoreAddress):
        return location, *open_address(location, create=create, durability=durability)
    return location, None, not location.exists()


def open_address(
    address: StoreAddress, *, create: bool, durability: Durability
) -> tuple[Store, bool]:
    """Return the store of an address, and whether nothing is recorded in it yet.

    Raises:
        FormatError: If there is no knowledge base and `create` is False.
        OptionError, StoreError: As `open_store`.
    """
    with ExitStack() as stack:
        store = open_store(address, create=create, durability=durability)
        stack.callback(store.close)
        is_new = RECORDED not in store.ensure_settings({})
        if is_new and not create:
            raise FormatError(
                f"{address} holds no knowledge base; open it with create=True to make one"
            )
        stack.pop_all()
    return store, is_new


def is_vacant(location: Location) -> bool:
    """Return whether a place has no knowledge base: no folder, an empty one, or an empty store.

    Raises:
        OptionError, StoreError: As `open_store`, for an address.
    """
    if isinstance(location, Path):
        return not location.exists() or (location.is_dir() and not any(location.iterdir()))
    try:
        open_address(location, create=False, durability="full")[0].close()
    except FormatError:
        return True
    return False


@dataclass(frozen=True, kw_only=True)
class QuestionRequest:
    """Question of `search`, `explain` or `excerpts`, with the documents to search."""

    question: str
    """Text of the question."""
    more_queries: Sequence[str] | WrittenQueries = ()
    """Additional queries, or the queries and filter that a language model wrote."""
    scope: Scope
    """Documents to search."""
    rerank: str | Reranker | None = None
    """Reranker by name or as an object; None for none."""
    rerank_options: RerankOptions | None = None
    """Options of the reranker; None for the default."""
    cuts_sentences: bool = True
    """Whether the best sentences are returned if the budget is too small for a chunk."""
    outputs: OutputCache | None = None
    """Cache of the reranker's scores; None to use the store."""


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    """Arguments of `KnowledgeBase.ask` other than the question."""

    llm: str | LanguageModel | None
    """Language model by name or as an object."""
    scope: Scope
    """Documents to search."""
    options: AnswerOptions
    """Options of the answer."""
    query_options: QueryOptions | None
    """Options for writing queries; None to search for the question alone."""
    query_llm: str | LanguageModel | None = None
    """Language model that writes the queries; None to use `llm`."""
    rerank: str | Reranker | None = None
    """Reranker by name or as an object; None for none."""
    rerank_options: RerankOptions | None = None
    """Options of the reranker; None for the default."""
    answer_type: type[BaseModel] | None = None
    """Structured form of the answer; None for text."""
    thread: str | None = None
    """Id of the conversation; None for none."""
    fresh: bool = False
    """Whether models are called again although their outputs are cached."""


@dataclass(kw_only=True)
class Components:
    """Parts of one open knowledge base."""

    path: Location
    """Path or address as the caller gave it; the name of a knowledge base in a store of the
    caller."""
    folder: Path | None
    """Absolute path; it stays correct if the working folder changes. None for an address, and in a
    store of the caller."""
    store: Store
    """Store of documents and conversations, and cache of model outputs."""
    settings: Settings
    """Recorded settings."""
    given_embedder: Embedder | None
    """Embedder object of the caller; None to load the recorded one."""
    models: ModelOptions
    """Options of model calls."""
    parse: ParseOptions
    """Limits for parsing a file."""
    fetch: FetchOptions
    """Limits for fetching a URL."""
    tuning: Tuning | None
    """Tuned settings; None for the shipped ones."""
    listener: Listener | None
    """Callbacks for the steps of searches and for model calls."""
    budget: Ledger | None = None
    """Shared budget of all operations; None for none."""
    _moving: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _first: Components | None = field(default=None, init=False, repr=False)
    """Components with which the knowledge base was opened; None for these. They name the current
    ones, so that the states between them are freed."""
    _current: Components | None = field(default=None, init=False, repr=False)
    _note: str = field(default="", init=False, repr=False)
    """Warning of the last search about an unfinished copy."""
    _noted_at: float = field(default_factory=time.monotonic, init=False, repr=False)

    def __post_init__(self) -> None:
        """Note whether the recorded settings are those of an unfinished copy."""
        self._note = unfinished_copy(self.settings.recorded)

    def latest(self, *, embedder: Embedder | None = None) -> Components:
        """Return the components of the current state; a rebuild replaces them.

        Args:
            embedder: Embedder of the new state, if the caller has rebuilt; None to load it.
        """
        first = self._first or self
        with first._moving:
            current = first._current or first
            if current.store.rebuilt:
                current = current._moved(embedder)
                current._first, first._current = first, current
            return current

    def _moved(self, embedder: Embedder | None) -> Components:
        """Return components with the current settings and a new store."""
        store = self.store.reopened()
        settings = settle(store, {}, embedder="auto")
        model = (settings.embedder, settings.embedder_version)
        given = [
            candidate
            for candidate in (embedder, self.given_embedder)
            if candidate is not None and (candidate.name, candidate.version) == model
        ]
        tuning = self.tuning
        try:
            if tuning is not None:
                check_tuning(tuning, settings, file="the tuning in use")
        except SpanwiseError as error:
            tuning = None
            _logger.warning("the knowledge base was rebuilt: %s", error)
        return replace(
            self,
            store=store,
            settings=settings,
            given_embedder=next(iter(given), None),
            tuning=tuning,
        )

    def close(self) -> None:
        """Close the store, and after a rebuild also the store of the current state."""
        if self._current is not None:
            self._current.store.close()
        self.store.close()

    @cached_property
    def embedder(self) -> Embedder | None:
        """Embedder of the knowledge base; None for keyword search only."""
        return open_embedder(
            self.settings, given=self.given_embedder, path=self.path, models=self.models
        )

    @cached_property
    def untuned_searcher(self) -> Searcher:
        """Search pipeline with the shipped settings."""
        return Searcher(
            store=self.store,
            embedder=self.embedder,
            dimension=self.settings.dimension,
            tokenizer=self.settings.tokenizer,
            model=shipped_model(self.settings.embedder),
            listener=self.listener,
            deep=self._deep_reader(),
            notes=self.notes,
        )

    def notes(self) -> tuple[str, ...]:
        """Return a warning if the knowledge base is an unfinished copy.

        The settings are read again for each search while it is unfinished, otherwise once a minute.
        """
        if not self._note and time.monotonic() < self._noted_at + _NOTE_SECONDS:
            return ()
        self._note = unfinished_copy(self.store.ensure_settings({}))
        self._noted_at = time.monotonic()
        return (self._note,) if self._note else ()

    def _deep_reader(self) -> DeepReader | None:
        """Return the reader that compares candidates by MiniLM; None if it is not used.

        It is not used if it is turned off or not installed, or if MiniLM is the embedder already.
        """
        if variable(DEEP_VARIABLE) == "off" or self.settings.embedder.startswith("minilm:"):
            return None
        from spanwise.models.providers import minilm

        if not minilm.is_available():
            return None
        from spanwise.search.deep import DeepReader

        load = partial(minilm.make_embedder, MINILM, self.models)
        return DeepReader(load=load, cache=self.store)

    @cached_property
    def searcher(self) -> Searcher:
        """Search pipeline, tuned if there is a tuning."""
        untuned = self.untuned_searcher
        return untuned if self.tuning is None else untuned.tuned(self.tuning)

    @cached_property
    def _rerankers(self) -> dict[str, Reranker]:
        return {}

    @cached_property
    def ingestor(self) -> Ingestor:
        """Ingest pipeline; it loads models when the first document needs them."""
        from spanwise.ingest import Ingestor

        lock = threading.Lock()
        made: list[Preparer] = []

        def preparer() -> Preparer:
            with lock:
                if not made:
                    made.append(self.make_preparer())
            return made[0]

        return Ingestor(
            store=self.store,
            preparer=preparer,
            embeds=self.settings.embedder != NO_EMBEDDER,
            parse=self.parse,
            fetch=self.fetch,
            workers=self.parse.workers or available_cores(),
            worker_settings=self._worker_settings,
            max_cost=self.models.max_cost,
            budget=self.budget,
            listener=self.listener,
            latest=lambda: self.latest().ingestor,
        )

    def _worker_settings(self) -> WorkerSettings:
        """Return the settings with which worker processes prepare documents."""
        from spanwise.ingest.workers import WorkerSettings

        embedder: Literal["wordllama", "none", ""] = ""
        if self.settings.embedder == NO_EMBEDDER:
            embedder = "none"
        elif type(self.embedder) is WordLlama and self.embedder.is_installed:
            embedder = "wordllama"
        return WorkerSettings(
            tokenizer=self.settings.tokenizer,
            embedder=embedder,
            sections=self.settings.sections,
            chunks=self.settings.chunks,
            adds_headers=self.settings.adds_headers,
        )

    def make_preparer(
        self, cache: OutputCache | None = None, ledger: Ledger | None = None
    ) -> Preparer:
        """Return a preparer of documents with the recorded settings.

        Args:
            cache: Cache of model outputs; None for the store.
            ledger: Ledger of the embedder calls; None for a new one.
        """
        from spanwise.ingest import Preparer
        from spanwise.models.embed_caller import make_embed_caller
        from spanwise.models.providers.tokenizer import make_tokenizer

        return Preparer(
            tokenizer=make_tokenizer(self.settings.tokenizer),
            embedder=make_embed_caller(
                self.embedder,
                "document",
                cache=cache or self.store,
                recorded_dimension=self.settings.dimension,
                ledger=ledger or self.ledger(),
            ),
            sections=self.settings.sections,
            chunks=self.settings.chunks,
            adds_headers=self.settings.adds_headers,
        )

    def renew_headers(self) -> None:
        """Add headers to the vectors of a knowledge base that an earlier version wrote.

        Only documents with titles and summaries from a model or the caller change. They are
        prepared again from what is stored, with the default embedder or without one. Vectors of
        other embedders are never recomputed, because that could cost money.
        """
        local = (NO_EMBEDDER, WordLlama.name)
        if self.settings.adds_headers or self.settings.embedder not in local:
            return
        before = self.settings
        self.settings = replace(before, recorded={**before.recorded, HEADERS: ADDED})
        try:
            with self.store.group_commits():
                for record in self.store.list_records():
                    if record.recipe:
                        self._renew_document(record)
            self.store.record_settings({HEADERS: ADDED})
        except SpanwiseError as error:
            self.settings = before
            self.__dict__.pop("ingestor", None)  # it may have been made with the other settings
            _logger.warning(
                "%s: section headers could not be added to the vectors; the next opening tries "
                "again: %s",
                self.path,
                error,
            )

    def _renew_document(self, record: DocumentRecord) -> None:
        """Prepare a document again. A damaged document is not changed, and a warning is logged."""
        try:
            self.ingestor.renew(record)
        except FormatError as error:
            _logger.warning(
                "section headers could not be added to the vectors of %r: %s", record.id, error
            )

    @property
    def disk_folder(self) -> Path | None:
        """Folder on disk; None for a knowledge base in memory or at an address."""
        return None if str(self.path) == MEMORY else self.folder

    @property
    def log_folder(self) -> Path | None:
        """Folder of the logs of crawls; None to keep none.

        For an address, it is in the cache of the user: without a log, a crawl requests all pages
        again.
        """
        caches = user_cache_folder()
        if not isinstance(self.path, StoreAddress) or caches is None:
            return self.disk_folder
        name = hashlib.sha256(str(self.path).encode()).hexdigest()[:32]
        return caches / "spanwise" / "knowledge-bases" / name

    def ids_from(self, root: str) -> list[str]:
        """Return the ids of the stored documents from a source root."""
        return list(self.store.ids_from([root]).get(root, ()))

    def stored_file(self, record: DocumentRecord) -> bytes | None:
        """Return the original file of a document from the store; None if it has none."""
        return self.store.read_file(record) if isinstance(self.store, SharedStore) else None

    def ledger(self, budget: Ledger | None = None) -> Ledger:
        """Return the ledger of a new operation, inside a shared budget if there is one."""
        return Ledger(max_cost=self.models.max_cost, parent=budget or self.budget)

    def enricher(
        self,
        llm: str | LanguageModel | None,
        context: ContextOptions | None,
        *,
        dry_run: bool,
        budget: Ledger | None = None,
    ) -> Enricher | None:
        """Return the enricher of one ingest, inside a shared budget if there is one.

        None without a language model.

        Raises:
            OptionError: If `llm` and `context` do not fit together, or the model is unknown, has no
                batch interface although `ModelOptions.batch` is set, or has no known price although
                a cost limit is set.
            ModelKeyError: If the API key of the model is missing.
        """
        from spanwise.options import ContextOptions

        check_class("context", context, ContextOptions)
        requests_parts = context is not None and context.requests_parts
        if llm is None and requests_parts:
            raise OptionError(
                'context asks for what a language model makes; name one: llm="vendor:model"'
            )
        if llm is None:
            return None
        if context is None or not requests_parts:
            raise OptionError(
                "llm is given, and context selects no parts; give ContextOptions with "
                "read_pages, describe_figures, sections, headers or chunk_contexts, or no llm"
            )
        from spanwise.ingest.enrich import make_enricher

        ledger = Ledger(
            max_cost=None if dry_run else self.models.max_cost,
            listener=self.listener,
            parent=None if dry_run else budget or self.budget,
        )
        return make_enricher(
            llm, context, models=self.models, cache=self.store, ledger=ledger, dry_run=dry_run
        )

    def model_caller(
        self,
        llm: str | LanguageModel,
        *,
        ledger: Ledger,
        cache: OutputCache | None = None,
        needs_key: bool = True,
    ) -> ModelCaller:
        """Return the caller of a language model for one operation.

        Args:
            llm: Language model by name or as an object.
            ledger: Ledger of the operation.
            cache: Cache of model outputs; None for the store.
            needs_key: Whether a missing API key is an error.

        Raises:
            OptionError: If no installed package offers the model.
            ModelKeyError: If its API key is missing.
        """
        from spanwise.models.caller import ModelCaller
        from spanwise.models.registry import make_language_model

        if isinstance(llm, str):
            llm = make_language_model(llm, options=self.models, needs_key=needs_key)
        return ModelCaller(
            model=llm,
            cache=cache or self.store,
            answer_retries=self.models.answer_retries,
            ledger=Ledger(parent=ledger, listener=self.listener),
        )

    def search(
        self, request: QuestionRequest, options: SearchOptions, *, ledger: Ledger | None = None
    ) -> SearchResult:
        """Return the segments for a question.

        Args:
            request: Question and documents to search.
            options: Options of the search.
            ledger: Ledger of the operation; None for a new one.
        """

        def search(present: Components) -> SearchResult:
            searcher, search_request = present._prepare_search(request, ledger)
            return searcher.search(search_request, options=options)

        with processor_turn():
            return with_latest(self, Components.latest, search)

    def explain(self, request: QuestionRequest, options: SearchOptions) -> Explanation:
        """Return the segments for a question, with an explanation of every chunk."""

        def explain(present: Components) -> Explanation:
            searcher, search_request = present._prepare_search(request, None)
            return searcher.explain(search_request, options=options)

        with processor_turn():
            return with_latest(self, Components.latest, explain)

    def excerpts(
        self, request: QuestionRequest, options: ExcerptOptions, *, ledger: Ledger | None = None
    ) -> ExcerptResult:
        """Return the excerpts for a question.

        Args:
            request: Question and documents to search.
            options: Options of the search.
            ledger: Ledger of the operation; None for a new one.
        """

        def excerpts(present: Components) -> ExcerptResult:
            searcher, search_request = present._prepare_search(request, ledger)
            return searcher.excerpts(search_request, options=options)

        with processor_turn():
            return with_latest(self, Components.latest, excerpts)

    def _prepare_search(
        self, request: QuestionRequest, ledger: Ledger | None
    ) -> tuple[Searcher, SearchRequest]:
        ledger = ledger or self.ledger()
        question, queries, model_filter = request.question, request.more_queries, ""
        if isinstance(queries, WrittenQueries):
            question, model_filter = queries.standalone, queries.model_filter
            queries = queries.more_queries
        return replace(self.searcher, ledger=ledger), SearchRequest(
            question=question,
            more_queries=checked_list("more_queries", queries),
            scope=request.scope,
            model_filter=read_filter(model_filter),
            cuts_sentences=request.cuts_sentences,
            reranking=self.reranking(
                request.rerank, request.rerank_options, ledger=ledger, cache=request.outputs
            ),
        )

    def reranking(
        self,
        rerank: str | Reranker | None,
        options: RerankOptions | None,
        *,
        ledger: Ledger,
        cache: OutputCache | None = None,
    ) -> Reranking | None:
        """Return the reranking of one search; a reranker given by name is created once and reused.

        Raises:
            OptionError: If a cost limit applies and the price of the reranker is unknown.
        """
        if rerank is None:
            return None
        from spanwise.models.registry import make_reranker
        from spanwise.models.rerankers.rerank_caller import RerankCaller
        from spanwise.options import RerankOptions
        from spanwise.search.rerank import Reranking

        check_class("rerank_options", options, RerankOptions)
        if isinstance(rerank, str):
            if rerank not in self._rerankers:
                self._rerankers[rerank] = make_reranker(rerank, options=self.models)
            rerank = self._rerankers[rerank]
        caller = RerankCaller(reranker=rerank, cache=cache or self.store, ledger=ledger)
        caller.check_price()
        return Reranking(caller=caller, options=options or RerankOptions())

    def read_cited(self, citation: Citation) -> WholeDocument | None:
        """Return the document of a citation; None if it was removed."""
        return self.store.get_whole(citation.document_id)

    def conversation(self, request: AnswerRequest) -> Conversation:
        """Return the conversation that a question continues; an empty one without a thread."""
        from spanwise.answers.conversation import Conversation, open_conversation
        from spanwise.models.providers.tokenizer import make_tokenizer

        if request.thread is None:
            return Conversation()
        return open_conversation(
            self.store,
            checked_id(request.thread, name="thread"),
            options=request.options,
            scope=request.scope,
            tokenizer=make_tokenizer(self.settings.tokenizer),
        )

    def info(self) -> KnowledgeBaseInfo:
        """Return the size, settings and metadata fields of the knowledge base."""
        from spanwise.types import KnowledgeBaseInfo

        records = self.store.list_records()
        recorded = self.store.ensure_settings({})
        packs = recorded_packs(recorded.get("packs", ""))
        outputs, output_bytes = self.store.count_outputs()
        fields = known_fields(map(record_fields, records))
        tuned = {} if self.tuning is None else {"tuning": self.tuning.words}
        return KnowledgeBaseInfo(
            path=str(self.path),
            documents=len(records),
            chunks=sum(record.chunks for record in records),
            chars=sum(record.chars for record in records),
            tokens=sum(record.tokens for record in records),
            bytes_on_disk=self.bytes_on_disk,
            settings={**recorded, "packs": ", ".join(named.pack.name for named in packs), **tuned},
            fields={name: tuple(sorted(kinds)) for name, kinds in fields.items()},
            partial=sum(record.status == "partial" for record in records),
            needs_ocr=sum(record.status == "needs_ocr" for record in records),
            outputs=outputs,
            output_bytes=output_bytes,
            threads=len(self.store.list_threads()),
            reclaimable_bytes=self.store.reclaimable_bytes(),
        )

    @property
    def bytes_on_disk(self) -> int:
        """Size of the folder in bytes; 0 for an address and for a store of the caller."""
        return 0 if self.folder is None else folder_bytes(self.folder)

    def compact(self) -> CompactReport:
        """Compact the index, and return free space to the disk."""
        from spanwise.types import CompactReport

        started = time.perf_counter()
        before = self.bytes_on_disk
        with_latest(self, Components.latest, lambda present: present.store.compact())
        return CompactReport(
            path=str(self.path),
            bytes_before=before,
            bytes_after=self.bytes_on_disk,
            seconds=time.perf_counter() - started,
        )

    def check(self, *, repair: bool) -> CheckReport:
        """Check documents and index; after a rebuild by another process, check the new state."""
        return with_latest(
            self, Components.latest, lambda present: present.store.check(repair=repair)
        )

    def backup(self, path: Path, on_progress: Callable[[int, int], None] | None) -> BackupReport:
        """Copy the knowledge base to a new folder."""
        from spanwise.types import BackupReport

        started = time.perf_counter()
        target = path.absolute()
        self.store.backup(target, on_progress=on_progress)
        return BackupReport(
            path=str(path),
            bytes_on_disk=folder_bytes(target),
            seconds=time.perf_counter() - started,
        )
