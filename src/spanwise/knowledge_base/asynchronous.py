"""`AsyncKnowledgeBase`: the methods of `KnowledgeBase` as coroutines, which run on threads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import partial, update_wrapper
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from spanwise.answers.stored_threads import Threads
from spanwise.errors import OptionError, shown
from spanwise.knowledge_base.facade import KnowledgeBase
from spanwise.options.checks import check_whole
from spanwise.packs.pack_manager import Packs
from spanwise.threads import run_in_thread

if TYPE_CHECKING:
    from spanwise.answers.stream import AnswerStream
    from spanwise.types import Answer
    from spanwise.types.listener import Listener

_P = ParamSpec("_P")
_Object = TypeVar("_Object")
_Result = TypeVar("_Result")
_END = object()


class _Threaded:
    """Base of classes whose coroutines call the methods of a wrapped object on threads."""

    def __init__(self, get_wrapped: Callable[[], Any], limit: Any) -> None:
        """Wrap an object.

        Args:
            get_wrapped: Function that returns the object; called on the thread of each call.
            limit: Semaphore that limits the number of calls at once.
        """
        self._get_wrapped = get_wrapped
        self._limit = limit

    async def _run(self, action: Callable[[], _Result]) -> _Result:
        async with self._limit:
            return await run_in_thread(action)


def _threaded(
    method: Callable[Concatenate[_Object, _P], _Result],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _Result]]:
    """Return a method as a coroutine function of a `_Threaded` class."""

    async def call(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _Result:
        result: _Result = await self._run(lambda: method(self._get_wrapped(), *args, **kwargs))
        return result

    update_wrapper(call, method)
    return call


class AsyncThreads(_Threaded):
    """Stored conversations; the methods are those of `KnowledgeBase.threads`."""

    list = _threaded(Threads.list)
    get = _threaded(Threads.get)
    remove = _threaded(Threads.remove)


class AsyncPacks(_Threaded):
    """Domain packs; the methods are those of `KnowledgeBase.packs`."""

    list = _threaded(Packs.list)
    use = _threaded(Packs.use)
    adopt = _threaded(Packs.adopt)
    remove = _threaded(Packs.remove)
    find = _threaded(Packs.find)


class AsyncAnswerStream(_Threaded):
    """Asynchronous iterator over the text of an answer, see `AnswerStream`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        piece = await self._run(lambda: next(self._get_wrapped(), _END))
        if piece is _END:
            raise StopAsyncIteration
        return str(piece)

    async def answer(self) -> Answer:
        """Return the complete answer; reads all remaining pieces first."""
        answer: Answer = await self._run(lambda: self._get_wrapped().answer)
        return answer

    async def close(self) -> None:
        """Stop the stream; a running call is abandoned, and its usage so far counts."""
        await self._run(lambda: self._get_wrapped().close())


def _streamed(
    method: Callable[Concatenate[KnowledgeBase, _P], AnswerStream],
) -> Callable[Concatenate[Any, _P], AsyncAnswerStream]:
    """Return a method that returns a stream as one that returns an asynchronous stream.

    The stream is opened on the thread of its first use, because that reads the knowledge base.
    """

    def call(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> AsyncAnswerStream:
        lock = Lock()
        opened: list[AnswerStream] = []

        def open_once() -> AnswerStream:
            with lock:
                if not opened:
                    opened.append(method(self._get_wrapped(), *args, **kwargs))
            return opened[0]

        return AsyncAnswerStream(open_once, self._limit)

    update_wrapper(call, method)
    return call


def _iterated(
    method: Callable[Concatenate[KnowledgeBase, _P], Iterator[_Result]],
) -> Callable[Concatenate[Any, _P], AsyncIterator[_Result]]:
    """Return a method that returns an iterator as one that returns an asynchronous iterator."""

    async def call(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> AsyncIterator[_Result]:
        items = await run_in_thread(lambda: method(self._get_wrapped(), *args, **kwargs))
        while (item := await run_in_thread(partial(next, items, _END))) is not _END:
            yield item

    update_wrapper(call, method)
    return call


class AsyncKnowledgeBase(_Threaded):
    """Knowledge base for asynchronous code: the methods of `KnowledgeBase` as coroutines.

    Each call runs on a separate thread. Several calls may run at once.

    A cancelled call raises `asyncio.CancelledError` at once, and its work ends soon after:

    - a model call, and the wait of a crawl or of `watch`, at once;
    - `add`, `sync`, `import_from`, `rebuild`, `export_to`, `check` and `update_metadata` after the
      current document;
    - `search`, `explain`, `excerpts` and `ask` after the current step;
    - `compact` after the current index file, and `backup` after the current 8 MB.

    Documents and changes that are stored by then are kept, and a rebuild can be continued. The
    files of an incomplete export or backup are removed. Other methods are short and run to their
    end.
    """

    def __init__(self, knowledge_base: KnowledgeBase, *, max_threads: int = 8) -> None:
        """Wrap an open knowledge base.

        Args:
            knowledge_base: Knowledge base; it is closed with this object.
            max_threads: Maximum number of calls that run at once; others wait.

        Raises:
            OptionError: If an argument is invalid.
        """
        from asyncio import Semaphore

        if not isinstance(knowledge_base, KnowledgeBase):
            raise OptionError(
                f"AsyncKnowledgeBase wraps a KnowledgeBase, and got {shown(knowledge_base)}; pass "
                "AsyncKnowledgeBase(KnowledgeBase(...))"
            )
        check_whole("max_threads", max_threads, 1, 1_000)
        super().__init__(lambda: knowledge_base, Semaphore(max_threads))
        self._knowledge_base = knowledge_base

    add = _threaded(KnowledgeBase.add)
    sync = _threaded(KnowledgeBase.sync)
    watch = _iterated(KnowledgeBase.watch)
    add_text = _threaded(KnowledgeBase.add_text)
    add_chunks = _threaded(KnowledgeBase.add_chunks)
    update_metadata = _threaded(KnowledgeBase.update_metadata)
    search = _threaded(KnowledgeBase.search)
    explain = _threaded(KnowledgeBase.explain)
    excerpts = _threaded(KnowledgeBase.excerpts)
    write_queries = _threaded(KnowledgeBase.write_queries)
    ask = _threaded(KnowledgeBase.ask)
    ask_each = _threaded(KnowledgeBase.ask_each)
    list = _threaded(KnowledgeBase.list)
    filter_warning = _threaded(KnowledgeBase.filter_warning)
    get = _threaded(KnowledgeBase.get)
    record = _threaded(KnowledgeBase.record)
    sections = _threaded(KnowledgeBase.sections)
    chunks = _threaded(KnowledgeBase.chunks)
    remove = _threaded(KnowledgeBase.remove)
    cite = _threaded(KnowledgeBase.cite)
    locate = _threaded(KnowledgeBase.locate)
    figures = _threaded(KnowledgeBase.figures)
    figure_image = _threaded(KnowledgeBase.figure_image)
    page_image = _threaded(KnowledgeBase.page_image)
    segment_images = _threaded(KnowledgeBase.segment_images)
    info = _threaded(KnowledgeBase.info)
    compact = _threaded(KnowledgeBase.compact)
    rebuild = _threaded(KnowledgeBase.rebuild)
    discard_rebuild = _threaded(KnowledgeBase.discard_rebuild)
    forget_outputs = _threaded(KnowledgeBase.forget_outputs)
    check = _threaded(KnowledgeBase.check)
    backup = _threaded(KnowledgeBase.backup)
    copy_to = _threaded(KnowledgeBase.copy_to)
    export_to = _threaded(KnowledgeBase.export_to)
    import_from = _threaded(KnowledgeBase.import_from)
    close = _threaded(KnowledgeBase.close)

    ask_stream = _streamed(KnowledgeBase.ask_stream)

    @property
    def threads(self) -> AsyncThreads:
        """Stored conversations."""
        return AsyncThreads(lambda: self._knowledge_base.threads, self._limit)

    @property
    def packs(self) -> AsyncPacks:
        """Domain packs in use."""
        return AsyncPacks(lambda: self._knowledge_base.packs, self._limit)

    @property
    def listener(self) -> Listener | None:
        """Callbacks that the knowledge base was opened with."""
        return self._knowledge_base.listener

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
