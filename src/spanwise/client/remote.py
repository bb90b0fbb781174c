"""Knowledge base on a server."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Generator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack
from urllib.parse import quote

from spanwise.answers.stream import AnswerStream
from spanwise.client.arguments import (
    AskArguments,
    AskEachArguments,
    ExcerptArguments,
    SearchArguments,
    filter_text,
    plain_argument,
    question_body,
)
from spanwise.client.connection import Connection, RequestOptions
from spanwise.client.failures import error_of
from spanwise.errors import DocumentNotFoundError, OptionError, ServerError, shown
from spanwise.search.explanation import Explanation
from spanwise.types import (
    Answer,
    Chunk,
    Citation,
    CitationLocation,
    Document,
    DocumentAnswers,
    DocumentRecord,
    ExcerptResult,
    IngestReport,
    KnowledgeBaseInfo,
    MetadataReport,
    SearchResult,
    Section,
)
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from spanwise.answers.citation_lookup import GivenCitation
    from spanwise.filters import Filter, Where
    from spanwise.types import Figure, GivenParts, GivenValue, Segment

_Result = TypeVar("_Result")
_LISTED = 10_000  # documents of one request
_ALL = 1_000_000_000
_UNKNOWN_STATUS = 500


def connect(
    url: str,
    *,
    key: str | None = None,
    knowledge_base: str | Sequence[str] = "default",
    timeout_seconds: float = 150.0,
    retries: int = 4,
) -> RemoteKnowledgeBase:
    """Return a knowledge base of a server that `spanwise serve` runs.

    No request is sent before the first method is called.

    Args:
        url: Address of the server, such as "http://127.0.0.1:8000".
        key: Key for the server; None for none.
        knowledge_base: Name of the knowledge base; "default" for the first one. Several names are
            searched as one knowledge base: `search` is then the only method.
        timeout_seconds: Maximum wait for the response, or for the next piece of it, in seconds.
        retries: Maximum retries of a request if the server is busy or cannot be reached. The wait
            is the one that the server asks for (`Retry-After`), at most 30 seconds.

    Raises:
        OptionError: If an argument is invalid.
    """
    options = RequestOptions(timeout_seconds=timeout_seconds, retries=retries)
    return RemoteKnowledgeBase(Connection(url, key=key, options=options), knowledge_base)


class RemoteKnowledgeBase:
    """Knowledge base on a server, with the methods and results of `KnowledgeBase`.

    Safe for use by several threads. Results are equal to those of `KnowledgeBase`, except that
    paths of files on the server are empty. Errors of the library are raised as the same classes. An
    error of the server or of the connection is a `ServerError`.

    The server's models answer and rerank: `llm`, `answer_type` and `thread` are refused, and
    `rerank` is True or False.
    """

    def __init__(self, connection: Connection, knowledge_base: str | Sequence[str]) -> None:
        """Use a connection; `connect` makes one.

        Args:
            connection: Connection to the server; it is closed with this object.
            knowledge_base: Name, or several names.

        Raises:
            OptionError: If a name is not a text or is empty.
        """
        self._connection = connection
        one = isinstance(knowledge_base, str)
        self._names = (str(knowledge_base),) if one else tuple(knowledge_base)
        self._is_one = one
        if not self._names or not all(isinstance(name, str) and name for name in self._names):
            raise OptionError(f"knowledge_base is {shown(knowledge_base)}; give a name")

    def search(self, question: str, **arguments: Unpack[SearchArguments]) -> SearchResult:
        """Return the segments that answer a question, see `KnowledgeBase.search`.

        Args:
            question: Question.
            **arguments: Arguments of `KnowledgeBase.search`; `rerank` is True for the reranker of
                the server.

        Raises:
            SpanwiseError: The errors of `KnowledgeBase.search`.
            ServerError: If the server cannot be reached, or refuses the request.
        """
        body = question_body("search", question, arguments, allowed=SearchArguments)
        if self._is_one:
            return self._asked("search", body, SearchResult)
        body["knowledge_bases"] = self._names
        value = self._connection.request("POST", "/v1/search", body=body)
        return read_result(SearchResult, value)

    def explain(self, question: str, **arguments: Unpack[SearchArguments]) -> Explanation:
        """Return the result of `search` with the scores of each chunk, see `KnowledgeBase.explain`.

        Args:
            question: Question.
            **arguments: Arguments of `search`.
        """
        body = question_body("explain", question, arguments, allowed=SearchArguments)
        return self._asked("explain", {**body, "candidates": _ALL}, Explanation)

    def excerpts(self, question: str, **arguments: Unpack[ExcerptArguments]) -> ExcerptResult:
        """Return texts of a fixed size around the evidence, see `KnowledgeBase.excerpts`.

        Args:
            question: Question.
            **arguments: Arguments of `KnowledgeBase.excerpts`; `rerank` is True for the reranker of
                the server.
        """
        body = question_body("excerpts", question, arguments, allowed=ExcerptArguments)
        return self._asked("excerpts", body, ExcerptResult)

    def ask(self, question: str, **arguments: Unpack[AskArguments]) -> Answer:
        """Return an answer by the language model of the server, see `KnowledgeBase.ask`.

        Args:
            question: Question.
            **arguments: Arguments of `KnowledgeBase.ask`, without models, `answer_type` and
                `thread`; `rerank` is True for the reranker of the server.
        """
        body = question_body("ask", question, arguments, allowed=AskArguments)
        return self._asked("ask", body, Answer)

    def ask_stream(self, question: str, **arguments: Unpack[AskArguments]) -> AnswerStream:
        """Return an answer as an iterator over its text, see `KnowledgeBase.ask_stream`.

        The request is sent when the iteration begins. `close` ends it, and the work of the server.

        Args:
            question: Question.
            **arguments: Arguments of `ask`.
        """
        body = question_body("ask_stream", question, arguments, allowed=AskArguments)
        return AnswerStream(self._streamed(self._path("ask"), body))

    def ask_each(self, question: str, **arguments: Unpack[AskEachArguments]) -> DocumentAnswers:
        """Return what each document says about a question, see `KnowledgeBase.ask_each`.

        The server ends a request after its time limit. The same call then continues, because the
        server caches answers.

        Args:
            question: Question about each document.
            **arguments: Arguments of `KnowledgeBase.ask_each`, without models and `on_progress`.
        """
        body = question_body("ask_each", question, arguments, allowed=AskEachArguments)
        return self._asked("ask-each", body, DocumentAnswers)

    def list(self, where: Where | None = None) -> builtins.list[DocumentRecord]:
        """Return the records of the documents that pass a filter, ordered by id.

        Documents are read in parts of 10,000.

        Raises:
            FilterError: If the filter does not fit the fields of the documents.
        """
        text, records = filter_text(where), builtins.list[DocumentRecord]()
        while True:
            part = self._connection.request(
                "GET",
                self._path("documents"),
                parameters={"where": text, "offset": len(records), "limit": _LISTED},
            )
            rows = read_field(part, "documents")
            records += [read_result(DocumentRecord, row) for row in rows]
            if len(rows) < _LISTED:
                return records

    def get(self, document_id: str) -> Document:
        """Return a document as it was added: text, pages, headings, metadata and warnings.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return read_result(Document, self._read("content", document_id))

    def record(self, document_id: str) -> DocumentRecord:
        """Return the record of a document: version, status, title, summary and counts.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return read_result(DocumentRecord, self._read("documents", document_id))

    def sections(self, document_id: str) -> tuple[Section, ...]:
        """Return the sections of a document, whose joined texts are its text.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        rows = read_field(self._read("sections", document_id), "sections")
        return tuple(read_result(Section, row) for row in rows)

    def chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document, whose joined texts are its text.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        found = self._read("chunks", document_id, parameters={"full": "true"})
        return tuple(read_result(Chunk, row) for row in read_field(found, "chunks"))

    def page_image(
        self,
        document_id: str,
        page: int,
        *,
        dots_per_inch: int = 150,
        highlight: tuple[int, int] | str | None = None,
    ) -> bytes:
        """Return a page of a PDF as a PNG file, see `KnowledgeBase.page_image`.

        Args:
            document_id: Id of the document.
            page: Number of the page, from 1.
            dots_per_inch: Resolution, from 10 to 600.
            highlight: Range of characters of the document, or words of the page.

        Raises:
            SpanwiseError: The errors of `KnowledgeBase.page_image`.
        """
        parameters: dict[str, str | int] = {"dots_per_inch": dots_per_inch}
        if isinstance(highlight, str):
            parameters["words"] = highlight
        elif highlight is not None:
            parameters["highlight"] = "-".join(map(str, highlight))
        path = self._path("pages", str(page), document_id)
        return self._connection.read_bytes(path, parameters=parameters)

    def segment_images(
        self,
        segment: Segment,
        *,
        dots_per_inch: int = 150,
        max_pages: int = 8,
        highlight: bool = False,
    ) -> tuple[bytes, ...]:
        """Return the pages of a segment as PNG files, see `KnowledgeBase.segment_images`.

        Args:
            segment: Segment of a stored document.
            dots_per_inch: Resolution, from 10 to 600.
            max_pages: Maximum number of pages; the first ones are returned.
            highlight: Whether to highlight the text of the segment.

        Raises:
            OptionError: If `max_pages` is below 1.
            SpanwiseError: The errors of `page_image`.
        """
        if max_pages < 1:
            raise OptionError(f"max_pages is {max_pages!r}; it must be at least 1")
        first, last = segment.citation.pages or (1, 0)
        pages = self.get(segment.document_id).pages if highlight else ()
        images = []
        for number in range(first, min(last, first + max_pages - 1) + 1):
            page = pages[number - 1] if number <= len(pages) else None
            has_text = page is not None and max(segment.start, page.start) < min(
                segment.end, page.end
            )
            place = (segment.start, segment.end) if has_text else None
            images.append(
                self.page_image(
                    segment.document_id, number, dots_per_inch=dots_per_inch, highlight=place
                )
            )
        return tuple(images)

    def figures(self, document_id: str) -> tuple[Figure, ...]:
        """Return the charts, drawings and pictures of a document, in order.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return self.get(document_id).figures

    def figure_image(self, document_id: str, number: int) -> bytes:
        """Return a figure as an image file, see `KnowledgeBase.figure_image`.

        Args:
            document_id: Id of the document.
            number: Position of the figure in `figures`, from 0.

        Raises:
            SpanwiseError: The errors of `KnowledgeBase.figure_image`.
        """
        return self._connection.read_bytes(self._path("figures", str(number), document_id))

    def cite(self, document_id: str, start: int, end: int) -> Citation:
        """Return the citation of a range of a document.

        Args:
            document_id: Id of the document.
            start: Offset of the first character.
            end: Offset one past the last character.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
            OptionError: If the range is empty or outside of the text.
        """
        path = self._path("citations", document_id)
        parameters = {"start": start, "end": end}
        return read_result(Citation, self._connection.request("GET", path, parameters=parameters))

    def locate(self, citation: GivenCitation) -> CitationLocation:
        """Return where the text of a citation is now, see `KnowledgeBase.locate`.

        Args:
            citation: Citation, segment or excerpt span, or the `to_dict` of one.

        Raises:
            OptionError: If it is not a citation, or contains neither its text nor a hash of it.
        """
        body = {"citation": plain_argument("citation", citation)}
        return self._asked("locate", body, CitationLocation)

    def remove(self, *document_ids: str) -> tuple[str, ...]:
        """Remove documents. An archive, mailbox or e-mail is removed with all its members.

        Args:
            *document_ids: Ids of documents, archives or mailboxes.

        Returns:
            Ids of the removed documents, in ascending order.
        """
        removed: set[str] = set()
        for document_id in dict.fromkeys(document_ids):
            try:
                done = self._connection.request("DELETE", self._path("documents", document_id))
            except DocumentNotFoundError:
                continue
            removed.update(read_field(done, "removed"))
        return tuple(sorted(removed))

    def update_metadata(
        self,
        documents: Sequence[str] | Filter | Mapping[str, object],
        fields: Mapping[str, GivenValue | None],
        *,
        title: str | None = None,
        dry_run: bool = False,
    ) -> MetadataReport:
        """Set or remove metadata fields of documents, see `KnowledgeBase.update_metadata`.

        Args:
            documents: Ids of documents, or a filter.
            fields: Values by field name; None removes a field.
            title: Title of the document, "" for the title of the file; None keeps the title.
            dry_run: Whether to report the changes without making them.

        Raises:
            SpanwiseError: The errors of `KnowledgeBase.update_metadata`.
        """
        if isinstance(documents, str):
            raise OptionError(
                f"documents is the text {shown(documents)}; give a list of ids, as "
                f"[{shown(documents)}], or a filter: parse_filter({shown(documents)})"
            )
        ids, where = (
            (documents, None) if isinstance(documents, Sequence) else (None, filter_text(documents))
        )
        body = {
            "documents": ids,
            "where": where,
            "fields": fields,
            "title": title,
            "dry_run": dry_run,
        }
        changed = self._connection.request("POST", self._path("metadata"), body=body)
        return read_result(MetadataReport, changed)

    def add_text(  # noqa: PLR0913 - the arguments of the library
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        media_type: Literal["text/plain", "text/markdown"] = "text/plain",
        metadata: Mapping[str, GivenValue] | None = None,
        given: GivenParts | None = None,
        replace: bool = False,
    ) -> IngestReport:
        """Add a text as a document, see `KnowledgeBase.add_text`.

        Args:
            text: Text of the document.
            document_id: Id of the document.
            title: Title; empty for a heading of the text or the words of the id.
            media_type: "text/plain" or "text/markdown".
            metadata: Fields of the document; None keeps the stored ones.
            given: Parts that the caller provides.
            replace: Whether to replace a document with the same id from a file or URL.

        Raises:
            SpanwiseError: The errors of `KnowledgeBase.add_text`.
        """
        body = {
            "document_id": document_id,
            "text": text,
            "title": title,
            "media_type": media_type,
            "metadata": metadata,
            "given": plain_argument("given", given),
            "replace": replace,
        }
        added = self._connection.request("PUT", self._path("texts"), body=body)
        return read_result(IngestReport, added)

    def info(self) -> KnowledgeBaseInfo:
        """Return size, settings and metadata fields; `path` is the name of the knowledge base."""
        return read_result(KnowledgeBaseInfo, self._connection.request("GET", self._path()))

    def close(self) -> None:
        """Close all connections to the server."""
        self._connection.close()

    def _path(self, *parts: str) -> str:
        """Return the path of a route; characters with a meaning in addresses are encoded.

        Raises:
            OptionError: If the object searches several knowledge bases.
        """
        if not self._is_one:
            raise OptionError(
                f"knowledge_base names {', '.join(self._names)}: several can only be searched; "
                "connect to one of them"
            )
        return "/".join(["/v1/knowledge-bases", *map(_encoded, (*self._names, *parts))])

    def _asked(self, route: str, body: Mapping[str, Any], kind: type[_Result]) -> _Result:
        return read_result(kind, self._connection.request("POST", self._path(route), body=body))

    def _read(
        self, route: str, document_id: str, parameters: Mapping[str, str] | None = None
    ) -> Any:
        path = self._path(route, document_id)
        return self._connection.request("GET", path, parameters=parameters)

    def _streamed(self, path: str, body: Mapping[str, Any]) -> Generator[str, None, Answer]:
        """Yield the pieces of an answer, and return the answer.

        Raises:
            SpanwiseError: The error that ends the stream.
        """
        for name, data in self._connection.events(path, body=body):
            if name == "text":
                yield str(read_field(data, "text"))
            elif name == "answer":
                return read_result(Answer, data)
            elif name == "error":
                status = data.get("status") if isinstance(data, Mapping) else None
                raise error_of(status if isinstance(status, int) else _UNKNOWN_STATUS, data)
        raise ServerError("the stream of the answer ended before the answer was complete")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self._names[0] if self._is_one else self._names
        return f"RemoteKnowledgeBase({self._connection.url!r}, {name!r})"


def read_result(kind: type[_Result], value: object) -> _Result:
    """Return a result read from JSON data.

    Raises:
        ServerError: If the data is not that of the result.
    """
    return _checked(lambda: from_plain(kind, value))


def read_field(value: Any, name: str) -> Any:
    """Return a field of a JSON object.

    Raises:
        ServerError: If the value is no object with this field.
    """
    return _checked(lambda: value[name])


def _checked(read: Callable[[], _Result]) -> _Result:
    try:
        return read()
    except (KeyError, TypeError, ValueError) as error:
        raise ServerError(
            f"the response of the server cannot be read: {error}; use the same version of Spanwise "
            "for the server and the client"
        ) from error


def _encoded(part: str) -> str:
    """Return a part of a path; dots are encoded too, because clients resolve ".."."""
    return quote(part, safe="", errors="replace").replace(".", "%2E")
