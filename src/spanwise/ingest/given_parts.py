"""Documents from texts, and parts of documents given by the caller or taken from the store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from spanwise.errors import OptionError
from spanwise.ingest.recipes import plain_title, reads_pages
from spanwise.packs.known_kinds import cover_fields
from spanwise.types import Chunk, Document, GivenContext, GivenParts, Scalar, Section

if TYPE_CHECKING:
    from spanwise.ingest.job import IngestJob
    from spanwise.parsers.parsed import PagesToRead
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
    """Return a text as a document, character for character.

    Args:
        text: Text of the document.
        document_id: Id of the document.
        title: Title; if empty, the title of the front matter of a Markdown text.
        metadata: Fields that take precedence over those of the front matter and of the first page.
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
    """Return the given sections.

    Raises:
        OptionError: If the sections do not partition the text, or contexts overlap or exceed it.
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
    """Return chunks with the given context of the range that each chunk starts in."""
    contexts = iter(given.contexts)
    current = next(contexts, None)
    placed = []
    for chunk in chunks:
        while current is not None and current.end <= chunk.start:
            current = next(contexts, None)
        is_in = current is not None and current.start <= chunk.start
        placed.append(replace(chunk, context=current.text) if current and is_in else chunk)
    return tuple(placed)


def stored_parts(store: Store, record: DocumentRecord) -> GivenParts:
    """Return all parts of a stored document, to be reused with the same text.

    The title is included only if a model made it or the caller gave it; otherwise metadata may
    change it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPages:
    """Page reader that reuses the stored text of pages that a model has read before."""

    store: Store
    job: IngestJob

    def reads(self, document_id: str) -> bool:
        """Return whether a model has read pages of the stored document."""
        record = self.store.get_record(document_id)
        return record is not None and reads_pages(record) and not self.job.recipe(document_id)

    def read_pages(
        self,
        document: Document,
        pages: PagesToRead,  # noqa: ARG002 - the stored text has the pages that were read
        *,
        draw: Callable[[int], bytes],  # noqa: ARG002 - no page is drawn
        parse: Callable[[], Document],
    ) -> Document:
        """Return the document with the stored text, if the file is unchanged.

        Args:
            document: Document, parsed for a page reader.
            pages: Pages to read.
            draw: Returns a page as a PNG file.
            parse: Parses the document without a model.

        Raises:
            ParseError: If the file has changed and cannot be parsed without a model.
        """
        stored = self.store.get_document(document.id)
        if stored is None or stored.content_hash != document.content_hash:
            return parse()
        return replace(
            document,
            text=stored.text,
            pages=stored.pages,
            headings=stored.headings,
            blocks=stored.blocks,
            status=stored.status,
            warnings=stored.warnings,
        )
