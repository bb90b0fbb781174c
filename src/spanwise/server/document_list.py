"""Parameters of the list of documents: filter, words, order and range."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from spanwise.types import DocumentRecord

DocumentOrder = Literal["id", "title", "pages", "chars"]
"""Orders of the list of documents; ties are in the order of the ids."""
_NUMBER = re.compile(r"[0-9]+")
_KEYS: dict[DocumentOrder, Callable[[DocumentRecord], Any]] = {
    "id": lambda record: record.id,
    "title": lambda record: _NUMBER.sub(_padded, (record.title or record.id).casefold()),
    "pages": lambda record: record.pages,
    "chars": lambda record: record.chars,
}


def _padded(number: re.Match[str]) -> str:
    """Return a number with leading zeros, so that texts with numbers are in natural order."""
    return number.group().zfill(20)


class DocumentsQuery(BaseModel):
    """Parameters of the list of documents."""

    where: str = Field("", description="Metadata filter; empty for all documents.")
    words: str = Field(
        "",
        max_length=1_000,
        description="Words that the id, title or metadata contain. Parts of words count.",
    )
    sort: DocumentOrder = Field("id", description="Order of the documents.")
    descending: bool = Field(default=False, description="Whether the order is reversed.")
    offset: int = Field(0, ge=0, description="Number of documents to skip.")
    limit: int = Field(100, ge=1, le=10_000, description="Maximum number of documents.")

    def selected(self, records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
        """Return the records that contain all words, in the order of the query."""
        wanted = self.words.casefold().split()
        found = [record for record in records if all(word in _text(record) for word in wanted)]
        return sorted(found, key=_KEYS[self.sort], reverse=self.descending)


def _text(record: DocumentRecord) -> str:
    fields = (f"{name} {value}" for name, value in record.metadata.items())
    return "\n".join((record.id, record.title, *fields)).casefold()
