"""Builds documents from plain texts, and reads given parts from the caller or the store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from spanwise.errors import OptionError
from spanwise.ingest.recipes import plain_title
from spanwise.packs.known_kinds import cover_fields
from spanwise.types import Chunk, Document, GivenContext, GivenParts, Scalar, Section

if TYPE_CHECKING:
    from spanwise.stores.port import Store
    from spanwise.types import DocumentRecord


def given_document(
    text: str,
    *,
    document_id: str,
    title: str,
    metadata: Mapping[str, Scalar],
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


def with_contexts(chunks: Sequence[Chunk], given: GivenParts) -> tuple[Chunk, ...]:
    """Return chunks with the contexts supplied by the caller.

    A chunk gets the context of the range in which the chunk starts.
    """
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
    """Return all parts of a stored document, for reuse with an unchanged text.

    The title is included only if a model or the caller supplied it. Any other title is computed
    again, because it depends on the metadata.
    """
    chunks = store.get_chunks(record.id)
    return GivenParts(
        title="" if record.title == plain_title(record) else record.title,
        summary=record.summary,
        sections=store.get_sections(record.id),
        contexts=tuple(
            GivenContext(start=chunk.start, end=chunk.end, text=chunk.context)
            for chunk in chunks
            if chunk.context
        ),
    )
