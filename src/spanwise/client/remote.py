"""Knowledge base on a server, for blocking code."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    BinaryIO,
    Concatenate,
    Literal,
    Never,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    overload,
)

from spanwise.answers.stream import AnswerStream
from spanwise.client.arguments import AddArguments, AskArguments
from spanwise.client.connection import Connection
from spanwise.client.jobs import JobRequests, RemoteIngest
from spanwise.client.methods import PackRequests, Place, ThreadRequests, stream_call, streamed
from spanwise.client.session import RequestOptions, Session
from spanwise.client.steps import Call, Steps
from spanwise.client.uploads import AddRequests
from spanwise.errors import ServerError
from spanwise.types import Answer, IngestReport

_P = ParamSpec("_P")
_Requests = TypeVar("_Requests")
_Result = TypeVar("_Result")

_OPERATOR = "the operator of the server does this on its machine"
NOT_OFFERED_METHODS: Mapping[str, str] = {
    "adopt": f"{_OPERATOR}: KnowledgeBase(...).packs.adopt",
    "backup": f"{_OPERATOR}: spanwise backup",
    "check": f"{_OPERATOR}: spanwise doctor",
    "compact": f"{_OPERATOR}: spanwise compact",
    "copy_to": f"{_OPERATOR}: spanwise copy",
    "discard_rebuild": f"{_OPERATOR}: spanwise rebuild --discard",
    "export_to": f"{_OPERATOR}: spanwise export",
    "forget_outputs": f"{_OPERATOR}: spanwise compact --outputs",
    "import_from": f"{_OPERATOR}: spanwise import",
    "listener": "steps and model calls happen on the server, whose metrics count them",
    "rebuild": f"{_OPERATOR}: spanwise rebuild",
    "sync": "the server cannot tell a deleted file from one of another client; use add with "
    "replace=True, and remove",
    "watch": "the server cannot tell a deleted file from one of another client; use add with "
    "replace=True, and remove",
}
"""Public names of `KnowledgeBase` that a remote knowledge base lacks, with the reason."""


def connect(
    url: str,
    *,
    key: str | None = None,
    knowledge_base: str | Sequence[str] = "default",
    timeout_seconds: float = 150.0,
    retries: int = 4,
    ca_file: str | Path | None = None,
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
            is the one that the server asks for (`Retry-After`), at most 30 seconds. A request that
            changes something is not repeated after the server has begun with it.
        ca_file: PEM file with the certificates that are trusted for HTTPS; None for the usual ones.

    Raises:
        OptionError: If an argument is invalid.
    """
    options = RequestOptions(timeout_seconds=timeout_seconds, retries=retries, ca_file=ca_file)
    place = Place(knowledge_base)
    return RemoteKnowledgeBase(Connection(Session(url, key=key, options=options)), place)


def _blocking(
    method: Callable[Concatenate[_Requests, _P], Steps[_Result]],
) -> Callable[Concatenate[Any, _P], _Result]:
    """Return a method that carries out its steps on a connection."""

    def call(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _Result:
        result: _Result = self._connection.run(method(self._requests, *args, **kwargs))
        return result

    update_wrapper(call, method)
    return call


class _Remote:
    """Base of classes whose methods carry out the steps of a group of requests."""

    def __init__(self, connection: Connection, requests: Any) -> None:
        self._connection = connection
        self._requests = requests


class RemoteThreads(_Remote):
    """Stored conversations, with the methods of `KnowledgeBase.threads`."""

    list = _blocking(ThreadRequests.list)
    get = _blocking(ThreadRequests.get)
    remove = _blocking(ThreadRequests.remove)


class RemotePacks(_Remote):
    """Domain packs, with the methods of `KnowledgeBase.packs`."""

    list = _blocking(PackRequests.list)
    use = _blocking(PackRequests.use)
    remove = _blocking(PackRequests.remove)
    find = _blocking(PackRequests.find)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            raise missing_attribute(type(self), name)


class RemoteJobs(_Remote):
    """Ingest jobs of the server."""

    list = _blocking(JobRequests.list)
    get = _blocking(JobRequests.get)
    cancel = _blocking(JobRequests.cancel)
    resume = _blocking(JobRequests.resume)
    wait = _blocking(JobRequests.wait)


class RemoteKnowledgeBase(_Remote):
    """Knowledge base on a server, with the methods and results of `KnowledgeBase`.

    Safe for use by several threads. Results are equal to those of `KnowledgeBase`, except that
    paths of files on the server are empty. Errors of the library are raised as the same classes. An
    error of the server or of the connection is a `ServerError`.

    The server's models answer and rerank: `llm` and `answer_type` are refused, and `rerank` is True
    or False. Methods for the operator of the server, such as `backup` and `rebuild`, raise an
    `AttributeError` that names the command.
    """

    def __init__(self, connection: Connection, place: Place) -> None:
        """Use a connection, which is closed with this object; `connect` makes one."""
        super().__init__(connection, AddRequests(place))
        self._place = place

    search = _blocking(AddRequests.search)
    explain = _blocking(AddRequests.explain)
    excerpts = _blocking(AddRequests.excerpts)
    write_queries = _blocking(AddRequests.write_queries)
    ask = _blocking(AddRequests.ask)
    ask_each = _blocking(AddRequests.ask_each)
    list = _blocking(AddRequests.list)
    filter_warning = _blocking(AddRequests.filter_warning)
    get = _blocking(AddRequests.get)
    record = _blocking(AddRequests.record)
    sections = _blocking(AddRequests.sections)
    chunks = _blocking(AddRequests.chunks)
    page_image = _blocking(AddRequests.page_image)
    segment_images = _blocking(AddRequests.segment_images)
    figures = _blocking(AddRequests.figures)
    figure_image = _blocking(AddRequests.figure_image)
    cite = _blocking(AddRequests.cite)
    locate = _blocking(AddRequests.locate)
    remove = _blocking(AddRequests.remove)
    update_metadata = _blocking(AddRequests.update_metadata)
    add_text = _blocking(AddRequests.add_text)
    add_chunks = _blocking(AddRequests.add_chunks)
    info = _blocking(AddRequests.info)

    @overload
    def add(
        self,
        *sources: str | Path | BinaryIO,
        wait: Literal[True] = True,
        **arguments: Unpack[AddArguments],
    ) -> IngestReport: ...

    @overload
    def add(
        self,
        *sources: str | Path | BinaryIO,
        wait: Literal[False],
        **arguments: Unpack[AddArguments],
    ) -> RemoteIngest: ...

    def add(
        self,
        *sources: str | Path | BinaryIO,
        wait: bool = True,
        **arguments: Unpack[AddArguments],
    ) -> IngestReport | RemoteIngest:
        """Upload files and folders of this machine, and add URLs, see `KnowledgeBase.add`.

        The server adds them as ingest jobs. Files that it already has unchanged are not sent. An
        interrupted call (Ctrl-C) cancels its jobs. Documents that were added by then stay. Repeat
        the call to add the others.

        If a file has the id of a stored document with other content, `replace` is needed, because
        the server does not know whether both come from the same place.

        Args:
            *sources: Files, folders (with subfolders) and URLs, or one binary stream.
            wait: Whether to wait for the report. If False, the result is a `RemoteIngest` for
                `jobs.wait`.
            **arguments: Arguments of `KnowledgeBase.add`, without `llm` and `dry_run`. With
                `context`, the model of the server writes parts.

        Returns:
            Documents that were added, replaced, unchanged or failed.

        Raises:
            OptionError: If no source is given, or an argument is invalid or not offered.
            ServerError: If the server cannot be reached, refuses the request, or has no ingest
                queue.
        """
        steps = self._requests.add(*sources, wait=wait, **arguments)
        added: IngestReport | RemoteIngest = self._connection.run(steps)
        return added

    def ask_stream(self, question: str, **arguments: Unpack[AskArguments]) -> AnswerStream:
        """Return an answer as an iterator over its text, see `KnowledgeBase.ask_stream`.

        The request is sent when the iteration begins. `close` ends it, and the work of the server.

        Args:
            question: Question.
            **arguments: Arguments of `ask`.
        """
        return AnswerStream(self._streamed(stream_call(self._place, question, arguments)))

    @property
    def threads(self) -> RemoteThreads:
        """Stored conversations."""
        return RemoteThreads(self._connection, ThreadRequests(self._place))

    @property
    def packs(self) -> RemotePacks:
        """Domain packs in use."""
        return RemotePacks(self._connection, PackRequests(self._place))

    @property
    def jobs(self) -> RemoteJobs:
        """Ingest jobs of the server."""
        return RemoteJobs(self._connection, JobRequests(self._place))

    def close(self) -> None:
        """Close all connections to the server."""
        self._connection.close()

    def _streamed(self, call: Call) -> Generator[str, None, Answer]:
        """Yield the pieces of an answer, and return the answer.

        Raises:
            SpanwiseError: The error that ends the stream.
        """
        for name, data in self._connection.events(call):
            found = streamed(name, data)
            if isinstance(found, Answer):
                return found
            if found:
                yield found
        raise incomplete_answer()

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
        return described(self, self._connection.session, self._place)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            raise missing_attribute(type(self), name)


def incomplete_answer() -> ServerError:
    """Return the error of a stream that ends without the answer."""
    return ServerError("the stream of the answer ended before the answer was complete")


def described(instance: object, session: Session, place: Place) -> str:
    """Return the representation of a remote knowledge base, without its key."""
    name = place.names[0] if place.is_one else place.names
    return f"{type(instance).__name__}({session.url!r}, {name!r})"


def missing_attribute(kind: type, name: str) -> AttributeError:
    """Return the error of an attribute that does not exist, with the reason if one is known."""
    reason = NOT_OFFERED_METHODS.get(name)
    if reason is None:
        return AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name)
    return AttributeError(f"a server does not offer {name!r}: {reason}", name=name)
