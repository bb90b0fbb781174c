"""Conformance checks of stores: packs, and the signals of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import ConflictError, DocumentNotFoundError, OptionError
from spanwise.stores.port import DocumentEntry, Store
from spanwise.testing.store_entries import SETTINGS, fill, make_corpus, make_entry, question
from spanwise.testing.store_suite import StoreSuite


def _lengths(texts: Sequence[str]) -> dict[str, NDArray[np.float16]]:
    """Return two signals per text: length and, if any text has an "e", number of "e" / 8."""
    signals = {"p/length": np.array([len(text) for text in texts], dtype=np.float16)}
    if any("e" in text for text in texts):
        signals["p/e"] = np.array([text.count("e") / 8 for text in texts], dtype=np.float16)
    return signals


def _signalled(entry: DocumentEntry, *, packs: str = "") -> DocumentEntry:
    """Return an entry with the signals of its texts."""
    return replace(entry, signals=_lengths([chunk.text for chunk in entry.chunks]), packs=packs)


def _found(store: Store, *entries: DocumentEntry) -> None:
    """Check the signals of documents in full, partial and empty ranges."""
    names = ["p/length", "q/other", "p/e"]
    with store.snapshot() as snapshot:
        scan = snapshot.scan(question("lease", vector=True))
        handles = {snapshot.record(int(handle)).id: int(handle) for handle in scan.handles}
        ranges, expected = [], [np.zeros((3, 0))]
        for entry in reversed(entries):
            own = _lengths([chunk.text for chunk in entry.chunks])
            size = len(entry.chunks)
            for start, end in ((0, size), (size // 2, size), (0, size - 1), (1, 1)):
                ranges.append(PassageRange(handles[entry.document.id], start, end))
                none = np.zeros(size)
                expected.append(np.stack([own.get(name, none)[start:end] for name in names]))
        signals = snapshot.signals(ranges, names)
        assert signals.dtype == np.float32
        assert signals.tolist() == np.concatenate(expected, axis=1).tolist(), "signals of ranges"
        assert snapshot.signals(ranges, []).shape == (0, signals.shape[1])
        assert snapshot.signals([], names).shape == (3, 0)


class PackChecks(StoreSuite):
    """Checks of packs and signals."""

    def test_a_new_store_has_no_packs(self, store: Store) -> None:
        """A new store has no packs, and all signals are 0."""
        fill(store, make_corpus())
        with store.snapshot() as snapshot:
            assert snapshot.packs() == ""
            scan = snapshot.scan(question("lease"))
            ranges = [PassageRange(int(scan.handles[0]), 0, 1)]
            assert snapshot.signals(ranges, ["p/length"]).tolist() == [[0.0]]
        assert store.list_signals() == {}

    def test_signals_come_back_chunk_by_chunk(self, store: Store) -> None:
        """Signals are returned in the order of the ranges and names."""
        entries = [_signalled(entry) for entry in make_corpus()]
        fill(store, entries)
        _found(store, *entries)
        listed = {entry.document.id: tuple(sorted(entry.signals)) for entry in entries}
        assert {name: tuple(found) for name, found in store.list_signals().items()} == listed
        store.compact()
        _found(store, *entries)

    def test_signals_go_with_their_document(self, store: Store) -> None:
        """A replaced document has the signals of its new version."""
        entries = [_signalled(entry) for entry in make_corpus()]
        fill(store, entries)
        store.put_document(replace(entries[2], signals={}), replace=True)
        assert store.delete_document(entries[3].document.id)
        left = {entries[2].document.id, entries[3].document.id}
        expected = {entry.document.id for entry in entries} - left
        assert set(store.list_signals()) == expected, "documents with signals"

    def test_packs_are_recorded_with_the_signals_of_all(self, store: Store) -> None:
        """Recorded packs replace the signals of all documents; later documents add their own."""
        entries = make_corpus()
        fill(store, entries)
        store.record_packs("one", lambda texts: {"q/other": np.ones(len(texts), np.float16)})
        assert {item for found in store.list_signals().values() for item in found} == {"q/other"}
        store.record_packs("two", _lengths)
        later = _signalled(make_entry("later", ["a lease\n", "the end"]), packs="two")
        store.put_document(later)
        _found(store, *entries, later)
        with store.snapshot() as snapshot:
            assert snapshot.packs() == "two", "current packs"
        assert store.ensure_settings({"packs": "three"})["packs"] == "two"

    def test_a_snapshot_sees_the_packs_of_its_moment(self, store: Store) -> None:
        """Packs recorded later are not visible in an open snapshot."""
        entries = [_signalled(entry) for entry in make_corpus()]
        fill(store, entries)
        with store.snapshot() as snapshot:
            scan = snapshot.scan(question("lease", vector=True))
            ranges = [PassageRange(int(scan.handles[0]), 0, 1)]
            before = snapshot.signals(ranges, ["p/length"]).tolist()
            store.record_packs("none", lambda _: {})
            assert snapshot.packs() == "", "the packs of the snapshot"
            assert snapshot.signals(ranges, ["p/length"]).tolist() == before, "its signals"
        with store.snapshot() as snapshot:
            assert snapshot.signals(ranges, ["p/length"]).tolist() == [[0.0]]

    def test_signals_of_other_packs_are_refused(self, store: Store) -> None:
        """A document with signals of other packs is rejected; another process can change packs."""
        store.record_packs("new", lambda _: {})
        entry = make_entry("a", ["a lease"])
        with pytest.raises(ConflictError, match=r"packs .* were changed while 'a' was read"):
            store.put_document(replace(entry, packs="old"))
        assert store.list_records() == []
        store.put_document(replace(entry, packs="new"))
        assert len(store.list_records()) == 1

    def test_signals_that_do_not_fit_are_refused(self, store: Store) -> None:
        """A signal must have one finite number per chunk."""
        entry = make_entry("a", ["a lease\n", "b"])
        for signal in ([1.0], [[1.0, 2.0]], [1.0, np.inf]):
            wrong = {"p/x": np.array(signal, dtype=np.float16)}
            with pytest.raises(OptionError, match=r"'p/x' is not one finite number a chunk"):
                store.put_document(replace(entry, signals=wrong))
        assert store.list_records() == []

    def test_packs_are_no_setting_to_be_written_alone(self, store: Store) -> None:
        """Packs cannot be written with `record_settings`: the signals would not match."""
        with pytest.raises(OptionError, match="record_packs"):
            store.record_settings({"packs": "x"})

    def test_signals_of_an_unknown_document_are_refused(self, store: Store) -> None:
        """A request for signals of an unknown document is an error."""
        with store.snapshot() as snapshot, pytest.raises(DocumentNotFoundError, match="77"):
            snapshot.signals([PassageRange(77, 0, 1)], ["p/x"])

    def test_packs_are_there_when_it_is_opened_again(self, tmp_path: Path) -> None:
        """Packs and signals persist in a store on disk."""
        if not self.on_disk:
            return
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        entries = make_corpus()[:4]
        fill(store, entries)
        store.record_packs("kept", _lengths)
        store.close()
        again = self.open_store(tmp_path / "store")
        _found(again, *entries)
        with again.snapshot() as snapshot:
            assert snapshot.packs() == "kept"
        again.close()
