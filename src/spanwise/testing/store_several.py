"""Conformance checks of stores that are searched together, see `stores.port.JointSnapshot`.

A store that does not implement `JointSnapshot` skips these checks; it can only be searched alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import numpy as np
import pytest

from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import DocumentNotFoundError, FilterError
from spanwise.filters import field, matches, parse_filter
from spanwise.stores.port import DocumentEntry, Snapshot
from spanwise.stores.several import SeveralStores
from spanwise.testing.brute_force import expected_scan
from spanwise.testing.store_documents import FILTER_TEXTS
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    make_corpus,
    make_entry,
    question,
    question_vector,
    reference_terms,
)
from spanwise.testing.store_searches import QUESTIONS, check_words, random_entries
from spanwise.testing.store_suite import StoreSuite, compare


class SeveralChecks(StoreSuite):
    """Checks that several stores are searched like one with all their documents."""

    @contextmanager
    def several(self, path: Path, *parts: Sequence[DocumentEntry]) -> Iterator[SeveralStores]:
        """Yield stores that each hold a part of the documents."""
        stores = {}
        for number, entries in enumerate(parts):
            store = self.open_store(path / str(number))
            store.ensure_settings(SETTINGS)
            fill(store, entries)
            stores[f"part {number}"] = store
        with next(iter(stores.values())).snapshot() as snapshot:
            if not hasattr(snapshot, "start_scan"):
                pytest.skip("snapshots of this store do not implement JointSnapshot")
        several = SeveralStores(stores)
        yield several
        several.close()

    def test_stores_together_are_scanned_like_one(self, tmp_path: Path) -> None:
        """Counts, scores, means, deviations and hits equal the reference over all documents."""
        entries = make_corpus()
        third = len(entries) // 3
        parts: tuple[list[DocumentEntry], ...]
        parts = (entries[:third], [], entries[third : third + 1], entries[third + 1 :])
        with self.several(tmp_path, *parts) as stores, stores.snapshot() as snapshot:
            for text in QUESTIONS:
                for hits in (1, 3, 20, 400):
                    query = question(text, hits=hits)
                    expected = expected_scan(entries, query, reference_terms=reference_terms())
                    compare(snapshot.scan(query), expected, snapshot)

    def test_filters_apply_to_all_stores_together(self, tmp_path: Path) -> None:
        """A filter may name a field of only one store; a field of no store is an error."""
        entries = make_corpus()
        half = len(entries) // 2
        parts = (entries[:half], entries[half:])
        with self.several(tmp_path, *parts) as stores, stores.snapshot() as snapshot:
            for text in FILTER_TEXTS:
                where, query = parse_filter(text), question("lease the", hits=8)
                scope = {e.document.id for e in entries if matches(where, e.document.metadata)}
                expected = expected_scan(
                    entries, query, reference_terms=reference_terms(), scope=scope
                )
                compare(snapshot.scan(query, where=where), expected, snapshot)
            with pytest.raises(FilterError):
                snapshot.scan(question("lease"), where=field("unknown") == 1)
        parts = ([make_entry("a", ["lease"], metadata={"year": 2018})], [make_entry("b", ["rent"])])
        with self.several(tmp_path / "fields", *parts) as stores, stores.snapshot() as snapshot:
            assert snapshot.scan(question("lease"), where=field("year") == 2018).documents == 1
            assert snapshot.scan(question("lease"), where=~(field("year") == 2018)).documents == 1

    def test_an_id_selects_the_documents_of_all_stores(self, tmp_path: Path) -> None:
        """Equal ids in several stores are all searched; an id in none of them is an error."""
        parts = (
            [make_entry("same", ["lease"]), make_entry("first", ["lease"])],
            [make_entry("same", ["rent"]), make_entry("second", ["lease"])],
        )
        with self.several(tmp_path, *parts) as stores, stores.snapshot() as snapshot:
            scan = snapshot.scan(question("lease"), documents=["same", "second"])
            found = [snapshot.record(handle) for handle in scan.handles.tolist()]
            assert [(record.knowledge_base, record.id) for record in found] == [
                ("part 0", "same"),
                ("part 1", "same"),
                ("part 1", "second"),
            ]
            assert [snapshot.chunks(h, 0, 1)[0].text for h in scan.handles.tolist()] == [
                "lease",
                "rent",
                "lease",
            ]
            with pytest.raises(DocumentNotFoundError):
                snapshot.scan(question("lease"), documents=["same", "unknown"])

    def test_passages_of_stores_together_keep_their_order(self, tmp_path: Path) -> None:
        """Ranges of several stores are read in the given order, with equal features."""
        entries = make_corpus()
        half = len(entries) // 2
        both = (entries[:half], entries[half:])
        with (
            self.several(tmp_path / "parts", *both) as stores,
            self.several(tmp_path / "one", entries) as one,
            stores.snapshot() as joint,
            one.snapshot() as single,
        ):
            joint_ranges, single_ranges = _ranges(joint), _ranges(single)
            names = list(joint_ranges)
            Random(3).shuffle(names)  # noqa: S311 - the same order on every run
            query = question("lease margin the goodwill")
            vectors = np.stack([question_vector("lease")])
            found, expected = (
                snapshot.passages(
                    [ranges[name] for name in names], terms=query.terms, vectors=vectors
                )
                for snapshot, ranges in ((joint, joint_ranges), (single, single_ranges))
            )
            assert joint.chunk_ranges([joint_ranges[name] for name in names]) == (
                single.chunk_ranges([single_ranges[name] for name in names])
            )
        for name in ("impacts", "similarities", "digits", "chars", "tokens", "openings"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name

    def test_words_of_stores_together_are_those_of_one(self, tmp_path: Path) -> None:
        """Words of similar meaning and spelling equal the reference over all documents."""
        entries = random_entries("abcdefghij")
        with self.several(tmp_path, entries[:3], entries[3:4], entries[4:]) as stores:
            check_words(stores, entries)
            with stores.snapshot() as snapshot:
                assert snapshot.similar_words([], ["lease"]) == ((),)
                with pytest.raises(DocumentNotFoundError):
                    snapshot.similar_words([9 << 48], ["lease"])

    def test_the_most_frequent_spelling_of_all_stores_is_found(self, tmp_path: Path) -> None:
        """Among words of equally near spelling, the one in most chunks of all stores is found."""
        parts = (
            [make_entry("a", ["lease\n"] * 3 + ["leash\n"] * 2)],
            [make_entry("b", ["leasy\n"] * 3 + ["leash\n"] * 2)],
        )
        with self.several(tmp_path, *parts) as stores, stores.snapshot() as snapshot:
            (nearest,) = snapshot.similar_spellings(["leasx"])
        assert nearest is not None
        assert nearest.word == "leash", "counted over all stores"


def _ranges(snapshot: Snapshot) -> dict[str, PassageRange]:
    """Return the range of all chunks of each document, by id."""
    scan = snapshot.scan(question("lease"))
    pairs = zip(scan.handles.tolist(), scan.document_chunks.tolist(), strict=True)
    return {snapshot.record(handle).id: PassageRange(handle, 0, size) for handle, size in pairs}
