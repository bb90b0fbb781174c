"""Bodies of requests: the arguments of the methods of `KnowledgeBase`, checked for types."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanwise.errors import OptionError
from spanwise.options import SegmentOptions

FilterValue = str | int | float | bool | list[str | int | float | bool]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QuestionBody(_Body):
    """Arguments of every question."""

    question: str = Field(description="Question in any words.")
    documents: list[str] | None = Field(None, description="Ids of documents; null for all.")
    where: str | dict[str, FilterValue] | None = Field(
        None, description="Metadata filter, such as \"year >= 2018 and company = '3M'\"."
    )
    preset: str | None = Field(None, description="precise, balanced or comprehensive.")
    segment_options: dict[str, Any] | None = Field(
        None, description="Fields of SegmentOptions in place of a preset."
    )
    rerank: bool = Field(default=False, description="Whether the reranker of the server is used.")

    def options(self) -> SegmentOptions | None:
        """Return the segment options.

        Raises:
            OptionError: If a field is unknown or out of range.
        """
        if self.segment_options is None:
            return None
        try:
            return SegmentOptions(**self.segment_options)
        except TypeError as error:
            raise OptionError(f"segment_options: {error}") from error


class SearchBody(QuestionBody):
    """Arguments of a search."""

    budget_tokens: int = Field(4_000, description="Maximum tokens of the context.")
    headers: bool = True
    tokenizer: str | None = None
    more_queries: list[str] = Field(default_factory=list, max_length=32)
    method: Literal["exact", "greedy"] = "exact"
    abstain: bool = False
    deep: bool = True
    spread: Literal["auto", "passages", "documents"] = "auto"
    max_documents: int = 20


class ExcerptsBody(QuestionBody):
    """Arguments of a search for excerpts."""

    excerpts: int = 3
    excerpt_tokens: int = 1_000
    headers: bool = True
    tokenizer: str | None = None
    more_queries: list[str] = Field(default_factory=list, max_length=32)
    abstain: bool = False
    deep: bool = True
    spread: Literal["auto", "passages", "documents"] = "auto"


class ExplainBody(QuestionBody):
    """Arguments of an explanation."""

    budget_tokens: int = 4_000
    candidates: int = Field(100, ge=0, description="Maximum number of chunks with their scores.")
    more_queries: list[str] = Field(default_factory=list, max_length=32)


class AskBody(_Body):
    """Arguments of an answer by the language model of the server."""

    question: str
    documents: list[str] | None = None
    where: str | dict[str, FilterValue] | None = None
    write_queries: bool = True
    rerank: bool = False


class SeveralBody(SearchBody):
    """Arguments of a search of several knowledge bases."""

    knowledge_bases: list[str] = Field(description="Names; empty for all.", default_factory=list)


class MetadataBody(_Body):
    """Changes of the metadata of a document."""

    fields: dict[str, FilterValue | None] = Field(
        default_factory=dict, description="Values by name; null removes a field."
    )
    title: str | None = Field(None, description="New title; null keeps the title.")


class TextBody(_Body):
    """A text to add as a document."""

    document_id: str
    text: str
    title: str = ""
    media_type: Literal["text/plain", "text/markdown"] = "text/plain"
    metadata: dict[str, FilterValue] | None = None
