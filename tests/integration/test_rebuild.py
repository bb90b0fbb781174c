"""A knowledge base is made anew with other settings, in place."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.rebuilds import HashEmbedder, RemoteEmbedder, fill, found_ids, text_of

from spanwise import ChunkOptions, GivenParts, KnowledgeBase, SectionOptions
from spanwise.cli.program import cli
from spanwise.errors import (
    EmbedderMismatchError,
    FormatError,
    ModelError,
    OptionError,
    StoreBusyError,
    StoreError,
)
from spanwise.ingest import Preparer
from spanwise.ingest import rebuild as rebuild_module
from spanwise.knowledge_base.internals import settings_of, store_of
from spanwise.stores.folder import folder_bytes
from spanwise.stores.port import SearchedParts
from spanwise.stores.rebuild import EmbeddedRebuild
from spanwise.testing.store_entries import make_output
from spanwise.types import DocumentRecord, GivenContext, Section

SHORT = ChunkOptions(target=100, max=140, paragraph_min=50, block_max=200)


@pytest.mark.parametrize("place", ["disk", ":memory:"])
def test_a_rebuild_gives_what_a_new_knowledge_base_gives(tmp_path: Path, place: str) -> None:
    path = place if place == ":memory:" else tmp_path / "old.kb"
    sections = SectionOptions(min_chars=100, max_chars=400)
    with (
        KnowledgeBase(path, embedder=None) as base,
        KnowledgeBase(
            tmp_path / "new.kb", embedder=HashEmbedder(), chunks=SHORT, sections=sections
        ) as new,
    ):
        fill(base)
        fill(new)
        report = base.rebuild(embedder=HashEmbedder(), chunks=SHORT, sections=sections)
        assert (report.documents, report.continued) == (6, 0)
        assert report.chunks == sum(record.chunks for record in new.list())
        assert base.list() == new.list()
        for number in map(str, range(6)):
            assert base.chunks(number) == new.chunks(number)
            assert base.sections(number) == new.sections(number)
            assert base.get(number) == new.get(number)
        question = "What was the goodwill of report 2 in year 7?"
        assert base.search(question).segments == new.search(question).segments
        assert base.check().sound


def test_what_is_not_named_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=None, chunks=SHORT, tokenizer="chars:4") as base:
        fill(base, 2)
        base.rebuild(embedder=HashEmbedder())
    with KnowledgeBase(path, embedder=HashEmbedder()) as base:
        settings = settings_of(base)
        assert (settings.chunks, settings.tokenizer) == (SHORT, "chars:4")
        assert found_ids(base, 1) == {"1"}
    with pytest.raises(EmbedderMismatchError, match="spanwise rebuild"):
        KnowledgeBase(path, embedder=None)
    with pytest.raises(OptionError, match="spanwise rebuild"):
        KnowledgeBase(path, chunks=ChunkOptions())


def test_parts_of_models_and_callers_are_kept(tmp_path: Path) -> None:
    text = text_of(0)
    half = text.index("\n", len(text) // 2) + 1
    given = GivenParts(
        title="Given title",
        summary="Given summary",
        sections=(
            Section(start=0, end=half, title="First", path=(), summary="About the first half"),
            Section(start=half, end=len(text), title="Second", path=(), summary=""),
        ),
        contexts=(GivenContext(start=0, end=half, text="Given context"),),
    )
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        base.add_text(text, document_id="given", given=given, metadata={"team": "hr"})
        base.add_text(text_of(1), document_id="plain")
        before = base.record("given")
        sections = base.sections("given")
        report = base.rebuild(chunks=SHORT, sections=SectionOptions(min_chars=100, max_chars=300))
        after = base.record("given")
        assert report.kept_sections == ("given",)
        assert (after.title, after.summary, after.recipe) == (
            "Given title",
            "Given summary",
            before.recipe,
        )
        assert after.metadata == before.metadata
        assert [section.title for section in base.sections("given")] == ["First", "Second"]
        assert [(s.start, s.end) for s in base.sections("given")] == [
            (s.start, s.end) for s in sections
        ]
        assert len(base.sections("plain")) > 1
        contexts = {chunk.context for chunk in base.chunks("given") if chunk.start < half}
        assert contexts == {"Given context"}
        assert after.chunks > before.chunks
        unchanged = base.add_text(text, document_id="given", given=given, metadata={"team": "hr"})
        assert unchanged.unchanged == ("given",)


def interrupted_by(
    base: KnowledgeBase, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Act before the last documents are prepared, when most are."""
    real = rebuild_module.Rebuilder._entry
    acted: list[bool] = []

    def entry(self: rebuild_module.Rebuilder, record: object, *, packs: str) -> object:
        if not acted and self.rebuild.version("3") and record.id == "4":  # type: ignore[attr-defined]
            acted.append(True)
            act()
        return real(self, record, packs=packs)  # type: ignore[arg-type]

    monkeypatch.setattr(rebuild_module.Rebuilder, "_entry", entry)


def test_changes_during_a_rebuild_are_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.kb"
    with (
        KnowledgeBase(path, embedder=None) as base,
        KnowledgeBase(path, embedder=None) as other,
    ):
        fill(base)

        def act() -> None:
            other.add_text(text_of(6), document_id="6")
            other.add_text(text_of(7), document_id="1")
            other.remove("2", "4")
            other.packs.remove("contracts")

        interrupted_by(base, act, monkeypatch)
        base.rebuild(embedder=HashEmbedder(), chunks=SHORT)
        assert [record.id for record in base.list()] == ["0", "1", "3", "5", "6"]
        assert base.get("1").text == text_of(7)
        assert "contracts" not in [pack.name for pack in base.packs.list() if pack.in_use]
        assert found_ids(base, 6) == {"6"}
        assert base.check().sound


@pytest.fixture
def held_chars(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list of the lengths of the documents that are prepared while writers wait."""
    chars: list[int] = []
    hold_writers, entry = EmbeddedRebuild.hold_writers, rebuild_module.Rebuilder._entry
    is_held = threading.Event()

    @contextmanager
    def hold(rebuild: EmbeddedRebuild) -> Iterator[None]:
        with hold_writers(rebuild):
            is_held.set()
            try:
                yield
            finally:
                is_held.clear()

    def counted(rebuilder: Any, record: DocumentRecord, *, packs: str) -> Any:
        if is_held.is_set():
            chars.append(record.chars)
        return entry(rebuilder, record, packs=packs)

    monkeypatch.setattr(EmbeddedRebuild, "hold_writers", hold)
    monkeypatch.setattr(rebuild_module.Rebuilder, "_entry", counted)
    return chars


def test_writers_do_not_wait_for_all_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_chars: list[int]
) -> None:
    """A change of the packs in the last round makes all documents outdated."""
    path = tmp_path / "a.kb"
    monkeypatch.setattr(rebuild_module, "_FEW_CHARS", 1_000)
    monkeypatch.setattr(rebuild_module, "_MAX_CHARS", 4_000)
    with KnowledgeBase(path, embedder=None) as base, KnowledgeBase(path) as other:
        fill(base)

        def act() -> None:
            other.packs.remove("contracts")

        interrupted_by(base, act, monkeypatch)
        base.rebuild(chunks=SHORT)
        assert sum(held_chars) <= 4_000
        assert found_ids(base, 5) == {"5"}
        assert base.check().sound


def test_a_rebuild_that_writers_outrun_ends_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_chars: list[int]
) -> None:
    """It ends with an error, after which the same call continues."""
    path = tmp_path / "a.kb"
    monkeypatch.setattr(rebuild_module, "_FEW_CHARS", 100)
    monkeypatch.setattr(rebuild_module, "_MAX_CHARS", 1_000)
    with KnowledgeBase(path, embedder=None) as base, KnowledgeBase(path) as other:
        fill(base, 3)
        counted = rebuild_module.Rebuilder._entry
        rounds: list[int] = []

        def outrun(rebuilder: Any, record: DocumentRecord, *, packs: str) -> Any:
            rounds.append(1)
            other.add_text(f"Number {len(rounds)}.\n" + text_of(1), document_id="1")
            return counted(rebuilder, record, packs=packs)

        monkeypatch.setattr(rebuild_module.Rebuilder, "_entry", outrun)
        with pytest.raises(StoreBusyError, match="the same command"):
            base.rebuild(chunks=SHORT)
        assert held_chars == []
        monkeypatch.setattr(rebuild_module.Rebuilder, "_entry", counted)
        assert base.rebuild(chunks=SHORT).continued == 2
        assert base.check().sound


def test_an_interrupted_rebuild_continues_and_searches_use_the_present_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=None) as base:
        fill(base)
        before = base.list()

        def interrupt() -> None:
            raise KeyboardInterrupt

        interrupted_by(base, interrupt, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            base.rebuild(chunks=SHORT)
        assert base.list() == before
        assert found_ids(base, 5) == {"5"}
    monkeypatch.undo()
    with KnowledgeBase(path, embedder=None) as base:
        assert found_ids(base, 5) == {"5"}
        report = base.rebuild(chunks=SHORT)
        assert (report.documents, report.continued) == (6, 4)
        assert found_ids(base, 5) == {"5"}
        assert base.check().sound
        assert not base.discard_rebuild()


def test_an_unfinished_rebuild_is_discarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=None) as base:
        fill(base)
        base.compact()
        before = folder_bytes(path)

        def interrupt() -> None:
            raise KeyboardInterrupt

        interrupted_by(base, interrupt, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            base.rebuild(chunks=SHORT)
        assert folder_bytes(path) > before
        assert base.discard_rebuild()
        base.compact()
        assert folder_bytes(path) <= before * 1.1


def test_handles_move_to_the_new_state(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    with (
        KnowledgeBase(path, embedder=None) as base,
        KnowledgeBase(path, embedder=None) as searching,
        KnowledgeBase(path, embedder=None) as writing,
        KnowledgeBase(path, embedder=None) as compacting,
    ):
        fill(base)
        for handle in (searching, writing, compacting):
            assert found_ids(handle, 3) == {"3"}
        base.rebuild(chunks=SHORT, embedder="wordllama")
        assert found_ids(searching, 3) == {"3"}
        assert settings_of(searching).chunks == SHORT
        writing.add_text(text_of(6), document_id="6")
        assert max(len(chunk.text) for chunk in writing.chunks("6")) <= SHORT.max
        assert store_of(writing).get_embedded("6") is not None
        compacting.compact()
        assert compacting.check().sound
        assert found_ids(base, 6) == {"6"}


def test_a_rebuild_during_an_update_of_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The update is made with the settings of the new state."""
    with (
        KnowledgeBase(tmp_path / "a.kb", embedder=None) as base,
        KnowledgeBase(tmp_path / "a.kb") as other,
    ):
        fill(base, documents=2)
        searched_parts = Preparer.searched_parts
        is_rebuilt = threading.Event()

        def interrupted(*args: Any, **kwargs: Any) -> SearchedParts:
            if not is_rebuilt.is_set():
                is_rebuilt.set()
                other.rebuild(tokenizer="chars:1")
            return searched_parts(*args, **kwargs)

        monkeypatch.setattr(Preparer, "searched_parts", interrupted)
        report = base.update_metadata(["1"], {}, title="Quarterly report")
        assert [change.title_after for change in report.changes] == ["Quarterly report"]
        (during,) = base.sections("1")
        base.update_metadata(["1"], {}, title="Half-year report")
        (after,) = base.sections("1")
        assert during.header_tokens == after.header_tokens, "the titles are of one length"


@pytest.mark.parametrize("operation", ["compact", "check"])
def test_a_rebuild_elsewhere_during_an_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        fill(base)
        store = type(store_of(base))
        first = getattr(store, operation)

        def after_rebuild(own: Any, **options: Any) -> object:
            monkeypatch.setattr(store, operation, first)
            with KnowledgeBase(tmp_path / "a.kb") as other:
                other.rebuild(chunks=SHORT)
            return first(own, **options)

        monkeypatch.setattr(store, operation, after_rebuild)
        getattr(base, operation)()
        assert settings_of(base).chunks == SHORT
        assert base.check().sound


def test_an_embedder_object_is_asked_for_after_a_rebuild_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    with (
        KnowledgeBase(path, embedder=None) as base,
        KnowledgeBase(path, embedder=None) as other,
    ):
        fill(base, 2)
        base.rebuild(embedder=HashEmbedder())
        assert found_ids(base, 1) == {"1"}
        with pytest.raises(EmbedderMismatchError, match="embedder="):
            found_ids(other, 1)
        assert len(other.list()) == 2


def test_searches_and_writers_continue_during_rebuilds(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=None, durability="fast") as base:
        fill(base, 8)
        done = threading.Event()
        failures: list[Exception] = []
        added: list[str] = []

        def watch(act: Callable[[KnowledgeBase], None], *, is_own: bool) -> None:
            handle = KnowledgeBase(path, durability="fast") if is_own else base
            try:
                while not done.is_set():
                    act(handle)
                    time.sleep(0.02)
            except Exception as error:  # noqa: BLE001
                failures.append(error)
            finally:
                if is_own:
                    handle.close()

        def search(handle: KnowledgeBase) -> None:
            assert "3" in found_ids(handle, 3)

        def write(handle: KnowledgeBase) -> None:
            name = f"added {len(added)}"
            handle.add_text(f"The tariff of {name} was low.\n" * 5, document_id=name)
            added.append(name)

        threads = [
            threading.Thread(target=watch, args=(act,), kwargs={"is_own": is_own})
            for act, is_own in ((search, False), (search, True), (write, True))
        ]
        for thread in threads:
            thread.start()
        for options in (SHORT, ChunkOptions()):
            base.rebuild(chunks=options)
        done.set()
        for thread in threads:
            thread.join()
        assert not failures, failures
        assert added
        assert {record.id for record in base.list()} == {*map(str, range(8)), *added}
        assert base.check().sound


def test_conversations_outputs_and_the_space(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=None) as base:
        fill(base, lines=400)
        store_of(base).put_outputs([make_output("key", "kept")])
        base.compact()
        report = base.rebuild()
        assert store_of(base).get_outputs(["key"]) == {"key": "kept"}
        assert report.bytes_before * 0.8 < report.bytes_after < report.bytes_before * 1.2
        assert folder_bytes(path) == report.bytes_after
        assert base.info().reclaimable_bytes < 20_000


def test_a_dry_run_estimates_the_calls_of_a_remote_embedder(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        fill(base, 3)
        before = base.info().settings
        embedder = RemoteEmbedder()
        report = base.rebuild(embedder=embedder, dry_run=True)
        assert not embedder.sent
        assert base.info().settings == before
        done = base.rebuild(embedder=embedder)
        assert (report.documents, report.chunks) == (done.documents, done.chunks)
        assert report.usage.calls == done.usage.calls > 0
        assert report.usage.cost == pytest.approx(done.usage.cost)


def test_an_embedder_that_fails_is_paid_once(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        fill(base)
        embedder = RemoteEmbedder(limit=20)
        with pytest.raises(ModelError):
            base.rebuild(embedder=embedder)
        assert found_ids(base, 2) == {"2"}
        embedder.limit = 1_000_000
        base.rebuild(embedder=embedder)
        assert len(embedder.sent) == len(set(embedder.sent)) == base.info().chunks
        sent = len(embedder.sent)
        base.rebuild(tokenizer="chars:4")
        assert len(embedder.sent) == sent, "vectors of the same texts are reused"


def test_two_rebuilds_at_once_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.kb"
    with (
        KnowledgeBase(path, embedder=None) as base,
        KnowledgeBase(path, embedder=None) as other,
    ):
        fill(base)

        def act() -> None:
            with pytest.raises(StoreBusyError, match="rebuilding"):
                other.rebuild(chunks=SHORT)

        interrupted_by(base, act, monkeypatch)
        assert base.rebuild(chunks=SHORT).documents == 6


def test_a_damaged_document_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=None) as base:
        fill(base)
        store = store_of(base)
        with store._writing() as connection:  # type: ignore[attr-defined]
            connection.execute("update chunk set text = 'x' || text where key = (3 << 32)")
        with pytest.raises(FormatError, match="'2'"):
            base.rebuild(chunks=SHORT)
        assert len(base.list()) == 6
        base.remove("2")
        assert base.rebuild(chunks=SHORT).continued == 5
        assert base.check().sound


def test_an_empty_knowledge_base_gets_the_settings(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        assert base.rebuild(chunks=SHORT).documents == 0
        fill(base, 1)
        assert max(len(chunk.text) for chunk in base.chunks("0")) <= SHORT.max


def test_a_wrong_option_changes_nothing(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        fill(base, 1)
        with pytest.raises(OptionError):
            base.rebuild(tokenizer="no such tokenizer")
        with pytest.raises(OptionError):
            base.rebuild(embedder="no such embedder")
        assert not (tmp_path / "a.kb" / "rebuild").exists()


def test_the_command_rebuilds(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=None) as base:
        fill(base, 2)

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["rebuild", "--kb", str(path), *arguments])
        assert not isinstance(result.exception, StoreError), result.exception
        return result.output

    assert "dry run" in run("--chunks", "200", "--dry-run")
    report = json.loads(
        run(
            "--chunks", "target=120,max=150,paragraph_min=60", "--sections=max_chars=2000", "--json"
        )
    )
    assert report["documents"] == 2
    with KnowledgeBase(path) as base:
        settings = settings_of(base)
        assert (settings.chunks.target, settings.chunks.max) == (120, 150)
        assert (settings.sections.max_chars, settings.sections.min_chars) == (2_000, 600)
    run("--chunks", "240")
    with KnowledgeBase(path) as base:
        assert (settings_of(base).chunks.target, settings_of(base).chunks.max) == (240, 300)
    assert "no unfinished" in run("--discard")
    assert "target" in run("--chunks", "size=3")
