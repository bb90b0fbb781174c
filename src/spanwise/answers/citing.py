"""Citations of the very characters that an answer quotes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spanwise.core.citations import QUOTE_CHARS, cite_range
from spanwise.core.versions import text_hash

if TYPE_CHECKING:
    from spanwise.ports import Store
    from spanwise.types import Citation, WholeDocument

__all__ = ["Citer"]


class Citer:
    """Cites ranges of documents; reads each document once."""

    def __init__(self, store: Store) -> None:
        """Take the store that the documents are in."""
        self._store = store
        self._documents: dict[str, WholeDocument | None] = {}

    def cite(self, shown: Citation, start: int, text: str) -> Citation:
        """Return the citation of a range.

        Args:
            shown: Of the segment or excerpt that holds it.
            start: First character in the document.
            text: What stands there.
        """
        whole = self._whole(shown.document_id)
        end = start + len(text)
        if whole is not None and whole.document.text[start:end] == text:
            return cite_range(whole, start, end)
        # It was replaced or deleted since it was searched: the pages are those of the segment.
        return replace(
            shown,
            start=start,
            end=end,
            quote=text[:QUOTE_CHARS],
            text_hash=text_hash([text]),
        )

    def _whole(self, document_id: str) -> WholeDocument | None:
        if document_id not in self._documents:
            self._documents[document_id] = self._store.get_whole(document_id)
        return self._documents[document_id]
