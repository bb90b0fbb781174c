"""Scope of an agent: the knowledge bases and documents that its tools may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Protocol, TypeVar

from spanwise.errors import OptionError, shown
from spanwise.knowledge_base.several import KnowledgeBases
from spanwise.threads import run_in_thread

if TYPE_CHECKING:
    from spanwise.filters import Where
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import DocumentRecord

_Result = TypeVar("_Result")
_METHODS = ("search", "list", "record", "sections", "get", "cite")


class Scope(Protocol):
    """Knowledge bases and documents that the tools of one agent may use."""

    @property
    def is_restricted(self) -> bool:
        """Whether a filter excludes documents."""

    def names(self) -> list[str]:
        """Return the names of the knowledge bases."""

    def base(self, name: str) -> KnowledgeBase:
        """Return a knowledge base by its name."""

    def several(self, names: Sequence[str]) -> KnowledgeBase:
        """Return several knowledge bases as one; without names, all of them."""

    def where(self, given: Where | None) -> Where | None:
        """Return a filter that passes only documents of the scope; None for no filter."""

    def records(self, base: KnowledgeBase, given: Where | None = None) -> list[DocumentRecord]:
        """Return the records of the documents that pass a filter, ordered by id."""

    def record(self, base: KnowledgeBase, document_id: str) -> DocumentRecord:
        """Return the record of a document.

        Raises:
            DocumentNotFoundError: If the scope has no such document.
        """

    def check_question(
        self,
        knowledge_bases: Sequence[str],
        where: Where | None,
        documents: Sequence[str] | None,
        *,
        needs_documents: bool = False,
    ) -> None:
        """Check filter and ids of a question, with messages that show nothing else."""

    def shown(self, result: _Result) -> _Result:
        """Return a result without anything of documents outside the scope."""

    def forget_upload(self, name: str, record: DocumentRecord) -> None:
        """Remove the uploaded file of a removed document, if it was uploaded."""

    async def run(self, action: Callable[[], _Result]) -> _Result:
        """Return the result of blocking work.

        Raises:
            SpanwiseError: If it fails, with a message for the agent.
        """


class OpenScope:
    """All documents of some open knowledge bases."""

    is_restricted = False

    def __init__(self, bases: Mapping[str, KnowledgeBase]) -> None:
        """Create the scope.

        Args:
            bases: Open knowledge bases by name; the caller closes them.

        Raises:
            OptionError: If there is no knowledge base, or one cannot be used by tools.
        """
        if not bases:
            raise OptionError("there is no knowledge base; name at least one")
        for base in bases.values():
            methods = [getattr(base, name, None) for name in _METHODS]
            if isinstance(base, type) or not all(map(callable, methods)):
                raise OptionError(
                    f"knowledge_base is {shown(base)}; give an open KnowledgeBase, the result of "
                    "`spanwise.connect`, or a mapping of names to them"
                )
            if any(map(iscoroutinefunction, methods)):
                raise OptionError(
                    f"knowledge_base is a {type(base).__name__}, whose methods are asynchronous; "
                    "give a KnowledgeBase or the result of `spanwise.connect`. The tools run it on "
                    "threads"
                )
        self._bases = dict(bases)

    def names(self) -> list[str]:
        """Return the names of the knowledge bases."""
        return list(self._bases)

    def base(self, name: str) -> KnowledgeBase:
        """Return a knowledge base by its name.

        Raises:
            OptionError: If there is none with this name.
        """
        if name not in self._bases:
            raise OptionError(
                f"knowledge_base is {name[:80]!r}; give one of {', '.join(self._bases)}"
            )
        return self._bases[name]

    def several(self, names: Sequence[str]) -> KnowledgeBase:
        """Return several knowledge bases as one; without names, all of them.

        Raises:
            OptionError: If they cannot be searched together, or a name is unknown.
            EmbedderMismatchError: If their vectors were made with different embedders.
        """
        names = names or self.names()
        first, *others = [self.base(name) for name in names]
        return KnowledgeBases([first, *others], names=names) if others else first

    def where(self, given: Where | None) -> Where | None:
        """Return the filter unchanged."""
        return given

    def records(self, base: KnowledgeBase, given: Where | None = None) -> list[DocumentRecord]:
        """Return the records of the documents that pass a filter, ordered by id."""
        return base.list(given)

    def record(self, base: KnowledgeBase, document_id: str) -> DocumentRecord:
        """Return the record of a document.

        Raises:
            DocumentNotFoundError: If there is no such document.
        """
        return base.record(document_id)

    def check_question(
        self,
        knowledge_bases: Sequence[str],
        where: Where | None,
        documents: Sequence[str] | None,
        *,
        needs_documents: bool = False,
    ) -> None:
        """Check nothing: the knowledge base checks its arguments itself."""

    def shown(self, result: _Result) -> _Result:
        """Return the result unchanged."""
        return result

    def forget_upload(self, name: str, record: DocumentRecord) -> None:
        """Do nothing: without a server, no file was uploaded."""

    async def run(self, action: Callable[[], _Result]) -> _Result:
        """Return the result of blocking work on a thread; a cancelled request stops it."""
        return await run_in_thread(action)
