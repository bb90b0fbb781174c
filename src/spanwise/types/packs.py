"""Descriptions of domain packs, and the places where their landmarks were found."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.types.plain import PlainForm


@dataclass(frozen=True, slots=True, kw_only=True)
class PackInfo(PlainForm):
    """Description of a pack and of its effect in a knowledge base."""

    name: str
    """Name of the pack."""
    description: str
    """Description of the pack, one line."""
    origin: str
    """Path of the pack's file, or "spanwise" for a pack shipped with Spanwise."""
    in_use: bool
    """Whether the knowledge base uses the pack."""
    outdated: bool
    """Whether this version of Spanwise ships a different version of the pack than the one in
    use."""
    landmarks: tuple[str, ...]
    """Display names of the pack's landmarks."""
    phrases: int
    """Number of question phrases that point to a landmark."""
    glossary: int
    """Number of question words for which the pack has other terms."""
    documents: int
    """Number of documents with at least one of the pack's landmarks; the pack affects only
    these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPlace(PlainForm):
    """Location of a landmark in a document, given by its best chunk."""

    document_id: str
    """Id of the document."""
    landmark: str
    """Key of the landmark in the pack's file."""
    name: str
    """Display name of the landmark."""
    chunk: int
    """Position of the chunk in its document, from 0."""
    start: int
    """Offset of the first character of the chunk."""
    end: int
    """Offset one past the last character of the chunk."""
    text: str
    """Text of the chunk."""
