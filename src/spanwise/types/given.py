"""Parts of a document that the caller gives in place of what would be made of it."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.plain import PlainForm
from spanwise.types.documents import Section

__all__ = ["GivenContext", "GivenParts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenContext(PlainForm):
    """Words that place a range of a document in it."""

    start: int
    end: int
    text: str
    """Search sees it with every chunk that begins in the range, as `Chunk.context`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenParts(PlainForm):
    """What is known of a document beforehand; what is empty is made, with a model or without.

    Positions are characters of the text as it is stored (`KnowledgeBase.get`).
    """

    title: str = ""
    summary: str = ""
    """What the document is about, in a sentence."""
    sections: tuple[Section, ...] = ()
    """In order; they partition the text. A path that is empty is the title alone. A summary that
    is empty is made where a model makes headers."""
    contexts: tuple[GivenContext, ...] = ()
    """In order, disjoint."""
