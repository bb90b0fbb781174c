"""`spanwise explain`: what it writes."""

from __future__ import annotations

import io
import json
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.explanations import QUESTION, filled_base

from spanwise import KnowledgeBase
from spanwise.cli.commands.explain import draw_explanation
from spanwise.cli.layout import Page, columns
from spanwise.cli.main import main
from spanwise.search.explanation import Explanation

TEXT = """# Margins

Gross margin of the mill fell because freight cost more than in the year before.

# Bread

The bakery sells rye bread, oat cakes and a seeded loaf on market days.
"""


@pytest.fixture(scope="module")
def explanation() -> Iterator[Explanation]:
    with filled_base() as base:
        yield base.explain(QUESTION, budget_tokens=600)


@pytest.fixture
def kb(tmp_path: Path) -> str:
    path = tmp_path / "mill.kb"
    with KnowledgeBase(path) as base:
        base.add_text(TEXT, document_id="mill", title="The mill")
    return str(path)


def drawn(explanation: Explanation, *, top: int = 2, encoding: str = "utf-8") -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    draw_explanation(explanation, Page(stream), top=top)
    stream.seek(0)
    return stream.read().splitlines()


def test_documents_have_strips_with_their_segments_marked(explanation: Explanation) -> None:
    said = drawn(explanation)
    first = explanation.documents[0]
    assert said[0] == f"{first.title}  {first.chunks} chunks"
    assert set("".join(said[1:4])) <= set(" ▁▂▃▄▅▆▇█")
    assert said[4].strip().replace("━", "").replace(" ", "").isdigit()
    assert all(len(line) <= 80 for line in said)


def test_candidates_say_why_and_what_became_of_them(explanation: Explanation) -> None:
    said = "\n".join(drawn(explanation, top=4))
    best, kept_out = explanation.candidates[0], explanation.candidates[3]
    assert f"{best.document_id}, chunk {best.chunk}" in said
    assert "in segment 1" in said
    assert kept_out.reason in said
    words, amount = explanation.why(best)[0]
    (line,) = [
        line for line in said.split(best.reason)[1].splitlines() if line.startswith(f"  {words} ")
    ][:1]
    assert f"{amount:+.1f}" in line
    assert line.endswith("█" * 20)
    assert f"share {best.share:.3g}" in said


def test_no_candidate_is_drawn_where_none_is_wanted(explanation: Explanation) -> None:
    assert "share " not in "\n".join(drawn(explanation, top=0))


def test_signs_stand_for_blocks_where_those_cannot_be_written(explanation: Explanation) -> None:
    said = "\n".join(drawn(explanation, encoding="ascii"))
    assert said.isascii()
    assert "==" in said
    assert "####" in said


def test_a_narrow_terminal_shows_names_and_numbers_whole(
    explanation: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    said = drawn(explanation, top=4)
    assert max(map(len, said)) <= 40
    text = " ".join(" ".join(said).split())
    for candidate in explanation.candidates[:4]:
        assert f"{candidate.document_id}, chunk {candidate.chunk} " in text
    assert f"{explanation.documents[0].title} {explanation.documents[0].chunks} chunks" in text


@pytest.mark.parametrize("width", range(16, 90, 6))
def test_names_are_never_cut_and_lines_no_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    name = "reports/2023/annual/consolidated/harrow-mills.md"
    with KnowledgeBase(":memory:") as base:
        base.add_text(TEXT, document_id=name, title="毎年の報告書 " * 5)
        explanation = base.explain("gross margin of the mill")
    monkeypatch.setenv("COLUMNS", str(width))
    said = drawn(explanation)
    assert name in "".join(line.strip() for line in said)
    if width >= 40:
        assert max(map(columns, said)) <= width


def test_further_documents_are_counted() -> None:
    with filled_base(12, paragraphs=4) as base:
        explanation = base.explain(QUESTION, budget_tokens=200)
    shown = len(explanation.result.segments) + 3
    assert f"and {12 - shown} documents with lower relevance" in drawn(explanation)


def test_json_holds_the_explanation_without_wall_times(
    kb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", QUESTION, "--kb", kb, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said) == [
        "result", "features", "groups", "typical", "terms", "documents", "candidates",
    ]  # fmt: skip
    assert "seconds" not in said["result"]
    assert said["result"]["not_found"] is False
    best = said["candidates"][0]
    assert best["decision"] == "segment"
    assert set(best["scores"][0]["contributions"]) == set(said["features"])


def test_a_page_into_a_missing_folder_is_refused_before_anything_is_searched(
    kb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "why.html"
    assert main(["explain", QUESTION, "--kb", kb, "--html", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"there is no folder {path.parent}" in said.err


def test_the_page_is_written_where_it_is_wanted(
    kb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "why.html"
    assert main(["explain", QUESTION, "--kb", kb, "--html", str(path), "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == f"page: {path}\n"
    assert json.loads(said.out)["candidates"]
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("can_open", [True, False])
def test_the_page_is_opened_from_a_file_of_its_own(
    kb: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    can_open: bool,
) -> None:
    opened: list[str] = []

    def open_url(url: str) -> bool:
        opened.append(url)
        return can_open

    monkeypatch.setattr(webbrowser, "open", open_url)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert main(["explain", QUESTION, "--kb", kb, "--open"]) == 0
    (path,) = tmp_path.glob("spanwise-explain-*.html")
    assert opened == [path.as_uri()]
    assert path.stat().st_mode & 0o077 == 0  # it holds text of the documents
    said = capsys.readouterr().err
    assert f"page: {path}" in said
    assert ("no browser could be opened" in said) is not can_open


def test_what_is_not_found_ends_with_code_4(kb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "quantum computers", "--kb", kb]) == 4
    assert "Nothing in the knowledge base answers this question." in capsys.readouterr().out


def test_a_question_in_several_words_is_refused(
    kb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "gross", "margin", "--kb", kb]) == 2
    assert "put it in quotes" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_page_that_cannot_be_written_is_the_only_json(
    kb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", QUESTION, "--kb", kb, "--html", "/dev/full", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "system"
