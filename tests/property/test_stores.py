"""Any history of the embedded store says, to the last bit, what the reference store says."""

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.filters import parse_filter
from spanwise.stores.embedded import open_embedded
from spanwise.stores.memory import MemoryStore
from spanwise.stores.port import Store
from spanwise.testing.store_entries import SETTINGS, fingerprint, make_entry, question

WORDS = st.lists(st.sampled_from("lease margin the FY2018 12.5 収益".split()), max_size=6)
PARAGRAPHS = st.lists(WORDS.map(lambda words: " ".join(words) + "\n"), min_size=1, max_size=5)
PUTS = st.tuples(
    st.just("put"), st.sampled_from("abcd"), PARAGRAPHS, WORDS.map(" ".join), st.integers(0, 3)
)
STEPS = st.lists(
    PUTS
    | st.tuples(st.just("delete"), st.sampled_from("abcd"))
    | st.tuples(st.sampled_from(["compact", "reopen", "search"])),
    min_size=1,
    max_size=14,
)
QUERIES = (
    question("lease the 2018 nowhere", hits=3),
    question("margin 12.5 収益", vector=False),
    question("", hits=2),
)
WHERE = parse_filter("year >= 2 or not year exists")


def check_same(left: Store, right: Store) -> None:
    """Check that two stores say the same."""
    assert [record.id for record in left.list_records()] == [
        record.id for record in right.list_records()
    ]
    assert left.list_records() == right.list_records()
    for query in QUERIES:
        assert fingerprint(left, query) == fingerprint(right, query)
    if any("year" in record.metadata for record in right.list_records()):
        assert left.list_records(WHERE) == right.list_records(WHERE)
        assert fingerprint(left, QUERIES[0], where=WHERE) == fingerprint(
            right, QUERIES[0], where=WHERE
        )


@given(steps=STEPS)
@settings(max_examples=25, deadline=None)
def test_the_embedded_store_says_what_the_reference_says(
    steps: Sequence[tuple[str, str, Sequence[str], str, int]],
) -> None:
    """Whatever was put, replaced, deleted, compacted and reopened, in whatever order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.kb"
        store: Store = open_embedded(path)
        store.ensure_settings(SETTINGS)
        reference = MemoryStore()
        reference.ensure_settings(SETTINGS)
        for step in steps:
            if step[0] == "put":
                _, document_id, paragraphs, title, year = step
                metadata = {"year": year} if year else {}
                entry = make_entry(document_id, paragraphs, title=title, metadata=metadata)
                assert store.put_document(entry) == reference.put_document(entry)
            elif step[0] == "delete":
                assert store.delete_document(step[1]) == reference.delete_document(step[1])
            elif step[0] == "compact":
                store.compact()
            elif step[0] == "reopen":
                store.close()
                store = open_embedded(path, create=False)
            else:
                check_same(store, reference)
        with closing(store):
            check_same(store, reference)
