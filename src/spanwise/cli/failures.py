"""Exit codes of the program, and descriptions of errors: code, message and exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import click

from spanwise.errors import (
    DocumentError,
    NotFoundError,
    OptionError,
    SpanwiseError,
    error_code,
)


class ExitCode(IntEnum):
    """Exit codes of the program."""

    OK = 0
    ERROR = 1
    USAGE = 2
    SOME_FAILED = 3
    NOTHING_FOUND = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


MEANINGS = {
    ExitCode.OK: "success",
    ExitCode.ERROR: "error",
    ExitCode.USAGE: "invalid argument",
    ExitCode.SOME_FAILED: "some documents failed",
    ExitCode.NOTHING_FOUND: "nothing found",
    ExitCode.INTERRUPTED: "Ctrl-C",
    ExitCode.BROKEN_PIPE: "output closed",
    ExitCode.TERMINATED: "SIGTERM",
}
"""Meaning of each exit code, in a few words."""


class Interrupted(KeyboardInterrupt):
    """Exception for Ctrl-C, with a message about the work that is kept."""


class Terminated(SystemExit):
    """Exception for SIGTERM, with a message about the work that is kept.

    It is not a KeyboardInterrupt: a chat continues after Ctrl-C and ends on SIGTERM.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Description of an error that ended a command."""

    code: str
    """Stable code for programs, such as "document_not_found"."""
    message: str
    """Message for people."""
    exit_code: ExitCode
    """Exit code of the process."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Additional fields of the JSON form."""
    faults: tuple[str, ...] = ()
    """Lines of the message after the first one; each is written on a line of its own."""


def _exit_code(error: SpanwiseError) -> ExitCode:
    if isinstance(error, OptionError):
        return ExitCode.USAGE
    if isinstance(error, NotFoundError):
        return ExitCode.NOTHING_FOUND
    return ExitCode.ERROR


def _usage_failure(error: click.ClickException) -> Failure:
    message = error.format_message().rstrip()
    context = getattr(error, "ctx", None)
    if context is not None:
        message = f"{message.rstrip('.')} (see `{context.command_path} --help`)"
    return Failure(code="usage", message=message, exit_code=ExitCode.USAGE)


def _signal_failure(error: BaseException) -> Failure | None:
    """Return the description of Ctrl-C or SIGTERM; None for any other error."""
    # Python 3.11 wraps a signal in a RuntimeError if it arrives while a class is created.
    for exception in (error, error.__cause__):
        if isinstance(exception, KeyboardInterrupt):
            message = (str(error) if isinstance(error, Interrupted) else "") or "interrupted"
            return Failure(code="interrupted", message=message, exit_code=ExitCode.INTERRUPTED)
        if isinstance(exception, Terminated):
            message = (str(error) if isinstance(error, Terminated) else "") or "ended by SIGTERM"
            return Failure(code="terminated", message=message, exit_code=ExitCode.TERMINATED)
    return None


def describe_failure(error: BaseException) -> Failure:
    """Return the description of an error that ended a command."""
    if isinstance(error, SpanwiseError):
        details = {}
        if isinstance(error, DocumentError):
            details = {"source": error.source, "cause": error.code}
        return Failure(
            code=error_code(type(error)),
            message=str(error),
            exit_code=_exit_code(error),
            details=details,
            faults=error.faults if isinstance(error, OptionError) else (),
        )
    if isinstance(error, click.ClickException):
        return _usage_failure(error)
    interruption = _signal_failure(error)
    if interruption is not None:
        return interruption
    if isinstance(error, MemoryError):
        return Failure(
            code="memory",
            message="memory ran out; completed writes are kept: close other programs, or split the "
            "largest document",
            exit_code=ExitCode.ERROR,
        )
    if isinstance(error, OSError):
        return Failure(code="system", message=str(error), exit_code=ExitCode.ERROR)
    return Failure(
        code="internal",
        message=f"internal error, {type(error).__name__}: {error}; please report it with the "
        "traceback that SPANWISE_TRACEBACK=1 shows",
        exit_code=ExitCode.ERROR,
    )
