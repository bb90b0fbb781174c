"""Copy of a store to another one, of the same or another kind.

Rules:
    The settings of both stores are equal. An empty target gets those of the source, and the setting
    `copy_of`, which names the source.
    While documents are missing or outdated in the target, this setting ends with "(incomplete)", so
    that searches can warn.
    Documents are stored in the order of their age, which decides ties of scores. A document whose
    record is equal in the target, and which has its place in this order, is not stored again. An
    interrupted copy therefore continues where it ended.
    A target with documents that are not a copy of the source is refused, unless the caller asks to
    merge. Nothing in the target is deleted, except a document that the source deletes meanwhile.
    The copy is verified at the end: settings, records, the order of the documents, the number of
    outputs, conversations, and every part of some documents or of all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

from spanwise.errors import OptionError, StoreError, StoreRebuiltError
from spanwise.stores.copy_origin import COPY_OF, INCOMPLETE
from spanwise.stores.entries import differing_part
from spanwise.stores.port import DocumentUpdate, IndexedStore, repeated_read
from spanwise.threads import check_cancelled, map_ahead

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.stores.port import DocumentEntry, JointSnapshot, Store
    from spanwise.types import DocumentRecord

Verification = Literal["sample", "all"]
"""Documents that are compared in full at the end: a sample, or all of them."""
_BATCH_CHUNKS = 1_000
_PASSES = 4
_SAMPLE_CHUNKS = 2_000
_SAMPLE_SHARE = 0.02
_PAGE = 100


@dataclass(slots=True, kw_only=True)
class CopyCounts:
    """Numbers of a copy."""

    documents: int = 0
    """Number of documents of the source."""
    copied: int = 0
    """Number of documents that were stored or updated."""
    chunks: int = 0
    """Number of chunks of the source."""
    outputs: int = 0
    """Number of cached model outputs that were stored."""
    threads: int = 0
    """Number of conversations of the source."""
    verified: int = 0
    """Number of documents that were compared in full."""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCopy:
    """Copy of one store to another one."""

    source: Store
    target: Store
    source_name: str
    """Name of the source, for messages."""
    target_name: str
    """Name of the target, for messages."""
    origin: str
    """Value of the setting `copy_of`, which identifies the source."""
    merge: bool = False
    """Whether the target may have other documents."""
    verification: Verification = "sample"
    readers: int = 3
    """Threads that read ahead while documents are written; 0 is faster if neither store waits for a
    server."""
    on_progress: Callable[[str, int, int], None] | None = None
    """Callback with the name of a step, and its finished and total items."""

    def run(self) -> CopyCounts:
        """Copy missing and changed data, verify the copy, and return its counts.

        Raises:
            OptionError: If the settings differ, or the target is not a copy of the source and
                `merge` is False.
            StoreError: If the stores differ at the end, or the source was rebuilt meanwhile.
        """
        counts = CopyCounts()
        try:
            copy_of = self._check_target()
            self._copy_documents(counts)
            with self.source.snapshot() as snapshot:
                former = snapshot.former_fields()
            self.target.record_former_fields(sorted(former))
            self._copy_outputs(counts)
            self._copy_threads(counts)
            self._verify(counts)
            if self.target.ensure_settings({}).get(COPY_OF) == self.origin + INCOMPLETE:
                self.target.record_settings({COPY_OF: copy_of})
        except StoreRebuiltError as error:
            raise StoreError(
                f"{self.source_name} or {self.target_name} was rebuilt during the copy; copy to a "
                "new target"
            ) from error
        return counts

    def _report(self, step: str, done: int, total: int) -> None:
        check_cancelled()
        if self.on_progress is not None:
            self.on_progress(step, done, total)

    def _check_target(self) -> str:
        """Record the settings in an empty target, and check those of another one.

        Returns:
            Value of the setting `copy_of` after the copy. A merge leaves that of the target.
        """
        wanted = _compared(self.source.ensure_settings({}))
        recorded = self.target.ensure_settings({})
        if not recorded:
            recorded = self.target.ensure_settings({**wanted, COPY_OF: self.origin})
        found = _compared(recorded)
        different = sorted(
            name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
        )
        if different:
            raise OptionError(
                f"{self.target_name} has other settings than {self.source_name}: "
                f"{', '.join(different)}; name a new target"
            )
        copy_of = recorded.get(COPY_OF, "")
        if copy_of in (self.origin, self.origin + INCOMPLETE):
            return self.origin
        if self.merge:
            return copy_of
        if self.target.list_records():
            raise OptionError(
                f"{self.target_name} has documents and is not a copy of {self.source_name}; name a "
                "new target, or merge the documents into it (merge=True, --merge): those with the "
                "same id are replaced"
            )
        self.target.record_settings({COPY_OF: self.origin})
        return self.origin

    def _copy_documents(self, counts: CopyCounts) -> None:
        """Copy documents until the target has those of the source in the same order.

        Raises:
            OptionError: If the target has documents that the source lacks, and `merge` is False.
            StoreError: If the source keeps changing.
        """
        seen: set[str] = set()
        records: dict[str, DocumentRecord] = {}
        for _ in range(_PASSES):
            before, records = records, dict(_by_age(self.source))
            present = dict(_by_age(self.target))
            for document_id in [name for name in present if name in seen and name not in records]:
                self.target.delete_document(document_id)  # the source has deleted it meanwhile
                del present[document_id]
            self._check_others([name for name in present if name not in records])
            seen |= records.keys()
            counts.documents = len(records)
            counts.chunks = sum(record.chunks for record in records.values())
            outdated = self._outdated(records, present, counts)
            if not outdated:
                return
            if list(before.items()) == list(records.items()):
                raise self._difference(f"the document {outdated[0]!r}")
            self.target.record_settings({COPY_OF: self.origin + INCOMPLETE})
            self._write(outdated, records, counts)
        raise StoreError(
            f"{self.source_name} changes faster than it is copied; what was copied is kept: run "
            "the same command again when there are fewer changes"
        )

    def _check_others(self, others: Sequence[str]) -> None:
        if others and not self.merge:
            raise OptionError(
                f"{self.target_name} has {len(others):,} documents that {self.source_name} lacks, "
                f"such as {others[0]!r}; remove them, or keep them with merge=True (--merge)"
            )

    def _outdated(
        self,
        records: Mapping[str, DocumentRecord],
        present: Mapping[str, DocumentRecord],
        counts: CopyCounts,
    ) -> list[str]:
        """Return the ids of the documents to store, oldest first.

        These are the first document that the target lacks, has in another version or in another
        order, and all documents after it. A document with a new title or new metadata only is
        updated in its place.
        """
        places = {document_id: place for place, document_id in enumerate(present)}
        ids, last = list(records), -1
        for number, document_id in enumerate(ids):
            place = places.get(document_id, -1)
            if place <= last:
                return ids[number:]
            if records[document_id] != present[document_id]:
                if not self._update(document_id, present[document_id]):
                    return ids[number:]
                counts.copied += 1
            last = place
        return []

    def _update(self, document_id: str, record: DocumentRecord) -> bool:
        """Update title and metadata of a document in the target; return False if more differs."""
        wanted = self.source.read_entry(document_id)
        found = self.target.read_entry(document_id)
        if wanted is None or found is None:
            return False
        changed = {
            name: getattr(wanted.document, name) for name in ("metadata", "given_fields", "origins")
        }
        updated = replace(found, title=wanted.title, document=replace(found.document, **changed))
        if differing_part(wanted, updated):
            return False
        update = DocumentUpdate(title=wanted.title, **changed)
        return self.target.update_document(document_id, update, record=record)

    def _write(
        self, ids: Sequence[str], records: Mapping[str, DocumentRecord], counts: CopyCounts
    ) -> None:
        """Store documents in order; the next ones are read, and the index is written, meanwhile."""
        total = counts.chunks
        done = total - sum(records[document_id].chunks for document_id in ids)
        with self._index_elsewhere(), self.target.group_commits():
            for _, entries in map_ahead(self._read, _batches(ids, records), threads=self.readers):
                for entry in entries():
                    self.target.put_document(entry, replace=True)
                    counts.copied += 1
                    done = min(total, done + len(entry.chunks))
                    self._report("chunks copied", done, total)

    def _index_elsewhere(self) -> AbstractContextManager[None]:
        """Write the index of the target in another process during a block, if it can do so."""
        target = self.target
        return target.flushes_elsewhere() if isinstance(target, IndexedStore) else nullcontext()

    def _read(self, ids: Sequence[str]) -> list[DocumentEntry]:
        """Return the documents that the source still has."""
        entries = map(self.source.read_entry, ids)
        return [entry for entry in entries if entry is not None]

    def _copy_outputs(self, counts: CopyCounts) -> None:
        total, _ = self.source.count_outputs()
        done, after = 0, ""
        while page := self.source.list_outputs(after=after, limit=_PAGE):
            present = self.target.get_outputs([cached.key for cached in page])
            if missing := [cached for cached in page if cached.key not in present]:
                self.target.put_outputs(missing)
                counts.outputs += len(missing)
            done, after = done + len(page), page[-1].key
            self._report("cached outputs copied", min(done, total), total)

    def _copy_threads(self, counts: CopyCounts) -> None:
        """Copy conversations, and turns that were added after an earlier copy."""
        infos = self.source.list_threads()[::-1]
        for number, info in enumerate(infos, start=1):
            thread = self.source.get_thread(info.id)
            if thread is None:  # deleted meanwhile
                continue
            counts.threads += 1
            present = self.target.get_thread(info.id)
            turns = () if present is None else present.turns
            if turns != thread.turns[: len(turns)]:
                counts.warnings.append(
                    f"the conversation {info.id!r} has other turns in {self.target_name} and stays "
                    "as it is there; delete it there, and copy again"
                )
                continue
            for turn in thread.turns[len(turns) :]:
                self.target.append_turn(info.id, turn)
            self._report("conversations copied", number, len(infos))

    def _verify(self, counts: CopyCounts) -> None:
        """Compare the stores.

        Raises:
            StoreError: If they differ.
        """
        records, copies = dict(_by_age(self.source)), dict(_by_age(self.target))
        ids = [document_id for document_id in copies if document_id in records]
        if ids != list(records):
            raise self._difference("the documents, or their order")
        different = (name for name in ids if records[name] != copies[name])
        if (document_id := next(different, None)) is not None:
            raise self._difference(f"the record of {document_id!r}")
        if self.target.count_outputs()[0] < self.source.count_outputs()[0]:
            raise self._difference("the number of cached outputs")
        chosen = list(self._chosen(records))
        read = partial(_read_both, self.source, self.target)
        for document_id, both in map_ahead(read, chosen, threads=self.readers):
            part = _difference_of(*both())
            if part:
                raise self._difference(f"the part {part!r} of {document_id!r}")
            counts.verified += 1
            self._report("documents verified", counts.verified, len(chosen))

    def _chosen(self, records: Mapping[str, DocumentRecord]) -> Iterator[str]:
        """Yield the ids of the documents that are compared in full.

        A sample has about 2 % of the chunks, and is chosen by the hash of the id.
        """
        if self.verification == "all":
            yield from records
            return
        limit = max(_SAMPLE_CHUNKS, _SAMPLE_SHARE * sum(r.chunks for r in records.values()))
        chunks = 0
        for document_id in sorted(records, key=_hash):
            if chunks >= limit:
                return
            chunks += records[document_id].chunks
            yield document_id

    def _difference(self, what: str) -> StoreError:
        return StoreError(
            f"the copy is not complete: {what} in {self.target_name} differs from "
            f"{self.source_name}; if one of them was changed meanwhile, run the same command "
            "again, otherwise copy to a new target"
        )


def _compared(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name != COPY_OF}


def _batches(ids: Sequence[str], records: Mapping[str, DocumentRecord]) -> Iterator[Sequence[str]]:
    """Yield ids of consecutive documents that have about a thousand chunks together."""
    batch, chunks = list[str](), 0
    for document_id in ids:
        size = records[document_id].chunks
        if batch and chunks + size > _BATCH_CHUNKS:
            yield batch
            batch, chunks = [], 0
        batch.append(document_id)
        chunks += size
    if batch:
        yield batch


@repeated_read
def _by_age(store: Store) -> list[tuple[str, DocumentRecord]]:
    """Return the ids and records of all documents, oldest first.

    Raises:
        StoreError: If several tenants have a document with the same id.
    """
    with store.snapshot() as snapshot:
        listed = store.list_records()
        records = {record.id: record for record in listed}
        if len(records) < len(listed):
            raise StoreError(
                "several tenants have documents with the same id, which a copy cannot tell apart; "
                "copy the documents of each tenant by an address with ?tenant="
            )
        handles = cast("JointSnapshot", snapshot).find_documents(list(records))
    # A document that is newer than the snapshot comes last.
    ages = {
        name: float("inf") if handle is None else handle
        for name, handle in zip(records, handles, strict=True)
    }
    return sorted(records.items(), key=lambda item: (ages[item[0]], item[0]))


def _read_both(
    source: Store, target: Store, document_id: str
) -> tuple[DocumentEntry | None, DocumentEntry | None]:
    return source.read_entry(document_id), target.read_entry(document_id)


def _difference_of(entry: DocumentEntry | None, copy: DocumentEntry | None) -> str:
    if entry is None or copy is None:
        return "" if entry is copy else "document"
    return differing_part(entry, copy)


def _hash(document_id: str) -> bytes:
    return hashlib.sha256(document_id.encode(errors="surrogatepass")).digest()
