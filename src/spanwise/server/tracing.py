"""OpenTelemetry traces of requests: one span for each request, above those of its operations.

Spans have the method, the route and the status, but no address, question or key. A request with
`traceparent` continues the trace of its sender. Health checks and metrics have no spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING

from spanwise.config import variable
from spanwise.errors import OptionError
from spanwise.events import tracer_of_application

if TYPE_CHECKING:
    from collections.abc import Collection

    from opentelemetry.trace import Span, Tracer
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_EXPORTERS = "OTEL_TRACES_EXPORTER"
_GROUP = "opentelemetry_traces_exporter"


class TraceMiddleware:
    """Middleware that opens a span around each request, if the application uses OpenTelemetry."""

    def __init__(self, app: ASGIApp, *, excluded: Collection[str]) -> None:
        """Wrap an application.

        Args:
            app: The application.
            excluded: Paths without spans.
        """
        self._app = app
        self._excluded = frozenset(excluded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        tracer = tracer_of_application()
        if tracer is None or scope["type"] != "http" or scope["path"] in self._excluded:
            await self._app(scope, receive, send)
            return
        status = int(HTTPStatus.INTERNAL_SERVER_ERROR)

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with _current_span(tracer, scope) as span:
            try:
                await self._app(scope, receive, watched)
            finally:
                _describe(span, scope, status)


@contextmanager
def _current_span(tracer: Tracer, scope: Scope) -> Iterator[Span]:
    """Open the span of a request as the current one, in the trace of the sender if it names one."""
    from opentelemetry import propagate, trace

    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    sender = trace.get_current_span(propagate.extract(headers))
    with tracer.start_as_current_span(
        scope["method"],
        # Other values of the sender (baggage) are not passed on to servers of models.
        context=trace.set_span_in_context(sender),
        kind=trace.SpanKind.SERVER,
        attributes={"http.request.method": scope["method"]},
        record_exception=False,  # its message may contain a question
        set_status_on_exception=False,
    ) as span:
        yield span


def _describe(span: Span, scope: Scope, status: int) -> None:
    """Add route and status to the span of a request; a failure of the server is an error."""
    from opentelemetry.trace import StatusCode

    route = getattr(scope.get("route"), "path", "")
    if route:
        span.update_name(f"{scope['method']} {route}")
        span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        span.set_attribute("error.type", str(status))
        span.set_status(StatusCode.ERROR)


def trace_exporters() -> list[type]:
    """Return the classes of the exporters that OTEL_TRACES_EXPORTER names; none without it.

    Raises:
        OptionError: If the SDK of OpenTelemetry or an exporter is not installed.
    """
    names = [name.strip() for name in variable(_EXPORTERS).split(",") if name.strip()]
    if not names or "none" in names:
        return []
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise OptionError(
            f"{_EXPORTERS} is set, which needs the package opentelemetry-sdk: "
            "pip install opentelemetry-sdk"
        )
    return [_exporter_class(name) for name in names]


@contextmanager
def exported_traces() -> Iterator[None]:
    """Export the spans of this process to the exporters that OTEL_TRACES_EXPORTER names.

    Nothing is changed under a program that has already set up OpenTelemetry, such as
    `opentelemetry-instrument`.

    Raises:
        OptionError: If the SDK of OpenTelemetry or an exporter is not installed.
    """
    exporters = trace_exporters()
    if not exporters:
        yield
        return
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        yield
        return
    provider = TracerProvider()
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter()))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()


def _exporter_class(name: str) -> type:
    found = [*entry_points(group=_GROUP, name=name)]
    if not found:
        known = ", ".join(sorted({entry.name for entry in entry_points(group=_GROUP)}))
        raise OptionError(
            f"{_EXPORTERS} names the exporter {name[:80]!r}, and there are {known or 'none'}; "
            "install its package, such as opentelemetry-exporter-otlp"
        )
    exporter: type = found[0].load()
    return exporter
