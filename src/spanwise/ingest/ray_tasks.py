"""Tasks and actors that run on the nodes of a Ray cluster.

Rules:
    1. A task depends on its arguments alone and writes nothing but temporary files, so it can be
       repeated on any node.
    2. A worker process keeps no state of a run: its parser process and its models are caches.
    3. Errors are returned as data, because the error classes cannot be pickled.
    4. Objects in object storage are read by the task, with the credentials of the node. Other
       files arrive as bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spanwise.errors import DocumentError, DocumentErrorCode, FetchError, ParseError, SpanwiseError
from spanwise.ingest.local_files import TemporarySpace
from spanwise.ingest.workers import Prepared, make_preparer, prepare
from spanwise.models.contextual_caller import ContextualCaller
from spanwise.models.embed_caller import StaticEmbedCaller, is_contextual
from spanwise.models.ledger import Ledger
from spanwise.models.ports import EmbedReply
from spanwise.models.registry import make_embedder
from spanwise.parsers.containers import ContainerError
from spanwise.parsers.pdf.ocr import has_engine
from spanwise.parsers.process.isolation import ParserPool
from spanwise.types import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.ingest.sources import Source
    from spanwise.ingest.workers import PrepareRequest
    from spanwise.models.ports import Embedder
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import Limit
    from spanwise.types import Document

_STATIC_BATCH_TEXTS = 1_536
_turns = count()
_ERRORS: dict[str, type[DocumentError]] = {
    kind.__name__: kind for kind in (DocumentError, ParseError, FetchError, ContainerError)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Properties that the nodes and the driver must have in common."""

    version: str
    """Version of Spanwise."""
    has_ocr: bool
    """Whether an OCR engine is available."""

    def __str__(self) -> str:
        """Return a phrase for messages."""
        return f"Spanwise {self.version} {'with' if self.has_ocr else 'without'} an OCR engine"


def environment(ocr: str) -> Environment:
    """Return the environment of this process, for an OCR engine in the form of the options."""
    return Environment(version=version("spanwise"), has_ocr=has_engine(ocr))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseRequest:
    """File to parse. Can be pickled."""

    source: Source
    """Source without a stream."""
    data: bytes | None
    """Content of the file; None for an object that the worker downloads."""
    options: ParseOptions
    media_type: str | None = None
    """Media type that a server declared."""
    charset: str | None = None
    """Charset that a server declared."""
    text_limit: Limit | None = None
    """Maximum size of the text; None for the limit of the options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A `DocumentError` in a form that can be pickled."""

    kind: str
    message: str
    source: str
    code: DocumentErrorCode

    def error(self) -> DocumentError:
        """Return the error."""
        return _ERRORS[self.kind](self.message, source=self.source, code=self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Result of a task: a document, or the failure to parse it."""

    document: Document | None = None
    failure: Failure | None = None
    prepared: Prepared | None = None
    """Prepared document; None if its preparation was not requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderActors:
    """Actors that embed texts, and the properties of their embedder."""

    actors: tuple[Any, ...]
    """Handles of the actors."""
    name: str
    version: str
    dimension: int
    batch_texts: int
    """Maximum number of texts of one call; 0 for a static embedder."""


def parse(
    request: ParseRequest, template: PrepareRequest | None, embedder: EmbedderActors | None
) -> Parsed:
    """Return a parsed document.

    Args:
        request: File to parse.
        template: Request to prepare the document, with another document in its place; None to
            parse only.
        embedder: Actors that embed the chunks; None if they are not embedded by actors.
    """
    try:
        document = _parsed(request)
    except DocumentError as error:
        kind = next(base.__name__ for base in type(error).__mro__ if base.__name__ in _ERRORS)
        return Parsed(
            failure=Failure(kind=kind, message=str(error), source=error.source, code=error.code)
        )
    if template is None:
        return Parsed(document=document)
    prepared = prepare_embedded(replace(template, document=document), embedder)
    return Parsed(document=document, prepared=prepared)


def _parsed(request: ParseRequest) -> Document:
    """Return the document of a request.

    Raises:
        DocumentError: If it cannot be downloaded or parsed.
    """
    source, options = request.source, request.options
    with TemporarySpace() as space:
        path = space.file()
        if request.data is None:
            from spanwise.ingest.object_storage import download

            download(source, path, max_bytes=options.max_file_bytes, stopped=threading.Event())
        else:
            path.write_bytes(request.data)
        return _parser_pool(options).parse(
            path,
            document_id=source.document_id,
            source=source.location,
            source_root=source.root,
            media_type=request.media_type,
            charset=request.charset,
            text_limit=request.text_limit,
        )


_parser_pools: dict[ParseOptions, ParserPool] = {}
_parser_lock = threading.Lock()


def _parser_pool(options: ParseOptions) -> ParserPool:
    """Return the pool with the parser process of this worker, from a cache of one pool."""
    with _parser_lock:
        if options not in _parser_pools:
            close_parsers()
            _parser_pools[options] = ParserPool(options=options)
        return _parser_pools[options]


def close_parsers() -> None:
    """End the parser process of this worker, if there is one."""
    while _parser_pools:
        _parser_pools.popitem()[1].close()


def prepare_embedded(request: PrepareRequest, embedder: EmbedderActors | None) -> Prepared:
    """Return the prepared document of a request, embedded by actors if there are any."""
    prepared = prepare(request)
    if embedder is None or prepared.draft is None or prepared.draft.kept_vectors is not None:
        return prepared
    preparer = replace(make_preparer(request.settings), embedder=_caller(embedder))
    known = request.known
    try:
        draft = preparer.completed(
            prepared.draft,
            known={} if known is None else dict(zip(known.texts, known.vectors, strict=True)),
            packs=request.packs,
            ledger=Ledger(),
        )
    except SpanwiseError as error:
        return Prepared(outcome="lost" if _has_lost_actor(error) else "refused")
    return replace(prepared, draft=draft)


def _has_lost_actor(error: BaseException) -> bool:
    """Return whether an actor died during a call, and again at each retry."""
    from ray.exceptions import RayActorError

    return isinstance(error, RayActorError) or (
        error.__cause__ is not None and _has_lost_actor(error.__cause__)
    )


def _caller(actors: EmbedderActors) -> ContextualCaller | StaticEmbedCaller:
    """Return a caller of the embedder of some actors."""
    if actors.batch_texts:
        embedder = RemoteContextualEmbedder(actors)
        return ContextualCaller(
            embedder=embedder, kind="document", recorded_dimension=actors.dimension
        )
    return StaticEmbedCaller(embedder=RemoteEmbedder(actors))


class RemoteEmbedder:
    """Static embedder that calls actors."""

    def __init__(self, actors: EmbedderActors) -> None:
        self._actors = actors

    @property
    def name(self) -> str:
        """Return the name of the embedder of the actors."""
        return self._actors.name

    @property
    def version(self) -> str:
        """Return the version of the embedder of the actors."""
        return self._actors.version

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        return self._actors.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, computed by one of the actors."""
        import ray

        actors = self._actors.actors
        turn = next(_turns) % len(actors)
        return np.asarray(ray.get(actors[turn].embed.remote(list(texts))))


class RemoteContextualEmbedder(RemoteEmbedder):
    """Contextual embedder that calls actors. It is free."""

    is_local = True

    @property
    def batch_texts(self) -> int:
        """Return the maximum number of texts of one call."""
        return self._actors.batch_texts

    @property
    def concurrency(self) -> int:
        """Return the number of actors."""
        return len(self._actors.actors)

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return the usage of a call: none."""
        del texts
        return Usage()

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return the vectors of parts of documents."""
        del kind
        return EmbedReply(vectors=self.embed(texts), usage=Usage())


@dataclass(slots=True, kw_only=True, eq=False)
class _Call:
    """Texts of one task that wait for the model."""

    texts: Sequence[str]
    vectors: NDArray[np.float32] | None = None
    error: Exception | None = None


class EmbedderActor:
    """Embeds texts of several tasks in batches. One thread at a time calls the model.

    While the model computes a batch, the calls of other tasks wait; the next batch contains as many
    of them as fit.
    """

    def __init__(self, embedder: str | Embedder) -> None:
        """Load an embedder by name, or take an object of the caller."""
        self._embedder = make_embedder(embedder) if isinstance(embedder, str) else embedder
        self._entry = threading.Lock()
        self._turn = threading.Lock()
        self._waiting: list[_Call] = []

    def describe(self) -> tuple[str, str, int]:
        """Return the name, the version and the dimension of the embedder."""
        return self._embedder.name, self._embedder.version, self._embedder.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, (n, dimension)."""
        call = _Call(texts=texts)
        with self._entry:
            self._waiting.append(call)
        with self._turn:
            if call.vectors is None and call.error is None:
                self._run(self._next_batch(call))
        if call.error is not None:  # an error of a model cannot be pickled
            raise RuntimeError(f"{type(call.error).__name__}: {call.error}")
        return np.asarray(call.vectors)

    def _next_batch(self, call: _Call) -> list[_Call]:
        """Return a call and the other waiting calls that fit into its batch."""
        batch, room = [call], self._batch_texts - len(call.texts)
        with self._entry:
            self._waiting.remove(call)
            for other in list(self._waiting):
                if len(other.texts) <= room:
                    self._waiting.remove(other)
                    batch.append(other)
                    room -= len(other.texts)
        return batch

    @property
    def _batch_texts(self) -> int:
        embedder = self._embedder
        return embedder.batch_texts if is_contextual(embedder) else _STATIC_BATCH_TEXTS

    def _run(self, batch: Sequence[_Call]) -> None:
        """Embed the texts of some calls together; if that fails, each call by itself."""
        try:
            vectors = self._vectors([text for call in batch for text in call.texts])
        except Exception as exc:  # noqa: BLE001 - a model of the caller may raise anything
            if len(batch) == 1:
                batch[0].error = exc
                return
            for call in batch:
                self._run([call])
            return
        ends = np.cumsum([len(call.texts) for call in batch])
        for call, part in zip(batch, np.split(vectors, ends[:-1]), strict=True):
            call.vectors = part

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        embedder = self._embedder
        if is_contextual(embedder):
            return np.asarray(embedder.embed_texts(texts, kind="document").vectors)
        return np.asarray(embedder.embed(texts))
