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
from spanwise.types import GivenParts
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
        return from_plain(kind, given)
    except OptionError:
        raise
    except (TypeError, ValueError) as error:
        raise OptionError(f"{name}: {error}") from error


def _choice(default: str | None, *values: str) -> Any:
    return Field(default, description=", ".join(values), json_schema_extra={"enum": [*values]})


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QuestionBody(_Body):
    """Arguments of every question."""

    options_kind: ClassVar[type] = SearchOptions
    """Class of the argument `options`."""

    question: str = Field(description="Question in any words.")
    documents: list[str] | None = Field(None, description="Ids of documents; null for all.")
    where: str | dict[str, FilterValue] | None = Field(
        None, description="Metadata filter, such as \"year >= 2018 and company = '3M'\"."
    )
    options: Options | None = Field(
        None, description="All options as one object, in place of their own fields."
    )

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
    rerank: bool = Field(default=False, description="Whether the reranker of the server is used.")
    rerank_options: Options | None = Field(None, description="Fields of RerankOptions.")
    headers: bool = True
    tokenizer: str | None = None
    more_queries: list[str] = Field(default_factory=list)
    abstain: bool = False
    deep: bool = True
    spread: str = _choice("auto", "auto", "passages", "documents")


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
    fresh: bool = Field(default=False, description="Whether models are called again.")


class AskBody(_AnswerBody):
    """Arguments of an answer by the language model of the server."""

    preset: str | None = None
    method: str | None = _choice(None, "exact", "greedy")
    segment_options: Options | None = None
    rounds: int | None = Field(None, description="Maximum number of rounds of search, 1 or 2.")
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

    dry_run: bool = Field(default=False, description="Whether calls and cost are only estimated.")


class SeveralBody(SearchBody):
    """Arguments of a search of several knowledge bases."""

    knowledge_bases: list[str] = Field(description="Names; empty for all.", default_factory=list)


class MetadataBody(_Body):
    """Changes of the metadata of a document."""

    fields: dict[str, FilterValue | None] = Field(
        default_factory=dict, description="Values by name; null removes a field."
    )
    title: str | None = Field(None, description="New title; null keeps the title.")


class MetadataChangesBody(MetadataBody):
    """Changes of the metadata of several documents."""

    documents: list[str] | None = Field(None, description="Ids; null for those of the filter.")
    where: str | dict[str, FilterValue] | None = Field(
        None, description="Filter of the documents, in place of their ids."
    )
    dry_run: bool = Field(default=False, description="Whether changes are only reported.")


class LocateBody(_Body):
    """Citation whose text is looked up."""

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


class UrlBody(_Body):
    """A URL to add as a document."""

    url: str = Field(description="Address of a page or file; http or https.", max_length=10_000)
    replace: bool = Field(
        default=True, description="Whether a document with this id from another source is replaced."
    )
