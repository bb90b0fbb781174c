"""Documents and what they are cut into.

Parts of a document that the caller gives in place of what would be made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanwise.types.plain import PlainForm

Scalar = str | int | float | bool
"""Value of one metadata field. Dates are ISO 8601 strings, so that they compare in time order."""

DocumentStatus = Literal["ok", "partial", "needs_ocr"]
"""Whether the text of a document is whole; "needs_ocr" where pages are pictures of text."""

Durability = Literal["full", "fast"]
"""Whether an acknowledged write survives a power failure: always, or once the system wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(PlainForm):
    """Range of characters that stood on one page; an empty page has `start == end`."""

    start: int
    end: int
    label: str | None = None
    """Label printed on the page, where it differs from its number ("F-12", "xii")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading(PlainForm):
    """Line that titles what follows; `text[start:end]` is the line as it stands."""

    start: int
    end: int
    level: int
    """1 is the outermost."""
    title: str
    """The heading's words without markup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(PlainForm):
    """Run of whole lines that is kept together where it fits into a chunk."""

    start: int
    end: int
    kind: Literal["table", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(PlainForm):
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
    given_fields: tuple[str, ...] = ()
    """Names of the metadata that the caller gave, ascending; the others are its own."""
    media_type: str = "text/plain"
    source: str = ""
    """Path or URL it came from; empty for text given by a program."""
    source_root: str = ""
    """Folder, file or URL that was named when it was added; empty for text given by a program."""
    content_hash: str = ""
    """SHA-256 of the bytes it was parsed from (of the text, for text given by a program), hex."""
    status: DocumentStatus = "ok"
    """Whether the parser could read all of it."""
    warnings: tuple[str, ...] = ()
    """What the parser could not read, in words for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(PlainForm):
    """Titled run of a document about one topic; the sections of a document partition its text."""

    start: int
    end: int
    title: str
    """Heading, or an extractive title where there is none."""
    path: tuple[str, ...]
    """Titles of its ancestors, outermost first, and its own title last."""
    header_tokens: int = 0
    """Most tokens that a segment headed by it costs besides its text: header and citation."""
    summary: str = ""
    """What it is about, in a sentence of a model or of the caller; empty where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(PlainForm):
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
    table_head: str = ""
    """What stands above it where it begins inside a table: title of the section, heads of columns.

    Search sees it with the text, readers do not.
    """
    context: str = ""
    """What places it in its document, in words of a model or of the caller; empty for none. Search
    sees it with the text, readers do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord(PlainForm):
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
    given_fields: tuple[str, ...] = ()
    """Names of the metadata that the caller gave, ascending; the others are its own."""
    language: str = ""
    """ISO 639-1, such as "de"; empty where it is not known: read as English then."""
    status: DocumentStatus = "ok"
    """Whether all of it could be read; the warnings of the document say what is missing."""
    version: str = ""
    """First 12 hex digits of the SHA-256 of its text: another text is another version."""
    recipe: str = ""
    """What models or the caller made of it, and how, as JSON; empty where nothing was: a document
    whose recipe is another one than is asked for is made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDocument(PlainForm):
    """A document with all that points into its text, as it stands at one moment."""

    record: DocumentRecord
    document: Document
    sections: tuple[Section, ...]
    """In order; they partition the text."""


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
