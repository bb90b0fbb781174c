"""Parts of documents that the caller supplies."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.types.documents import Section
from spanwise.types.plain import PlainForm


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenContext(PlainForm):
    """Context supplied by the caller for a range of a document."""

    start: int
    """Offset of the first character of the range."""
    end: int
    """Offset one past the last character of the range."""
    text: str
    """Context of every chunk that begins in the range, see `Chunk.context`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenParts(PlainForm):
    """Parts of a document supplied by the caller; empty parts are generated on ingest.

    Offsets refer to the stored text (`KnowledgeBase.get`).
    """

    title: str = ""
    """Title of the document; empty to generate it."""
    summary: str = ""
    """One sentence about the document; empty to generate it if a model writes headers."""
    sections: tuple[Section, ...] = ()
    """Sections in order, which partition the text; empty to generate them. An empty path is
    replaced by the title alone. An empty summary is generated if a model writes headers."""
    contexts: tuple[GivenContext, ...] = ()
    """Contexts of chunks, in order and disjoint; empty to generate them if a model writes them."""
    chunk_ends: tuple[int, ...] = ()
    """End of each chunk, ascending; the last is the length of the text. A chunk also ends where its
    section ends. Empty to divide the sections into chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenChunk(PlainForm):
    """Chunk of another engine, for `KnowledgeBase.add_chunks`."""

    text: str
    """Text of the chunk, not blank, at most 100,000 characters."""
    page: int | None = None
    """Number of the page on which the chunk begins, from 1; None for the page of the chunk before
    it."""
    headings: tuple[str, ...] = ()
    """Titles of the sections that contain the chunk, outermost first. Consecutive chunks with the
    same titles are one section. Empty for the section of the chunk before it."""
