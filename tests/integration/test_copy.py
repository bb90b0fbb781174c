"""Copies of knowledge bases: complete, continued, verified, and refused where they would harm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.integration.commands import read_json, spanwise

from spanwise import CopyReport, KnowledgeBase
from spanwise.errors import OptionError, SpanwiseError, StoreError
from spanwise.knowledge_base import components
from spanwise.knowledge_base.several import KnowledgeBases
from spanwise.stores.copy import CopyCounts, StoreCopy
from spanwise.stores.copy_origin import COPY_OF
from spanwise.stores.embedded import open_embedded
from spanwise.stores.memory import MemoryStore
from spanwise.stores.port import Accept, DocumentEntry, DocumentUpdate, PutOutcome, Store
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    fingerprint,
    make_corpus,
    make_entry,
    make_output,
)
from spanwise.testing.store_entries import question as query_of
from spanwise.testing.store_records import make_turn

QUERIES = tuple(map(query_of, ("lease zanzibar dividend revenue", "Twin margin goodwill")))
REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"


def copy(source: Store, target: Store, *, merge: bool = False, whole: bool = True) -> CopyCounts:
    """Copy one store to another, and compare every document."""
    return StoreCopy(
        source=source,
        target=target,
        source_name="source",
        target_name="target",
        origin="source 1",
        merge=merge,
        verification="all" if whole else "sample",
    ).run()


def packed(document_id: str, text: str, **metadata: int) -> DocumentEntry:
    """Return a document for a store with the packs of `source`."""
    return replace(make_entry(document_id, [text], metadata=metadata), packs="[p]")


def check_equal(source: Store, target: Store) -> None:
    """Check that the stores have equal content, and give equal results."""
    assert source.list_records() == target.list_records()
    for query in QUERIES:
        assert fingerprint(source, query) == fingerprint(target, query)
    assert source.list_outputs() == target.list_outputs()
    assert source.list_threads() == target.list_threads()
    for info in source.list_threads():
        assert source.get_thread(info.id) == target.get_thread(info.id)
    with source.snapshot() as one, target.snapshot() as two:
        assert one.former_fields() == two.former_fields()
        assert one.packs() == two.packs()
    settings = dict(target.ensure_settings({}))
    settings.pop(COPY_OF, None)
    assert settings == dict(source.ensure_settings({}))


@pytest.fixture
def source() -> Iterator[MemoryStore]:
    """Return a store with all kinds of content; its documents are not in the order of their ids."""
    store = MemoryStore()
    store.ensure_settings({**SETTINGS, "embedder": "a:b"})
    entries = make_corpus()
    fill(store, [*entries[3:], *entries[:3]])
    store.put_document(make_entry("gone", ["lease"], metadata={"team": "law"}))
    store.delete_document("gone")
    store.record_packs("[p]", lambda texts: {"p/one": np.arange(len(texts)).astype(np.float16)})
    for number in range(7):
        store.put_outputs([make_output(f"key {number}", f"output \ud800 {number}")])
    store.append_turn("b", make_turn("Who?"))
    store.append_turn("a", make_turn("Why?", minute=3))
    store.append_turn("b", make_turn("When?", minute=5))
    yield store
    store.close()


@pytest.fixture(params=["folder", "memory"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Return an empty store of each kind."""
    store = MemoryStore() if request.param == "memory" else open_embedded(tmp_path / "target.kb")
    with closing(store):
        yield store


def test_a_copy_has_everything_in_the_same_order(source: Store, target: Store) -> None:
    counts = copy(source, target)
    check_equal(source, target)
    documents = len(source.list_records())
    assert (counts.documents, counts.copied, counts.verified) == (documents,) * 3
    assert (counts.outputs, counts.threads, counts.warnings) == (7, 2, [])


def test_a_copy_of_a_copy_is_the_same(source: Store, target: Store, tmp_path: Path) -> None:
    copy(source, target)
    with closing(open_embedded(tmp_path / "second.kb")) as second:
        copy(target, second)
        check_equal(source, second)


def test_a_second_copy_stores_nothing(source: Store, target: Store) -> None:
    copy(source, target)
    again = copy(source, target)
    assert (again.copied, again.outputs) == (0, 0)
    check_equal(source, target)


def test_changes_of_the_source_are_copied_in_their_order(source: Store, target: Store) -> None:
    copy(source, target)
    source.put_document(packed("twin/b", "Twin lease, replaced.\n"), replace=True)
    source.put_document(packed("new", "A new lease.\n", size=1))
    source.put_outputs([make_output("another", "output")])
    source.append_turn("a", make_turn("And then?", minute=9))
    counts = copy(source, target)
    assert (counts.copied, counts.outputs) == (2, 1)
    check_equal(source, target)


def test_a_change_of_metadata_keeps_the_place_of_the_document(source: Store, target: Store) -> None:
    copy(source, target)
    record = source.list_records()[0]
    update = DocumentUpdate(
        title=record.title, metadata={"year": 1900}, given_fields=("year",), origins=None
    )
    assert source.update_document(record.id, update, record=record)
    assert copy(source, target).copied == 1
    check_equal(source, target)


def test_an_interrupted_copy_is_continued(source: Store, target: Store) -> None:
    stored = 0

    def interrupt(step: str, done: int, total: int) -> None:
        nonlocal stored
        assert done <= total
        stored += step == "chunks copied"
        if stored == 5:
            raise KeyboardInterrupt

    interrupted = StoreCopy(
        source=source,
        target=target,
        source_name="source",
        target_name="target",
        origin="source 1",
        on_progress=interrupt,
    )
    with pytest.raises(KeyboardInterrupt):
        interrupted.run()
    documents = len(source.list_records())
    assert len(target.list_records()) == 5
    assert copy(source, target).copied == documents - 5
    check_equal(source, target)


def test_a_document_that_is_deleted_meanwhile_is_not_left(source: Store, target: Store) -> None:
    deleted = source.list_records()[0].id

    def delete(step: str, done: int, total: int) -> None:
        if step == "chunks copied" and target.get_record(deleted) is not None:
            source.delete_document(deleted)

    StoreCopy(
        source=source,
        target=target,
        source_name="source",
        target_name="target",
        origin="source 1",
        on_progress=delete,
    ).run()
    assert target.get_record(deleted) is None
    assert source.list_records() == target.list_records()


def test_another_knowledge_base_is_not_overwritten(source: Store, target: Store) -> None:
    target.ensure_settings(source.ensure_settings({}))
    mine = packed("twin/a", "My own text.\n")
    other = packed("mine", "Another text.\n")
    fill(target, [mine, other])
    before = target.list_records()
    with pytest.raises(OptionError, match="not a copy"):
        copy(source, target)
    assert target.list_records() == before
    copy(source, target, merge=True)
    assert target.get_record("mine") == before[0]
    assert [r for r in target.list_records() if r.id != "mine"] == source.list_records()


def test_documents_of_the_target_alone_are_named(source: Store, target: Store) -> None:
    copy(source, target)
    target.put_document(packed("mine", "Another text.\n"))
    with pytest.raises(OptionError, match="1 documents that source lacks, such as 'mine'"):
        copy(source, target)
    assert target.get_record("mine") is not None


def test_other_settings_are_refused(source: Store, target: Store) -> None:
    target.ensure_settings({**source.ensure_settings({}), "dimension": "3", "packs": ""})
    with pytest.raises(OptionError, match="other settings than source: dimension, packs"):
        copy(source, target, merge=True)
    assert target.list_records() == []


def test_a_conversation_that_differs_stays(source: Store, target: Store) -> None:
    copy(source, target)
    target.delete_thread("a")
    target.append_turn("a", make_turn("Mine?"))
    counts = copy(source, target)
    assert ["'a'" in warning for warning in counts.warnings] == [True]
    kept = target.get_thread("a")
    assert kept is not None
    assert [turn.question for turn in kept.turns] == ["Mine?"]


def _other_vectors(entry: DocumentEntry) -> DocumentEntry:
    assert entry.vectors is not None
    return replace(entry, vectors=entry.vectors[:, ::-1])


def _other_context(entry: DocumentEntry) -> DocumentEntry:
    chunks = [replace(chunk, context="x") for chunk in entry.chunks]
    return replace(entry, chunks=tuple(chunks))


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (_other_vectors, "vectors"),
        (_other_context, "chunks"),
        (lambda entry: replace(entry, title_words="x"), "title_words"),
        (lambda entry: replace(entry, signals={}), "signals"),
        (lambda entry: replace(entry, summary="x"), "the document"),
    ],
)
def test_a_target_that_stores_something_else_is_noticed(
    source: Store, damage: Callable[[DocumentEntry], DocumentEntry], part: str
) -> None:
    class Careless(MemoryStore):
        def put_document(
            self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
        ) -> PutOutcome:
            return super().put_document(damage(entry), replace=replace, accept=accept)

    target = Careless()
    with pytest.raises(StoreError, match=part):
        copy(source, target)


def test_a_knowledge_base_is_copied_by_its_path(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "reports.kb") as base:
        base.add(REPORTS)
        steps = []
        report = base.copy_to(
            tmp_path / "copy.kb", on_progress=lambda *step: steps.append(step), verify="all"
        )
        assert isinstance(report, CopyReport)
        assert report.copied == report.documents == report.verified == len(base.list())
        assert {step for step, _, _ in steps} == {"chunks copied", "documents verified"}
        question = "Why did the gross margin fall in 2023?"
        expected = base.search(question)
        with pytest.raises(OptionError, match="the knowledge base itself"):
            base.copy_to(tmp_path / "." / "reports.kb")
        with pytest.raises(OptionError, match="memory"):
            base.copy_to(":memory:")
        with pytest.raises(OptionError, match="verify is 'none'"):
            base.copy_to(tmp_path / "other.kb", verify="none")  # type: ignore[arg-type]
        assert not (tmp_path / "other.kb").exists()
    with pytest.raises(StoreError, match="is closed"):
        base.copy_to(tmp_path / "other.kb")
    assert not (tmp_path / "other.kb").exists()
    with KnowledgeBase(tmp_path / "copy.kb", create=False) as copied:
        assert copied.search(question).segments == expected.segments
        assert copied.check().sound
        copied.add_text("A new text.", document_id="new")  # it is a knowledge base like any other


def interrupt(step: str, _done: int, _total: int) -> None:
    """Interrupt a copy after its first documents."""
    if step == "chunks copied":
        raise KeyboardInterrupt


def test_an_unfinished_copy_warns_until_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "target.kb"
    with KnowledgeBase(tmp_path / "source.kb", embedder=None) as source:
        source.add(REPORTS)
        assert not any("incomplete" in warning for warning in source.search("margin").warnings)
        with pytest.raises(KeyboardInterrupt):
            source.copy_to(target, on_progress=interrupt)
        with KnowledgeBase(target, create=False) as copied:
            for result in (copied.search("margin"), copied.excerpts("margin")):
                assert any("incomplete copy of 'source.kb'" in said for said in result.warnings)
            both = KnowledgeBases([source, copied]).search("margin")
            assert any("target.kb: this" in said for said in both.warnings)
            shown = spanwise("info", "--kb", target, folder=tmp_path)
            assert "incomplete copy of 'source.kb'" in " ".join(shown.stdout.split())
            source.copy_to(target)
            assert not any("incomplete" in warning for warning in copied.search("margin").warnings)
    assert "incomplete" not in spanwise("info", "--kb", target, folder=tmp_path).stdout


@pytest.mark.parametrize("merge", [False, True])
def test_an_interrupted_copy_to_an_open_knowledge_base_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merge: bool
) -> None:
    """A server that has the target open warns too, also of documents that are merged into it."""
    monkeypatch.setattr(components, "_NOTE_SECONDS", 0.0)
    with (
        KnowledgeBase(tmp_path / "source.kb", embedder=None) as source,
        KnowledgeBase(tmp_path / "target.kb", embedder=None) as target,
    ):
        source.add_text("The margin fell.", document_id="a")
        if merge:
            target.add_text("The margin rose.", document_id="b")

        def said() -> str:
            return " ".join(target.search("margin").warnings)

        assert "incomplete" not in said()
        with pytest.raises(KeyboardInterrupt):
            source.copy_to(tmp_path / "target.kb", merge=merge, on_progress=interrupt)
        assert "incomplete copy of 'source.kb'" in said()
        source.copy_to(tmp_path / "target.kb", merge=merge)
        assert "incomplete" not in said()


def test_the_command_copies_and_continues(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "reports.kb") as base:
        base.add(REPORTS)
    first = spanwise("copy", "reports.kb", "copy.kb", folder=tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    assert "copy.kb: 4 of 4 documents copied" in first.stdout
    second = read_json("copy", "reports.kb", "copy.kb", folder=tmp_path)
    assert (second["copied"], second["documents"]) == (0, 4)
    assert (second["source"], second["target"]) == ("reports.kb", "copy.kb")
    (tmp_path / "text.md").write_text("# A text\n\nOf its own.\n")
    spanwise("add", "text.md", "--kb", "copy.kb", folder=tmp_path)
    refused = spanwise("copy", "reports.kb", "copy.kb", "--json", folder=tmp_path)
    assert refused.returncode == 2
    assert "'text.md'" in json.loads(refused.stdout)["error"]["message"]
    merged = spanwise("copy", "reports.kb", "copy.kb", "--merge", folder=tmp_path)
    assert merged.returncode == 0
    missing = spanwise("copy", "missing.kb", "other.kb", folder=tmp_path)
    assert missing.returncode == 1
    assert not (tmp_path / "other.kb").exists()


def test_a_target_that_is_no_knowledge_base_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("mine")
    with KnowledgeBase(tmp_path / "source.kb", embedder=None) as base:
        base.add_text("A text.", document_id="a")
        with pytest.raises(SpanwiseError, match="folder"):
            base.copy_to(tmp_path / "folder")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["notes.txt"]
