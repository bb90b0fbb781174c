"""What is wrong with an answer, in words for the model that gave it and for people."""

from __future__ import annotations

from spanwise.core.fences import fenced
from spanwise.ports import ModelReply, ModelRequest

__all__ = ["complaint", "fault_words"]

_FAULT_CHARS = 500
_FAULTS = 5  # a form with a hundred wrong items is wrong in one way


def fault_words(error: ValueError, reply: ModelReply) -> str:
    """Return what is wrong with an answer, short.

    Args:
        error: What was raised when it was read.
        reply: The answer.
    """
    cut = "it ended because it was too long; " * reply.is_cut
    return cut + " ".join(_said(error).split())[:_FAULT_CHARS]


def complaint(request: ModelRequest, fault: str) -> str:
    """Return what is said of an answer; the words of the fault may be those of a document.

    Args:
        request: What was asked.
        fault: What is wrong with the answer.
    """
    data = fenced(fault, name="fault", beside=[request.shared, request.prompt])
    return (
        "Your last answer to this could not be used, because of this fault:\n"
        f"{data}\nAnswer again, briefly, and keep exactly to the form that is asked for."
    )


def _said(error: ValueError) -> str:
    """Return what an error says; of a form, where it is wrong, without the links of pydantic."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    faults = [
        ": ".join(filter(None, (".".join(map(str, one["loc"])), one["msg"])))
        for one in found[:_FAULTS]
    ]
    more = [f"and {len(found) - _FAULTS} more"] * (len(found) > _FAULTS)
    return "; ".join(faults + more)
