"""Known kinds of documents, applied to titles, headings, sections and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from spanwise.core.documents import outlines, sections, titles
from spanwise.core.documents.outlines import DocumentKind
from spanwise.core.documents.summary import summarise
from spanwise.packs.header_lines import agreement_line, filing_line, header_line

if TYPE_CHECKING:
    from spanwise.core.documents.topics import Embed
    from spanwise.options import SectionOptions
    from spanwise.types import Document, Heading, MetadataValue, Section


@cache
def _kinds() -> tuple[DocumentKind, ...]:
    # Imported here because searches do not need them, and their patterns take time to compile.
    from spanwise.packs import agreement_covers, filing_covers
    from spanwise.packs.filing_items import filing_headings, plain_filing_headings

    filings = DocumentKind(
        cover_fields=filing_covers.cover_fields,
        cover_title=filing_covers.cover_title,
        header_line=filing_line,
        kind_field="form",
        plain_headings=plain_filing_headings,
        headings=filing_headings,
    )
    agreements = DocumentKind(
        cover_fields=agreement_covers.agreement_fields,
        cover_title=agreement_covers.agreement_title,
        header_line=agreement_line,
        kind_field="agreement",
        replaces_title=False,
        plain_headings=lambda _text, _headings: (),
        headings=lambda _text, _headings: (),
    )
    return filings, agreements


def cover_fields(text: str) -> Mapping[str, MetadataValue]:
    """Return the metadata stated on the first page of a text; empty for an unknown kind."""
    return next(filter(None, (kind.cover_fields(text) for kind in _kinds())), {})


def cover_title(fields: Mapping[str, MetadataValue], *, title: str) -> str:
    """Return the title of a file whose first page has metadata.

    Args:
        fields: Metadata of the first page, with the caller's fields.
        title: Title of the file according to its parser; may be empty.

    Returns:
        A title made of the metadata if the kind of document replaces titles, or if the file has no
        title except a file name. Otherwise the title of the file.
    """
    for kind in _kinds():
        found = kind.cover_title(fields)
        if found and (kind.replaces_title or not title.strip() or titles.is_file_name(title)):
            return found
    return title


def document_title(document: Document) -> str:
    """Return the title of a document, in one line of at most 200 characters."""
    return titles.document_title(document, kinds=_kinds())


def plain_summary(text: str, fields: Mapping[str, MetadataValue]) -> str:
    """Return the summary of a document without a model; empty for a known kind.

    The first page of a known kind is boilerplate, and its metadata says more.

    Args:
        text: Text of the document.
        fields: Its metadata from the file and from the caller, without later changes.
    """
    return "" if header_line(fields, title="") else summarise(text)


def document_headings(document: Document) -> tuple[Heading, ...]:
    """Return the headings of a document, ordered by start.

    Raises:
        OptionError: If the parser's headings are not in order or not inside the text.
    """
    return outlines.document_headings(document, kinds=_kinds())


def split_sections(
    document: Document, *, options: SectionOptions | None = None, embed: Embed | None = None
) -> tuple[Section, ...]:
    """Return the sections of a document in order; they partition its text.

    Args:
        document: The document. If it has no headings, they are detected in its text.
        options: Minimum and maximum length of a section; None for the defaults.
        embed: Embedding function to detect changes of topic; None for term counts, which are as
            good and faster.

    Returns:
        Non-empty sections; none longer than `options.max_chars`, except for characters that cannot
        be split. A title is empty if its section has no word. Empty for an empty text.

    Raises:
        OptionError: If the headings are not in order or not inside the text.
    """
    return sections.split_sections(document, options=options, embed=embed, kinds=_kinds())
