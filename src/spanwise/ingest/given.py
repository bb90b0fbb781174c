"""A text that a program gives, as a document."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from spanwise.core.filings.covers import cover_fields
from spanwise.types import Document, Scalar

__all__ = ["given_document"]


def given_document(
    text: str,
    *,
    document_id: str,
    title: str,
    metadata: Mapping[str, Scalar],
    media_type: Literal["text/plain", "text/markdown"],
) -> Document:
    """Return a given text as a document, character for character.

    Args:
        text: The text.
        document_id: Its id.
        title: Its title; that of the front matter where it is empty and the text is Markdown.
        metadata: Its fields; they go before those of the front matter and of the first page.
        media_type: Whether Markdown is read in it: headings, tables, code and front matter.
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
    # A parser is loaded where it is asked for.
    from spanwise.parsers.markup.markdown import read_markdown

    parsed = read_markdown(text)
    return replace(
        document,
        title=title or parsed.title,
        headings=parsed.headings,
        blocks=parsed.blocks,
        metadata={**document.metadata, **parsed.metadata, **metadata},
    )
