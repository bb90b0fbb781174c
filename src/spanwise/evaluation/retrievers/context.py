"""Context of an evaluation: knowledge base, its copy without headers, models, tuning and ledger.

Rules of the copy:
    The copy has the same chunks, without titles, summaries, section paths, table heads and chunk
    contexts. A search without headers thus runs the same code as a search with headers.
    Vectors that were computed from the text of a chunk alone are copied; others are computed again.
    A contextual embedder is called for every chunk.
    A copy in a folder is reused: only changed documents are copied again, or all documents after a
    change of the code.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from spanwise.core.documents.headers import chunk_header
from spanwise.core.ranking.vectors import unit_rows
from spanwise.errors import OptionError
from spanwise.evaluation.checkpoint import code_hash
from spanwise.evaluation.metrics import counter
from spanwise.evaluation.run_models import run_ledger
from spanwise.ingest.prepare import chunk_signals
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, settings_of, store_of
from spanwise.knowledge_base.settings import check_tuning
from spanwise.models.embed_caller import is_contextual, make_embed_caller
from spanwise.models.ledger import Ledger
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.models.registry import make_reranker
from spanwise.models.rerankers.rerank_caller import RerankCaller
from spanwise.options import ChunkOptions, ModelOptions, RerankOptions, SectionOptions
from spanwise.search.rerank import Reranking
from spanwise.search.tuned_options import Tuning, read_tuning
from spanwise.stores.port import DocumentEntry

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

    from spanwise.evaluation.metrics import Count
    from spanwise.evaluation.retrievers.methods import Method
    from spanwise.models.ports import Embedder, Reranker, Tokenizer
    from spanwise.search.pipeline import Searcher
    from spanwise.stores.port import Store
    from spanwise.types import Chunk, DocumentRecord, Section


_COPIED = "copied"
"""Metadata field with the version of the copied document."""


def copy_without_headers(
    base: KnowledgeBase, folder: Path | None, *, ledger: Ledger | None = None
) -> KnowledgeBase:
    """Return an open copy of a knowledge base without headers.

    Args:
        base: Knowledge base to copy. It is not changed.
        folder: Folder of the copy; None to keep the copy in memory.
        ledger: Ledger for calls of the embedder, with the cost limit.

    Raises:
        ModelError: If the embedder fails.
        StoreError: If the copy cannot be written.
    """
    searcher = searcher_of(base)
    settings = dict(searcher.store.ensure_settings({}))
    made_of = [str(Path(base.info().path).absolute()), sorted(settings.items())]
    name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:12]
    copy = KnowledgeBase(
        ":memory:" if folder is None else folder / f"without-headers-{name}.kb",
        embedder=searcher.embedder,
        tokenizer=settings["tokenizer"],
        sections=SectionOptions(**json.loads(settings["sections"])),
        chunks=ChunkOptions(**json.loads(settings["chunks"])),
        durability="fast",
    )
    try:
        is_contextual_one = searcher.embedder is not None and is_contextual(searcher.embedder)
        store = store_of(copy)
        if store.ensure_settings({}).get("packs", "") != settings.get("packs", ""):
            store.record_packs(settings.get("packs", ""), lambda _: {})  # nothing is stored yet
        _HeaderlessCopy(
            base=base,
            source=searcher.store,
            target=store,
            packs=settings.get("packs", ""),
            embedder=make_embed_caller(searcher.embedder, "document", cache=store, ledger=ledger),
            embeds_headers=is_contextual_one,
        ).update(copy)
    except BaseException:
        copy.close()
        raise
    return copy


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeaderlessCopy:
    """Copies documents without headers from one knowledge base to another."""

    base: KnowledgeBase
    source: Store
    target: Store
    packs: str
    """Packs setting of the knowledge base."""
    embedder: Embedder | None
    embeds_headers: bool
    """Whether the vectors of the source include headers."""

    def update(self, copy: KnowledgeBase) -> None:
        """Copy missing and changed documents, and delete removed ones."""
        copied = {record.id: record.metadata[_COPIED] for record in copy.list()}
        records = {record.id: record for record in self.base.list()}
        copy.remove(*(copied.keys() - records.keys()))
        for record in records.values():
            chunks = self.base.chunks(record.id)
            version = _version(record, chunks)
            if copied.get(record.id) != version:
                self.target.put_document(self._entry(record, chunks, version), replace=True)
        copy.compact()

    def _entry(
        self, record: DocumentRecord, chunks: Sequence[Chunk], version: str
    ) -> DocumentEntry:
        document = self.base.get(record.id)
        bare = tuple(replace(chunk, table_head="", context="") for chunk in chunks)
        return DocumentEntry(
            document=replace(
                document, title="", headings=(), source="", metadata={_COPIED: version}
            ),
            title="",
            summary="",
            title_words="",
            sections=tuple(_untitled(section) for section in self.base.sections(record.id)),
            chunks=bare,
            vectors=self._vectors(record, chunks, self.base.sections(record.id)),
            language=record.language,
            signals=chunk_signals(bare, packs=self.packs),
            packs=self.packs,
        )

    def _vectors(
        self, record: DocumentRecord, chunks: Sequence[Chunk], sections: Sequence[Section]
    ) -> NDArray[np.float16] | None:
        """Return the vectors of the chunk texts without headers, (chunks, dimension)."""
        embedded = self.source.get_embedded(record.id)
        if self.embedder is None or embedded is None:
            return None
        vectors = embedded[1].astype(np.float16)
        headed = [
            at
            for at, chunk in enumerate(chunks)
            if self.embeds_headers
            or chunk.table_head
            or chunk.context
            or sections[chunk.section].summary
        ]
        if headed:
            vectors[headed] = unit_rows(self.embedder.embed([chunks[at].text for at in headed]))
        return vectors


def _version(record: DocumentRecord, chunks: Sequence[Chunk]) -> str:
    """Return a hash of the code, the document version and the chunk boundaries."""
    parts = [code_hash(), record.version, [chunk.end for chunk in chunks]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _untitled(section: Section) -> Section:
    return replace(section, title="", path=(), summary="", header_tokens=0, extracted_title=False)


class Headers:
    """Chunk headers of a knowledge base, for baselines that search with headers."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self._titles = {record.id: record.title for record in base.list()}
        self._sections: dict[str, tuple[list[int], list[str]]] = {}

    def of(self, document_id: str, start: int) -> str:
        """Return the header at a character of a document: title and section path, one per line."""
        if document_id not in self._sections:
            title, sections = self._titles[document_id], self._base.sections(document_id)
            self._sections[document_id] = (
                [section.start for section in sections],
                [chunk_header(title, section_path=section.path) for section in sections],
            )
        starts, headers = self._sections[document_id]
        return headers[bisect_right(starts, start) - 1]


class EvaluationContext:
    """Objects shared by all retrievers of one evaluation."""

    def __init__(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        base: KnowledgeBase,
        *,
        tokenizer: str | None = None,
        reranker: str | Reranker | None = None,
        tuning: str | Path | Tuning | None = None,
        models: ModelOptions | None = None,
        work: Path | None = None,
        budget: Ledger | None = None,
    ) -> None:
        """Create the context.

        Args:
            base: Knowledge base with the documents.
            tokenizer: Tokenizer for the budgets; None for the tokenizer of the knowledge base.
            reranker: Reranker for the methods with "+rerank".
            tuning: Tuning for the methods with "+tuned".
            models: Options of the models; `max_cost` limits the total cost of reranker and
                embedder.
            work: Folder for the copy without headers; None to keep the copy in memory.
            budget: Budget shared by several runs; None if the run has its own budget.

        Raises:
            OptionError: If the tokenizer or reranker is unknown, or the tuning is invalid or
                belongs to another embedder.
            ModelKeyError: If the API key of the reranker is missing.
        """
        self.base = base
        models = models or ModelOptions()
        self.ledger: Ledger = run_ledger(models, budget)
        self.searcher: Searcher = searcher_of(base, ledger=self.ledger)
        self.tokenizer: Tokenizer = make_tokenizer(tokenizer or self.searcher.tokenizer)
        self.count: Count = counter(self.tokenizer)
        if isinstance(reranker, str):
            reranker = make_reranker(reranker, options=models)
        self.reranker = reranker
        self.tuning = _fitting(tuning, base)
        self._work = work

    def searcher_of(self, method: Method) -> Searcher:
        """Return the search pipeline of a method.

        Raises:
            OptionError: If the method needs a tuning and there is none.
        """
        base = self.base if method.headers else self._without_headers
        searcher = searcher_of(base, ledger=self.ledger)
        searcher = replace(searcher, falls_back=False)
        tuning = self.tuning_of(method)
        return searcher if tuning is None else searcher.tuned(tuning)

    def tuning_of(self, method: Method) -> Tuning | None:
        """Return the tuning of a method; None for a method without "+tuned".

        Raises:
            OptionError: If the method needs a tuning and there is none.
        """
        if method.tuned and self.tuning is None:
            raise OptionError(
                f"method is {method.name!r}, and no tuning file is given; `spanwise tune` writes "
                "one"
            )
        return self.tuning if method.tuned else None

    def reranking(self, method: Method) -> Reranking | None:
        """Return the reranking of a method; None for a method without "+rerank".

        Raises:
            OptionError: If the method needs a reranker and there is none, or there is a cost limit
                and the price of the reranker is unknown.
        """
        if not method.rerank:
            return None
        if self.reranker is None:
            raise OptionError(
                f"method is {method.name!r}, and no reranker is given; name one, such as "
                '"cohere:rerank-v3.5"'
            )
        caller = RerankCaller(reranker=self.reranker, cache=self.searcher.store, ledger=self.ledger)
        caller.check_price()
        return Reranking(caller=caller, options=RerankOptions(), falls_back=False)

    def close(self) -> None:
        """Close the copy without headers, if it was created."""
        if "_without_headers" in self.__dict__:
            self._without_headers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @cached_property
    def _without_headers(self) -> KnowledgeBase:
        return copy_without_headers(self.base, self._work, ledger=self.ledger)


def _fitting(tuning: str | Path | Tuning | None, base: KnowledgeBase) -> Tuning | None:
    """Return a tuning after checking that it fits the knowledge base.

    Raises:
        EmbedderMismatchError: If it belongs to another embedder.
        OptionError: If it cannot be read, or requires other chunk options.
    """
    if tuning is None:
        return None
    place = "the tuning" if isinstance(tuning, Tuning) else str(tuning)
    read = tuning if isinstance(tuning, Tuning) else read_tuning(tuning)
    check_tuning(read, settings_of(base), file=place)
    return read
