"""Laws of containers: every document in a tree of archives is found once, and a sync follows it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.archives import build_tar
from tests.documents import build_zip

from spanwise import KnowledgeBase

Tree = Mapping[str, "str | Tree"]
"""What a container holds, by name: a text, or another container."""

NAMES = st.sampled_from(["a.txt", "b.md", "deep/a.txt", "deep/er/c.txt", "x y.txt", "größe", "e!"])
TEXTS = st.sampled_from(["one", "two", "three"])


def trees(inside: st.SearchStrategy[str | Tree]) -> st.SearchStrategy[Tree]:
    return st.dictionaries(NAMES, inside, max_size=4)


TREES: st.SearchStrategy[Tree] = st.recursive(TEXTS, trees, max_leaves=8).filter(
    lambda tree: not isinstance(tree, str)
)  # type: ignore[assignment]


def pack(tree: Tree, *, as_tar: bool) -> bytes:
    """Return a tree as an archive of archives, of one kind and the other in turn."""
    files = {
        name: inside.encode() if isinstance(inside, str) else pack(inside, as_tar=not as_tar)
        for name, inside in tree.items()
    }
    return build_tar(files, mode="w:gz") if as_tar else build_zip(files)


def leaves(tree: Tree) -> dict[str, str]:
    """Return the texts of a tree by the id that each has."""
    found: dict[str, str] = {}
    for name, inside in tree.items():
        if isinstance(inside, str):
            found[name] = inside
        else:
            found |= {f"{name}!/{below}": text for below, text in leaves(inside).items()}
    return found


def write(folder: Path, tree: Tree) -> None:
    """Make the files of a folder those of a tree."""
    for old in sorted(folder.rglob("*"), reverse=True):
        old.rmdir() if old.is_dir() else old.unlink()
    for name, inside in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(inside.encode() if isinstance(inside, str) else pack(inside, as_tar=True))


def texts_of(base: KnowledgeBase) -> dict[str, str]:
    return {record.id: base.get(record.id).text for record in base.list()}


@pytest.mark.slow
@given(states=st.lists(TREES, min_size=2, max_size=3))
@settings(max_examples=5, deadline=None)
def test_a_sync_makes_the_documents_equal_what_is_there(states: list[Tree]) -> None:
    """From any state to any other, foreseen exactly; again, everything is unchanged."""
    with tempfile.TemporaryDirectory() as place, KnowledgeBase(":memory:", embedder=None) as base:
        for tree in states:
            write(Path(place), tree)
            before = texts_of(base)
            foreseen = base.sync(place, allow_empty=True, dry_run=True)
            report = base.sync(place, allow_empty=True)
            assert report.failed == ()
            wanted = leaves(tree)
            assert texts_of(base) == wanted
            assert set(report.removed) == before.keys() - wanted.keys()
            assert set(report.added) == wanted.keys() - before.keys()
            assert len(report.added) == len(set(report.added))
            assert (foreseen.added, foreseen.replaced) == (report.added, report.replaced)
            assert sorted(foreseen.removed) == sorted(report.removed)
            assert sorted(base.sync(place, allow_empty=True).unchanged) == sorted(wanted)
