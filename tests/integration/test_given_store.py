"""A knowledge base in a store object of the caller."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from tests.documents import build_pdf
from tests.own_store import RowStore

from spanwise import ChunkOptions, KnowledgeBase
from spanwise.errors import EmbedderMismatchError, FormatError, OptionError, StoreError
from spanwise.stores.memory import MemoryStore
from spanwise.stores.port import Accept, DocumentEntry, PutOutcome, Store
from spanwise.types.output_cache import CachedOutput

TEXT = "Margins fell because freight costs rose.\n\nWe employ 93,516 people in 70 countries.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT, encoding="utf-8")
    (folder / "b.md").write_text("# Freight\n\nBy barge it costs half.\n", encoding="utf-8")
    return folder


def test_documents_are_added_searched_and_deleted(tmp_path: Path, folder: Path) -> None:
    """A knowledge base in another store answers as one in a folder does."""
    with (
        KnowledgeBase(store=RowStore(tmp_path / "rows")) as own,
        KnowledgeBase(tmp_path / "a.kb") as base,
    ):
        for kb in (own, base):
            kb.sync(folder, metadata={"year": 2023})
            kb.add_text("Freight by road costs twice as much.", document_id="note")
        question = "Why did margins fall?"
        segments = own.search(question).segments
        assert segments
        assert segments == base.search(question).segments
        assert own.excerpts(question).excerpts == base.excerpts(question).excerpts
        assert own.explain(question).candidates == base.explain(question).candidates
        assert own.list("year = 2023") == base.list("year = 2023")
        assert own.remove("note", "a.txt") == ("a.txt", "note")
        assert [record.id for record in own.list()] == ["b.md"]
        assert own.check().sound
        assert own.packs.list() == base.packs.list()


def test_it_is_opened_again_with_the_recorded_settings(tmp_path: Path) -> None:
    """Settings are recorded in the store, and other options are refused."""
    chunks = ChunkOptions(target=300)
    with KnowledgeBase(store=RowStore(tmp_path), chunks=chunks, embedder=None) as kb:
        kb.add_text(TEXT, document_id="a")
    with KnowledgeBase(store=RowStore(tmp_path), create=False) as kb:
        assert kb.info().documents == 1
        assert kb.info().settings["embedder"] == "none"
    with pytest.raises(OptionError, match="chunks"):
        KnowledgeBase(store=RowStore(tmp_path), chunks=ChunkOptions(target=200))
    with pytest.raises(EmbedderMismatchError):
        KnowledgeBase(store=RowStore(tmp_path), embedder="wordllama")


def test_a_store_stays_open_if_opening_fails_and_is_closed_with_the_knowledge_base() -> None:
    store = MemoryStore()
    KnowledgeBase(store=store, embedder=None).add_text(TEXT, document_id="a")
    with pytest.raises(EmbedderMismatchError):
        KnowledgeBase(store=store, embedder="wordllama")
    kb = KnowledgeBase(store=store)
    assert kb.get("a").text == TEXT
    kb.close()
    with pytest.raises(StoreError, match="closed"):
        store.list_records()


def test_an_empty_store_is_not_created_if_the_caller_does_not_want_that(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="RowStore holds no knowledge base"):
        KnowledgeBase(store=RowStore(tmp_path), create=False)


def test_the_path_is_a_name_and_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is created in the file system."""
    monkeypatch.chdir(tmp_path)
    with KnowledgeBase("contracts", store=MemoryStore()) as kb:
        kb.add_text(TEXT, document_id="a")
        kb.search("Why did margins fall?")
        assert (kb.info().path, kb.info().bytes_on_disk) == ("contracts", 0)
        assert "contracts" in repr(kb)
    with KnowledgeBase(store=MemoryStore()) as kb:
        assert kb.info().path == "MemoryStore"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [{"path": ":memory:"}, {"durability": "fast"}])
def test_options_of_folders_are_refused(arguments: Mapping[str, str]) -> None:
    with pytest.raises(OptionError, match="store is given"):
        KnowledgeBase(store=MemoryStore(), **arguments)  # type: ignore[arg-type]


def test_pages_are_drawn_and_backups_are_made(tmp_path: Path) -> None:
    """What works with files works with any store; what a store cannot do is an error."""
    (tmp_path / "a.pdf").write_bytes(build_pdf(["Margins fell because freight costs rose."]))
    with KnowledgeBase(store=RowStore(tmp_path / "rows")) as kb:
        kb.add(tmp_path / "a.pdf")
        assert kb.page_image("a.pdf", 1, dots_per_inch=20).startswith(b"\x89PNG")
        report = kb.backup(tmp_path / "copy")
        assert report.bytes_on_disk > 0
    with KnowledgeBase(store=RowStore(tmp_path / "copy"), create=False) as copy:
        assert copy.search("Why did margins fall?").segments
    with KnowledgeBase(store=MemoryStore()) as kb, pytest.raises(StoreError, match="in memory"):
        kb.backup(tmp_path / "no")


class ReadOnlyStore(RowStore):
    """Row store whose writes fail, except for model outputs, which are dropped."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        """Raise an error."""
        raise StoreError("the store is read-only; ask its owner")

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Drop the outputs."""


def test_a_store_may_be_read_only(tmp_path: Path) -> None:
    with KnowledgeBase(store=RowStore(tmp_path)) as kb:
        kb.add_text(TEXT, document_id="a")
    with KnowledgeBase(store=ReadOnlyStore(tmp_path)) as kb:
        assert kb.search("Why did margins fall?").segments
        with pytest.raises(StoreError, match="read-only"):
            kb.add_text("Other.", document_id="b")


class Incomplete:
    """Object with some methods of a store."""

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        return settings


class NoReplace(MemoryStore):
    """Store of an earlier version, whose `put_document` has no keyword `replace`."""

    def put_document(self, entry: DocumentEntry) -> str:  # type: ignore[override]
        return "added"


class PoorSnapshots(MemoryStore):
    """Store whose snapshots lack a method."""

    class Poor:
        """Snapshot without methods."""

        def languages(self) -> Sequence[str]:
            return ()

    def snapshot(self) -> AbstractContextManager[Poor]:  # type: ignore[override]
        return nullcontext(self.Poor())


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (Incomplete(), "missing: append_turn, backup, .*put_document"),
        (NoReplace(), r"missing: put_document\(replace=\), put_document\(accept=\)"),
        (PoorSnapshots(), "snapshot of the store .*missing: .*passages.*term_counts"),
        (MemoryStore, "class 'MemoryStore'; give an instance"),
        ("postgresql://host/name", "missing: append_turn"),
    ],
    ids=["methods", "arguments", "snapshot", "class", "text"],
)
def test_a_wrong_object_is_refused_by_the_names_of_what_it_lacks(
    store: Store, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        KnowledgeBase(store=store)
