"""The new state of a rebuild, which is opened inside the folder of the knowledge base."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.rebuilds import fill

from spanwise import KnowledgeBase
from spanwise.errors import StoreError
from spanwise.stores import rebuild
from spanwise.stores.embedded import EmbeddedStore, open_embedded

_OPEN_FILES = Path("/proc/self/fd")


def _open_files(folder: Path) -> list[str]:
    paths = []
    for entry in _OPEN_FILES.iterdir():
        try:
            paths.append(os.readlink(entry))  # noqa: PTH115 - the target may be deleted
        except OSError:
            continue
    return [path for path in paths if path.startswith(str(folder))]


@pytest.mark.skipif(not _OPEN_FILES.is_dir(), reason="open files are listed on Linux only")
@pytest.mark.parametrize("fails_in", ["_fits", "ensure_settings"])
def test_a_state_that_cannot_be_opened_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_in: str
) -> None:
    """This holds for an unfinished state and for a new one."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        fill(base, documents=1)
    store = open_embedded(tmp_path / "a.kb", create=False)
    settings = {**store.ensure_settings({}), "revision": "2"}
    if fails_in == "_fits":
        with store.open_rebuild(settings):
            pass

    def fail(*_: object) -> None:
        raise StoreError("the disk does not answer")

    owner = rebuild if fails_in == "_fits" else EmbeddedStore
    monkeypatch.setattr(owner, fails_in, fail)
    with pytest.raises(StoreError), store.open_rebuild(settings):
        pass
    assert _open_files(tmp_path / "a.kb" / "rebuild") == []
    store.close()
