"""What was returned, as places: characters, pages and text, checked against the documents."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.metrics.ranges import Range
from spanwise.evaluation.retrieval import Retrieved

__all__ = ["Place", "document_text", "page_text", "place"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One returned text that is not empty, or a document without any text."""

    document_id: str
    characters: Range | None
    """None where it is not known."""
    pages: range
    """From 1; empty where there are none."""
    text: str
    """What was returned: the text that stands there, where its characters are known."""


def place(found: Retrieved, texts: Mapping[str, DocumentText]) -> Place | None:
    """Return where something stands; None where it stands for no characters at all.

    Characters come before pages, pages before the document as a whole. Without a text of its own it
    is the text that stands there.

    Raises:
        OptionError: If the document or the place does not exist.
    """
    document = document_text(texts, found.document_id)
    if found.start is not None:
        return _at_characters(found, document)
    if found.pages is not None:
        return _at_pages(found, document)
    if found.text is not None:
        return Place(
            document_id=found.document_id, characters=None, pages=range(0), text=found.text
        )
    return _at(found.document_id, (0, len(document.text)), document)


def document_text(texts: Mapping[str, DocumentText], document_id: str) -> DocumentText:
    """Return the text of a document.

    Raises:
        OptionError: If there is none.
    """
    try:
        return texts[document_id]
    except KeyError:
        raise OptionError(
            f"there is no document {document_id!r} among those evaluated; "
            "evidence and retrievers name documents by the ids of the knowledge base"
        ) from None


def page_text(document: DocumentText, first: int, last: int) -> str:
    """Return the text of pages, from 1, the last one included; what stands between is left out."""
    return "".join(
        document.text[page.start : page.end] for page in document.pages[first - 1 : last]
    )


def _at_characters(found: Retrieved, document: DocumentText) -> Place | None:
    start, end = found.start, found.end
    if start is None or end is None or not 0 <= start <= end <= len(document.text):
        raise OptionError(
            f"characters {start} to {end} were returned of document {found.document_id!r}, "
            f"which has {len(document.text)}; give 0 <= start <= end <= its length"
        )
    return _at(found.document_id, (start, end), document)


def _at(document_id: str, characters: Range, document: DocumentText) -> Place | None:
    start, end = characters
    if start == end:
        return None
    # A page of no characters lies inside when it stands between the first and the last one.
    first = bisect_right(document.pages, start, key=lambda page: page.end)
    stop = bisect_left(document.pages, end, key=lambda page: page.start)
    return Place(
        document_id=document_id,
        characters=characters,
        pages=range(first + 1, stop + 1),
        text=document.text[start:end],
    )


def _at_pages(found: Retrieved, document: DocumentText) -> Place:
    first, last = found.pages or (0, 0)
    known = len(document.pages)
    outside = last > known and (known > 0 or found.text is None)
    if not 1 <= first <= last or outside:
        raise OptionError(
            f"pages {first} to {last} were returned of document {found.document_id!r}, "
            f"which has {known}; pages count from 1"
        )
    characters = (document.pages[first - 1].start, document.pages[last - 1].end) if known else None
    text = page_text(document, first, last) if found.text is None else found.text
    return Place(
        document_id=found.document_id,
        characters=characters,
        pages=range(first, last + 1),
        text=text,
    )
