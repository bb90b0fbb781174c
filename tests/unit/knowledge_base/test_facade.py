"""What a knowledge base makes of what a caller gives, beside the main road."""

import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.errors import ConflictError, DocumentNotFoundError, EmbedderMismatchError, OptionError
from spanwise.knowledge_base.internals import store_of

MARGINS = "Gross margin fell in spring because of freight costs."


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "test.kb") as base:
        yield base


@pytest.mark.parametrize("value", [True, 1.5])
def test_a_field_of_another_kind_is_a_change(base: KnowledgeBase, value: bool | float) -> None:
    base.add_text(MARGINS, document_id="d", metadata={"year": int(value)})
    assert base.add_text(MARGINS, document_id="d", metadata={"year": value}).replaced == ("d",)
    assert base.list()[0].metadata["year"] is value or base.list()[0].metadata["year"] == 1.5


def test_one_and_true_and_one_point_zero_are_not_the_same(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    path = tmp_path / "d.txt"
    path.write_text(MARGINS, encoding="utf-8")
    base.add(path, metadata={"audited": 1})
    assert base.add(path, metadata={"audited": True}).updated == ("d.txt",)
    assert base.list()[0].metadata["audited"] is True
    assert base.search("margin", where="audited = true").segments


@pytest.mark.parametrize("title", ["Long title " * 40, "Two  spaces\nand a line"])
def test_a_text_with_the_same_title_is_unchanged(base: KnowledgeBase, title: str) -> None:
    base.add_text(MARGINS, document_id="d", title=title)
    assert base.add_text(MARGINS, document_id="d", title=title).unchanged == ("d",)


def test_a_title_that_is_taken_away_is_a_change(base: KnowledgeBase) -> None:
    base.add_text(MARGINS, document_id="d", title="Report")
    assert base.add_text(MARGINS, document_id="d").replaced == ("d",)
    assert base.list()[0].title == "d"


def test_a_title_that_is_no_text_is_refused(base: KnowledgeBase) -> None:
    with pytest.raises(OptionError, match="title is 2018"):
        base.add_text(MARGINS, document_id="d", title=2018)  # type: ignore[arg-type]


def test_an_id_with_half_a_character_is_refused_or_not_found(base: KnowledgeBase) -> None:
    base.add_text(MARGINS, document_id="d")
    with pytest.raises(OptionError, match="document_id"):
        base.add_text(MARGINS, document_id="a\ud800")
    with pytest.raises(DocumentNotFoundError):
        base.get("a\ud800")
    with pytest.raises(DocumentNotFoundError):
        base.search("margin", documents=["a\ud800"])
    assert not base.remove("a\ud800")


@pytest.mark.parametrize("value", [None, 5, ["d"], b"d"])
def test_an_id_that_is_no_text_is_refused(base: KnowledgeBase, value: Any) -> None:
    base.add_text(MARGINS, document_id="d")
    calls: list[Callable[[Any], object]] = [
        base.get,
        base.record,
        base.sections,
        base.chunks,
        base.figures,
        base.remove,
        partial(base.cite, start=0, end=1),
        partial(base.page_image, page=1),
        partial(base.figure_image, number=0),
    ]
    for call in calls:
        with pytest.raises(OptionError, match=f"document_id is {re.escape(repr(value))}"):
            call(value)
    with pytest.raises(OptionError, match="document_id"):
        base.remove("d", value)
    assert [record.id for record in base.list()] == ["d"]


def test_a_conflict_names_the_program_that_adds_a_text(base: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(MARGINS)
    base.add(tmp_path / "in")
    with pytest.raises(ConflictError, match="this one comes from a program"):
        base.add_text(MARGINS, document_id="a.txt")
    with pytest.raises(OptionError, match="contains a zero byte"):
        base.add_text(MARGINS, document_id="a\0b")


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_no_folder(base: KnowledgeBase, path: str) -> None:
    for call in (base.backup, base.export_to):
        with pytest.raises(OptionError, match="name a folder"):
            call(path)


@pytest.mark.parametrize("ends", [("0", "5"), (0.0, 5), (None, 5), (5, 3), (0, 10**9)])
def test_a_range_that_is_none_is_not_cited(base: KnowledgeBase, ends: tuple[Any, Any]) -> None:
    base.add_text(MARGINS, document_id="d")
    with pytest.raises(OptionError, match="the range"):
        base.cite("d", *ends)


def test_patterns_in_one_text_are_refused(base: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(MARGINS, encoding="utf-8")
    with pytest.raises(OptionError, match="give a list"):
        base.add(tmp_path, include="*.md")
    with pytest.raises(OptionError, match="give a list"):
        base.add(tmp_path, exclude="*.md")


@pytest.mark.parametrize("budget", ["100", None, 99.5])
def test_a_budget_that_is_no_whole_number_is_refused(base: KnowledgeBase, budget: object) -> None:
    with pytest.raises(OptionError, match="budget_tokens"):
        base.search("margin", budget_tokens=budget)  # type: ignore[arg-type]


def test_a_limit_below_one_chunk_is_named(base: KnowledgeBase) -> None:
    base.add_text(MARGINS, document_id="d")
    with pytest.raises(OptionError, match=r"max_segment_tokens is 3; .* has \d+"):
        base.search("margin", segment_options=SegmentOptions(max_segment_tokens=3))


def test_a_limit_for_segments_is_for_their_text_alone(base: KnowledgeBase) -> None:
    """A charge above every share leaves nothing; a chunk fits the limit, which is not to blame."""
    base.add_text(f"Margin margin margin: {MARGINS} {MARGINS} {MARGINS}", document_id="long")
    base.add_text("Gross margin rose.", document_id="short")
    options = SegmentOptions(max_segment_tokens=12, segment_charge=1.0)
    result = base.search("Why did gross margin fall in spring?", segment_options=options)
    assert result.not_found
    assert result.best_guess is not None


@pytest.mark.parametrize("preset", [[], 5, "widest"])
def test_a_preset_that_there_is_not_is_refused(base: KnowledgeBase, preset: object) -> None:
    with pytest.raises(OptionError, match="preset is"):
        base.search("margin", preset=preset)  # type: ignore[arg-type]


def test_markdown_of_a_program_has_sections(base: KnowledgeBase) -> None:
    text = f"Before.\n\n# Report\n\n{MARGINS}\n"
    base.add_text(text, document_id="d")
    assert base.add_text(text, document_id="d", media_type="text/markdown").replaced == ("d",)
    assert base.add_text(text, document_id="d", media_type="text/markdown").unchanged == ("d",)
    assert base.get("d").text == text
    assert "Report" in base.sections("d")[0].path
    with pytest.raises(OptionError, match="media_type is 'text/html'"):
        base.add_text(text, document_id="e", media_type="text/html")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"embedder": 5}, "embedder is 5; give a name, None, or an object"),
        ({"embedder": []}, "embedder is"),
        ({"tokenizer": 5}, "tokenizer is 5; give a name"),
        ({"path": "a\0b"}, "the path of the knowledge base"),
    ],
)
def test_what_is_of_no_use_to_a_knowledge_base_is_refused(
    tmp_path: Path, wrong: dict[str, object], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        KnowledgeBase(**{"path": tmp_path / "new.kb", **wrong})  # type: ignore[arg-type]
    assert not (tmp_path / "new.kb").exists()


@pytest.mark.parametrize("wrong", [{"embedder": "abacus"}, {"tokenizer": "abacus"}])
def test_a_knowledge_base_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, wrong: dict[str, str]
) -> None:
    with pytest.raises(OptionError, match="abacus"):
        KnowledgeBase(tmp_path / "new.kb", **wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "new.kb").exists()


def test_several_threads_may_replace_one_document(base: KnowledgeBase) -> None:
    """Each takes over the vectors of what it replaces, and they are those of its chunks."""
    errors: list[Exception] = []

    def replace(thread: int) -> None:
        for turn in range(40):
            paragraphs = [f"{thread} {turn} {at} " + "Words. " * 60 for at in range(turn % 5 + 1)]
            try:
                base.add_text("\n\n".join(paragraphs), document_id="d")
            except Exception as error:  # noqa: BLE001 - told by the main thread
                errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=replace, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []


def test_info_may_be_asked_while_files_come_and_go(base: KnowledgeBase, tmp_path: Path) -> None:
    """As they do in the folder of the index, when another process compacts it."""
    folder = tmp_path / "test.kb" / "index"
    folder.mkdir(exist_ok=True)
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            for number in range(20):
                (folder / f"x{number}").write_bytes(b"x")
            for number in range(20):
                (folder / f"x{number}").unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(150):
            base.info()
    finally:
        done.set()
        thread.join()


def test_the_language_is_a_field_that_filters_can_name(base: KnowledgeBase) -> None:
    text = (
        "Der Mieter zahlt die Miete am Ersten jedes Monats. Die Kündigung ist nur zum Ende eines "
        "Quartals möglich, und sie muss schriftlich erfolgen. Der Vermieter kann den Vertrag aus "
        "wichtigem Grund auflösen."
    )
    base.add_text(text, document_id="d")
    assert base.info().fields["language"] == ("text",)
    assert [record.id for record in base.list('language = "de"')] == ["d"]


class LengthEmbedder:
    """An embedder that no package offers."""

    name = "lengths"
    version = "1"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)


def test_an_embedder_of_the_caller_is_asked_for_again(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "own.kb", embedder=LengthEmbedder()) as base:
        base.add_text(MARGINS, document_id="d")
    with KnowledgeBase(tmp_path / "own.kb") as base:
        assert base.get("d").text == MARGINS
        with pytest.raises(EmbedderMismatchError, match="'lengths', which no installed package"):
            base.search("margin")
    with KnowledgeBase(tmp_path / "own.kb", embedder=LengthEmbedder()) as base:
        assert base.search("margin").segments


def test_a_relative_path_holds_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with KnowledgeBase("test.kb") as base, ThreadPoolExecutor(1) as another:
        base.add_text(MARGINS, document_id="d")
        monkeypatch.chdir(tmp_path / "elsewhere")
        base.compact()
        with store_of(base).snapshot():  # so that the other thread opens a connection of its own
            assert another.submit(base.search, "margin").result().segments
        assert base.info().bytes_on_disk > 0
        assert base.info().path == "test.kb"
