"""Several stores that are searched as one.

The documents of the first store come first, then those of the second one, and so on. A search gives
the result of one store to which the documents were added in this order: counts are added up, and
scores are compared on the same scale (`core.ranking.scan_steps`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery
from spanwise.core.ranking.scan_steps import run_scans, split_handle
from spanwise.core.ranking.similar_words import merge_similar_words, merge_spellings
from spanwise.errors import OptionError, unknown_document
from spanwise.filters import Filter, document_test, known_fields, record_fields
from spanwise.packs.pack_file import joined_record
from spanwise.stores.entries import check_known, unknown_handle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.similar_words import SimilarWord
    from spanwise.filters import FieldKind
    from spanwise.stores.port import JointSnapshot, Snapshot, Store
    from spanwise.types import Block, Chunk, DocumentRecord, Figure, Page, Section, WholeDocument
    from spanwise.types.output_cache import CachedOutput

_Result = TypeVar("_Result")


class SeveralStores:
    """Stores that are searched as one; implements the parts of `Store` that questions read."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        """Combine stores.

        Args:
            stores: Stores by the name of their knowledge base, in order.
        """
        self._stores = dict(stores)

    @contextmanager
    def snapshot(self) -> Iterator[SeveralSnapshots]:
        """Open a snapshot of each store.

        Raises:
            OptionError: If a store does not implement `JointSnapshot`.
            StoreChangedError: As `Store.snapshot`.
        """
        with ExitStack() as stack:
            snapshots = {
                name: _joint(stack.enter_context(store.snapshot()), name)
                for name, store in self._stores.items()
            }
            yield SeveralSnapshots(snapshots)

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that match a filter, store by store.

        Raises:
            FilterError: If the filter does not fit the fields of the documents of all stores.
        """
        records = [
            replace(record, knowledge_base=name)
            for name, store in self._stores.items()
            for record in store.list_records()
        ]
        if where is None:
            return records
        fields = list(map(record_fields, records))
        check_known(where, known_fields(fields), former=self._former_fields)
        test = document_test(where)
        return [record for record, own in zip(records, fields, strict=True) if test(own)]

    def _former_fields(self) -> frozenset[str]:
        """Return the names of fields that only former documents had, of all stores."""
        with self.snapshot() as snapshots:
            return snapshots.former_fields()

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return the record of the first document with an id, or None."""
        found = (store.get_record(document_id) for store in self._stores.values())
        return next((record for record in found if record is not None), None)

    def get_whole_of(self, knowledge_base: str, document_id: str) -> WholeDocument | None:
        """Return a document of one knowledge base, or None."""
        whole = self._stores[knowledge_base].get_whole(document_id)
        if whole is None:
            return None
        return replace(whole, record=replace(whole.record, knowledge_base=knowledge_base))

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached model outputs of some keys in any store, by key."""
        found: dict[str, str] = {}
        for store in self._stores.values():
            if missing := [key for key in keys if key not in found]:
                found |= store.get_outputs(missing)
        return found

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache model outputs in the first store."""
        next(iter(self._stores.values())).put_outputs(outputs)

    def remove_output(self, key: str) -> None:
        """Remove the output of a key in all stores."""
        for store in self._stores.values():
            store.remove_output(key)

    def close(self) -> None:
        """Close all stores."""
        for store in self._stores.values():
            store.close()


def _joint(snapshot: Snapshot, name: str) -> JointSnapshot:
    if not hasattr(snapshot, "start_scan"):
        raise OptionError(
            f"the store of {name!r} can only be searched alone, because its snapshots do not "
            "implement `spanwise.stores.port.JointSnapshot`"
        )
    return cast("JointSnapshot", snapshot)


class SeveralSnapshots:
    """Snapshots of several stores, searched as one; implements `Snapshot`.

    The handle of a document consists of the index of its store and its handle there.
    """

    def __init__(self, snapshots: Mapping[str, JointSnapshot]) -> None:
        """Combine snapshots.

        Args:
            snapshots: Snapshots by the name of their knowledge base, in order.
        """
        self._names = tuple(snapshots)
        self._snapshots = tuple(snapshots.values())

    def languages(self) -> tuple[str, ...]:
        """Return the languages of all live documents, ascending; "" if unknown."""
        return tuple(sorted({name for one in self._snapshots for name in one.languages()}))

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the document frequency of each term, (T,), and the number of live chunks."""
        counts = [one.term_counts(terms) for one in self._snapshots]
        holders = np.asarray(np.sum([own for own, _ in counts], axis=0, dtype=np.int64))
        return holders, sum(chunks for _, chunks in counts)

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Score all chunks in scope, see `Searchable.scan`.

        An id selects the documents of all stores that have it.
        """
        if where is not None:
            check_known(where, self._fields(), former=self.former_fields)
        handles = None if documents is None else self._find_documents(documents)
        steps = [
            one.start_scan(query, where=where, documents=None if handles is None else handles[at])
            for at, one in enumerate(self._snapshots)
        ]
        return run_scans(steps, query)

    def former_fields(self) -> frozenset[str]:
        """Return the names of fields that only former documents had, of all stores."""
        former = frozenset().union(*(one.former_fields() for one in self._snapshots))
        return former - self._fields().keys()

    def _fields(self) -> dict[str, frozenset[FieldKind]]:
        fields: dict[str, frozenset[FieldKind]] = defaultdict(frozenset)
        for one in self._snapshots:
            for name, kinds in one.fields().items():
                fields[name] |= kinds
        return dict(fields)

    def _find_documents(self, documents: Sequence[str]) -> list[list[int]]:
        """Return the handles of documents in each store."""
        found = [one.find_documents(documents) for one in self._snapshots]
        for document_id, handles in zip(documents, zip(*found, strict=True), strict=True):
            if all(handle is None for handle in handles):
                raise unknown_document(document_id)
        return [[handle for handle in own if handle is not None] for own in found]

    def passages(
        self,
        ranges: Sequence[PassageRange],
        *,
        terms: Sequence[str],
        vectors: NDArray[np.float32],
    ) -> Passages:
        """Return the raw features of chunk ranges, see `Searchable.passages`."""

        def read(one: JointSnapshot, own: Sequence[PassageRange]) -> Passages:
            return one.passages(own, terms=terms, vectors=vectors)

        parts = self._by_store(ranges, read) or [read(self._snapshots[0], [])]
        return Passages(
            impacts=np.concatenate([part.impacts for part in parts], axis=1),
            similarities=np.concatenate([part.similarities for part in parts], axis=1),
            digits=np.concatenate([part.digits for part in parts]),
            chars=np.concatenate([part.chars for part in parts]),
            tokens=np.concatenate([part.tokens for part in parts]),
            openings=np.concatenate([part.openings for part in parts]),
        )

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks for the chunks of some ranges, (landmarks, n)."""
        parts = self._by_store(ranges, lambda one, own: one.signals(own, landmarks))
        return np.concatenate([np.zeros((len(landmarks), 0), np.float32), *parts], axis=1)

    def _by_store(
        self,
        ranges: Sequence[PassageRange],
        read: Callable[[JointSnapshot, Sequence[PassageRange]], _Result],
    ) -> list[_Result]:
        """Read ranges in order, by one call for consecutive ranges of the same store."""
        results = []
        for _, run in groupby(ranges, key=lambda span: split_handle(span.handle)[0]):
            spans = list(run)
            own = [replace(span, handle=self._find(span.handle)[1]) for span in spans]
            results.append(read(self._find(spans[0].handle)[0], own))
        return results

    def _find(self, handle: int) -> tuple[JointSnapshot, int]:
        """Return the snapshot of a document, and its handle there."""
        store, own = split_handle(handle)
        if not 0 <= store < len(self._snapshots):
            raise unknown_handle(handle)
        return self._snapshots[store], own

    def similar_words(
        self, handles: Sequence[int], words: Sequence[str]
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the words of some documents that are most similar to each of some words."""
        own: dict[int, list[int]] = defaultdict(list)
        for handle in handles:
            own[split_handle(handle)[0]].append(self._find(handle)[1])
        languages = self.languages()
        found = [
            self._snapshots[store].similar_words(some, words, languages=languages)
            for store, some in own.items()
        ]
        return tuple(merge_similar_words(lists) for lists in zip(*found, strict=True)) or (
            ((),) * len(words)
        )

    def similar_spellings(self, words: Sequence[str]) -> tuple[SimilarWord | None, ...]:
        """Return the word of all documents with the nearest spelling to each of some words."""

        def count_chunks(terms: Sequence[str]) -> NDArray[np.int64]:
            return self.term_counts(terms)[0]

        found = [one.similar_spellings(words, count_chunks=count_chunks) for one in self._snapshots]
        return tuple(
            merge_spellings(nearest, count_chunks=count_chunks)
            for nearest in zip(*found, strict=True)
        )

    def packs(self) -> str:
        """Return the packs of all stores; each pack is listed once."""
        return joined_record([one.packs() for one in self._snapshots])

    def record(self, handle: int) -> DocumentRecord:
        """Return the record of a document, with the name of its knowledge base."""
        one, own = self._find(handle)
        return replace(one.record(own), knowledge_base=self._names[split_handle(handle)[0]])

    def sections(self, handle: int, start: int, end: int) -> tuple[Section, ...]:
        """Return the sections `[start, end)` of a document, clipped to the existing ones."""
        one, own = self._find(handle)
        return one.sections(own, start, end)

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return the pages of a document in order; empty if its format has no pages."""
        one, own = self._find(handle)
        return one.pages(own)

    def figures(self, handle: int) -> tuple[Figure, ...]:
        """Return the figures of a document in order."""
        one, own = self._find(handle)
        return one.figures(own)

    def blocks(self, handle: int) -> tuple[Block, ...]:
        """Return the tables and pieces of code of a document in order."""
        one, own = self._find(handle)
        return one.blocks(own)

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return the chunks `[start, end)` of a document."""
        one, own = self._find(handle)
        return one.chunks(own, start, end)

    def chunk_ranges(self, ranges: Sequence[PassageRange]) -> list[tuple[Chunk, ...]]:
        """Return the chunks of each range; ranges must lie within their documents."""
        parts = self._by_store(ranges, lambda one, own: one.chunk_ranges(own))
        return [chunks for part in parts for chunks in part]
