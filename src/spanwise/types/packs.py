"""What is said of packs: which there are, and where they find their landmarks."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.types.plain import PlainForm


@dataclass(frozen=True, slots=True, kw_only=True)
class PackInfo(PlainForm):
    """A pack, and what it does in a knowledge base."""

    name: str
    description: str
    origin: str
    """The file it was read from, or "spanwise" for one that comes with it."""
    in_use: bool
    outdated: bool
    """Whether this program comes with another version of it than is in use."""
    landmarks: tuple[str, ...]
    """How its landmarks are called for people."""
    phrases: int
    """Phrases of questions that point to one of them."""
    glossary: int
    """Words of questions that it knows other words for."""
    documents: int
    """Documents in which it found one of its landmarks: in these it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPlace(PlainForm):
    """Where a landmark stands in a document: its best chunk."""

    document_id: str
    landmark: str
    """Its key in the file."""
    name: str
    """How it is called for people."""
    chunk: int
    start: int
    end: int
    text: str
    """Of that chunk."""
