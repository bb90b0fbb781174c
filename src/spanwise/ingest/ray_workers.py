"""Workers on the nodes of a Ray cluster, for `--workers ray://HOST:PORT`.

Rules:
    1. The driver, which is the process that runs the ingest, owns the store. It sends files and
       requests to the cluster, and stores the results in the order of the sources. A document is
       acknowledged when its transaction is committed; a killed driver that runs again finds it
       unchanged.
    2. The number of files and documents in flight is bounded, so the cluster waits for the store.
    3. A task whose worker or node is lost is repeated at most `_RETRIES` times. After that the
       document is reported as failed, because it probably ends its worker.
    4. Tasks of Ray are used, not datasets of Ray Data: a dataset cannot be used over a connection
       to `ray://`, and it fails as a whole if one document repeatedly ends its worker.
    5. A remote embedder is called by the driver, so its key is not sent to the cluster.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from spanwise.errors import OptionError, ParseError
from spanwise.ingest import ray_tasks
from spanwise.ingest.locations import fetch_error
from spanwise.ingest.ray_tasks import EmbedderActors, Parsed, ParseRequest
from spanwise.ingest.workers import Prepared
from spanwise.models.contextual_caller import ContextualCaller
from spanwise.models.embed_caller import StaticEmbedCaller
from spanwise.models.providers.local_model import LocalEmbedder
from spanwise.models.providers.wordllama import WordLlama

if TYPE_CHECKING:
    from spanwise.ingest.local_files import LocalFile
    from spanwise.ingest.sources import Source
    from spanwise.ingest.workers import PrepareRequest
    from spanwise.models.ports import Embedder
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import Limit
    from spanwise.types import Document

_Result = TypeVar("_Result")

SCHEME = "ray://"
_LOCAL = "auto"
"""Name of the cluster that this machine is a node of."""
_RETRIES = 3
_FIRST_WAIT_SECONDS = 0.5
"""Wait before the first retry, doubled for each further one: Ray has to notice a lost node."""
_POLL_SECONDS = 1.0
_CONNECT_SECONDS = 10.0
_CONNECTIONS = 6
"""Maximum attempts to connect, if the head accepts the connection and then ends it."""
_START_SECONDS = 120.0
_AHEAD_PER_CPU = 2
_AHEAD_CHARS = 50_000_000
"""Characters of the texts in flight for preparation."""
_CAUSE_CHARS = 200
_CALLS_AT_ONCE = 16
"""Calls that wait at one embedder actor for the next batch."""


class _LostError(Exception):
    """A task was lost with its worker or node, and so were its retries."""


@dataclass(slots=True, kw_only=True)
class _Task(Generic[_Result]):
    """Running task, with the function that starts it again."""

    start: Callable[[], Any]
    reference: Any
    """Reference to the result."""


class RayWorkers:
    """Workers on a Ray cluster. Thread-safe, except for `map`."""

    def __init__(
        self, address: str, *, options: ParseOptions, embedder: Embedder | None = None
    ) -> None:
        """Connect to a cluster, and check its nodes.

        Args:
            address: "ray://HOST:PORT" of the head's client server, or "ray://auto" for the cluster
                that this machine is a node of.
            options: Limits of each file.
            embedder: Embedder of the knowledge base, as the preparer calls it; None without one.

        Raises:
            OptionError: If Ray is not installed, the cluster cannot be reached or has no processor,
                or a node has another version of Spanwise.
        """
        self._ray = _import_ray()
        self._closed = threading.Event()
        self._options = options
        self._early: dict[int, tuple[PrepareRequest, Prepared]] = {}
        self._early_lock = threading.Lock()
        self._disconnect = _connect(self._ray, address)
        try:
            resources = self._ray.cluster_resources()
            self.processors = _whole(resources, "CPU")
            """Number of processors of the cluster at the start."""
            self._parse = self._ray.remote(num_cpus=1, max_retries=0)(ray_tasks.parse)
            self._prepare = self._ray.remote(num_cpus=1, max_retries=0)(ray_tasks.prepare_embedded)
            self._check_nodes(address)
            self._embedder = self._start_embedder(embedder, gpus=_whole(resources, "GPU"))
        except BaseException:
            self._disconnect()
            raise

    @property
    def ahead(self) -> int:
        """Number of documents that are parsed before they are stored."""
        return self.processors * _AHEAD_PER_CPU

    def parse(
        self,
        source: Source,
        file: LocalFile | None,
        *,
        text_limit: Limit,
        template: PrepareRequest | None,
        stopped: threading.Event,
    ) -> Document:
        """Return a document that a worker parses and, with a template, prepares.

        The prepared document is kept for `map`.

        Args:
            source: Source of the document.
            file: Local file with its bytes; None if the worker downloads the object.
            text_limit: Maximum size of its text.
            template: Request to prepare it, with another document in its place; None to parse only.
            stopped: Event that ends the wait for the result.

        Raises:
            DocumentError: If it cannot be downloaded or parsed, or its worker died repeatedly.
        """

        def start() -> object:
            request = ParseRequest(
                source=replace(source, path=None, stream=None),
                data=None if file is None else file.path.read_bytes(),
                options=self._options,
                media_type=None if file is None else file.media_type,
                charset=None if file is None else file.charset,
                text_limit=text_limit,
            )
            return self._parse.remote(request, template, self._embedder)

        try:
            parsed: Parsed = self._result(self._begin(start), stopped=stopped)
        except _LostError as exc:
            raise ParseError(
                f"{source.location}: {_RETRIES + 1} workers of the Ray cluster ended while they "
                f"read it ({exc}); give the nodes more memory, or add it without --workers",
                source=source.location,
                code="crashed",
            ) from exc
        except ConnectionError as exc:
            cause = f"the connection to the Ray cluster is lost ({_cause(exc)}); add it again"
            raise fetch_error(source.location, "network", cause) from exc
        except OSError as exc:
            cause = f"{exc.strerror or exc}; check the path and its permissions"
            raise fetch_error(source.location, "unreadable", cause) from exc
        except self._ray.exceptions.RayError as exc:
            raise ParseError(
                f"{source.location}: a worker of the Ray cluster failed: {_cause(exc)}",
                source=source.location,
                code="crashed",
            ) from exc
        if parsed.failure is not None:
            raise parsed.failure.error()
        document = cast("Document", parsed.document)  # set without a failure
        if template is not None and parsed.prepared is not None:
            self._keep(replace(template, document=document), parsed.prepared)
        return document

    def map(self, requests: Iterable[PrepareRequest]) -> Generator[Prepared]:
        """Yield the result of each request, in the order of the requests.

        Documents that were prepared when they were parsed are not prepared again.
        """
        waiting: deque[tuple[int, Prepared | _Task[Prepared]]] = deque()
        chars = 0
        try:
            for request in requests:
                waiting.append((request.chars, self._begin_request(request)))
                chars += request.chars
                while len(waiting) > self.ahead or chars > _AHEAD_CHARS:
                    length, task = waiting.popleft()
                    chars -= length
                    yield self._prepared(task)
            while waiting:
                yield self._prepared(waiting.popleft()[1])
        finally:
            for _, task in waiting:
                self._cancel(task)

    def close(self) -> None:
        """Disconnect from the cluster, which ends the tasks in flight. May be called twice."""
        if not self._closed.is_set():
            self._closed.set()
            self._disconnect()

    def _keep(self, request: PrepareRequest, prepared: Prepared) -> None:
        """Cache a prepared document until `map` requests it; the oldest ones are removed."""
        with self._early_lock:
            self._early[id(request.document)] = (request, prepared)
            while len(self._early) > 2 * self.ahead:
                del self._early[next(iter(self._early))]

    def _begin_request(self, request: PrepareRequest) -> Prepared | _Task[Prepared]:
        """Return the prepared document if it is there, or else start its preparation."""
        if request.document is None:
            return Prepared(outcome="refused")
        with self._early_lock:
            early = self._early.pop(id(request.document), None)
        if early is not None and _is_same(early[0], request):
            return early[1]
        return self._begin(lambda: self._prepare.remote(request, self._embedder))

    def _prepared(self, task: Prepared | _Task[Prepared]) -> Prepared:
        if isinstance(task, Prepared):
            return task
        try:
            return self._result(task, stopped=self._closed)
        except _LostError:
            return Prepared(outcome="lost")
        except (self._ray.exceptions.RayError, OSError):  # the owner repeats it and gets the error
            return Prepared(outcome="refused")

    def _begin(self, start: Callable[[], Any]) -> _Task[Any]:
        return _Task(start=start, reference=start())

    def _result(self, task: _Task[_Result], *, stopped: threading.Event) -> _Result:
        """Return the result of a task; a lost task is started again.

        Raises:
            _LostError: If it was lost, and so were all retries.
            RayError: If the task raised an error.
            OSError: If the connection to the cluster is lost.
        """
        failures = self._ray.exceptions
        final = (failures.RayTaskError, failures.RaySystemError, failures.TaskCancelledError)
        for retry in range(_RETRIES + 1):
            try:
                return self._wait(task, stopped)
            except failures.RayError as exc:
                if isinstance(exc, final):
                    raise
                if retry == _RETRIES:
                    raise _LostError(type(exc).__name__) from exc
                stopped.wait(_FIRST_WAIT_SECONDS * 2**retry)
                task.reference = task.start()
        raise AssertionError("unreachable")

    def _wait(self, task: _Task[_Result], stopped: threading.Event) -> _Result:
        """Return the result of a task. Waits in short periods, so that `stopped` ends the wait."""
        while True:
            try:
                result: _Result = self._ray.get(task.reference, timeout=_POLL_SECONDS)
            except self._ray.exceptions.GetTimeoutError:
                if stopped.is_set() or self._closed.is_set():
                    raise ConnectionError("the ingest was stopped") from None
            else:
                return result

    def _cancel(self, task: Prepared | _Task[Prepared]) -> None:
        if isinstance(task, _Task) and not self._closed.is_set():
            self._ray.cancel(task.reference)

    def _check_nodes(self, address: str) -> None:
        """Compare the environment of each node with that of the driver.

        Raises:
            OptionError: If they differ, or a node does not answer.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        expected = ray_tasks.environment(self._options.ocr)
        check = self._ray.remote(num_cpus=0, max_retries=_RETRIES)(ray_tasks.environment)
        answers = []
        for node in self._nodes():
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            answer = check.options(scheduling_strategy=there).remote(self._options.ocr)
            answers.append((node["NodeManagerAddress"], answer))
        if not answers:
            raise OptionError(f"the Ray cluster at {address} has no CPU; add a node to it")
        same = f"install spanwise=={expected.version} with the same extras on each node"
        for host, answer in answers:
            try:
                found = self._ray.get(answer, timeout=_START_SECONDS)
            except self._ray.exceptions.TaskUnschedulableError:
                continue  # the node has just left the cluster
            except self._ray.exceptions.RayError as exc:
                raise OptionError(
                    f"the node {host} of the Ray cluster at {address} cannot run Spanwise "
                    f"({_cause(exc)}); {same}"
                ) from exc
            if found != expected:
                raise OptionError(
                    f"the node {host} of the Ray cluster at {address} has {found}, and this "
                    f"process has {expected}; {same}"
                )

    def _nodes(self) -> list[dict[str, Any]]:
        """Return the live nodes that have processors."""
        return [
            node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")
        ]

    def _start_embedder(self, embedder: Embedder | None, *, gpus: int) -> EmbedderActors | None:
        """Start the actors of a local embedder, one for each GPU, or else one for each processor.

        None without an embedder, for the default embedder, which each worker has, and for a remote
        embedder, which the driver calls.

        Raises:
            OptionError: If the actors cannot load the embedder, or load another version of it.
        """
        if not isinstance(embedder, ContextualCaller | StaticEmbedCaller):
            return None
        model = embedder.embedder
        if isinstance(model, WordLlama) or not getattr(model, "is_local", True):
            return None
        actor = self._ray.remote(
            num_cpus=0,
            num_gpus=1 if gpus else 0,
            max_restarts=-1,
            max_task_retries=_RETRIES,
            max_concurrency=_CALLS_AT_ONCE,
            scheduling_strategy="SPREAD",
        )(ray_tasks.EmbedderActor)
        shipped = model.name if isinstance(model, LocalEmbedder) else self._ray.put(model)
        count = gpus or len(self._nodes())
        actors = tuple(actor.remote(shipped) for _ in range(count))
        expected = (model.name, model.version, embedder.dimension)
        for described in [actor.describe.remote() for actor in actors]:
            try:
                found = self._ray.get(described, timeout=_START_SECONDS)
            except self._ray.exceptions.RayError as exc:
                raise OptionError(
                    f"the embedder {model.name!r} cannot be loaded on the Ray cluster "
                    f"({_cause(exc)}); install its package on each node"
                ) from exc
            if found != expected:
                raise OptionError(
                    f"the embedder on the Ray cluster is {found!r}, and {expected!r} is expected; "
                    "install the same packages on each node"
                )
        return EmbedderActors(
            actors=actors,
            name=model.name,
            version=model.version,
            dimension=embedder.dimension,
            batch_texts=embedder.embedder.batch_texts
            if isinstance(embedder, ContextualCaller)
            else 0,
        )


def _is_same(template: PrepareRequest, request: PrepareRequest) -> bool:
    """Return whether a document was prepared with the values that are requested now."""
    if request.known is not None:
        return False
    return replace(template, document=request.document) == request


def _whole(resources: Mapping[str, float], name: str) -> int:
    """Return a resource of the cluster as a whole number."""
    return int(resources.get(name, 0))


def _cause(error: Exception) -> str:
    """Return the last words of an error of Ray, which begins with a trace."""
    return " ".join(str(error).split())[-_CAUSE_CHARS:]


def _import_ray() -> Any:
    """Return the module of Ray.

    Raises:
        OptionError: If Ray is not installed.
    """
    try:
        import ray
    except ImportError as exc:
        raise OptionError(
            "workers on a Ray cluster need a library that is not installed; "
            "pip install 'spanwise[ray]'"
        ) from exc
    return ray


@contextmanager
def connected_cluster(address: str) -> Iterator[None]:
    """Connect to a cluster during a block; `RayWorkers` created in it use this connection.

    Raises:
        OptionError: If Ray is not installed, or the cluster cannot be reached.
    """
    disconnect = _connect(_import_ray(), address)
    try:
        yield
    finally:
        disconnect()


def _connect(ray: Any, address: str) -> Callable[[], None]:
    """Connect to a cluster, and return the function that disconnects.

    A connection of the program itself is used and stays open.

    Raises:
        OptionError: If the cluster cannot be reached.
    """
    if ray.is_initialized():
        return lambda: None
    name = address.removeprefix(SCHEME)
    if name != _LOCAL:
        _check_address(name)
    from ray.util.debug import log_once

    # The warning about many small tasks: each task is a document, and the number in flight bounded.
    log_once("client_communication_overhead_warning")
    for attempt in range(_CONNECTIONS):
        try:
            ray.init(
                _LOCAL if name == _LOCAL else address,
                log_to_driver=False,
                configure_logging=False,
            )
            break
        except Exception as exc:  # Ray raises errors of many libraries
            ray.shutdown()
            if isinstance(exc, ConnectionAbortedError) and attempt + 1 < _CONNECTIONS:
                time.sleep(_FIRST_WAIT_SECONDS)  # the head forks a process, which may crash
                continue
            raise OptionError(
                f"the Ray cluster at {address} cannot be reached ({_cause(exc)}); check that "
                "`ray start --head` runs there, with the same versions of Ray and Python as here"
            ) from exc
    return cast("Callable[[], None]", ray.shutdown)


def _check_address(name: str) -> None:
    """Raise if no server accepts connections at a host and port; Ray would wait for minutes.

    Raises:
        OptionError: If it is not a host and port, or the connection fails.
    """
    address, (host, _, port) = SCHEME + name, name.rpartition(":")
    if not host or not port.isdecimal():
        raise OptionError(
            f'workers is {address!r}; expected "ray://HOST:PORT", with the port of the client '
            'server of the head (10001 by default), or "ray://auto" on a node of the cluster'
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as exc:
        raise OptionError(
            f"the Ray cluster at {address} cannot be reached ({exc}); check that `ray start "
            "--head` runs there, and that its port of the client server is open"
        ) from exc
