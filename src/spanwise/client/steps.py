"""Steps of a remote method: requests and waits as data, which a transport carries out.

A method of a remote knowledge base is a generator: it yields a step, gets the result of the step
sent or its error thrown, and returns the result of the method. The blocking and the asynchronous
connection run the same generators.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Request whose result is the JSON value of the response."""

    method: str
    """HTTP method."""
    path: str
    """Path below the address of the server."""
    body: Mapping[str, object] | None = None
    """Arguments that are sent as JSON; None for none."""
    parameters: Mapping[str, str | int] | None = None
    """Parameters of the address."""
    files: Sequence[tuple[str, BinaryIO]] = ()
    """Names and open files that are sent as a form, in place of JSON."""
    form: Mapping[str, str] | None = None
    """Texts that are sent with the files; None for none."""
    changes: bool = False
    """Whether the request changes something or calls a model. Such a request is not repeated after
    the server has begun with it."""
    reads_bytes: bool = False
    """Whether the result is the body of the response, instead of its JSON value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCall:
    """Request whose response is a stream of server-sent events."""

    call: Call
    on_event: Callable[[str, Any], None]
    """Function that is called with the name and the JSON value of each event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Wait for some time."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Blocking work on this machine, such as reading files. The result is that of the action."""

    action: Callable[[], Any]


Step = Call | EventCall | Pause | Work
Steps = Generator[Step, Any, _Result]
"""Steps that lead to a result."""
