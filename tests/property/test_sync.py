"""Laws of a sync: afterwards the documents of a folder equal it, and others are as they were."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.records import make_record

from spanwise.errors import DocumentError
from spanwise.ingest.compare import compare
from spanwise.ingest.sources import Source
from spanwise.ingest.sync import scan_folder

NAMES = st.sampled_from(["a.txt", "b.md", "deep/a.txt", "deep/er/c.txt", "x y.txt", "%41.txt"])
FOLDERS = st.dictionaries(NAMES, st.sampled_from(["one", "two", "three"]), max_size=6)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@given(on_disk=FOLDERS, stored=FOLDERS, elsewhere=FOLDERS)
@settings(max_examples=100, deadline=None)
def test_what_is_new_changed_and_gone_makes_the_folder(
    on_disk: dict[str, str], stored: dict[str, str], elsewhere: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in on_disk.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        ours = {
            name: make_record(name, root=folder, content_hash=digest(text))
            for name, text in stored.items()
        }
        others = {
            name: make_record(name, root="/elsewhere", content_hash=digest(text))
            for name, text in elsewhere.items()
            if name not in ours
        }
        records = {**ours, **others}
        looked = scan_folder(folder)
        split = looked.compare_records(records.values(), allow_empty=True)
        compared = compare(
            looked.sources,
            records=records,
            metadata=None,
            replace_other=False,
            threads=2,
            is_outdated=lambda _: False,
        )
        verdicts = {s.document_id: said for s, said in compared if isinstance(s, Source)}
    assert split.errors == ()
    assert verdicts.keys() == on_disk.keys()
    after = {name: record.content_hash for name, record in records.items()}
    for record in split.deleted:
        del after[record.id]
    for name, said in verdicts.items():
        assert isinstance(said, DocumentError) == (name in others)
        if said in ("new", "changed"):
            assert after.get(name) != digest(on_disk[name]), "what is the same is left alone"
            after[name] = digest(on_disk[name])
    untouched = {name: record.content_hash for name, record in others.items()}
    wanted = {name: digest(text) for name, text in on_disk.items() if name not in others}
    assert after == {**wanted, **untouched}
