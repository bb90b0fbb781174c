"""Retriever component for Haystack (extra `haystack`)."""

# Haystack reads the annotations of `run` as objects, so they are not postponed to strings here.

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from spanwise.client import RemoteKnowledgeBase, connect
from spanwise.errors import OptionError
from spanwise.filters import Where, read_filter
from spanwise.integrations.searches import (
    SearchSource,
    first_page,
    search_arguments,
    search_later,
    search_now,
    search_source,
    segment_fields,
    segment_id,
    segment_text,
)
from spanwise.knowledge_base import KnowledgeBase
from spanwise.options import PublishedOptions, RerankOptions, SearchOptions, SegmentOptions
from spanwise.threads import run_in_thread
from spanwise.types.plain import from_plain, to_plain

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret
except ImportError as error:
    raise OptionError(
        "the Haystack component needs haystack-ai: pip install 'spanwise[haystack]'"
    ) from error

if TYPE_CHECKING:
    from spanwise.types import SearchResult, Segment

_SERVERS = ("http://", "https://")
_OPTIONS: Mapping[str, type] = {
    kind.__name__: kind for kind in (SearchOptions, SegmentOptions, PublishedOptions, RerankOptions)
}
"""Classes of options that `search` accepts, by name."""


@component
class SpanwiseRetriever:
    """Haystack component that returns the segments of a search as documents, in reading order.

    Its outputs are `documents`; `context`, the text of all segments formatted for a language model;
    and `warnings`. The metadata of a document has the place of the segment, `file_path`,
    `page_number`, `source_id` and `split_idx_start` as documents of Haystack's converters and
    splitters, and the metadata fields of its document.
    """

    def __init__(  # noqa: PLR0913 - the arguments of a search
        self,
        knowledge_base: str | Path | SearchSource | Sequence[KnowledgeBase],
        *,
        budget_tokens: int | None = None,
        preset: str | None = None,
        where: Where | None = None,
        documents: list[str] | None = None,
        headers: bool = False,
        search_arguments: Mapping[str, Any] | None = None,
        name: str = "default",
        key: Secret | None = None,
    ) -> None:
        """Create the component.

        Args:
            knowledge_base: Path of a knowledge base, or address of a server ("http://..."), which
                the component opens when it is first used and `close` closes; or an open
                `KnowledgeBase`, a list of them, or an object with the same method `search`, which
                the caller closes. A pipeline can only be saved with a path, an address, or one
                open knowledge base in a folder.
            budget_tokens: Maximum tokens of `context`; None for the default of `search`.
            preset: Length of the segments: "precise", "balanced" or "comprehensive"; None for the
                default.
            where: Metadata filter as in `search`; None for all documents.
            documents: Ids of the documents to search; None for all.
            headers: Whether the text of each document begins with the header of its segment.
            search_arguments: Further keyword arguments of `search`.
            name: Name of the knowledge base on the server.
            key: Key for the server, such as `Secret.from_env_var("SPANWISE_KEY")`.

        Raises:
            OptionError: If the knowledge base cannot be searched, or the filter is no filter.
        """
        self._source: SearchSource | None = None
        self._opened: KnowledgeBase | RemoteKnowledgeBase | None = None
        self._opening = Lock()
        if isinstance(knowledge_base, str | Path):
            self.place: str | None = str(knowledge_base)
        else:
            self.place, self._source = _path_of(knowledge_base), search_source(knowledge_base)
        self.name = name
        self.key = key
        self.budget_tokens = budget_tokens
        self.preset = preset
        self.where = None if where is None else str(read_filter(where))
        self.documents = documents
        self.headers = headers
        self.search_arguments = dict(search_arguments or {})

    def warm_up(self) -> None:
        """Open the knowledge base if a path or an address was given; every run does so too.

        Raises:
            FormatError: If the folder does not exist or is not a knowledge base.
        """
        self._searched()

    def close(self) -> None:
        """Close the knowledge base that the component opened; the next run opens it again."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
                self._source = self._opened = None

    @component.output_types(documents=list[Document], context=str, warnings=list[str])
    def run(
        self,
        query: str,
        where: str | None = None,
        documents: list[str] | None = None,
        budget_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Search.

        Args:
            query: Question.
            where: Metadata filter in place of that of the component; None to keep it.
            documents: Ids of the documents to search, in place of those of the component.
            budget_tokens: Token budget in place of that of the component.

        Raises:
            SpanwiseError: As `KnowledgeBase.search`.
        """
        arguments = self._arguments(where, documents, budget_tokens)
        return _outputs(search_now(self._searched(), query, arguments))

    @component.output_types(documents=list[Document], context=str, warnings=list[str])
    async def run_async(
        self,
        query: str,
        where: str | None = None,
        documents: list[str] | None = None,
        budget_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Search on a thread; arguments and result are those of `run`.

        Raises:
            SpanwiseError: As `KnowledgeBase.search`.
        """
        arguments = self._arguments(where, documents, budget_tokens)
        source = await run_in_thread(self._searched)
        return _outputs(await search_later(source, query, arguments))

    def to_dict(self) -> dict[str, Any]:
        """Return the component as data.

        Raises:
            OptionError: If the knowledge base is neither in a folder nor on a server whose address
                was given.
            ValueError: If the key is a text; give it as environment variable.
        """
        if self.place is None:
            raise OptionError(
                "the knowledge base of this component has no folder, so the pipeline cannot be "
                "saved; give the component the path of a knowledge base, or the address of a server"
            )
        return default_to_dict(
            self,
            knowledge_base=self.place,
            budget_tokens=self.budget_tokens,
            preset=self.preset,
            where=self.where,
            documents=self.documents,
            headers=self.headers,
            search_arguments={
                name: _options_data(value) for name, value in self.search_arguments.items()
            },
            name=self.name,
            key=None if self.key is None else self.key.to_dict(),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SpanwiseRetriever":
        """Return the component of some data; its knowledge base is opened when it is first used."""
        given = dict(data.get("init_parameters", {}))
        if given.get("search_arguments"):
            given["search_arguments"] = {
                name: _options_from(value) for name, value in given["search_arguments"].items()
            }
        made: SpanwiseRetriever = default_from_dict(cls, {**data, "init_parameters": given})
        return made

    def _searched(self) -> SearchSource:
        with self._opening:
            if self._source is None:
                self._source = self._opened = self._open()
            return self._source

    def _open(self) -> KnowledgeBase | RemoteKnowledgeBase:
        place = self.place or ""
        if not place.startswith(_SERVERS):
            return KnowledgeBase(place, create=False)
        key = None if self.key is None else self.key.resolve_value()
        return connect(place, key=key, knowledge_base=self.name)

    def _arguments(
        self, where: str | None, documents: list[str] | None, budget_tokens: int | None
    ) -> dict[str, object]:
        given = {
            "budget_tokens": self.budget_tokens if budget_tokens is None else budget_tokens,
            "preset": self.preset,
            "where": self.where if where is None else where,
            "documents": self.documents if documents is None else documents,
            "headers": self.headers,
        }
        return search_arguments(given, more=self.search_arguments)


def _options_data(value: object) -> object:
    """Return options of a search as data, with the name of their class; other values unchanged."""
    if isinstance(value, tuple(_OPTIONS.values())):
        return {"options": type(value).__name__, "fields": to_plain(value)}
    return value


def _options_from(value: object) -> object:
    """Return the options of some data; other values unchanged."""
    if isinstance(value, Mapping) and value.keys() == {"options", "fields"}:
        return from_plain(_OPTIONS[value["options"]], value["fields"])
    return value


def _path_of(given: object) -> str | None:
    """Return the folder of an open knowledge base; None if it has none."""
    if type(given) is not KnowledgeBase:
        return None
    path = Path(given.info().path)
    return str(path) if path.is_dir() else None


def _outputs(result: "SearchResult") -> dict[str, Any]:
    return {
        "documents": [
            Document(
                id=segment_id(segment),
                content=segment_text(segment),
                meta=segment_fields(segment, result, more=_usual_fields(segment)),
                score=segment.relevance,
            )
            for segment in result.segments
        ],
        "context": result.context,
        "warnings": list(result.warnings),
    }


def _usual_fields(segment: "Segment") -> dict[str, object]:
    """Return the fields that converters and splitters of Haystack set."""
    return {
        "file_path": segment.citation.source or segment.document_id,
        "page_number": first_page(segment)[0],
        "source_id": segment.document_id,
        "split_idx_start": segment.start,
    }
