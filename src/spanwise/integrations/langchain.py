"""Retriever and tools for LangChain (extra `langchain`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, cast

from pydantic import ConfigDict, Field, field_validator

from spanwise.errors import OptionError, SpanwiseError, argument_faults
from spanwise.integrations.searches import (
    best_segments,
    first_page,
    search_arguments,
    search_later,
    search_now,
    search_source,
    segment_fields,
    segment_id,
    segment_text,
)
from spanwise.mcp.arguments import (
    Base,
    Budget,
    DocumentId,
    DocumentPosition,
    Documents,
    Offset,
    Pages,
    Question,
    SectionNumber,
    Where,
)
from spanwise.mcp.scope import OpenScope
from spanwise.mcp.tools import MAX_BUDGET, MIN_BUDGET, DocumentTools
from spanwise.options.checks import check_whole
from spanwise.threads import run_in_thread

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
except ImportError as error:
    raise OptionError(
        "the LangChain retriever needs langchain-core: pip install 'spanwise[langchain]'"
    ) from error

if TYPE_CHECKING:
    from spanwise.client import RemoteKnowledgeBase
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import SearchResult, Segment


class SpanwiseRetriever(BaseRetriever):
    """LangChain retriever that returns the segments of a search as documents, in reading order.

    Arguments of a call replace those of the retriever: `retriever.invoke(question, where="...")`.
    A document has the text of a segment, and as metadata its document id, title, section, pages,
    range of characters, relevance and citation, and the metadata fields of its document. `source`,
    `page` (from 0), `page_label`, `start_index` and `relevance_score` are as in documents of other
    components of LangChain.
    """

    model_config = ConfigDict(extra="forbid")

    knowledge_base: Any = Field(exclude=True)
    """Open `KnowledgeBase`, a list of them, or an object with the same method `search`: a
    `RemoteKnowledgeBase` (`spanwise.connect`) or an `AsyncKnowledgeBase`. The caller closes it."""
    k: int | None = None
    """Maximum number of documents, the most relevant segments in reading order; None for all that
    fit the budget."""
    budget_tokens: int | None = None
    """Maximum tokens of all segments; None for the default of `search`."""
    preset: str | None = None
    """Length of the segments: "precise", "balanced" or "comprehensive"; None for the default."""
    where: Any = None
    """Metadata filter as in `search`; None for all documents."""
    documents: list[str] | None = None
    """Ids of the documents to search; None for all."""
    headers: bool = False
    """Whether the text of each document begins with the header of its segment: title, summary and
    section."""
    search_arguments: dict[str, Any] = Field(default_factory=dict)
    """Further keyword arguments of `search`, such as {"rerank": "cohere:rerank-v3.5"}."""

    @field_validator("knowledge_base")
    @classmethod
    def _check_knowledge_base(cls, given: object) -> object:
        return search_source(given)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changes: Any
    ) -> list[Document]:
        del run_manager  # the search starts no other runs
        k = changes.pop("k", self.k)
        arguments = self._arguments(changes)
        return _documents(search_now(self.knowledge_base, query, arguments), k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **changes: Any
    ) -> list[Document]:
        del run_manager
        k = changes.pop("k", self.k)
        arguments = self._arguments(changes)
        return _documents(await search_later(self.knowledge_base, query, arguments), k)

    def _arguments(self, changes: Mapping[str, object]) -> dict[str, object]:
        names = ("budget_tokens", "preset", "where", "documents", "headers")
        given = {name: getattr(self, name) for name in names}
        return search_arguments(given, more={**self.search_arguments, **changes})


def _documents(result: SearchResult, k: int | None) -> list[Document]:
    return [
        Document(
            id=segment_id(segment),
            page_content=segment_text(segment),
            metadata=segment_fields(segment, result, more=_usual_fields(segment)),
        )
        for segment in best_segments(result, k)
    ]


def _usual_fields(segment: Segment) -> dict[str, object]:
    """Return the fields that loaders, splitters and rerankers of LangChain set."""
    page, label = first_page(segment)
    return {
        "page": None if page is None else page - 1,
        "page_label": label,
        "start_index": segment.start,
        "relevance_score": segment.relevance,
    }


def spanwise_tools(
    knowledge_base: KnowledgeBase | RemoteKnowledgeBase | Mapping[str, KnowledgeBase],
    *,
    token_budget: int = 4_000,
) -> list[BaseTool]:
    """Return tools that search and read documents: `search`, `list_documents`, `outline`, `read`.

    The tools return text within the token budget that the model requests. An error is returned to
    the model as text, so that it can correct its arguments.

    Args:
        knowledge_base: Open knowledge base or one of a server, or several open ones by name; the
            caller closes them.
        token_budget: Maximum tokens of an output if the model requests none, from 100 to 200,000.

    Raises:
        OptionError: If there is no knowledge base, they cannot be searched together, or the budget
            is out of range.
    """
    check_whole("token_budget", token_budget, MIN_BUDGET, MAX_BUDGET)
    bases = knowledge_base if isinstance(knowledge_base, Mapping) else {"documents": knowledge_base}
    tools = DocumentTools(OpenScope(cast("Mapping[str, KnowledgeBase]", bases)))  # same methods
    default_budget = token_budget

    def search(
        question: Question,
        where: Where = "",
        documents: Documents = [],  # noqa: B006 - not changed
        token_budget: Budget = default_budget,
    ) -> str:
        """Find the passages that answer a question, with document, section and characters."""
        return tools.search(question, where=where, documents=documents, token_budget=token_budget)

    def list_documents(
        where: Where = "", start: DocumentPosition = 0, token_budget: Budget = default_budget
    ) -> str:
        """List the documents: id, title, length and metadata fields, one per line."""
        return tools.list_documents(where=where, start=start, token_budget=token_budget)

    def outline(
        document_id: DocumentId, knowledge_base: Base = "", token_budget: Budget = default_budget
    ) -> str:
        """Show the sections of a document as a tree, with numbers for `read`."""
        return tools.outline(document_id, knowledge_base=knowledge_base, token_budget=token_budget)

    def read(
        document_id: DocumentId,
        section: SectionNumber = 0,
        pages: Pages = "",
        start: Offset = 0,
        knowledge_base: Base = "",
        token_budget: Budget = default_budget,
    ) -> str:
        """Read the text of a document: a section, pages, or from a character on."""
        return tools.read(
            document_id,
            knowledge_base=knowledge_base,
            section=section,
            pages=pages,
            start=start,
            token_budget=token_budget,
        )

    return [_tool(function) for function in (search, list_documents, outline, read)]


def _tool(function: Callable[..., str]) -> BaseTool:
    """Return a function as a tool that runs on threads in asynchronous code."""

    @wraps(function)
    def call(**arguments: Any) -> str:
        try:
            return function(**arguments)
        except SpanwiseError as error:
            raise ToolException(str(error)) from error

    @wraps(function)
    async def call_later(**arguments: Any) -> str:
        return await run_in_thread(partial(call, **arguments))

    return StructuredTool.from_function(
        call, call_later, handle_tool_error=True, handle_validation_error=_wrong_arguments
    )


def _wrong_arguments(error: Any) -> str:
    """Return the text for an agent that has called a tool with wrong arguments."""
    return argument_faults(error.errors(include_url=False))
