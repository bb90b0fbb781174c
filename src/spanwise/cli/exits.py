"""What the process says when it ends."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["MEANINGS", "ExitCode"]


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
