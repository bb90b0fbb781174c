"""The ASGI application of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Semaphore
from typing import TYPE_CHECKING, Any

from spanwise.errors import OptionError

try:
    import python_multipart  # noqa: F401 - of uploads
    from fastapi import FastAPI, Response
    from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector
except ImportError as error:
    raise OptionError(
        "the server needs fastapi, uvicorn, python-multipart and prometheus-client: "
        "pip install 'spanwise[serve]'"
    ) from error

from spanwise import __version__
from spanwise.config import (
    METRICS_FOLDER,
    fetch_options,
    model_options,
    parse_options,
    variable,
)
from spanwise.knowledge_base import KnowledgeBase
from spanwise.server import web_page
from spanwise.server.access import Service, access_for
from spanwise.server.keys import read_ring
from spanwise.server.limits import LimitMiddleware, RequestLimits
from spanwise.server.openapi import PROBLEMS, DescribedApp, media_of
from spanwise.server.problems import add_handlers
from spanwise.server.queue import QueueOptions, queues_of, running
from spanwise.server.routes import router
from spanwise.server.routes_jobs import router as jobs_router

if TYPE_CHECKING:
    from spanwise.models.ports import LanguageModel, Reranker
    from spanwise.server.keys import KeyRing

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Configuration of a server."""

    knowledge_bases: Mapping[str, str]
    """Paths of the knowledge bases by name."""
    keys_file: str = ""
    """Path of the key file; empty if requests need no key."""
    llm: str = ""
    """Language model of answers; empty for none."""
    rerank: str = ""
    """Reranker; empty for none."""
    max_cost: float | None = None
    """Maximum total cost of model calls of each process, in US dollars."""
    hosts: tuple[str, ...] | None = LOOPBACK
    """Accepted values of the Host header; None for all."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """Limits of requests."""
    queue: QueueOptions = field(default_factory=QueueOptions)
    """Options of the ingest queues."""
    allow_private: bool = False
    """Whether URLs on private networks and on this machine may be added."""


def make_app(options: ServerOptions) -> FastAPI:
    """Return an application that opens its knowledge bases when it starts.

    Raises:
        OptionError: If the key file cannot be read. A knowledge base that does not exist fails the
            start of the application.
    """
    keys = read_ring(Path(options.keys_file)) if options.keys_file else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as stack:
            bases = {
                name: stack.enter_context(
                    KnowledgeBase(
                        path,
                        create=False,
                        models=model_options(max_cost=options.max_cost),
                        parse=parse_options(),
                        fetch=fetch_options(allow_private=options.allow_private),
                    )
                )
                for name, path in options.knowledge_bases.items()
            }
            app.state.service = Service(
                bases=bases,
                keys=keys,
                llm=options.llm or None,
                reranker=options.rerank or None,
                seconds=options.limits.seconds,
                places=Semaphore(options.limits.concurrent),
                queues=queues_of(bases, options.queue),
            )
            stack.enter_context(running(app.state.service.queues))
            yield

    return _application(lifespan, options)


def app_of(
    bases: Mapping[str, KnowledgeBase],
    *,
    llm: str | LanguageModel | None = None,
    reranker: str | Reranker | None = None,
    keys: KeyRing | None = None,
    limits: RequestLimits | None = None,
    queue: QueueOptions | None = None,
) -> FastAPI:
    """Return an application for open knowledge bases, to mount it in another application.

    A mounted application starts to run ingest jobs with the first one that it receives.

    Args:
        bases: Open knowledge bases by name; the caller closes them.
        llm: Language model of answers; None for none.
        reranker: Reranker of questions that ask for it; None for none.
        keys: Keys; None if requests need none, because the outer application checks them.
        limits: Limits of requests; None for the default.
        queue: Options of the ingest queues; None for the default.
    """
    limits = limits or RequestLimits()
    options = ServerOptions(knowledge_bases={}, hosts=None, limits=limits)
    queues = queues_of(bases, queue or QueueOptions())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with running(queues):
            yield

    app = _application(lifespan, options)
    app.state.service = Service(
        bases=bases,
        keys=keys,
        llm=llm,
        reranker=reranker,
        seconds=limits.seconds,
        places=Semaphore(limits.concurrent),
        queues=queues,
    )
    return app


def _application(lifespan: Any, options: ServerOptions) -> FastAPI:
    app = DescribedApp(
        title="Spanwise",
        version=__version__,
        summary="Search long documents for the contiguous segments that answer a question.",
        lifespan=lifespan,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
    )
    app.add_middleware(LimitMiddleware, limits=options.limits, hosts=options.hosts)
    add_handlers(app)
    app.include_router(router)
    app.include_router(jobs_router)
    _add_operations(app)
    app.include_router(web_page.router)
    return app


def _add_operations(app: FastAPI) -> None:
    """Add the routes for health checks and metrics."""

    @app.get("/healthz", tags=["operation"])
    async def health() -> dict[str, str]:
        """Report that the process is running."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"])
    async def ready() -> dict[str, str]:
        """Report that the knowledge bases are open."""
        return {"status": "ok"}

    @app.get(
        "/metrics",
        tags=["operation"],
        dependencies=[access_for("admin")],
        responses=media_of("text/plain"),
        response_class=Response,
    )
    async def metrics() -> Response:
        """Return the metrics of all processes in the text format of Prometheus."""
        registry = REGISTRY
        if variable(METRICS_FOLDER):
            registry = CollectorRegistry()
            collect: Callable[[CollectorRegistry], object] = MultiProcessCollector
            collect(registry)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
