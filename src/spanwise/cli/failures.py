"""What the process says when it ends.

How an error ends a command: its code for programs, one line for people, an exit code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import click

from spanwise.errors import DocumentError, NotFoundError, OptionError, SpanwiseError


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0
    ERROR = 1
    USAGE = 2
    SOME_FAILED = 3
    NOTHING_FOUND = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


MEANINGS = {
    ExitCode.OK: "all went well",
    ExitCode.ERROR: "an error, nothing was answered; or `doctor` found damage",
    ExitCode.USAGE: "an option, argument or filter is not usable",
    ExitCode.SOME_FAILED: "one document failed or more did; the others are in",
    ExitCode.NOTHING_FOUND: "nothing was found; or `locate` found a text edited or gone",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C; what was acknowledged stays",
    ExitCode.BROKEN_PIPE: "the reader of the output went away",
    ExitCode.TERMINATED: "ended by SIGTERM; what was acknowledged stays",
}
"""One line a code, for help and documentation."""


_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what stays of the work said in the message."""


class Terminated(SystemExit):
    """SIGTERM, with what stays of the work said in the message.

    It is no KeyboardInterrupt: a conversation goes on after Ctrl-C, and ends here.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is said about an error."""

    code: str
    message: str
    exit_code: ExitCode
    details: Mapping[str, str] = field(default_factory=dict)
    """Further fields of the JSON form."""
    faults: tuple[str, ...] = ()
    """Lines of the message after the first, for people each a line of its own."""


def error_code(kind: type[SpanwiseError]) -> str:
    """Return the stable code of an error class: "document_not_found" of DocumentNotFoundError.

    A class that is none of `spanwise.errors` has the code of the one it is a kind of.
    """
    public = next(base for base in kind.__mro__ if base.__module__ == SpanwiseError.__module__)
    return _WORD_START.sub("_", public.__name__.removesuffix("Error")).lower()


def _exit_code(error: SpanwiseError) -> ExitCode:
    if isinstance(error, OptionError):
        return ExitCode.USAGE
    if isinstance(error, NotFoundError):
        return ExitCode.NOTHING_FOUND
    return ExitCode.ERROR


def _of_usage(error: click.ClickException) -> Failure:
    message = error.format_message().rstrip()
    context = getattr(error, "ctx", None)
    if context is not None:
        message = f"{message.rstrip('.')} (see `{context.command_path} --help`)"
    return Failure(code="usage", message=message, exit_code=ExitCode.USAGE)


def _of_signal(error: BaseException) -> Failure | None:
    """Return what is said about Ctrl-C and SIGTERM; None for any other error."""
    # A signal that comes while Python 3.11 makes a class is wrapped in a RuntimeError.
    for found in (error, error.__cause__):
        if isinstance(found, KeyboardInterrupt):
            message = (str(error) if isinstance(error, Interrupted) else "") or "interrupted"
            return Failure(code="interrupted", message=message, exit_code=ExitCode.INTERRUPTED)
        if isinstance(found, Terminated):
            message = (str(error) if isinstance(error, Terminated) else "") or "ended by SIGTERM"
            return Failure(code="terminated", message=message, exit_code=ExitCode.TERMINATED)
    return None


def describe_failure(error: BaseException) -> Failure:
    """Return what is said about an error that ends the command."""
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
        return _of_usage(error)
    ended = _of_signal(error)
    if ended is not None:
        return ended
    if isinstance(error, MemoryError):
        return Failure(
            code="memory",
            message="memory ran out; what was acknowledged stays: close other programs, or split "
            "the largest document",
            exit_code=ExitCode.ERROR,
        )
    if isinstance(error, OSError):
        return Failure(code="system", message=str(error), exit_code=ExitCode.ERROR)
    return Failure(
        code="internal",
        message=f"an error that should not happen, {type(error).__name__}: {error}; please report "
        "it, with the traceback that SPANWISE_TRACEBACK=1 shows",
        exit_code=ExitCode.ERROR,
    )
