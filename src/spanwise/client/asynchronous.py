"""Knowledge base on a server, for asynchronous code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
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

from spanwise.answers.stream import IncompleteAnswerError
from spanwise.client.arguments import AddArguments, AskArguments
from spanwise.client.async_connection import AsyncConnection
from spanwise.client.jobs import JobRequests, RemoteIngest
from spanwise.client.methods import PackRequests, Place, ThreadRequests, stream_call, streamed
from spanwise.client.remote import described, incomplete_answer, missing_attribute
from spanwise.client.session import RequestOptions, Session
from spanwise.client.steps import Call, Steps
from spanwise.client.uploads import AddRequests
from spanwise.types import Answer, IngestReport

_P = ParamSpec("_P")
_Requests = TypeVar("_Requests")
_Result = TypeVar("_Result")


def connect_async(
    url: str,
    *,
    key: str | None = None,
    knowledge_base: str | Sequence[str] = "default",
    timeout_seconds: float = 150.0,
    retries: int = 4,
    ca_file: str | Path | None = None,
) -> AsyncRemoteKnowledgeBase:
    """Return a knowledge base of a server for asynchronous code, see `connect`.

    Args:
        url: Address of the server, such as "http://127.0.0.1:8000".
        key: Key for the server; None for none.
        knowledge_base: Name of the knowledge base, or several names; see `connect`.
        timeout_seconds: Maximum wait for the response, or for the next piece of it, in seconds.
        retries: Maximum retries of a request; see `connect`.
        ca_file: PEM file with the certificates that are trusted for HTTPS; None for the usual ones.

    Raises:
        OptionError: If an argument is invalid.
    """
    options = RequestOptions(timeout_seconds=timeout_seconds, retries=retries, ca_file=ca_file)
    place = Place(knowledge_base)
    return AsyncRemoteKnowledgeBase(AsyncConnection(Session(url, key=key, options=options)), place)


def _awaited(
    method: Callable[Concatenate[_Requests, _P], Steps[_Result]],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _Result]]:
    """Return a coroutine function that carries out the steps of a method on a connection."""

    async def call(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _Result:
        result: _Result = await self._connection.run(method(self._requests, *args, **kwargs))
        return result

    update_wrapper(call, method)
    return call


class _Remote:
    """Base of classes whose coroutines carry out the steps of a group of requests."""

    def __init__(self, connection: AsyncConnection, requests: Any) -> None:
        self._connection = connection
        self._requests = requests


class AsyncRemoteThreads(_Remote):
    """Stored conversations, with the methods of `KnowledgeBase.threads`."""

    list = _awaited(ThreadRequests.list)
    get = _awaited(ThreadRequests.get)
    remove = _awaited(ThreadRequests.remove)


class AsyncRemotePacks(_Remote):
    """Domain packs, with the methods of `KnowledgeBase.packs`."""

    list = _awaited(PackRequests.list)
    use = _awaited(PackRequests.use)
    remove = _awaited(PackRequests.remove)
    find = _awaited(PackRequests.find)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            raise missing_attribute(type(self), name)


class AsyncRemoteJobs(_Remote):
    """Ingest jobs of the server."""

    list = _awaited(JobRequests.list)
    get = _awaited(JobRequests.get)
    cancel = _awaited(JobRequests.cancel)
    resume = _awaited(JobRequests.resume)
    wait = _awaited(JobRequests.wait)


class AsyncRemoteAnswerStream:
    """Asynchronous iterator over the text of an answer, see `AsyncAnswerStream`."""

    def __init__(self, events: AsyncGenerator[tuple[str, Any]]) -> None:
        """Wrap the events of a response."""
        self._events = events
        self._answer: Answer | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while self._answer is None:
            name, data = await anext(self._events)
            found = streamed(name, data)
            if isinstance(found, Answer):
                self._answer = found
                await self._events.aclose()
            elif found:
                return found
        raise StopAsyncIteration

    async def answer(self) -> Answer:
        """Return the complete answer; reads all remaining pieces first.

        Raises:
            SpanwiseError: If the stream was closed or failed before the answer was complete.
        """
        async for _ in self:
            pass
        if self._answer is None:
            raise IncompleteAnswerError
        return self._answer

    async def close(self) -> None:
        """Close the request, which ends the work of the server."""
        await self._events.aclose()


class AsyncRemoteKnowledgeBase(_Remote):
    """Knowledge base on a server for asynchronous code: `RemoteKnowledgeBase` with coroutines.

    A cancelled call closes its request, which ends the work of the server. A cancelled `add` also
    cancels its jobs. For one event loop; several calls may run at once.
    """

    def __init__(self, connection: AsyncConnection, place: Place) -> None:
        """Use a connection, which is closed with this object; `connect_async` makes one."""
        super().__init__(connection, AddRequests(place))
        self._place = place

    search = _awaited(AddRequests.search)
    explain = _awaited(AddRequests.explain)
    excerpts = _awaited(AddRequests.excerpts)
    write_queries = _awaited(AddRequests.write_queries)
    ask = _awaited(AddRequests.ask)
    ask_each = _awaited(AddRequests.ask_each)
    list = _awaited(AddRequests.list)
    filter_warning = _awaited(AddRequests.filter_warning)
    get = _awaited(AddRequests.get)
    record = _awaited(AddRequests.record)
    sections = _awaited(AddRequests.sections)
    chunks = _awaited(AddRequests.chunks)
    page_image = _awaited(AddRequests.page_image)
    segment_images = _awaited(AddRequests.segment_images)
    figures = _awaited(AddRequests.figures)
    figure_image = _awaited(AddRequests.figure_image)
    cite = _awaited(AddRequests.cite)
    locate = _awaited(AddRequests.locate)
    remove = _awaited(AddRequests.remove)
    update_metadata = _awaited(AddRequests.update_metadata)
    add_text = _awaited(AddRequests.add_text)
    add_chunks = _awaited(AddRequests.add_chunks)
    info = _awaited(AddRequests.info)

    @overload
    async def add(
        self,
        *sources: str | Path | BinaryIO,
        wait: Literal[True] = True,
        **arguments: Unpack[AddArguments],
    ) -> IngestReport: ...

    @overload
    async def add(
        self,
        *sources: str | Path | BinaryIO,
        wait: Literal[False],
        **arguments: Unpack[AddArguments],
    ) -> RemoteIngest: ...

    async def add(
        self,
        *sources: str | Path | BinaryIO,
        wait: bool = True,
        **arguments: Unpack[AddArguments],
    ) -> IngestReport | RemoteIngest:
        """Upload files and folders of this machine, and add URLs; see `RemoteKnowledgeBase.add`."""
        return await self._connection.run(self._requests.add(*sources, wait=wait, **arguments))

    def ask_stream(
        self, question: str, **arguments: Unpack[AskArguments]
    ) -> AsyncRemoteAnswerStream:
        """Return an answer as an asynchronous iterator over its text.

        The request is sent when the iteration begins. `close` ends it, and the work of the server.
        """
        call = stream_call(self._place, question, arguments)
        return AsyncRemoteAnswerStream(self._events(call))

    @property
    def threads(self) -> AsyncRemoteThreads:
        """Stored conversations."""
        return AsyncRemoteThreads(self._connection, ThreadRequests(self._place))

    @property
    def packs(self) -> AsyncRemotePacks:
        """Domain packs in use."""
        return AsyncRemotePacks(self._connection, PackRequests(self._place))

    @property
    def jobs(self) -> AsyncRemoteJobs:
        """Ingest jobs of the server."""
        return AsyncRemoteJobs(self._connection, JobRequests(self._place))

    async def close(self) -> None:
        """Close all connections to the server."""
        await self._connection.close()

    async def _events(self, call: Call) -> AsyncGenerator[tuple[str, Any]]:
        """Yield the events of an answer.

        Raises:
            ServerError: If the stream ends without the answer.
        """
        async with aclosing(self._connection.events(call)) as events:
            async for event in events:
                yield event
        raise incomplete_answer()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return described(self, self._connection.session, self._place)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            raise missing_attribute(type(self), name)
