"""A knowledge base with a planted folder `rebuild` deletes nothing elsewhere."""

from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.errors import FormatError
from spanwise.stores.manifest import Manifest, read_manifest, write_manifest


@pytest.mark.parametrize("name", ["rebuild", "rebuild/new"])
def test_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    path, outside = tmp_path / "a.kb", tmp_path / "outside"
    (outside / "new").mkdir(parents=True)
    precious = [outside / "precious.txt", outside / "new" / "precious.txt"]
    for file in precious:
        file.write_text("precious", encoding="utf-8")
    with KnowledgeBase(path, embedder=None) as base:
        base.add_text("A text about margins.", document_id="a")
        link = path / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(outside, target_is_directory=True)
        for act in (base.rebuild, base.discard_rebuild, base.compact):
            with pytest.raises(FormatError, match="is a link"):
                act()
        assert base.search("margins").segments
    assert all(file.exists() for file in precious)


def test_a_damaged_unfinished_state_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    state = path / "rebuild" / "new"
    with KnowledgeBase(path, embedder=None) as base:
        base.add_text("A text about margins.", document_id="a")
        for content in (b"", b"no database" * 100):
            state.mkdir(parents=True)
            (state / "truth.db").write_bytes(content)
            base.compact()
            assert base.rebuild().documents == 1
            assert not state.exists()
        assert base.check().sound


def test_a_manifest_names_no_file_of_another_folder(tmp_path: Path) -> None:
    write_manifest(tmp_path, Manifest(seq=1, stamp="00", parts=("1-2-ab.part",)))
    assert read_manifest(tmp_path).parts == ("1-2-ab.part",)
    for name in ("../../evil", "/etc/passwd", "a/b.part", "..", ""):
        write_manifest(tmp_path, Manifest(seq=1, stamp="00", parts=(name,)))
        assert read_manifest(tmp_path) == Manifest()
