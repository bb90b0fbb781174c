"""Preparation of documents in worker processes: the requests, the results and the function between.

Rules:
    `prepare` depends on its request alone, so any process on any machine gives the same result.
    A worker reads and writes no store. The process that owns the store makes the requests and
    writes the results, one document after the other, in the order of the requests.
    Documents with parts that the caller supplies or a model makes are prepared by the owner.
    A worker that fails at a document does not describe the error. The owner prepares the document
    itself, and so raises the same error as without workers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from spanwise.errors import SpanwiseError
from spanwise.ingest.fields import FieldChanges
from spanwise.ingest.job import is_stored, with_fields
from spanwise.ingest.prepare import Draft, DraftRequest, Preparer
from spanwise.ingest.recipes import Recipe
from spanwise.models.embed_caller import StaticEmbedCaller
from spanwise.models.ledger import Ledger
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.models.providers.wordllama import WordLlama
from spanwise.options import ChunkOptions, HeaderOptions, SectionOptions
from spanwise.types import Document, DocumentRecord, FieldOrigins

if TYPE_CHECKING:
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from spanwise.ingest.local_files import LocalFile
    from spanwise.ingest.sources import Source
    from spanwise.parsers.containers import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Settings of a knowledge base with which a worker prepares its documents. Hashable."""

    tokenizer: str
    """Name of the tokenizer."""
    embedder: Literal["wordllama", "none", ""]
    """Static embedder that the worker calls; "none" in a knowledge base without an embedder; empty
    if the owner embeds."""
    sections: SectionOptions
    """Lengths of sections."""
    chunks: ChunkOptions
    """Lengths of chunks."""
    headers: HeaderOptions = field(default_factory=HeaderOptions)
    """Lengths of headers."""
    adds_headers: bool = True
    """Whether the vectors of a static embedder include section headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVectors:
    """Stored vectors that are reused for equal texts."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]
    """Vector of each text, (n, dimension)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareRequest:
    """A parsed document, and everything that its preparation depends on. Can be pickled."""

    settings: WorkerSettings
    """Settings of the knowledge base."""
    document: Document | None
    """Document as the parser returned it. None for nothing to prepare: the result is "refused"."""
    changes: FieldChanges
    """Metadata fields that the run passes for the document."""
    before: FieldOrigins
    """Origins of the fields of the stored document."""
    record: DocumentRecord | None
    """Record of the stored document. A document that is stored in exactly this form is not
    prepared. None if there is none, or the document is prepared in any case."""
    recipe: Recipe
    """Recipe to record with the document; empty if there is none."""
    packs: str
    """Recorded packs."""
    known: KnownVectors | None = None
    """Vectors to reuse; None for none."""
    warnings: tuple[str, ...] = ()
    """Warnings to add to those of the draft."""

    @property
    def chars(self) -> int:
        """Length of the text in characters, to bound the memory of documents in flight."""
        return 0 if self.document is None else len(self.document.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Result of a request. Can be pickled."""

    outcome: Literal["prepared", "unchanged", "refused", "lost"]
    """"prepared": `draft` is set. "unchanged": the document is stored in this form. "refused":
    `prepare` raised an error, and the owner prepares the document itself to raise it. "lost": two
    workers died during the preparation."""
    draft: Draft | None = None
    """The draft. It is complete, with vectors and signals, if the worker embeds."""


class Workers(Protocol):
    """Processes that prepare documents."""

    def map(self, requests: Iterable[PrepareRequest]) -> Generator[Prepared]:
        """Yield the result of each request, in the order of the requests.

        A bounded number of requests is taken ahead, with a bounded total length of their texts. If
        a worker dies, its requests are repeated by another worker. Closing the generator early
        discards the requests in flight.
        """

    def close(self) -> None:
        """Stop all workers, without waiting for requests in flight."""


@runtime_checkable
class ParsingWorkers(Workers, Protocol):
    """Workers on other machines, which parse files too."""

    @property
    def ahead(self) -> int:
        """Number of documents that are parsed before they are stored."""

    def parse(
        self,
        source: Source,
        file: LocalFile | None,
        *,
        text_limit: Limit,
        template: PrepareRequest | None,
        stopped: Event,
    ) -> Document:
        """Return a parsed document. Thread-safe.

        Args:
            source: Source of the document.
            file: Local file with its bytes; None for an object that the worker downloads.
            text_limit: Maximum size of its text.
            template: Request to prepare it in the same step, with another document in its place;
                None to parse only. `map` uses the result if it gets an equal request.
            stopped: Event that ends the wait for the result.

        Raises:
            DocumentError: If it cannot be downloaded or parsed, or its worker died repeatedly.
        """


def prepare(request: PrepareRequest) -> Prepared:
    """Return the prepared document of a request."""
    if request.document is None:
        return Prepared(outcome="refused")
    try:
        draft = _draft(request, request.document)
    except (SpanwiseError, MemoryError):
        return Prepared(outcome="refused")
    return Prepared(outcome="unchanged" if draft is None else "prepared", draft=draft)


def _draft(request: PrepareRequest, document: Document) -> Draft | None:
    """Return the draft of a request, complete if the worker embeds; None if it is stored.

    Raises:
        SpanwiseError: If the document cannot be prepared.
    """
    document = with_fields(document, request.changes, before=request.before)
    if request.record is not None and is_stored(request.record, document):
        return None
    preparer = make_preparer(request.settings)
    draft = preparer.draft(document, request=DraftRequest(recipe=request.recipe))
    draft = replace(draft, warnings=(*draft.warnings, *request.warnings))
    if not request.settings.embedder:
        return draft
    known = request.known
    vectors = {} if known is None else dict(zip(known.texts, known.vectors, strict=True))
    return preparer.completed(draft, known=vectors, packs=request.packs, ledger=Ledger())


@lru_cache(maxsize=2)
def make_preparer(settings: WorkerSettings) -> Preparer:
    """Return the preparer of a knowledge base, from a cache.

    Raises:
        OptionError: If the tokenizer is unknown.
        StoreError: If the files of the embedder are missing.
    """
    is_static = settings.embedder == "wordllama"
    return Preparer(
        tokenizer=make_tokenizer(settings.tokenizer),
        embedder=StaticEmbedCaller(embedder=WordLlama()) if is_static else None,
        sections=settings.sections,
        chunks=settings.chunks,
        headers=settings.headers,
        adds_headers=settings.adds_headers,
    )
