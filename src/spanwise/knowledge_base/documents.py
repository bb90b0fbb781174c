"""The documents that a knowledge base holds: listed, read, cited and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from spanwise.core.answers.citations import cite_range
from spanwise.errors import DocumentNotFoundError
from spanwise.knowledge_base.asking import filter_of
from spanwise.knowledge_base.citations import locate_citation

if TYPE_CHECKING:
    from spanwise.filters import Filter
    from spanwise.knowledge_base.citations import GivenCitation
    from spanwise.stores.port import Store
    from spanwise.types import Chunk, Citation, CitationLocation, Document, DocumentRecord, Section


class StoredDocuments:
    """What a `KnowledgeBase` says of the documents in its store."""

    _store: Store

    def get(self, document_id: str) -> Document:
        """Return a document as it was added: text, pages, headings, metadata and warnings.

        Raises:
            DocumentNotFoundError: If there is none with this id.
        """
        return self._store.get_document(document_id) or self._missing(document_id)

    def record(self, document_id: str) -> DocumentRecord:
        """Return what is known of a document: version, status, title, summary and counts.

        Raises:
            DocumentNotFoundError: If there is none with this id.
        """
        return self._store.get_record(document_id) or self._missing(document_id)

    def sections(self, document_id: str) -> tuple[Section, ...]:
        """Return the sections of a document; joined, they are its text.

        Raises:
            DocumentNotFoundError: If there is none with this id.
        """
        return self._store.get_sections(document_id) or self._missing(document_id)

    def chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document; joined, they are its text.

        Raises:
            DocumentNotFoundError: If there is none with this id.
        """
        return self._store.get_chunks(document_id) or self._missing(document_id)

    def cite(self, document_id: str, start: int, end: int) -> Citation:
        """Return the citation of a range of a document, to be shown or to be kept.

        Args:
            document_id: Its id.
            start: First character, from 0.
            end: One past the last character.

        Raises:
            DocumentNotFoundError: If there is none with this id.
            OptionError: If the range is empty or outside of the text.
        """
        whole = self._store.get_whole(document_id) or self._missing(document_id)
        return cite_range(whole, start, end)

    def locate(self, citation: GivenCitation) -> CitationLocation:
        """Return where a cited text stands now: a citation holds for the version it was made for.

        Args:
            citation: A citation, segment or span of an excerpt, of any time; or its `to_dict`.

        Returns:
            "current" or "moved" with the place where the very text stands, compared character for
            character or by its hash; "changed" with the passage that is most like it; "removed".

        Raises:
            OptionError: If it is not a citation, or does not say what text it points at.
        """
        return locate_citation(self._store, citation)

    def list(self, where: Filter | str | None = None) -> list[DocumentRecord]:
        """Return the records of the documents that a filter leaves, ordered by id.

        Raises:
            FilterError: If the filter does not fit the fields of the documents.
        """
        return self._store.list_records(filter_of(where))

    def delete(self, *document_ids: str) -> tuple[str, ...]:
        """Delete documents, each with what came out of it, if it is an archive, mailbox or e-mail.

        Args:
            *document_ids: Ids; of archives and mailboxes too, which are no documents themselves.

        Returns:
            Ids of the documents that there were, ascending.
        """
        from spanwise.ingest.sources import containers_of

        named = dict.fromkeys(document_ids)
        # First those that are named, without a look at them: they may be damaged.
        deleted = [one for one in named if self._store.delete_document(one)]
        deleted += [
            record.id
            for record in self._store.list_records()
            if not named.keys().isdisjoint(containers_of(record.id))
            and self._store.delete_document(record.id)
        ]
        return tuple(sorted(deleted))

    def _missing(self, document_id: str) -> Never:
        raise DocumentNotFoundError(
            f"no document has the id {document_id!r}; `list` shows those there are"
        )
