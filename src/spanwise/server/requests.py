"""Bodies of requests: the arguments of the methods of `KnowledgeBase`, checked for types.

An argument is added by a field of the same name. The library checks the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from spanwise.errors import OptionError
from spanwise.options import (
    AnswerOptions,
    ExcerptOptions,
    PublishedOptions,
    QueryOptions,
    RerankOptions,
    SearchOptions,
    SegmentOptions,
)
from spanwise.types import GivenChunk, GivenParts, Turn, WrittenQueries
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FilterValue = str | int | float | bool | list[str | int | float | bool]
Options = dict[str, Any]
"""Fields of a class of options."""

_Kind = TypeVar("_Kind", bound="DataclassInstance")
_OF_SERVER = frozenset({"question", "where", "rerank", "candidates", "knowledge_bases", "rounds"})
"""Fields that the server reads itself."""


def read_options(kind: type[_Kind], given: Mapping[str, Any], *, name: str) -> _Kind:
    """Return options made from their fields.

    Raises:
        OptionError: If a field is unknown, has the wrong type or is out of range.
    """
    known = [field.name for field in fields(kind)]
    unknown = [field for field in given if field not in known]
    if unknown:
        raise OptionError(
            f"{name} has the unknown field {unknown[0][:80]!r}; there are {', '.join(known)}"
        )
    try:
        return from_plain(kind, given, name=name)
    except OptionError:
        raise
    except (TypeError, ValueError) as error:
        raise OptionError(str(error)) from error


def _choice(default: str | None, *values: str) -> Any:
    return Field(default, description=", ".join(values), json_schema_extra={"enum": [*values]})


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class QuestionBody(_Body):
    """Arguments of every question."""

    options_kind: ClassVar[type] = SearchOptions
    """Class of the argument `options`."""

    question: str = Field(description="Question.")
    documents: list[str] | None = Field(None, description="Ids of documents; null for all.")
    where: str | dict[str, FilterValue] | None = Field(
        None, description="Metadata filter, such as \"year >= 2018 and company = '3M'\"."
    )
    options: Options | None = Field(
        None, description="All options as one object, in place of single fields."
    )

    @property
    def written_filter(self) -> str:
        """Filter that a model wrote for the question; empty for none."""
        return ""

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the method, except those that the server sets.

        Raises:
            OptionError: If a field of options is unknown, has the wrong type or is out of range.
        """
        given = {name: getattr(self, name) for name in type(self).model_fields}
        is_greedy = given.get("method") == "greedy"
        kinds = {
            "options": self.options_kind,
            "segment_options": PublishedOptions if is_greedy else SegmentOptions,
            "rerank_options": RerankOptions,
            "query_options": QueryOptions,
        }
        for name, kind in kinds.items():
            if given.get(name) is not None:
                given[name] = read_options(kind, given[name], name=name)
        return {name: value for name, value in given.items() if name not in _OF_SERVER}


class _RetrievalBody(QuestionBody):
    preset: str | None = Field(None, description="precise, balanced or comprehensive.")
    segment_options: Options | None = Field(
        None, description="Fields of SegmentOptions in place of a preset."
    )
    rerank: bool = Field(default=False, description="Whether to use the reranker of the server.")
    rerank_options: Options | None = Field(None, description="Fields of RerankOptions.")
    headers: bool = True
    tokenizer: str | None = None
    more_queries: list[str] | dict[str, Any] = Field(
        default_factory=list, description="Further queries, or a result of the route `queries`."
    )
    abstain: bool = False
    deep: bool = True
    spread: str = _choice("auto", "auto", "passages", "documents")

    @property
    def written_filter(self) -> str:
        """Filter that a model wrote for the question; empty for none."""
        queries = self.more_queries
        return str(queries.get("model_filter", "")) if isinstance(queries, dict) else ""

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the method, except those that the server sets.

        Raises:
            OptionError: If a field of options or queries is unknown, has the wrong type or is out
                of range.
        """
        given = super().arguments()
        if isinstance(self.more_queries, dict):
            given["more_queries"] = read_options(
                WrittenQueries, self.more_queries, name="more_queries"
            )
        return given


class SearchBody(_RetrievalBody):
    """Arguments of a search."""

    budget_tokens: int = Field(4_000, description="Maximum tokens of the context.")
    method: str = _choice("exact", "exact", "greedy")
    max_documents: int = 20


class ExcerptsBody(_RetrievalBody):
    """Arguments of a search for excerpts."""

    options_kind: ClassVar[type] = ExcerptOptions

    excerpts: int = 3
    excerpt_tokens: int = 1_000


class ExplainBody(SearchBody):
    """Arguments of an explanation."""

    candidates: int | None = Field(
        100, ge=0, description="Maximum number of chunks with their scores; null for all."
    )


class _AnswerBody(QuestionBody):
    options_kind: ClassVar[type] = AnswerOptions

    budget_tokens: int | None = Field(None, description="Maximum tokens that the model reads.")
    temperature: float | None = None
    write_queries: bool = True
    query_options: Options | None = Field(None, description="Fields of QueryOptions.")
    fresh: bool = Field(
        default=False, description="Whether to call the models again, without their cached outputs."
    )


class AskBody(_AnswerBody):
    """Arguments of an answer by the language model of the server."""

    preset: str | None = None
    method: str | None = _choice(None, "exact", "greedy")
    segment_options: Options | None = None
    rounds: int | None = Field(None, description="Maximum number of rounds of search, 1 or 2.")
    thread: str | None = Field(
        None, description="Id of a conversation to continue or start; needs the role write."
    )
    rerank: bool = False
    rerank_options: Options | None = Field(None, description="Fields of RerankOptions.")

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the method, except those that the server sets.

        Raises:
            OptionError: If a field of options is unknown, has the wrong type or is out of range.
        """
        if self.rounds is not None:
            self.options = {**(self.options or {}), "rounds": self.rounds}
        return super().arguments()


class AskEachBody(_AnswerBody):
    """Arguments of a question to each document."""

    dry_run: bool = Field(default=False, description="Whether to only estimate calls and cost.")


class QueriesBody(QuestionBody):
    """Arguments of the search queries that the language model of the server writes."""

    options_kind: ClassVar[type] = QueryOptions

    history: list[dict[str, Any]] = Field(
        default_factory=list, description="Turns of a conversation, oldest first."
    )

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the method, except those that the server sets.

        Raises:
            OptionError: If a field of options or turns is unknown or has the wrong type.
        """
        turns = [read_options(Turn, turn, name="history") for turn in self.history]
        return {**super().arguments(), "history": turns}


class PacksBody(_Body):
    """Change of the packs in use."""

    names: list[str] = Field(description="Names of packs.", min_length=1)
    in_use: bool = Field(
        default=True, description="Whether to use the packs, or to stop using them."
    )


class SeveralBody(SearchBody):
    """Arguments of a search of several knowledge bases."""

    knowledge_bases: list[str] = Field(description="Names; empty for all.", default_factory=list)


class AskSeveralBody(AskBody):
    """Arguments of an answer from several knowledge bases."""

    knowledge_bases: list[str] = Field(description="Names; empty for all.", default_factory=list)


class AskEachSeveralBody(AskEachBody):
    """Arguments of a question to each document of several knowledge bases."""

    knowledge_bases: list[str] = Field(description="Names; empty for all.", default_factory=list)


class MetadataBody(_Body):
    """Changes of the metadata of a document."""

    fields: dict[str, FilterValue | None] = Field(
        default_factory=dict, description="Values by name; null removes a field."
    )
    title: str | None = Field(None, description="New title; null keeps the title.")


class MetadataChangesBody(MetadataBody):
    """Changes of the metadata of several documents."""

    documents: list[str] | None = Field(
        None, description="Ids of the documents; null to use the filter."
    )
    where: str | dict[str, FilterValue] | None = Field(
        None, description="Filter of the documents, in place of their ids."
    )
    dry_run: bool = Field(default=False, description="Whether to only report the changes.")


class LocateBody(_Body):
    """Citation to look up."""

    citation: dict[str, Any] = Field(description="Citation, segment or span of a result.")


class TextBody(_Body):
    """A text to add as a document."""

    document_id: str
    text: str
    title: str = ""
    media_type: Literal["text/plain", "text/markdown"] = "text/plain"
    metadata: dict[str, FilterValue] | None = None
    given: dict[str, Any] | None = Field(None, description="Fields of GivenParts.")
    replace: bool = False

    def parts(self) -> GivenParts | None:
        """Return the parts that the caller provides.

        Raises:
            OptionError: If a field is unknown or has the wrong type.
        """
        return None if self.given is None else read_options(GivenParts, self.given, name="given")


class ChunksBody(_Body):
    """A document to add, divided into chunks."""

    document_id: str
    chunks: list[str | dict[str, Any]] = Field(
        description="Chunks in reading order: texts, or fields of GivenChunk."
    )
    vectors: list[list[float]] | None = Field(
        None, description="Vector of each chunk, made by the embedder of the knowledge base."
    )
    title: str = ""
    metadata: dict[str, FilterValue] | None = None
    separator: str = "\n\n"
    overlap: Literal["refuse", "remove", "keep"] = "refuse"
    replace: bool = False

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `KnowledgeBase.add_chunks`.

        Raises:
            OptionError: If a field of a chunk is unknown or has the wrong type.
        """
        given = {name: getattr(self, name) for name in type(self).model_fields}
        given["chunks"] = [
            chunk if isinstance(chunk, str) else read_options(GivenChunk, chunk, name="chunks")
            for chunk in self.chunks
        ]
        return given


class PageQuery(BaseModel):
    """Parameters of the image of a page."""

    highlight: str = Field(
        "",
        pattern=r"^(\d{1,12}-\d{1,12})?$",
        description="Range of characters to highlight, such as 10-90.",
    )
    words: str = Field("", description="Words of the page to highlight, in place of a range.")
    dots_per_inch: int = 110

    @property
    def place(self) -> tuple[int, int] | str | None:
        """Range or words to highlight; None for nothing."""
        first, _, last = self.highlight.partition("-")
        return (int(first), int(last)) if self.highlight else self.words or None


class JobBody(_Body):
    """Arguments of `KnowledgeBase.add` for all documents of an ingest job."""

    metadata: Options | None = Field(
        None,
        description="Fields of every document: texts, numbers, booleans or lists of them; null "
        "keeps the stored ones.",
    )
    include: list[str] = Field(
        default_factory=list, description='Patterns of names or URL paths to add, such as "*.pdf".'
    )
    exclude: list[str] = Field(
        default_factory=list, description="Patterns of names or URL paths to leave out."
    )
    context: Options | None = Field(
        None,
        description="Fields of ContextOptions: the parts that the language model of the server "
        "writes. Needs a server with --allow-generation.",
    )
    given: dict[str, dict[str, Any]] | None = Field(
        None, description="Fields of GivenParts by document id, such as the title."
    )


class UrlBody(JobBody):
    """A URL to add: a page, a file, a sitemap, or the start of a crawl."""

    url: str = Field(
        description="Address of a page, file or sitemap; http or https.", max_length=10_000
    )
    replace: bool = Field(
        default=True, description="Whether a document with this id from another source is replaced."
    )
    crawl: Options | None = Field(
        None, description="Fields of CrawlOptions; null adds only the page, or those of a sitemap."
    )
