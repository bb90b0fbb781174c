"""Changes of a document while another call prepares a new version of it: none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import KnowledgeBase
from spanwise.errors import StoreBusyError
from spanwise.knowledge_base.internals import store_of

OLD, NEW, OTHER = "Freight by barge is cheap.", "Freight by rail is fast.", "Roads are closed."


class Meddling:
    """Embedder that makes changes while it embeds."""

    name = "meddling"
    version = "1"
    dimension = 2

    def __init__(self) -> None:
        self.change: Callable[[], object] | None = None
        """Change to make; it is made once."""
        self.again: Callable[[], object] | None = None
        """Change to make at each call."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        change, self.change = self.change, None
        for meddle in (change, self.again):
            if meddle is not None:
                meddle()
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)


@pytest.fixture
def embedder() -> Meddling:
    return Meddling()


@pytest.fixture(params=["memory", "folder"])
def base(
    request: pytest.FixtureRequest, tmp_path: Path, embedder: Meddling
) -> Iterator[KnowledgeBase]:
    path = ":memory:" if request.param == "memory" else tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=embedder) as base:
        yield base


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "files" / "a.txt"
    path.parent.mkdir()
    path.write_text(OLD)
    return path


def add_text(base: KnowledgeBase, file: Path) -> None:
    base.add_text(file.read_text(), document_id="a.txt")


def add_chunks(base: KnowledgeBase, file: Path) -> None:
    base.add_chunks("a.txt", [file.read_text()])


def add_file(base: KnowledgeBase, file: Path) -> None:
    assert not base.add(file.parent).failed


def sync(base: KnowledgeBase, file: Path) -> None:
    assert not base.sync(file.parent).failed


@pytest.mark.parametrize("add", [add_text, add_chunks, add_file, sync])
def test_metadata_set_during_a_replacement_is_kept(
    base: KnowledgeBase,
    embedder: Meddling,
    file: Path,
    add: Callable[[KnowledgeBase, Path], None],
) -> None:
    add(base, file)
    base.update_metadata(["a.txt"], {"kind": "letter"})
    file.write_text(NEW)
    embedder.change = lambda: base.update_metadata(["a.txt"], {"year": 2023}, title="Rail")
    add(base, file)
    record = base.record("a.txt")
    assert base.get("a.txt").text == NEW
    assert (record.title, dict(record.metadata)) == ("Rail", {"kind": "letter", "year": 2023})
    assert base.search("Rail", documents=["a.txt"]).segments[0].header.startswith("Rail")


def test_metadata_set_during_a_replacement_by_workers_is_kept(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documents are prepared by other processes, and stored by this one."""
    monkeypatch.setattr("spanwise.ingest.drafts._MIN_BYTES", 1)
    with KnowledgeBase(tmp_path / "a.kb") as base:
        add_file(base, file)
        file.write_text(NEW)
        store = store_of(base)
        real = store.put_document
        changes = iter([{"year": 2023}])

        def put(*args: object, **arguments: object) -> object:
            for fields in changes:
                base.update_metadata(["a.txt"], fields)
            return real(*args, **arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(store, "put_document", put)
        add_file(base, file)
        assert base.get("a.txt").text == NEW
        assert base.record("a.txt").metadata == {"year": 2023}


@pytest.mark.parametrize("add", [add_text, add_chunks])
def test_fields_of_another_caller_are_kept(
    base: KnowledgeBase,
    embedder: Meddling,
    file: Path,
    add: Callable[[KnowledgeBase, Path], None],
) -> None:
    """Without fields of its own, a call keeps those of the call that was faster."""
    add(base, file)
    file.write_text(NEW)
    embedder.change = lambda: base.add_text(OTHER, document_id="a.txt", metadata={"year": 2023})
    add(base, file)
    assert base.get("a.txt").text == NEW
    assert base.record("a.txt").metadata == {"year": 2023}


def test_fields_of_a_removed_document_do_not_come_back(
    base: KnowledgeBase, embedder: Meddling
) -> None:
    base.add_text(OLD, document_id="a", metadata={"year": 2020})
    base.update_metadata(["a"], {"kind": "letter"})
    embedder.change = lambda: base.remove("a")
    report = base.add_text(NEW, document_id="a")
    assert report.added == ("a",)
    assert base.record("a").metadata == {}


def test_a_replacement_ends_although_the_metadata_keep_changing(
    base: KnowledgeBase, embedder: Meddling
) -> None:
    """It is refused with an error that names the document; nothing is half stored."""
    base.add_text(OLD, document_id="a")
    years = iter(range(1_000))
    embedder.again = lambda: base.update_metadata(["a"], {"year": next(years)})
    with pytest.raises(StoreBusyError, match="keep changing the metadata of 'a'"):
        base.add_text(NEW, document_id="a")
    assert base.get("a").text == OLD


def test_a_document_that_is_prepared_again_does_not_replace_a_newer_one(
    base: KnowledgeBase, embedder: Meddling
) -> None:
    """The upgrade of vectors of an earlier version prepares stored documents again."""
    base.add_text(OLD, document_id="a")
    embedder.change = lambda: base.add_text(NEW, document_id="a")
    base._components.ingestor.renew(base.record("a"))
    assert base.get("a").text == NEW


def test_updated_fields_are_kept_when_chunks_are_added_again(base: KnowledgeBase) -> None:
    base.add_chunks("a", [OLD])
    base.update_metadata(["a"], {"year": 2023})
    base.add_chunks("a", [NEW])
    assert base.record("a").metadata == {"year": 2023}
