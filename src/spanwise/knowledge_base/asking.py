"""What a user may say beside a question, checked and in the form that a search takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from spanwise.filters import parse_filter
from spanwise.knowledge_base.checks import checked_list
from spanwise.options import PublishedOptions, SearchOptions, SegmentOptions, method_options

if TYPE_CHECKING:
    from spanwise.filters import Filter


class SearchArguments(TypedDict, total=False):
    """Arguments of `KnowledgeBase.search` other than the question; all optional."""

    budget_tokens: int
    preset: str | None
    documents: Sequence[str] | None
    where: Filter | str | None
    segment_options: SegmentOptions | PublishedOptions | None
    headers: bool
    tokenizer: str | None
    queries: Sequence[str]
    method: str
    abstain: bool


class Within(TypedDict):
    """Where is searched, and by what beside the question."""

    queries: Sequence[str]
    where: Filter | None
    documents: Sequence[str] | None


class Asked(Within):
    """What `Searcher.search` takes beside the question."""

    options: SearchOptions


def asked(  # noqa: PLR0913 - options are keywords, each with a default
    *,
    budget_tokens: int = 4_000,
    preset: str | None = None,
    documents: Sequence[str] | None = None,
    where: Filter | str | None = None,
    segment_options: SegmentOptions | PublishedOptions | None = None,
    headers: bool = True,
    tokenizer: str | None = None,
    queries: Sequence[str] = (),
    method: str = "exact",
    abstain: bool = True,
) -> Asked:
    """Return the arguments of a search as `Searcher.search` takes them.

    Raises:
        OptionError: If one is out of range or does not fit another.
        FilterError: If the filter cannot be read.
    """
    segments, published = method_options(method, preset=preset, given=segment_options)
    options = SearchOptions(
        budget_tokens=budget_tokens,
        segments=segments,
        published=published,
        headers=headers,
        tokenizer=tokenizer,
        abstain=abstain,
    )
    return {"options": options, **within(queries=queries, documents=documents, where=where)}


def within(
    *, queries: Sequence[str], documents: Sequence[str] | None, where: Filter | str | None
) -> Within:
    """Return where is searched, and by what beside the question.

    Raises:
        OptionError: If queries or documents are no lists of texts.
        FilterError: If the filter cannot be read.
    """
    return {
        "queries": checked_list("queries", queries),
        "where": filter_of(where),
        "documents": None if documents is None else checked_list("documents", documents),
    }


def filter_of(where: Filter | str | None) -> Filter | None:
    """Return a filter that was given as a tree or as text; none for an empty text.

    So the `where` of a result can be handed in again as it is.

    Raises:
        FilterError: If the text cannot be read.
    """
    if isinstance(where, str):
        return parse_filter(where) if where else None
    return where
