"""Documents and their records, as a store returns them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from spanwise.core.documents.versions import text_version
from spanwise.ingest.sources import root_of
from spanwise.types import Document, DocumentRecord, Page, Section, WholeDocument

__all__ = ["make_record", "make_whole"]


def make_record(document_id: str, *, root: Path | str, content_hash: str = "") -> DocumentRecord:
    """Return a record of a document that came from a folder, or from what a text names."""
    return DocumentRecord(
        id=document_id,
        title=document_id,
        summary="",
        metadata={},
        media_type="text/plain",
        source="",
        source_root=root_of(root) if isinstance(root, Path) else root,
        content_hash=content_hash,
        chars=1,
        chunks=1,
        tokens=1,
        pages=0,
    )


def make_whole(text: str, *, document_id: str = "a", pages: tuple[Page, ...] = ()) -> WholeDocument:
    """Return a document whose lines that begin with "#" head its sections."""
    starts = [0, *(place for place in range(1, len(text)) if text[place - 1 : place + 1] == "\n#")]
    sections = tuple(
        Section(start=start, end=end, title="", path=(text[start:end].partition("\n")[0],))
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    )
    record = replace(make_record(document_id, root="/in"), version=text_version(text))
    return WholeDocument(
        record=record, document=Document(id=document_id, text=text, pages=pages), sections=sections
    )
