"""The ASGI application of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from threading import Semaphore
from typing import TYPE_CHECKING, Annotated, Any

from spanwise.errors import OptionError
from spanwise.server.options import (
    NOT_INSTALLED,
    QueueOptions,
    RequestLimits,
    ServerOptions,
)

try:
    import python_multipart  # noqa: F401 - of uploads
    from fastapi import Depends, FastAPI, Request, Response
    from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector
except ImportError as error:
    raise OptionError(NOT_INSTALLED) from error

from spanwise import __version__
from spanwise.config import (
    METRICS_FOLDER,
    fetch_options,
    model_options,
    parse_options,
    variable,
)
from spanwise.knowledge_base import KnowledgeBase
from spanwise.server import (
    routes_chunks,
    routes_evaluations,
    routes_packs,
    routes_queries,
    routes_several,
    routes_threads,
    web_page,
)
from spanwise.server.access import Access, Service, access_for
from spanwise.server.agents import AgentEndpoint
from spanwise.server.keys import read_ring
from spanwise.server.limits import UNLIMITED, LimitMiddleware
from spanwise.server.openapi import PROBLEMS, DescribedApp, check_query, media_of
from spanwise.server.problems import add_handlers
from spanwise.server.queue import queues_of, running
from spanwise.server.queue_metrics import queue_metrics
from spanwise.server.readiness import Readiness
from spanwise.server.routes import router
from spanwise.server.routes_jobs import router as jobs_router
from spanwise.server.tracing import TraceMiddleware, exported_traces
from spanwise.threads import run_in_thread

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spanwise.models.ports import LanguageModel, Reranker
    from spanwise.server.keys import KeyRing


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
            stack.enter_context(exported_traces())
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
                queues=queues_of(
                    bases, options.queue, llm=options.llm or None, runs_jobs=options.runs_jobs
                ),
                readiness=Readiness(bases, stopping_file=options.stopping_file),
            )
            stack.enter_context(running(app.state.service.queues))
            yield

    return _application(lifespan, options, needs_key=keys is not None)


def app_of(  # noqa: PLR0913 - options of a server
    bases: Mapping[str, KnowledgeBase],
    *,
    llm: str | LanguageModel | None = None,
    reranker: str | Reranker | None = None,
    keys: KeyRing | None = None,
    limits: RequestLimits | None = None,
    queue: QueueOptions | None = None,
    agents_write: bool = False,
) -> FastAPI:
    """Return an application for open knowledge bases, to mount it in another application.

    A mounted application starts to run ingest jobs when it receives the first one.

    Args:
        bases: Open knowledge bases by name; the caller closes them.
        llm: Language model of answers; None for none.
        reranker: Reranker for requests with `rerank`; None for none.
        keys: Keys; None if requests need none, because the outer application checks them.
        limits: Limits of requests; None for the default.
        queue: Options of the ingest queues; None for the default.
        agents_write: See `ServerOptions.agents_write`.
    """
    limits = limits or RequestLimits()
    options = ServerOptions(
        knowledge_bases={}, hosts=None, limits=limits, agents_write=agents_write
    )
    queues = queues_of(bases, queue or QueueOptions(), llm=llm)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with running(queues):
            yield

    app = _application(lifespan, options, needs_key=keys is not None)
    app.state.service = Service(
        bases=bases,
        keys=keys,
        llm=llm,
        reranker=reranker,
        seconds=limits.seconds,
        places=Semaphore(limits.concurrent),
        queues=queues,
        readiness=Readiness(bases),
    )
    return app


def _application(lifespan: Any, options: ServerOptions, *, needs_key: bool) -> FastAPI:
    app = DescribedApp(
        needs_key=needs_key,
        title="Spanwise",
        version=__version__,
        summary="Search long documents for the contiguous segments that answer a question.",
        lifespan=lifespan,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
        dependencies=[Depends(check_query)],
        # The framework's own spans and log records have queries of addresses, such as questions,
        # and messages of exceptions. `server.tracing` makes spans without them.
        telemetry={"tracing": False, "logs": False},
    )
    app.add_middleware(LimitMiddleware, limits=options.limits, hosts=options.hosts)
    app.add_middleware(_HeadMiddleware)
    app.add_middleware(TraceMiddleware, excluded=UNLIMITED)
    add_handlers(app)
    app.include_router(router)
    app.include_router(jobs_router)
    for group in (
        routes_chunks, routes_evaluations, routes_packs, routes_queries, routes_several,
        routes_threads,
    ):  # fmt: skip
        app.include_router(group.router)
    app.router.routes.append(AgentEndpoint(writes=options.agents_write).route())
    _add_operations(app)
    app.include_router(web_page.router)
    return app


class _HeadMiddleware:
    """Middleware that answers HEAD as GET, without the body of the response (RFC 9110)."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            is_body = message["type"] == "http.response.body"
            await send({**message, "body": b""} if is_body else message)

        passed = {**scope, "method": "GET"}  # the server of ASGI needs the method of the request
        try:
            await self._app(passed, receive, without_body)
        finally:
            if "route" in passed:  # for traces
                scope["route"] = passed["route"]


def _add_operations(app: FastAPI) -> None:
    """Add the routes for health checks and metrics."""

    @app.get("/healthz", tags=["operation"])
    async def health() -> dict[str, str]:
        """Report that the process is running."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"])
    async def ready(request: Request) -> dict[str, str]:
        """Report that the knowledge bases can be searched and the server is not stopping."""
        service: Service = request.app.state.service
        await run_in_thread(service.readiness.check)
        return {"status": "ok"}

    @app.get(
        "/metrics",
        tags=["operation"],
        responses=media_of("text/plain"),
        response_class=Response,
    )
    async def metrics(access: Annotated[Access, access_for("admin")]) -> Response:
        """Return the metrics of all processes in the text format of Prometheus.

        They count the requests of all keys, so the key must allow all knowledge bases.
        """
        access.check_unlimited()
        registry = REGISTRY
        if variable(METRICS_FOLDER):
            registry = CollectorRegistry()
            collect: Callable[[CollectorRegistry], object] = MultiProcessCollector
            collect(registry)
        queues = await run_in_thread(partial(queue_metrics, access.queues()))
        return Response(generate_latest(registry) + queues, media_type=CONTENT_TYPE_LATEST)
