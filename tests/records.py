"""Records of documents, as a store returns them."""

from __future__ import annotations

from pathlib import Path

from spanwise.ingest.sources import root_of
from spanwise.types import DocumentRecord

__all__ = ["make_record"]


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
