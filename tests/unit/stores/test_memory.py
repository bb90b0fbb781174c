"""What the conformance suite does not ask of the reference store."""

import numpy as np
import pytest

from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import DocumentNotFoundError, StoreError
from spanwise.stores.memory import MemoryStore
from spanwise.testing.store_entries import SETTINGS, make_entry, question


def test_a_handle_of_no_document_is_refused() -> None:
    """Handles come from a scan of the same snapshot."""
    store = MemoryStore()
    store.ensure_settings(SETTINGS)
    store.put_document(make_entry("a", ["text"]))
    with store.snapshot() as snapshot:
        with pytest.raises(DocumentNotFoundError, match="handle 7"):
            snapshot.record(7)
        with pytest.raises(DocumentNotFoundError, match="handle 7"):
            snapshot.passages(
                [PassageRange(7, 0, 1)], terms=(), vectors=np.empty((0, 16), np.float32)
            )


def test_a_search_needs_the_settings() -> None:
    """Nobody can say what a score is without them."""
    with pytest.raises(StoreError, match="ensure_settings"), MemoryStore().snapshot():
        pass


def test_what_was_given_can_change_without_harm() -> None:
    """The store keeps metadata and vectors of its own."""
    metadata: dict[str, str | int | float | bool] = {"year": 1}
    entry = make_entry("a", ["lease"], metadata=metadata)
    store = MemoryStore()
    store.ensure_settings(SETTINGS)
    store.put_document(entry)
    assert entry.vectors is not None
    before = store.get_embedded("a")
    assert before is not None
    entry.vectors[:] = 1
    entry.document.metadata["year"] = 2  # type: ignore[index]
    record = store.get_record("a")
    assert record is not None
    assert record.metadata == {"year": 1}
    after = store.get_embedded("a")
    assert after is not None
    assert np.array_equal(after[1], before[1])
    with store.snapshot() as snapshot:
        assert snapshot.scan(question("lease")).hit_vectors.tolist() == pytest.approx([1.0])
