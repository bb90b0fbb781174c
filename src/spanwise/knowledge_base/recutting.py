"""What a document keeps when it is cut into other chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.types import GivenContext, GivenParts

if TYPE_CHECKING:
    from spanwise.knowledge_base.documents import StoredDocuments
    from spanwise.types import DocumentRecord


def parts_of(base: StoredDocuments, record: DocumentRecord) -> GivenParts:
    """Return the parts of a stored document that do not depend on its chunks."""
    return GivenParts(
        title=record.title,
        summary=record.summary,
        sections=base.sections(record.id),
        contexts=tuple(
            GivenContext(start=one.start, end=one.end, text=one.context)
            for one in base.chunks(record.id)
            if one.context
        ),
    )
