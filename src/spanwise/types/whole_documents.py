"""Whole documents, with their pages, headings and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanwise.types.documents import (
    DocumentRecord,
    DocumentStatus,
    FieldOrigins,
    Figure,
    MetadataValue,
    Section,
)
from spanwise.types.plain import PlainForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(PlainForm):
    """Range of characters printed on one page; an empty page has `start == end`."""

    start: int
    """Offset of the first character of the page."""
    end: int
    """Offset one past the last character of the page."""
    label: str | None = None
    """Label printed on the page ("F-12", "xii"); None if it equals the page number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading(PlainForm):
    """Heading line of a document; `text[start:end]` is the line including its markup."""

    start: int
    """Offset of the first character of the line."""
    end: int
    """Offset one past the last character of the line."""
    level: int
    """Level in the outline, from 1 for the outermost."""
    title: str
    """Words of the heading without markup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(PlainForm):
    """Table or piece of code, in whole lines, that is kept in one chunk if it fits."""

    start: int
    """Offset of the first character of the block."""
    end: int
    """Offset one past the last character of the block."""
    kind: Literal["table", "code"]
    """Content of the block: "table" or "code"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(PlainForm):
    """Parsed source, ready to be added to a knowledge base."""

    id: str
    """Id of the document, unique in its knowledge base."""
    text: str
    """Text of the document, which all offsets refer to."""
    title: str = ""
    """Title from the file's metadata or from the caller; empty for none."""
    pages: tuple[Page, ...] = ()
    """Pages in order, which cover the text without gaps; empty if the format has no pages."""
    headings: tuple[Heading, ...] = ()
    """Headings found by the parser, ordered by start."""
    blocks: tuple[Block, ...] = ()
    """Tables and code found by the parser, in order and disjoint."""
    figures: tuple[Figure, ...] = ()
    """Charts, drawings and pictures, ordered by start."""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    """Metadata fields by name, from the file and from the caller."""
    given_fields: tuple[str, ...] = ()
    """Names of the metadata fields that the caller supplied, in ascending order."""
    origins: FieldOrigins | None = None
    """Origins of fields and title; None if they come only from the file and from the caller."""
    media_type: str = "text/plain"
    """Media type of the source, such as "application/pdf"."""
    source: str = ""
    """Path or URL of the source; empty for text added by a program."""
    source_root: str = ""
    """Folder, file or URL that the caller passed to `add`; empty for text added by a program."""
    content_hash: str = ""
    """SHA-256 in hexadecimal of the parsed bytes, or of the text if a program added it."""
    status: DocumentStatus = "ok"
    """Completeness of the text: "ok", "partial" or "needs_ocr"."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about content that the parser could not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDocument(PlainForm):
    """Consistent snapshot of a document, its record and its sections."""

    record: DocumentRecord
    """Description of the document."""
    document: Document
    """Text, pages, headings and metadata of the document."""
    sections: tuple[Section, ...]
    """Sections in order, which partition the text."""
