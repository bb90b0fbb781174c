"""Whatever happened to it, the embedded store answers as the reference store does, bit for bit."""

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.ranking.scan import PassageRange, ScanQuery
from spanwise.core.text.terms import text_terms
from spanwise.filters import Filter, field
from spanwise.stores import embedded, index, merge_plan
from spanwise.stores.embedded import open_embedded
from spanwise.stores.memory import MemoryStore
from spanwise.stores.port import DocumentEntry, Snapshot, Store
from spanwise.testing.store_entries import SETTINGS, make_entry, text_vector
from spanwise.types import Scalar

WORDS = "lease margin Segment FY2018 1,577.0 the naïve dividend 収益 goodwill".split()

values: st.SearchStrategy[Scalar] = st.sampled_from([1, 2.5, "a", True])

Step = tuple[str, str, DocumentEntry | None]


@st.composite
def entries(draw: st.DrawFn, document_id: str) -> DocumentEntry:
    paragraph = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(
        lambda words: " ".join(words) + ". "
    )
    return make_entry(
        document_id,
        draw(st.lists(paragraph, min_size=1, max_size=6)),
        title=" ".join(draw(st.lists(st.sampled_from(WORDS), max_size=2))),
        metadata=draw(st.dictionaries(st.sampled_from(["year", "form"]), values, max_size=2)),
    )


@st.composite
def steps(draw: st.DrawFn) -> Step:
    kind = draw(
        st.sampled_from(["put"] * 6 + ["delete"] * 2 + ["compact", "search", "reopen", "rebuild"])
    )
    document_id = draw(st.sampled_from("abcdefg"))
    return kind, document_id, draw(entries(document_id)) if kind == "put" else None


def play(history: Sequence[Step], path: Path) -> tuple[Store, MemoryStore]:
    """Return both stores after a history; only the embedded one is bothered by what is its own."""
    store: Store = open_embedded(path)
    memory = MemoryStore()
    for each in (store, memory):
        each.ensure_settings(SETTINGS)
    for kind, document_id, entry in history:
        if entry is not None:
            assert store.put_document(entry) == memory.put_document(entry)
        elif kind == "delete":
            assert store.delete_document(document_id) == memory.delete_document(document_id)
        elif kind == "compact":
            store.compact()
        elif kind == "search":
            with store.snapshot() as snapshot:
                snapshot.scan(query_of("lease"))
        else:
            store.close()
            if kind == "rebuild":
                for file in (path / "index").glob("*.*"):
                    file.unlink()
            store = open_embedded(path)
    return store, memory


def query_of(
    text: str, *, hits: int = 400, with_vector: bool = True, keyword_share: float = 0.7
) -> ScanQuery:
    terms = tuple(dict.fromkeys(text_terms(text)))
    vector = text_vector(text) if with_vector else None
    return ScanQuery(terms=terms, vector=vector, hits=hits, keyword_share=keyword_share)


def told(snapshot: Snapshot, query: ScanQuery, where: Filter | None) -> dict[str, object]:
    """Return a scan and the passages of all its documents, as values that compare."""
    scan = snapshot.scan(query, where=where)
    fields: dict[str, object] = {
        f.name: getattr(scan, f.name) for f in dataclasses.fields(scan) if f.name != "handles"
    }
    handles = scan.handles.tolist()
    fields["ids"] = [snapshot.record(handle).id for handle in handles]
    ranges = [PassageRange(handle, handle % 2, 4) for handle in reversed(handles)]
    vectors = np.stack([text_vector("lease margin"), text_vector("naïve")])
    passages = snapshot.passages(ranges, terms=query.terms, vectors=vectors)
    fields |= {f.name: getattr(passages, f.name) for f in dataclasses.fields(passages)}
    return {
        name: (value.dtype.str, value.shape, value.tolist())
        if isinstance(value, np.ndarray)
        else value
        for name, value in fields.items()
    }


@pytest.mark.slow
@given(
    history=st.lists(steps(), max_size=14),
    text=st.lists(st.sampled_from([*WORDS, "absent"]), max_size=4).map(" ".join),
    hits=st.sampled_from([1, 3, 400]),
    with_vector=st.booleans(),
    keyword_share=st.sampled_from([0.0, 0.4, 0.7, 1.0]),
)
@settings(max_examples=20, deadline=None)
def test_any_history_gives_the_answers_of_the_reference_store(
    history: list[Step], text: str, hits: int, with_vector: bool, keyword_share: float
) -> None:
    query = query_of(text, hits=hits, with_vector=with_vector, keyword_share=keyword_share)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for module, name, value in (
            (embedded, "_FLUSH_ROWS", 9),
            (embedded, "_FOLLOW_ROWS", 4),
            (merge_plan, "_BATCH_ROWS", 12),
            (merge_plan, "_MAX_PART_ROWS", 20),
            (index, "_SEARCH_BATCH_ROWS", 4),
            (index, "_FLUSH_BATCH_ROWS", 8),
            (index, "_MAX_DELTA_ROWS", 15),
        ):
            patch.setattr(module, name, value)
        store, memory = play(history, Path(folder) / "a.kb")
        try:
            filters: list[Filter | None] = [None]
            if any("year" in record.metadata for record in memory.list_records()):
                filters.append(field("year").exists())
            for where in filters:
                assert store.list_records(where) == memory.list_records(where)
                with store.snapshot() as found, memory.snapshot() as expected:
                    assert told(found, query, where) == told(expected, query, where)
            assert store.check().findings == ()
        finally:
            store.close()
