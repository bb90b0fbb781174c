"""Rights of a request: the knowledge bases and documents that its key allows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Semaphore
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from spanwise.errors import DocumentNotFoundError, OptionError, unknown_document
from spanwise.filters import Filter, read_filter
from spanwise.filters.fields import record_fields
from spanwise.filters.matching import check_filter, document_test, matches
from spanwise.knowledge_base.several import KnowledgeBases
from spanwise.server.key_documents import KeyDocuments, KeyDocumentsCache
from spanwise.server.problems import Problem, too_many_requests
from spanwise.threads import awaited, start_cancellable
from spanwise.types import Answer, DocumentAnswers

if TYPE_CHECKING:
    from spanwise.filters import FieldKind, Where
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel, Reranker
    from spanwise.server.keys import Key, KeyRing, Role
    from spanwise.server.queue import IngestQueue
    from spanwise.server.readiness import Readiness
    from spanwise.types import DocumentRecord

_Result = TypeVar("_Result")
_POLL_SECONDS = 0.25
_REFUSAL = "The documents hold no answer to this question."
_KEY = HTTPBearer(
    scheme_name="key",
    description="Key of the server. It is needed only if the server was started with keys.",
    auto_error=False,
)
"""Description of the key for the OpenAPI document; `key_of` checks the key."""
DEFAULT = "default"
"""Alias of the first knowledge base."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """Parts of a running server."""

    bases: Mapping[str, KnowledgeBase]
    """Open knowledge bases by name."""
    keys: KeyRing | None
    """Keys of the server; None if requests need none."""
    readiness: Readiness
    """Check whether this process can answer requests."""
    llm: str | LanguageModel | None = None
    """Language model of answers; None if there is none."""
    reranker: str | Reranker | None = None
    """Reranker for requests with `rerank`; None if there is none."""
    seconds: float = 120.0
    """Maximum time of a request."""
    places: Semaphore = field(default_factory=lambda: Semaphore(32))
    """Places for work on threads. Abandoned work keeps its place until it ends."""
    key_documents: KeyDocumentsCache = field(default_factory=KeyDocumentsCache)
    """Documents that the filters of keys include."""
    queues: Mapping[str, IngestQueue] = field(default_factory=dict)
    """Ingest queues by the name of their knowledge base, if its store can have one."""


class Access:
    """Rights of one request."""

    def __init__(self, service: Service, key: Key | None, request: Request) -> None:
        """Create the rights; None in place of a key gives all of them."""
        self.service = service
        self._key = key
        self._request = request

    def names(self) -> list[str]:
        """Return the names of the knowledge bases that may be used."""
        allowed = () if self._key is None else self._key.knowledge_bases
        return [name for name in self.service.bases if not allowed or name in allowed]

    def base(self, name: str) -> KnowledgeBase:
        """Return a knowledge base by its name or "default".

        Raises:
            Problem: If it does not exist, or the key does not allow it. Both have the same message.
        """
        return self.service.bases[self._allowed(name)]

    def queue(self, name: str) -> IngestQueue:
        """Return the ingest queue of a knowledge base.

        Raises:
            Problem: If there is no such knowledge base, its store has no jobs, or the key has a
                filter: jobs name all documents, and new documents could pass the filter.
        """
        found = self._allowed(name)
        self.require_unrestricted("a key with a filter has no access to jobs")
        if found not in self.service.queues:
            raise Problem(
                422,
                "no_queue",
                "the knowledge base is not in a folder or PostgreSQL, so the server takes no files "
                "for it; add texts, or add the files with `spanwise add`",
            )
        return self.service.queues[found]

    def queues(self) -> dict[str, IngestQueue]:
        """Return the ingest queues that the key may see, by the name of their knowledge base."""
        queues = {} if self.is_restricted else self.service.queues
        return {name: queues[name] for name in self.names() if name in queues}

    def forget_upload(self, name: str, record: DocumentRecord) -> None:
        """Remove the uploaded file of a removed document, if it was uploaded."""
        queue = self.service.queues.get(self._allowed(name))
        if queue is not None:
            queue.forget(record)

    def _allowed(self, name: str) -> str:
        """Return the name of a knowledge base that may be used.

        Raises:
            Problem: If it does not exist, or the key does not allow it.
        """
        names, name = self.names(), self._name(name)
        if name not in names:
            raise Problem(
                404,
                "knowledge_base_not_found",
                f"no knowledge base is named {name[:80]!r}; "
                f"the names are: {', '.join(names) or 'none'}",
            )
        return name

    def _name(self, name: str) -> str:
        """Return the name of the first knowledge base for "default"; keep other names."""
        names = self.names()
        return names[0] if name == DEFAULT and names and DEFAULT not in self.service.bases else name

    def several(self, names: Sequence[str]) -> KnowledgeBase:
        """Return several knowledge bases as one; without names, all that the key allows."""
        bases = self._bases(names)
        if not bases:
            raise Problem(
                404, "knowledge_base_not_found", "the key allows no knowledge base of this server"
            )
        first, *others = bases.values()
        return KnowledgeBases([first, *others], names=list(bases)) if others else first

    def _bases(self, names: Sequence[str]) -> dict[str, KnowledgeBase]:
        """Return knowledge bases by name; all that may be used if no names are given."""
        found = {self._name(name): self.base(name) for name in names or self.names()}
        if len(found) < len(names):
            raise OptionError("a knowledge base is given twice; give each one once")
        return found

    @property
    def role(self) -> Role:
        """Role of the key; "admin" if the server has no keys."""
        return "admin" if self._key is None else self._key.role

    @property
    def is_restricted(self) -> bool:
        """Whether the key has a filter."""
        return self._key is not None and bool(self._key.where)

    def require_unrestricted(
        self, reason: str = "the key has a filter, so it can only read; use a key without a filter"
    ) -> None:
        """Check that the key has no filter.

        Raises:
            Problem: If it has one.
        """
        if self.is_restricted:
            raise Problem(403, "restricted", reason)

    def require_conversations(self) -> None:
        """Check that the key may use stored conversations.

        They show questions and quotes of all users, so a key needs the role `write` and no filter.

        Raises:
            Problem: If it may not.
        """
        self.require_unrestricted("a key with a filter has no access to stored conversations")
        if self._key is not None and not self._key.allows("write"):
            raise Problem(403, "role", "stored conversations need a key with the role 'write'")

    def check_unlimited(self) -> None:
        """Check that the key allows all documents of all knowledge bases.

        Raises:
            Problem: If it does not.
        """
        if self.is_restricted or (self._key is not None and self._key.knowledge_bases):
            raise Problem(
                403, "restricted", "this request needs a key for all knowledge bases and documents"
            )

    def where(self, given: Where | None) -> Filter | None:
        """Return the filter of a request and of the key, joined with "and"; None for no filter.

        Raises:
            FilterError: If the filter is invalid.
        """
        own, asked = None if self._key is None else self._key.filter, read_filter(given)
        if own is None or asked is None:
            return asked if own is None else own
        return own & asked

    def records(self, base: KnowledgeBase, given: Where | None = None) -> list[DocumentRecord]:
        """Return the records of the documents that pass the filters of the key and of the request.

        Raises:
            FilterError: If the filter of the request does not fit the fields of the documents that
                the key includes. The message names no fields of other documents.
        """
        if not self.is_restricted:
            return base.list(given)
        own, asked = self._documents(base), read_filter(given)
        if asked is not None:
            check_filter(asked, own.kinds)
        return base.list(self.where(asked)) if own.ids else []

    def _documents(self, base: KnowledgeBase) -> KeyDocuments:
        """Return the documents that the filter of the key includes."""
        return self.service.key_documents.find(base, self.where(None))

    def check_question(
        self,
        knowledge_bases: Sequence[str],
        where: Where | None,
        documents: Sequence[str] | None,
        *,
        needs_documents: bool = False,
    ) -> None:
        """Check the scope of a question against the documents that the key includes.

        The checks of the knowledge base use all documents, and their messages would show fields,
        values and ids of those that the key excludes.

        Args:
            knowledge_bases: Names of the knowledge bases; empty for all.
            where: Filter of the request.
            documents: Ids of the request; None for all documents.
            needs_documents: Whether a filter that no document passes is refused.

        Raises:
            FilterError: See `records`.
            DocumentNotFoundError: If the key includes no document with one of the ids.
            Problem: If the key includes no document, or no document passes the filter.
        """
        if not self.is_restricted:
            return
        bases = {base: self._documents(base) for base in self._bases(knowledge_bases).values()}
        ids = frozenset[str]().union(*(own.ids for own in bases.values()))
        if not ids:
            raise Problem(404, "no_documents", "the key includes no document of the knowledge base")
        for document_id in documents or ():
            if document_id not in ids:
                raise unknown_document(document_id)
        asked = read_filter(where)
        if asked is None:
            return
        kinds: dict[str, frozenset[FieldKind]] = {}
        for own in bases.values():
            for name, found in own.kinds.items():
                kinds[name] = kinds.get(name, frozenset()) | found
        check_filter(asked, kinds)
        if not needs_documents:
            return
        chosen = ids if documents is None else frozenset(documents)
        passes = document_test(asked)
        rows = (row for base, own in bases.items() if own.ids for row in self.records(base))
        if not any(row.id in chosen and passes(record_fields(row)) for row in rows):
            raise Problem(422, "no_document_passes", "no document passes the filter")

    def record(self, base: KnowledgeBase, document_id: str) -> DocumentRecord:
        """Return the record of a document that may be read.

        Raises:
            DocumentNotFoundError: If it does not exist, or the filter of the key excludes it.
        """
        own = self.where(None)
        try:
            record = base.record(document_id)
        except DocumentNotFoundError:
            raise unknown_document(document_id) from None
        if own is not None and not matches(own, record_fields(record)):
            raise unknown_document(document_id)
        return record

    def shown(self, result: Any) -> Any:
        """Return a result without values of documents that the key excludes.

        Warnings are left out: near values and spellings in them come from all documents. So is the
        filter, also in the text of a refusal, because it may name values that it excludes.
        """
        if not self.is_restricted:
            return result
        passes_none = getattr(result, "no_document_passes", False)  # answers have no such field
        warnings = ("no document passes the filter",) if passes_none else ()
        shown = replace(result, warnings=warnings, where="")
        if isinstance(result, Answer) and result.refused:
            return replace(shown, text=_REFUSAL)
        if isinstance(result, DocumentAnswers):
            rows = tuple(replace(row, warnings=()) for row in result.documents)
            return replace(shown, documents=rows)
        return shown

    def timeout(self) -> Problem:
        """Return the problem of a request that takes too long."""
        return Problem(504, "timeout", f"the request took longer than {self.service.seconds:g} s")

    async def start(self, action: Callable[[], _Result]) -> _Result:
        """Return the result of blocking work on a thread.

        Raises:
            Problem: If too much work is running.
        """
        places = self.service.places
        if not places.acquire(blocking=False):
            raise too_many_requests()

        def work() -> _Result:
            try:
                return action()
            finally:
                places.release()

        cancelled = Event()
        try:
            running = start_cancellable(work, cancelled=cancelled)
        except RuntimeError:  # the system starts no more threads
            places.release()
            raise
        return await awaited(running, cancelled=cancelled)

    async def run(self, action: Callable[[], _Result]) -> _Result:
        """Return the result of blocking work, which is cancelled on a disconnect or a timeout.

        Raises:
            Problem: If it takes too long.
            CancelledError: If the client has disconnected.
        """
        work = asyncio.ensure_future(self.start(action))
        end = asyncio.get_running_loop().time() + self.service.seconds
        try:
            while True:
                left = end - asyncio.get_running_loop().time()
                done, _ = await asyncio.wait({work}, timeout=min(_POLL_SECONDS, max(left, 0)))
                if done:
                    return work.result()
                if left <= 0:
                    raise self.timeout()
                if await self._request.is_disconnected():
                    raise Problem(499, "client_closed", "the client has disconnected")
        finally:
            work.cancel()


def key_of(service: Service, authorization: str) -> Key | None:
    """Return the key of a request; None if the server has no keys.

    A missing and a wrong key get the same answer in the same time.

    Args:
        service: Parts of the server.
        authorization: Value of the Authorization header; empty if it is missing.

    Raises:
        Problem: If the key is missing or wrong.
    """
    if service.keys is None:
        return None
    scheme, _, token = authorization.partition(" ")
    key = service.keys.find(token.strip())
    if scheme.lower() != "bearer" or key is None:
        raise Problem(
            401,
            "key_missing_or_wrong",
            "give a key of this server as `Authorization: Bearer KEY`",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return key


def access_for(role: Role) -> Any:
    """Return a dependency that gives the rights of a request, if its key has a role."""

    async def checked(request: Request, _: Annotated[object, Security(_KEY)]) -> Access:
        service: Service = request.app.state.service
        key = key_of(service, request.headers.get("authorization", ""))
        if key is not None and not key.allows(role):
            raise Problem(403, "role", f"this request needs a key with the role {role!r}")
        return Access(service, key, request)

    return Depends(checked)
