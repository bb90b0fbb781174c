"""Events of an operation: callbacks of a listener, log records and OpenTelemetry spans.

Rules:
    Log records have the level DEBUG and the logger "spanwise". Their fields `spanwise_step`,
        `spanwise_seconds` and `spanwise_counts` are for structured logging.
    Spans are created if the application uses OpenTelemetry, that is, if it has imported
        `opentelemetry.trace`. Without a tracer provider, they have no effect.
    Events contain names and numbers only: no question, text, file name or error message.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from spanwise.threads import check_cancelled

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from spanwise.types.listener import Listener

_P = ParamSpec("_P")
_Result = TypeVar("_Result")
_logger = logging.getLogger("spanwise")
_NANOSECONDS = 1_000_000_000


def report_step(
    name: str, *, seconds: float, counts: Mapping[str, int], listener: Listener | None
) -> None:
    """Report a step that has just ended, with a separate span.

    Args:
        name: Name of the step, such as "scan" or "model.title".
        seconds: Duration of the step.
        counts: Quantities of the step by name.
        listener: Listener to notify; None for none.
    """
    _notify(name, seconds, counts, listener)
    tracer = tracer_of_application()
    if tracer is not None:
        end = time.time_ns()
        start = end - int(seconds * _NANOSECONDS)
        span = tracer.start_span(_span_name(name), start_time=start)
        span.set_attributes(_attributes(counts))
        span.end(end)


class StepTimer:
    """Timer of the consecutive steps of one operation."""

    def __init__(self, listener: Listener | None, *, prefix: str = "") -> None:
        """Start the timer.

        Args:
            listener: Listener to notify; None for none.
            prefix: Prefix of the names in events.
        """
        self._listener = listener
        self._prefix = prefix
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def done(self, name: str, **counts: int) -> None:
        """Record the time since the previous step, and report it with counts.

        The times of steps with the same name are added.

        Raises:
            CancelledError: If the operation was cancelled.
        """
        check_cancelled()
        now = time.perf_counter()
        seconds = now - self._last
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self._last = now
        report_step(
            self._prefix + name,
            seconds=seconds,
            counts=counts,
            listener=self._listener,
        )


def reported(
    name: str, *, counts: Sequence[str] = ()
) -> Callable[[Callable[_P, _Result]], Callable[_P, _Result]]:
    """Return a decorator that reports each call of a method as one step.

    The object of the method has an attribute `listener`. Steps inside the call are child spans.

    Args:
        name: Name of the step.
        counts: Attributes of the result that are reported as quantities.
    """

    def decorate(method: Callable[_P, _Result]) -> Callable[_P, _Result]:
        @wraps(method)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _Result:
            started = time.perf_counter()
            with _current_span(name) as span:
                result = method(*args, **kwargs)
                numbers = {count: getattr(result, count) for count in counts}
                if span is not None:
                    span.set_attributes(_attributes(numbers))
                listener: Listener | None = getattr(args[0], "listener", None)
                _notify(name, time.perf_counter() - started, numbers, listener)
            return result

        return call

    return decorate


@contextmanager
def _current_span(name: str) -> Iterator[Span | None]:
    """Open a span around the block; yield None if the application does not use OpenTelemetry."""
    tracer = tracer_of_application()
    if tracer is None:
        yield None
        return
    # Recorded exceptions would contain their messages.
    with tracer.start_as_current_span(
        _span_name(name), record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            raise


def _notify(
    name: str, seconds: float, counts: Mapping[str, int], listener: Listener | None
) -> None:
    """Notify the listener and write a log record."""
    if listener is not None:
        listener.on_step(name, seconds=seconds, counts=counts)
    if _logger.isEnabledFor(logging.DEBUG):
        numbers = " ".join(f"{key}={number}" for key, number in counts.items())
        fields = {
            "spanwise_step": name,
            "spanwise_seconds": seconds,
            "spanwise_counts": dict(counts),
        }
        _logger.debug("%s %.4f s %s", name, seconds, numbers, extra=fields)


def tracer_of_application() -> Tracer | None:
    """Return the tracer of the application; None if it does not use OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    return None if trace is None else trace.get_tracer("spanwise")


def _span_name(name: str) -> str:
    return f"spanwise.{name}"


def _attributes(counts: Mapping[str, int]) -> dict[str, int]:
    return {f"spanwise.{name}": number for name, number in counts.items()}
