"""Searches for the retrievers of the frameworks, and the metadata of their documents."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from spanwise.errors import OptionError, shown
from spanwise.knowledge_base.several import KnowledgeBases
from spanwise.options.checks import check_whole
from spanwise.threads import run_in_thread

if TYPE_CHECKING:
    from spanwise.types import SearchResult, Segment

_logger = logging.getLogger("spanwise")
_MAX_COUNT = 1_000_000


@runtime_checkable
class SearchSource(Protocol):
    """Object with the method `search`, such as a `KnowledgeBase` or a `RemoteKnowledgeBase`."""

    @property
    def search(self) -> Callable[..., Any]:
        """Method that returns a `SearchResult`, or a coroutine function that does."""


def search_source(given: object) -> SearchSource:
    """Return the object that is searched; several knowledge bases are searched as one.

    Raises:
        OptionError: If it has no method `search`, or the knowledge bases do not fit together.
    """
    if isinstance(given, Sequence) and not isinstance(given, str) and given:
        return search_source(given[0]) if len(given) == 1 else KnowledgeBases(given)
    if not isinstance(given, SearchSource) or not callable(given.search):
        raise OptionError(
            f"knowledge_base is {shown(given)}; give an open KnowledgeBase, a list of them, or an "
            "object with its method `search`, such as that of `spanwise.connect`"
        )
    return given


def search_arguments(
    given: Mapping[str, object], *, more: Mapping[str, object]
) -> dict[str, object]:
    """Return the keyword arguments of `search`.

    Args:
        given: Arguments of the retriever; those that are None keep the defaults of `search`.
            `headers` is not used with whole `options`, which have their own.
        more: Further arguments.
    """
    arguments = {name: value for name, value in given.items() if value is not None}
    if more.get("options") is not None:
        arguments.pop("headers", None)
    return {**arguments, **more}


def search_now(
    source: SearchSource, question: str, arguments: Mapping[str, object]
) -> SearchResult:
    """Search, and log the warnings of the result.

    Raises:
        OptionError: If the source can only search asynchronously.
        SpanwiseError: As `KnowledgeBase.search`.
    """
    if inspect.iscoroutinefunction(source.search):
        raise OptionError(
            f"{type(source).__name__} searches asynchronously; use the asynchronous methods of the "
            "retriever, or give it a KnowledgeBase"
        )
    return _logged(source.search(question, **arguments))


async def search_later(
    source: SearchSource, question: str, arguments: Mapping[str, object]
) -> SearchResult:
    """Search on a thread, or with the coroutine of the source; as `search_now`.

    Cancellation ends the work of a search on a thread after its current step.

    Raises:
        SpanwiseError: As `KnowledgeBase.search`.
    """
    if inspect.iscoroutinefunction(source.search):
        return _logged(await source.search(question, **arguments))
    return _logged(await run_in_thread(partial(source.search, question, **arguments)))


def _logged(result: SearchResult) -> SearchResult:
    for warning in result.warnings:
        _logger.warning("%s", warning)
    return result


def segment_id(segment: Segment) -> str:
    """Return an id of a segment: knowledge base, document and range of characters."""
    base = f"{segment.knowledge_base}:" if segment.knowledge_base else ""
    return f"{base}{segment.document_id}:{segment.start}-{segment.end}"


def segment_text(segment: Segment) -> str:
    """Return the text of a segment, below its header if the search gave it one."""
    return f"{segment.header}\n\n{segment.text}" if segment.header else segment.text


def segment_fields(
    segment: Segment, result: SearchResult, *, more: Mapping[str, object]
) -> dict[str, Any]:
    """Return the metadata of a segment and of its document as values that JSON can represent.

    A field of the document that has the name of a field of the segment gets the prefix "metadata.".

    Args:
        segment: Segment of the result.
        result: Result of the search.
        more: Further fields of the segment, with the names that the users of a framework expect.
    """
    citation = segment.citation
    fields = {
        "id": segment_id(segment),
        "document_id": segment.document_id,
        "title": citation.title,
        "section": " > ".join(citation.spanned_path),
        "section_path": list(citation.section_path),
        "pages": None if citation.pages is None else list(citation.pages),
        "table_head": segment.table_head,
        "start": segment.start,
        "end": segment.end,
        "relevance": segment.relevance,
        "rank": segment.rank,
        "tokens": segment.tokens,
        "weak_evidence": result.weak_evidence,
        "citation": str(citation),
        "source": citation.source or segment.document_id,
        "knowledge_base": segment.knowledge_base,
        **more,
    }
    for name, value in segment.metadata.items():
        key = f"metadata.{name}" if name in fields else name
        fields[key] = list(value) if isinstance(value, tuple) else value
    return fields


def first_page(segment: Segment) -> tuple[int | None, str]:
    """Return number and label of the first page of a segment; None and empty without pages."""
    pages, labels = segment.citation.pages, segment.citation.page_labels
    if pages is None:
        return None, ""
    return pages[0], labels[0] if labels else str(pages[0])


def best_segments(result: SearchResult, count: int | None) -> list[Segment]:
    """Return the most relevant segments in reading order.

    Args:
        result: Result of the search.
        count: Maximum number of segments; None for all.

    Raises:
        OptionError: If the number is not a whole number of at least 1.
    """
    if count is None:
        return list(result.segments)
    check_whole("k", count, 1, _MAX_COUNT)
    return [segment for segment in result.segments if segment.rank < count]
