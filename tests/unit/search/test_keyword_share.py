"""The tuned keyword share is used in every ranking of a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from spanwise.stores.embedded import open_embedded
from spanwise.stores.memory import MemoryStore
from spanwise.testing.store_entries import SETTINGS, make_entry, question

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spanwise.stores.port import Store


@pytest.fixture(params=["memory", "embedded"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of texts that either match by words, or by vector, or by both a little."""
    opened: Store = MemoryStore() if request.param == "memory" else open_embedded(tmp_path / "a.kb")
    opened.ensure_settings(SETTINGS)
    vectors = np.zeros((3, 16), dtype=np.float32)
    wanted = question("lease margin").vector
    assert wanted is not None
    vectors[:, 0] = 1.0
    vectors[1:] += 4 * wanted
    vectors[2] += 4 * wanted
    texts = ["lease margin lease margin", "lease margin lease ship", "no such word in here"]
    opened.put_document(replace(make_entry("a", texts), vectors=vectors))
    opened.put_document(make_entry("b", [f"other{number} text" for number in range(20)]))
    yield opened
    if not isinstance(opened, MemoryStore):
        opened.close()


@pytest.mark.parametrize(("share", "expected"), [(1.0, {0, 2}), (0.7, {0, 1, 2}), (0.0, {0, 2})])
def test_a_store_ranks_hits_by_the_share_of_the_query(
    store: Store, share: float, expected: set[int]
) -> None:
    """One hit by keywords, one by cosine, one by both as the query weighs them."""
    query = replace(question("lease margin", hits=1), keyword_share=share)
    with store.snapshot() as snapshot:
        scan = snapshot.scan(query)
        documents = [snapshot.record(int(scan.handles[at])).id for at in scan.hit_documents]
    assert set(documents) == {"a"}
    assert set(scan.hit_chunks.tolist()) == expected
