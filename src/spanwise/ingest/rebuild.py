"""Rebuild of all documents with other settings, from the stored documents.

Nothing is fetched or parsed again. Parts that a language model or the caller made are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanwise.errors import FormatError, StoreBusyError
from spanwise.ingest.given_parts import stored_parts, stored_vectors
from spanwise.ingest.prepare import DraftRequest
from spanwise.ingest.recipes import stored_recipe, without_vectors
from spanwise.models.ledger import Ledger
from spanwise.threads import check_cancelled
from spanwise.types import GivenParts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.ingest.prepare import Draft, Preparer
    from spanwise.stores.port import DocumentEntry, Store, StoreRebuild
    from spanwise.types import DocumentRecord
    from spanwise.types.listener import ProgressCallback

_FEW_CHARS = 50_000  # outdated documents of this length are prepared while writers wait
_MAX_CHARS = 1_000_000  # limit if writers are about as fast as the rebuild
_MAX_ROUNDS = 20
_OUTLINE_PARTS = ("sections", "headers", "given")

KnownVectors = Callable[["Draft"], Mapping[str, "NDArray[np.float32]"]]
"""Function that returns stored vectors by text, for reuse."""


def has_kept_sections(record: DocumentRecord) -> bool:
    """Return whether a model or the caller made sections or headers, which a rebuild keeps."""
    return not stored_recipe(record).keys().isdisjoint(_OUTLINE_PARTS)


def kept_parts(store: Store, record: DocumentRecord) -> GivenParts:
    """Return the parts of a stored document that a model or the caller made."""
    if not stored_recipe(record):
        return GivenParts()
    parts = stored_parts(store, record)
    return parts if has_kept_sections(record) else GivenParts(contexts=parts.contexts)


def _kept_request(store: Store, record: DocumentRecord, *, keeps_vectors: bool) -> DraftRequest:
    """Return the parts of a stored document that are not made again.

    Args:
        store: Store of the document.
        record: Record of the document.
        keeps_vectors: Whether vectors that the caller supplied are kept, because the embedder is
            the same.
    """
    return DraftRequest(
        recipe=stored_recipe(record) if keeps_vectors else without_vectors(stored_recipe(record)),
        given=kept_parts(store, record),
        vectors=stored_vectors(store, record) if keeps_vectors else None,
    )


def stored_draft(
    store: Store, record: DocumentRecord, *, preparer: Preparer, request: DraftRequest
) -> Draft | None:
    """Return a new draft of a stored document; None if another process has changed it.

    Args:
        store: Store of the document.
        record: Record of the document.
        preparer: Preparer with the settings of the draft.
        request: Parts that are not made again.

    Raises:
        FormatError: If the stored document is damaged.
    """
    document = store.get_document(record.id)
    if document is None or store.get_record(record.id) != record:
        return None
    return preparer.draft(document, request=request)


@dataclass(slots=True, kw_only=True)
class Rebuilder:
    """Prepares all documents of a store with other settings, and switches to the new state."""

    store: Store
    rebuild: StoreRebuild
    preparer: Preparer
    """Preparer with the settings of the new state."""
    known_vectors: KnownVectors
    keeps_vectors: bool
    """Whether vectors that the caller supplied are kept."""
    ledger: Ledger
    on_progress: ProgressCallback | None = None
    continued: int = 0
    """Number of documents that an earlier run had prepared."""
    _damaged: dict[str, FormatError] = field(default_factory=dict)

    def run(self) -> None:
        """Prepare outdated documents until few are left, and the last ones while writers wait.

        Searches continue all the time. Writers wait for the preparation of at most 1,000,000
        characters and for the switch.

        Raises:
            FormatError: If documents are damaged; the others are prepared.
            ModelError: If the embedder fails; the documents before are prepared.
            CostLimitError: If embedding would exceed the cost limit.
            StoreBusyError: If documents keep changing faster than they are prepared.
        """
        outdated = self.rebuild.outdated()
        self.continued = max(0, len(self.store.list_records()) - len(outdated))
        chars = self._chars(outdated)
        for _ in range(_MAX_ROUNDS):
            self._prepare(outdated)
            self._check_damage()
            outdated = self.rebuild.outdated()
            before, chars = chars, self._chars(outdated)
            writers_are_fast = chars > before / 2
            if chars <= (_MAX_CHARS if writers_are_fast else _FEW_CHARS) and self._switch():
                return
        raise StoreBusyError(
            f"documents change faster than they are prepared: {chars:,} characters are left; pause "
            "the processes that add documents, and run the same command, which continues"
        )

    def _switch(self) -> bool:
        """Prepare the last documents while writers wait, and switch to the new state.

        Returns:
            Whether it was switched. It is not if too many documents have changed before.
        """
        with self.rebuild.hold_writers():
            outdated = self.rebuild.outdated()
            if self._chars(outdated) > _MAX_CHARS:
                return False
            self._prepare(outdated)
            self._check_damage()
            check_cancelled()
            self.rebuild.switch()
            return True

    def _chars(self, outdated: list[tuple[str, str]]) -> int:
        """Return the total length of documents in characters."""
        ids = {document_id for document_id, _ in outdated}
        return sum(record.chars for record in self.store.list_records() if record.id in ids)

    def _prepare(self, outdated: list[tuple[str, str]]) -> None:
        records = {record.id: record for record in self.store.list_records()}
        total = sum(record.chars for record in records.values())
        left = [records[document_id] for document_id, _ in outdated if document_id in records]
        done = total - sum(record.chars for record in left)
        packs = self.store.ensure_settings({}).get("packs", "")
        for document_id, version in outdated:
            check_cancelled()
            record = records.get(document_id)
            if record is None or record.id in self._damaged:
                continue
            self._report(done, total)
            try:
                entry = self._entry(record, packs=packs)
            except FormatError as error:
                self._damaged[record.id] = error
                continue
            # A document that was changed meanwhile is outdated in the next round.
            if entry is not None and self.rebuild.version(record.id) == version:
                self.rebuild.put(entry, version=version)
            done += record.chars
        self._report(total, total)

    def _entry(self, record: DocumentRecord, *, packs: str) -> DocumentEntry | None:
        request = _kept_request(self.store, record, keeps_vectors=self.keeps_vectors)
        draft = stored_draft(self.store, record, preparer=self.preparer, request=request)
        if draft is None:
            return None
        known = self.known_vectors(draft)
        return self.preparer.entry(draft, known=known, packs=packs, ledger=self.ledger)

    def _report(self, done: int, total: int) -> None:
        if self.on_progress is not None:
            self.on_progress(done, total)

    def _check_damage(self) -> None:
        if not self._damaged:
            return
        ids = ", ".join(repr(name) for name in self._damaged)
        first = next(iter(self._damaged.values()))
        raise FormatError(
            f"{len(self._damaged)} documents are damaged and cannot be rebuilt: {ids}; remove them "
            f"or add them again, and run the same command, which continues: {first}"
        ) from first


def estimate_rebuild(
    store: Store,
    *,
    preparer: Preparer,
    known_vectors: KnownVectors,
    keeps_vectors: bool,
    ledger: Ledger,
    on_progress: ProgressCallback | None = None,
) -> tuple[int, int]:
    """Count the chunks of a new state, and add the estimated usage of embedding them to a ledger.

    Nothing is stored or sent.

    Args:
        store: Store of the documents.
        preparer: Preparer with the settings of the new state.
        known_vectors: Function that returns stored vectors by text.
        keeps_vectors: Whether vectors that the caller supplied are kept.
        ledger: Ledger of the estimate.
        on_progress: Callback with the number of characters prepared so far and the total; None for
            none.

    Returns:
        Number of documents and of chunks.
    """
    records = store.list_records()
    total, done, chunks = sum(record.chars for record in records), 0, 0
    packs = store.ensure_settings({}).get("packs", "")
    for record in records:
        request = _kept_request(store, record, keeps_vectors=keeps_vectors)
        draft = stored_draft(store, record, preparer=preparer, request=request)
        if draft is not None:
            chunks += len(draft.entry.chunks)
            known = known_vectors(draft)
            preparer.estimate(draft, known=known, packs=packs, ledger=ledger)
        done += record.chars
        if on_progress is not None:
            on_progress(done, total)
    return len(records), chunks
