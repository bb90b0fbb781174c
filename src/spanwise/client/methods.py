"""Methods of a remote knowledge base as steps, for the blocking and the asynchronous client."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack
from urllib.parse import quote

from spanwise.client.arguments import (
    AskArguments,
    AskEachArguments,
    ExcerptArguments,
    QueryArguments,
    SearchArguments,
    filter_text,
    plain_argument,
    plain_chunks,
    plain_vectors,
    question_body,
)
from spanwise.client.failures import error_of
from spanwise.client.steps import Call, EventCall, Steps
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
    PackInfo,
    PackPlace,
    SearchResult,
    Section,
    Thread,
    ThreadInfo,
    WrittenQueries,
)
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from spanwise.answers.citation_lookup import GivenCitation
    from spanwise.filters import Filter, Where
    from spanwise.types import Figure, GivenChunk, GivenParts, GivenValue, Overlap, Segment

_Result = TypeVar("_Result")
_LISTED = 10_000  # documents of one request
_ALL = 1_000_000_000
_UNKNOWN_STATUS = 500
_SURROGATE = re.compile("[\ud800-\udfff]")


class Place:
    """The knowledge base on the server, or several that are searched as one."""

    def __init__(self, knowledge_base: str | Sequence[str]) -> None:
        """Check the names.

        Raises:
            OptionError: If a name is not a text or is empty.
        """
        self.is_one = isinstance(knowledge_base, str)
        self.names = (str(knowledge_base),) if self.is_one else tuple(knowledge_base)
        if not self.names or not all(isinstance(name, str) and name for name in self.names):
            raise OptionError(f"knowledge_base is {shown(knowledge_base)}; give a name")

    def path(self, *parts: str) -> str:
        """Return the path of a route; characters with a meaning in addresses are encoded.

        Raises:
            OptionError: If several knowledge bases are searched.
        """
        if not self.is_one:
            raise OptionError(
                f"knowledge_base names {', '.join(self.names)}: several can only be searched; "
                "connect to one of them"
            )
        return "/".join(["/v1/knowledge-bases", *map(_encoded, (*self.names, *parts))])


class _Requests:
    """Base of the groups of methods."""

    def __init__(self, place: Place) -> None:
        """Send requests to a knowledge base."""
        self._place = place

    def _get(self, *parts: str, **parameters: str | int) -> Steps[Any]:
        return (yield Call(method="GET", path=self._place.path(*parts), parameters=parameters))

    def _image(self, *parts: str, **parameters: str | int) -> Steps[bytes]:
        call = Call(
            method="GET", path=self._place.path(*parts), parameters=parameters, reads_bytes=True
        )
        image: bytes = yield call
        return image

    def _asked(
        self, route: str, body: Mapping[str, Any], kind: type[_Result], *, changes: bool = False
    ) -> Steps[_Result]:
        path = self._place.path(route)
        value = yield Call(method="POST", path=path, body=body, changes=changes)
        return read_result(kind, value)


class Requests(_Requests):
    """Methods that are the same as those of `KnowledgeBase`."""

    def search(self, question: str, **arguments: Unpack[SearchArguments]) -> Steps[SearchResult]:
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
        if self._place.is_one:
            return (yield from self._asked("search", body, SearchResult))
        body["knowledge_bases"] = self._place.names
        value = yield Call(method="POST", path="/v1/search", body=body)
        return read_result(SearchResult, value)

    def explain(self, question: str, **arguments: Unpack[SearchArguments]) -> Steps[Explanation]:
        """Return the result of `search` with the scores of each chunk, see `KnowledgeBase.explain`.

        Args:
            question: Question.
            **arguments: Arguments of `search`.
        """
        body = question_body("explain", question, arguments, allowed=SearchArguments)
        return (yield from self._asked("explain", {**body, "candidates": _ALL}, Explanation))

    def excerpts(
        self, question: str, **arguments: Unpack[ExcerptArguments]
    ) -> Steps[ExcerptResult]:
        """Return texts of a fixed size around the evidence, see `KnowledgeBase.excerpts`.

        Args:
            question: Question.
            **arguments: Arguments of `KnowledgeBase.excerpts`; `rerank` is True for the reranker of
                the server.
        """
        body = question_body("excerpts", question, arguments, allowed=ExcerptArguments)
        return (yield from self._asked("excerpts", body, ExcerptResult))

    def write_queries(
        self, question: str, **arguments: Unpack[QueryArguments]
    ) -> Steps[WrittenQueries]:
        """Return queries that the model of the server writes, see `KnowledgeBase.write_queries`.

        Args:
            question: Question.
            **arguments: Arguments of `KnowledgeBase.write_queries`, without `llm`.
        """
        body = question_body("write_queries", question, arguments, allowed=QueryArguments)
        return (yield from self._asked("queries", body, WrittenQueries, changes=True))

    def ask(self, question: str, **arguments: Unpack[AskArguments]) -> Steps[Answer]:
        """Return an answer by the language model of the server, see `KnowledgeBase.ask`.

        Args:
            question: Question.
            **arguments: Arguments of `KnowledgeBase.ask`, without models and `answer_type`;
                `rerank` is True for the reranker of the server.
        """
        body = question_body("ask", question, arguments, allowed=AskArguments)
        return (yield from self._asked("ask", body, Answer, changes=True))

    def ask_each(
        self,
        question: str,
        *,
        on_progress: Callable[[int, int], None] | None = None,
        **arguments: Unpack[AskEachArguments],
    ) -> Steps[DocumentAnswers]:
        """Return the answer of each document to a question, see `KnowledgeBase.ask_each`.

        The server ends a request after its time limit. The request is then repeated as long as
        documents are read, because the server caches answers.

        Args:
            question: Question about each document.
            on_progress: Function that is called with the number of finished and of all documents.
            **arguments: The other arguments of `KnowledgeBase.ask_each`, without models.
        """
        body = question_body("ask_each", question, arguments, allowed=AskEachArguments)
        path = self._place.path("ask-each")
        reader = _EachReader(on_progress)
        while True:
            before = reader.done
            call = Call(method="POST", path=path, body=body, changes=True)
            try:
                yield EventCall(call=call, on_event=reader.read)
            except ServerError as error:
                if error.status != HTTPStatus.GATEWAY_TIMEOUT or reader.done == before:
                    raise
                body = {**body, "fresh": False}  # the answers so far are fresh
                continue
            if reader.answers is None:
                raise ServerError("the stream of answers ended before it was complete; try again")
            return reader.answers

    def list(self, where: Where | None = None) -> Steps[builtins.list[DocumentRecord]]:
        """Return the records of the documents that pass a filter, ordered by id.

        Documents are read in parts of 10,000.

        Raises:
            FilterError: If the filter does not fit the fields of the documents.
        """
        text, records = filter_text(where), builtins.list[DocumentRecord]()
        while True:
            part = yield from self._get("documents", where=text, offset=len(records), limit=_LISTED)
            rows = read_field(part, "documents")
            records += [read_result(DocumentRecord, row) for row in rows]
            if len(rows) < _LISTED:
                return records

    def filter_warning(self, where: Where | None) -> Steps[str]:
        """Return a message with similar values if no document passes a filter, else an empty text.

        Raises:
            FilterError: If the filter does not fit the fields of the documents.
        """
        found = yield from self._get("filter-warning", where=filter_text(where))
        return str(read_field(found, "warning"))

    def get(self, document_id: str) -> Steps[Document]:
        """Return a document as it was added: text, pages, headings, metadata and warnings.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return read_result(Document, (yield from self._get("content", document_id)))

    def record(self, document_id: str) -> Steps[DocumentRecord]:
        """Return the record of a document: version, status, title, summary and counts.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        return read_result(DocumentRecord, (yield from self._get("documents", document_id)))

    def sections(self, document_id: str) -> Steps[tuple[Section, ...]]:
        """Return the sections of a document, whose joined texts are its text.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        found = yield from self._get("sections", document_id)
        return tuple(read_result(Section, row) for row in read_field(found, "sections"))

    def chunks(self, document_id: str) -> Steps[tuple[Chunk, ...]]:
        """Return the chunks of a document, whose joined texts are its text.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        found = yield from self._get("chunks", document_id, full="true")
        return tuple(read_result(Chunk, row) for row in read_field(found, "chunks"))

    def page_image(
        self,
        document_id: str,
        page: int,
        *,
        dots_per_inch: int = 150,
        highlight: tuple[int, int] | str | None = None,
    ) -> Steps[bytes]:
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
        return (yield from self._image("pages", str(page), document_id, **parameters))

    def segment_images(
        self,
        segment: Segment,
        *,
        dots_per_inch: int = 150,
        max_pages: int = 8,
        highlight: bool = False,
    ) -> Steps[tuple[bytes, ...]]:
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
        document = (yield from self.get(segment.document_id)) if highlight else None
        pages = document.pages if document is not None else ()
        images = []
        for number in range(first, min(last, first + max_pages - 1) + 1):
            page = pages[number - 1] if number <= len(pages) else None
            has_text = page is not None and max(segment.start, page.start) < min(
                segment.end, page.end
            )
            image = yield from self.page_image(
                segment.document_id,
                number,
                dots_per_inch=dots_per_inch,
                highlight=(segment.start, segment.end) if has_text else None,
            )
            images.append(image)
        return tuple(images)

    def figures(self, document_id: str) -> Steps[tuple[Figure, ...]]:
        """Return the charts, drawings and pictures of a document, in order.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
        """
        document = yield from self.get(document_id)
        return document.figures

    def figure_image(self, document_id: str, number: int) -> Steps[bytes]:
        """Return a figure as an image file, see `KnowledgeBase.figure_image`.

        Args:
            document_id: Id of the document.
            number: Position of the figure in `figures`, from 0.

        Raises:
            SpanwiseError: The errors of `KnowledgeBase.figure_image`.
        """
        return (yield from self._image("figures", str(number), document_id))

    def cite(self, document_id: str, start: int, end: int) -> Steps[Citation]:
        """Return the citation of a range of a document.

        Args:
            document_id: Id of the document.
            start: Offset of the first character.
            end: Offset one past the last character.

        Raises:
            DocumentNotFoundError: If there is no document with this id.
            OptionError: If the range is empty or outside of the text.
        """
        found = yield from self._get("citations", document_id, start=start, end=end)
        return read_result(Citation, found)

    def locate(self, citation: GivenCitation) -> Steps[CitationLocation]:
        """Return where the text of a citation is now, see `KnowledgeBase.locate`.

        Args:
            citation: Citation, segment or excerpt span, or the `to_dict` of one.

        Raises:
            OptionError: If it is not a citation, or contains neither its text nor a hash of it.
        """
        body = {"citation": plain_argument("citation", citation)}
        return (yield from self._asked("locate", body, CitationLocation))

    def remove(self, *document_ids: str) -> Steps[tuple[str, ...]]:
        """Remove documents; an archive, mailbox or e-mail with all its members.

        Args:
            *document_ids: Ids of documents, archives or mailboxes; unknown ids are ignored.

        Returns:
            Ids of the removed documents, in ascending order.
        """
        removed: set[str] = set()
        paths = [self._place.path("documents", document_id) for document_id in document_ids]
        for path in dict.fromkeys(paths):
            try:
                done = yield Call(method="DELETE", path=path, changes=True)
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
    ) -> Steps[MetadataReport]:
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
        return (yield from self._asked("metadata", body, MetadataReport, changes=True))

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
    ) -> Steps[IngestReport]:
        """Add a text as a document, see `KnowledgeBase.add_text`.

        Args:
            text: Text of the document.
            document_id: Id of the document.
            title: Title; empty for that of the front matter, a heading, or the words of the id.
            media_type: "text/plain" or "text/markdown".
            metadata: Fields of the document; None keeps those of the last call.
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
        path = self._place.path("texts")
        return read_result(
            IngestReport, (yield Call(method="PUT", path=path, body=body, changes=True))
        )

    def add_chunks(  # noqa: PLR0913 - the arguments of the library
        self,
        document_id: str,
        chunks: Iterable[str | GivenChunk],
        vectors: ArrayLike | None = None,
        *,
        title: str = "",
        metadata: Mapping[str, GivenValue] | None = None,
        separator: str = "\n\n",
        overlap: Overlap = "refuse",
        replace: bool = False,
    ) -> Steps[IngestReport]:
        """Add a document that is divided into chunks, see `KnowledgeBase.add_chunks`.

        Args:
            document_id: Id of the document.
            chunks: Chunks in reading order: texts, or `GivenChunk` with page and headings.
            vectors: One vector for each chunk; None to compute them on the server.
            title: Title; empty for a heading of the text or the words of the id.
            metadata: Fields of the document; None keeps those of the last call.
            separator: White space between two chunks; empty for none.
            overlap: Treatment of chunks that repeat the end of the chunk before them.
            replace: Whether to replace a document with the same id from a file or URL.

        Raises:
            SpanwiseError: The errors of `KnowledgeBase.add_chunks`.
        """
        body = {
            "document_id": document_id,
            "chunks": plain_chunks(chunks),
            "vectors": plain_vectors(vectors),
            "title": title,
            "metadata": metadata,
            "separator": separator,
            "overlap": overlap,
            "replace": replace,
        }
        path = self._place.path("chunks")
        return read_result(
            IngestReport, (yield Call(method="PUT", path=path, body=body, changes=True))
        )

    def info(self) -> Steps[KnowledgeBaseInfo]:
        """Return size, settings and metadata fields; `path` is the name of the knowledge base."""
        return read_result(KnowledgeBaseInfo, (yield from self._get()))


class _EachReader:
    """Reads the events of `ask_each`, also of repeated requests."""

    def __init__(self, on_progress: Callable[[int, int], None] | None) -> None:
        self.done = 0
        """Highest number of finished documents."""
        self.answers: DocumentAnswers | None = None
        self._on_progress = on_progress

    def read(self, name: str, data: Any) -> None:
        """Read an event.

        Raises:
            SpanwiseError: The error that ends the stream.
        """
        if name == "progress":
            done, total = int(read_field(data, "done")), int(read_field(data, "total"))
            if done > self.done and self._on_progress is not None:
                self._on_progress(done, total)
            self.done = max(self.done, done)
        elif name == "answers":
            self.answers = read_result(DocumentAnswers, data)
        elif name == "error":
            raise reported_error(data)


class ThreadRequests(_Requests):
    """Stored conversations of a knowledge base on a server; needs a key with the role `write`."""

    def list(self) -> Steps[builtins.list[ThreadInfo]]:
        """Return a description of each conversation, most recent turn first."""
        found = yield from self._get("threads")
        return [read_result(ThreadInfo, row) for row in read_field(found, "threads")]

    def get(self, thread_id: str) -> Steps[Thread]:
        """Return a conversation with its turns in order.

        Raises:
            ThreadNotFoundError: If there is no conversation with this id.
        """
        return read_result(Thread, (yield from self._get("threads", thread_id)))

    def remove(self, thread_id: str) -> Steps[bool]:
        """Remove a conversation with all its turns, and return whether it existed."""
        path = self._place.path("threads", thread_id)
        return bool(read_field((yield Call(method="DELETE", path=path, changes=True)), "removed"))


class PackRequests(_Requests):
    """Domain packs that a knowledge base on a server uses."""

    def list(self) -> Steps[tuple[PackInfo, ...]]:
        """Return the packs in use, followed by the shipped packs that are not in use."""
        return read_packs((yield from self._get("packs")))

    def use(self, *names: str) -> Steps[tuple[PackInfo, ...]]:
        """Use shipped packs, see `Packs.use`. A pack file can only be used on the server's machine.

        Args:
            *names: Names of shipped packs.

        Raises:
            PackError: If there is no such pack.
        """
        return (yield from self._changed(names, is_used=True))

    def remove(self, *names: str) -> Steps[tuple[PackInfo, ...]]:
        """Stop using packs.

        Args:
            *names: Names of packs in use.

        Raises:
            PackError: If a pack is not in use.
        """
        return (yield from self._changed(names, is_used=False))

    def find(self, name: str) -> Steps[tuple[PackPlace, ...]]:
        """Return the best place of each landmark of a pack in each document.

        Args:
            name: Name of a shipped pack.

        Raises:
            PackError: If there is no such pack.
        """
        found = yield from self._get("packs", name)
        return tuple(read_result(PackPlace, row) for row in read_field(found, "places"))

    def _changed(self, names: Sequence[str], *, is_used: bool) -> Steps[tuple[PackInfo, ...]]:
        body = {"names": [str(name) for name in names], "in_use": is_used}
        path = self._place.path("packs")
        return read_packs((yield Call(method="POST", path=path, body=body, changes=True)))


def read_packs(value: Any) -> tuple[PackInfo, ...]:
    """Return the packs of a response."""
    return tuple(read_result(PackInfo, row) for row in read_field(value, "packs"))


def stream_call(place: Place, question: str, arguments: AskArguments) -> Call:
    """Return the request of `ask_stream`.

    Raises:
        OptionError: If an argument is invalid.
    """
    body = question_body("ask_stream", question, arguments, allowed=AskArguments)
    return Call(method="POST", path=place.path("ask"), body=body, changes=True)


def streamed(name: str, data: Any) -> str | Answer:
    """Return the piece of an answer, or the whole answer, that an event contains.

    Raises:
        SpanwiseError: The error that ends the stream.
    """
    if name == "text":
        return str(read_field(data, "text"))
    if name == "answer":
        return read_result(Answer, data)
    if name == "error":
        raise reported_error(data)
    return ""


def reported_error(data: Any) -> Exception:
    """Return the error of an event that ends a stream."""
    status = data.get("status") if isinstance(data, Mapping) else None
    return error_of(status if isinstance(status, int) else _UNKNOWN_STATUS, data)


def read_result(kind: type[_Result], value: object) -> _Result:
    """Return a result read from JSON data.

    Raises:
        ServerError: If the data is not that of the result.
    """
    return _checked(lambda: from_plain(kind, value))


def read_field(value: Any, name: str) -> Any:
    """Return a field of a JSON object.

    Raises:
        ServerError: If the value is not an object with this field.
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
    """Return a part of a path; dots are encoded too, because clients resolve "..".

    A lone surrogate, which UTF-8 cannot represent, becomes a NUL: no id or name contains either.

    Raises:
        OptionError: If the part is not a text.
    """
    if not isinstance(part, str):
        raise OptionError(f"an id or name is {shown(part)}; give one text")
    return quote(_SURROGATE.sub("\0", part), safe="").replace(".", "%2E")
