"""The only reader of the environment. Precedence: argument, then environment, then default."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = [
    "COMPLETION_VARIABLE",
    "DEFAULT_KNOWLEDGE_BASE",
    "completion_request",
    "knowledge_base_path",
    "wants_colour",
    "wants_traceback",
]

DEFAULT_KNOWLEDGE_BASE = "spanwise.kb"
"""Folder of the knowledge base where none is named, below the working folder."""
COMPLETION_VARIABLE = "_SPANWISE_COMPLETE"
"""How a shell asks for the completion of a command line."""


def knowledge_base_path(argument: str | None = None) -> Path:
    """Return the folder of the knowledge base: the argument, `SPANWISE_KB`, or the default.

    An empty value counts as not given.
    """
    return Path(argument or os.environ.get("SPANWISE_KB") or DEFAULT_KNOWLEDGE_BASE)


def wants_colour() -> bool:
    """Return whether a terminal may be coloured: not if `NO_COLOR` is set or `TERM` is dumb."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_traceback() -> bool:
    """Return whether `SPANWISE_TRACEBACK` asks for the traceback of an unexpected error."""
    return os.environ.get("SPANWISE_TRACEBACK", "") not in ("", "0")


def completion_request() -> str:
    """Return what a shell wants to complete, such as "bash_complete"; empty in a plain run."""
    return os.environ.get(COMPLETION_VARIABLE, "")
