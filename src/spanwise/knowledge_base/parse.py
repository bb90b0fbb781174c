"""Parsing without a knowledge base: the documents that `KnowledgeBase.add` and `add_text` store.

The modules for ingest are imported only when needed, to keep the import of spanwise fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from spanwise.errors import DocumentError, OptionError, shown
from spanwise.knowledge_base.arguments import (
    checked_id,
    checked_media_type,
    checked_metadata,
    checked_text,
    checked_title,
)
from spanwise.options import ParseOptions
from spanwise.types import FieldOrigins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.types import Document, Scalar


def parse(
    path: str | Path,
    *,
    metadata: Mapping[str, Scalar] | None = None,
    options: ParseOptions | None = None,
) -> Document:
    """Return the document of a file, as `KnowledgeBase.add` stores it.

    The file is parsed as by `add`, with the same limits. `split_sections` and
    `split_chunks` divide the document as `add` does.

    Args:
        path: File. Use `add` for folders, URLs, archives and mailboxes.
        metadata: Fields that take precedence over those of the file; None for none.
        options: Limits and parser; None for the defaults.

    Raises:
        OptionError: If the path is a URL or a folder, or an argument is invalid.
        FetchError: If the file cannot be read.
        ParseError: If the file cannot be parsed, has no text, or is an archive or mailbox.
    """
    from spanwise.ingest.fields import FieldChanges
    from spanwise.ingest.given_parts import check_has_text
    from spanwise.ingest.job import with_fields
    from spanwise.ingest.reader import SourceBudget
    from spanwise.ingest.sources import find_sources, is_address
    from spanwise.parsers.process.isolation import ParserPool

    fields = checked_metadata(metadata)
    if not isinstance(path, str | Path) or is_address(str(path)) or Path(path).is_dir():
        raise OptionError(
            f"path is {shown(path)}; name one file, and add folders and URLs to a knowledge base"
        )
    (source,) = find_sources([path])
    if isinstance(source, DocumentError):
        raise source
    file, options = Path(path), options or ParseOptions()
    with ParserPool(options=options) as pool:
        document = pool.parse(
            file,
            document_id=source.document_id,
            source=source.location,
            source_root=source.root,
            text_limit=SourceBudget.of(source, file, limits=options).text_limit(),
        )
    check_has_text(document)
    return with_fields(document, FieldChanges(given=fields or {}), before=FieldOrigins())


def parse_text(
    text: str,
    *,
    media_type: Literal["text/plain", "text/markdown"] = "text/plain",
    document_id: str = "text",
    title: str = "",
    metadata: Mapping[str, Scalar] | None = None,
) -> Document:
    """Return the document of a text, as `KnowledgeBase.add_text` stores it.

    Args:
        text: Text of the document, which is not changed.
        media_type: "text/markdown" to recognise headings, tables, code and front matter.
        document_id: Id of the document.
        title: Title; empty for the title in the front matter, if there is one.
        metadata: Fields that take precedence over those of the text; None for none.

    Raises:
        OptionError: If an argument is invalid.
        ParseError: If the text is empty or blank.
    """
    from spanwise.ingest.given_parts import check_has_text, given_document

    document = given_document(
        checked_text(text, document_id),
        document_id=checked_id(document_id),
        title=checked_title(title),
        metadata=checked_metadata(metadata) or {},
        media_type=checked_media_type(media_type),
    )
    check_has_text(document)
    return document
