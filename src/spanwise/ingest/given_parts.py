"""Builds documents from plain texts, and reads given parts from the caller or the store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from spanwise.core.documents.chunks import ChunkSpan
from spanwise.core.documents.summary import SUMMARISED_CHARS, summarise
from spanwise.errors import OptionError, ParseError
from spanwise.ingest.fields import base_title
from spanwise.ingest.recipes import has_given_chunks, has_given_vectors, plain_title
from spanwise.packs.known_kinds import cover_fields
from spanwise.types import Chunk, Document, GivenContext, GivenParts, MetadataValue, Section

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.stores.port import Store
    from spanwise.types import DocumentRecord


def given_document(
    text: str,
    *,
    document_id: str,
    title: str,
    metadata: Mapping[str, MetadataValue],
    media_type: Literal["text/plain", "text/markdown"],
) -> Document:
    """Return a document with exactly this text.

    Args:
        text: Text of the document.
        document_id: Id of the document.
        title: Title; if empty, the title in the front matter of a Markdown text.
        metadata: Fields that take precedence over fields of the front matter and the first page.
        media_type: "text/markdown" to parse headings, tables, code and front matter.
    """
    document = Document(
        id=document_id,
        text=text,
        title=title,
        metadata={**cover_fields(text), **metadata},
        given_fields=tuple(sorted(metadata)),
        media_type=media_type,
        content_hash=hashlib.sha256(text.encode("utf-8")).hexdigest(),
    )
    if media_type == "text/plain":
        return document
    # Imported only when needed.
    from spanwise.parsers.markup.markdown import read_markdown

    parsed = read_markdown(text)
    return replace(
        document,
        title=title or parsed.title,
        headings=parsed.headings,
        blocks=parsed.blocks,
        metadata={**document.metadata, **parsed.metadata, **metadata},
    )


def check_has_text(document: Document) -> None:
    """Check that a document has text.

    Raises:
        ParseError: If its text is empty or blank.
    """
    if not document.text or document.text.isspace():
        raise ParseError(
            f"{document.source or document.id} has no text: there is nothing to search; "
            "a scanned document needs a text layer (OCR) first",
            source=document.source or document.id,
            code="no_text",
        )


def given_sections(document: Document, given: GivenParts) -> tuple[Section, ...]:
    """Return the sections supplied by the caller; empty if there are none.

    Raises:
        OptionError: If the sections do not partition the text, or the supplied contexts overlap or
            are not inside the text.
    """
    length = len(document.text)
    ends = [0, *(section.end for section in given.sections)]
    for section, end in zip(given.sections, ends, strict=False):
        if section.start != end or section.end <= section.start:
            raise OptionError(
                f"{document.id}: the section {section.title!r} goes from {section.start} to "
                f"{section.end}; it must begin at {end}, where the one before it ends, and not be "
                "empty"
            )
    if given.sections and ends[-1] != length:
        raise OptionError(
            f"{document.id}: the sections end at {ends[-1]} and the text at {length}; sections "
            "partition the text"
        )
    _check_chunk_ends(document, given.chunk_ends)
    for context in given.contexts:
        if not 0 <= context.start < context.end <= length:
            raise OptionError(
                f"{document.id}: a context is given for {context.start} to {context.end}; the text "
                f"has {length} characters"
            )
    for before, context in pairwise(given.contexts):
        if context.start < before.end:
            raise OptionError(
                f"{document.id}: the context that begins at {context.start} overlaps the one that "
                f"ends at {before.end}; give them in order, disjoint"
            )
    return tuple(
        section if section.path else replace(section, path=(section.title,))
        for section in given.sections
    )


def _check_chunk_ends(document: Document, ends: Sequence[int]) -> None:
    length = len(document.text)
    if ends and (any(b <= a for a, b in pairwise((0, *ends))) or ends[-1] != length):
        raise OptionError(
            f"{document.id}: chunk_ends must ascend from above 0 to {length}, the length of the "
            "text; chunks partition the text"
        )


def given_spans(sections: Sequence[Section], chunk_ends: Sequence[int]) -> list[ChunkSpan]:
    """Return chunks with the ends supplied by the caller; each section ends a chunk too."""
    spans: list[ChunkSpan] = []
    ends = sorted({*chunk_ends, *(section.end for section in sections)})
    at = 0
    for start, end in pairwise((0, *ends)):
        while sections[at].end <= start:
            at += 1
        spans.append(ChunkSpan(start, end, at))
    return spans


def with_contexts(chunks: Sequence[Chunk], given: GivenParts) -> Sequence[Chunk]:
    """Return chunks with the contexts supplied by the caller.

    A chunk gets the context of the range in which the chunk starts.
    """
    if not given.contexts:
        return chunks
    contexts = iter(given.contexts)
    current = next(contexts, None)
    result = []
    for chunk in chunks:
        while current is not None and current.end <= chunk.start:
            current = next(contexts, None)
        is_inside = current is not None and current.start <= chunk.start
        result.append(replace(chunk, context=current.text) if current and is_inside else chunk)
    return tuple(result)


def stored_parts(store: Store, record: DocumentRecord) -> GivenParts:
    """Return all parts of a stored document, for reuse with an unchanged text."""
    return parts_of(record, store.get_sections(record.id), store.get_chunks(record.id))


def parts_of(
    record: DocumentRecord, sections: Sequence[Section], chunks: Sequence[Chunk]
) -> GivenParts:
    """Return all parts of a document, for reuse with an unchanged text.

    Title and summary are included only if a model or the caller supplied them. Others are computed
    again, because they depend on the metadata.
    """
    opening = "".join(chunk.text for chunk in chunks if chunk.start < SUMMARISED_CHARS)
    return GivenParts(
        title="" if base_title(record) == plain_title(record) else base_title(record),
        summary="" if record.summary == summarise(opening) else record.summary,
        sections=tuple(sections),
        contexts=tuple(
            GivenContext(start=chunk.start, end=chunk.end, text=chunk.context)
            for chunk in chunks
            if chunk.context
        ),
        chunk_ends=tuple(chunk.end for chunk in chunks) if has_given_chunks(record) else (),
    )


def stored_vectors(store: Store, record: DocumentRecord) -> NDArray[np.float32] | None:
    """Return the vectors of a stored document if the caller supplied them, otherwise None."""
    embedded = store.get_embedded(record.id) if has_given_vectors(record) else None
    return None if embedded is None else embedded[1]
