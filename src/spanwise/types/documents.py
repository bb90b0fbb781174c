"""Records, sections, chunks and figures of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from spanwise.types.plain import PlainForm

Scalar = str | int | float | bool
"""Single metadata value. Dates are ISO 8601 strings, which sort in time order."""

MetadataValue = Scalar | tuple[Scalar, ...]
"""Value of one metadata field: a single value or a list."""

GivenValue = Scalar | date | Sequence[Scalar | date]
"""Value of a metadata field as the caller gives it; dates are converted to ISO 8601 strings."""

DocumentStatus = Literal["ok", "partial", "needs_ocr"]
"""Completeness of a document's text.

"ok": complete. "partial": some of it could not be read. "needs_ocr": some pages are images of text.
"""

Overlap = Literal["refuse", "remove", "keep"]
"""Treatment of chunks that begin with the end of the chunk before them.

"refuse": an error. "remove": the repeated text is stored once. "keep": the chunks are stored
unchanged, and results may repeat text.
"""

Durability = Literal["full", "fast"]
"""Durability of a write after a power failure.

"full": the write is on disk when the call returns. "fast": the operating system writes it to disk
within seconds.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOrigins(PlainForm):
    """Metadata fields and titles of a document by origin, from the lowest precedence."""

    file: Mapping[str, MetadataValue] = field(default_factory=dict)
    """Fields found in the file."""
    sidecar: Mapping[str, MetadataValue] = field(default_factory=dict)
    """Fields from a sidecar file (`spanwise.metadata.csv` or `.jsonl`)."""
    given: Mapping[str, MetadataValue] = field(default_factory=dict)
    """Fields passed to `add`, `add_text` or `sync`."""
    edited: Mapping[str, MetadataValue | None] = field(default_factory=dict)
    """Fields changed by `update_metadata`; None for a removed field."""
    base_title: str = ""
    """Title before those of the sidecar file and of `update_metadata`; empty without either."""
    sidecar_title: str = ""
    """Title from a sidecar file; empty for none."""
    edited_title: str = ""
    """Title set by `update_metadata`; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(PlainForm):
    """Chart, drawing or picture of a document, without the words in it.

    `text[start:end]` is the description that a model wrote. It is part of the text, so it is
    searched and cited, but it is not in the file.
    """

    start: int
    """Offset of the figure in the text, and of its description if it has one."""
    end: int
    """Offset one past the description; equal to `start` without one."""
    kind: Literal["picture", "drawing"] = "picture"
    """"picture" for an image, "drawing" for lines and shapes."""
    caption: str = ""
    """Caption in the document, on one line; empty for none. It is part of the text too."""
    page: int | None = None
    """Number of the page or slide, from 1; None if the format has no pages."""
    box: tuple[float, float, float, float] | None = None
    """Left, top, right and bottom in points from the upper left corner of the page as displayed;
    None if the format does not define the place."""
    member: str = ""
    """Name of the picture in a file such as DOCX; empty for a part of a page."""
    described_by: str = ""
    """Vendor and model that wrote the description; empty without one."""

    @property
    def is_searchable(self) -> bool:
        """Whether the figure has a caption or description, by which it is found."""
        return bool(self.caption) or self.start < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(PlainForm):
    """Titled part of a document about one topic; the sections of a document partition its text."""

    start: int
    """Offset of the first character of the section."""
    end: int
    """Offset one past the last character of the section."""
    title: str
    """Heading of the section, or a title extracted from its text if it has no heading."""
    path: tuple[str, ...]
    """Titles of the enclosing sections, outermost first, followed by the title of this section."""
    header_tokens: int = 0
    """Maximum tokens of the header and citation of a segment in this section."""
    summary: str = ""
    """One sentence about the section, from a model or the caller; empty for none."""
    extracted_title: bool = False
    """Whether the title is a line or sentence of the text, because the section has no heading of
    its own. Such a title is displayed but not searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(PlainForm):
    """Unit of retrieval, inside one section; the joined chunks of a document are its text."""

    index: int
    """Position of the chunk in its document, from 0."""
    start: int
    """Offset of the first character of the chunk."""
    end: int
    """Offset one past the last character of the chunk."""
    section: int
    """Index of the enclosing section among the sections of the document, from 0."""
    tokens: int
    """Length in tokens of the knowledge base's tokenizer, at least 1."""
    text: str
    """Text of the chunk."""
    table_head: str = ""
    """Section title and column headings of a table that begins before the chunk; empty for none.
    Searched together with the text, but not shown."""
    context: str = ""
    """Description of the chunk's place in its document, from a model or the caller; empty for none.
    Searched together with the text, but not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord(PlainForm):
    """Description of a stored document, without its text."""

    id: str
    """Id of the document, unique in its knowledge base."""
    title: str
    """Title of the document."""
    summary: str
    """One sentence about the document; empty for none."""
    metadata: Mapping[str, MetadataValue]
    """Metadata fields by name, from the file and from the caller."""
    media_type: str
    """Media type of the source, such as "application/pdf"."""
    source: str
    """Path or URL of the source; empty for text added by a program."""
    source_root: str
    """Folder, file or URL that the caller passed to `add`; empty for text added by a program."""
    content_hash: str
    """SHA-256 in hexadecimal of the parsed bytes, or of the text if a program added it."""
    chars: int
    """Number of characters of the text."""
    chunks: int
    """Number of chunks."""
    tokens: int
    """Number of tokens of the text, in tokens of the knowledge base's tokenizer."""
    pages: int
    """Number of pages; 0 if the format has no pages."""
    given_fields: tuple[str, ...] = ()
    """Names of the metadata fields that the caller supplied, in ascending order."""
    origins: FieldOrigins | None = None
    """Origins of fields and title; None if they come only from the file and from the caller."""
    language: str = ""
    """Language of the text as an ISO 639-1 code, such as "de"; empty if unknown, in which case
    English rules apply."""
    status: DocumentStatus = "ok"
    """Completeness of the text: "ok", "partial" or "needs_ocr"."""
    version: str = ""
    """First 12 hexadecimal digits of the SHA-256 of the text."""
    recipe: str = ""
    """JSON description of the parts that models or the caller contributed, and of the settings
    used; empty for none. `add` processes the document again if its recipe differs from the
    requested one."""
    knowledge_base: str = ""
    """Name of the document's knowledge base in a search of several; empty otherwise."""
