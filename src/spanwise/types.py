"""The things Spanwise works on, in pipeline order. All are frozen; ranges are half-open, 0-based.

Offsets are Python string indices (code points) into `Document.text`, which is never edited after
it was made. Pages alone are shown to people 1-based.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "Block",
    "Chunk",
    "Citation",
    "Document",
    "DocumentRecord",
    "Heading",
    "IngestFailure",
    "IngestProgress",
    "IngestReport",
    "KnowledgeBaseInfo",
    "Page",
    "Scalar",
    "SearchResult",
    "Section",
    "Segment",
]

Scalar = str | int | float | bool
"""Value of one metadata field. Dates are ISO 8601 strings, so that they compare in time order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Range of characters that stood on one page; an empty page has `start == end`."""

    start: int
    end: int
    label: str | None = None
    """Label printed on the page, where it differs from its number ("F-12", "xii")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """Line that titles what follows; `text[start:end]` is the line as it stands."""

    start: int
    end: int
    level: int
    """1 is the outermost."""
    title: str
    """The heading's words without markup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Run of whole lines that is kept together where it fits into a chunk."""

    start: int
    end: int
    kind: Literal["table", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One source, parsed: what goes into a knowledge base."""

    id: str
    text: str
    title: str = ""
    """Title from the metadata of the file or the caller; empty when there is none."""
    pages: tuple[Page, ...] = ()
    """In order, joined they cover the text; empty where the format has no pages."""
    headings: tuple[Heading, ...] = ()
    """In order of start."""
    blocks: tuple[Block, ...] = ()
    """In order, disjoint."""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    media_type: str = "text/plain"
    source: str = ""
    """Path or URL it came from; empty for text given by a program."""
    source_root: str = ""
    """Folder, file or URL that was named when it was added; empty for text given by a program."""
    content_hash: str = ""
    """SHA-256 of the bytes it was parsed from (of the text, for text given by a program), hex."""
    warnings: tuple[str, ...] = ()
    """What the parser could not read, in words for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Titled run of a document about one topic; the sections of a document partition its text."""

    start: int
    end: int
    title: str
    """Heading, or an extractive title where there is none."""
    path: tuple[str, ...]
    """Titles of its ancestors, outermost first, and its own title last."""
    header_tokens: int = 0
    """Most tokens that a segment headed by it costs besides its text: header and citation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Run of text inside one section; the chunks of a document, joined, are its text."""

    index: int
    """Position among the chunks of the document, from 0."""
    start: int
    end: int
    section: int
    """Index into the sections of the document."""
    tokens: int
    """Length under the tokenizer of the knowledge base, at least 1."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """What a knowledge base knows about a document, without its text."""

    id: str
    title: str
    summary: str
    """One sentence about the document; empty when there is none."""
    metadata: Mapping[str, Scalar]
    media_type: str
    source: str
    source_root: str
    content_hash: str
    chars: int
    chunks: int
    tokens: int
    pages: int
    """0 where the format has no pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Pointer to a range of a document."""

    document_id: str
    title: str
    start: int
    end: int
    pages: tuple[int, int] | None
    """First and last page, 1-based; None where the format has no pages."""
    section_path: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        """Return it for people: title, section path, pages, characters."""
        place = " > ".join(self.section_path)
        parts = [self.title or self.document_id]
        if place:
            parts.append(place)
        if self.pages is not None:
            first, last = self.pages
            parts.append(f"page {first}" if first == last else f"pages {first}-{last}")
        parts.append(f"characters {self.start}-{self.end}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Consecutive chunks of one document, chosen for a question."""

    document_id: str
    start: int
    end: int
    first_chunk: int
    last_chunk: int
    """One past the last: `[first_chunk, last_chunk)`."""
    text: str
    header: str
    """Document title, summary and section path: what stands before the text in the context."""
    tokens: int
    """Of header and text."""
    relevance: float
    """That of its best chunk, in [0, 1]."""
    value: float
    """Sum of its chunk values, in share."""
    rank: int
    """0 is worth most."""
    citation: Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Answer to a search: segments in reading order, ready for a reader."""

    question: str
    segments: tuple[Segment, ...]
    """Documents by their best segment, inside a document by position."""
    context: str
    """Headers, text and citations of all segments, for a language model."""
    tokens: int
    """Of `context`, counted in parts: it has as many or a few less; never above the budget."""
    budget_tokens: int
    candidates: int
    """Chunks that were weighed."""
    best_guess: Segment | None = None
    """The best chunk, where nothing reached the minimum; None otherwise."""
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each step."""

    @property
    def not_found(self) -> bool:
        """Whether nothing in the knowledge base reached the minimum."""
        return not self.segments


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestFailure:
    """Source that could not be taken in."""

    source: str
    code: str
    """As `errors.DocumentErrorCode`."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress:
    """How far an ingest has come, told after each document; what it counts is acknowledged."""

    documents_done: int
    documents_total: int
    bytes_done: int
    bytes_total: int
    """Of the sources whose size is known beforehand."""
    chunks: int
    """Chunks added and replaced so far."""
    document_id: str
    """The document that was just done."""
    outcome: Literal["added", "replaced", "unchanged", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What an ingest did, by document id in the order of the sources."""

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[IngestFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    """What was read in part, or what the knowledge base does without; for people."""
    chunks: int = 0
    """Chunks of the documents added and replaced."""
    chars: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBaseInfo:
    """What a knowledge base holds and how it was made."""

    path: str
    documents: int
    chunks: int
    chars: int
    tokens: int
    bytes_on_disk: int
    settings: Mapping[str, str]
    """Embedder, tokenizer, chunk options and the like, as recorded."""
    fields: Mapping[str, tuple[str, ...]]
    """Metadata fields with the kinds of their values ("text", "number", "boolean")."""
