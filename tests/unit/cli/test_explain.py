"""Output of `spanwise explain`."""

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
    output = drawn(explanation)
    first = explanation.documents[0]
    assert output[0] == f"{first.title}  {first.chunks} chunks"
    assert set("".join(output[1:4])) <= set(" ▁▂▃▄▅▆▇█")
    assert output[4].strip().replace("━", "").replace(" ", "").isdigit()
    assert all(len(line) <= 80 for line in output)


def test_similar_words_are_named() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text("The physician visits the village on Tuesdays.", document_id="village")
        output = drawn(base.explain("When does the doctor come?"))
    assert any('doctor as "physician"' in line for line in output)


def test_candidates_show_contributions_and_outcome(explanation: Explanation) -> None:
    output = "\n".join(drawn(explanation, top=4))
    best, kept_out = explanation.candidates[0], explanation.candidates[3]
    assert f"{best.document_id}, chunk {best.chunk}" in output
    assert "in segment 1" in output
    assert kept_out.reason in output
    words, amount = explanation.why(best)[0]
    (line,) = [
        line for line in output.split(best.reason)[1].splitlines() if line.startswith(f"  {words} ")
    ][:1]
    assert f"{amount:+.1f}" in line
    assert line.endswith("█" * 20)
    assert f"share {best.share:.3g}" in output


def test_top_0_draws_no_candidate(explanation: Explanation) -> None:
    assert "share " not in "\n".join(drawn(explanation, top=0))


def test_without_unicode_plots_use_ascii(explanation: Explanation) -> None:
    output = "\n".join(drawn(explanation, encoding="ascii"))
    assert output.isascii()
    assert "==" in output
    assert "####" in output


def test_a_narrow_terminal_shows_names_and_numbers_whole(
    explanation: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    output = drawn(explanation, top=4)
    assert max(map(len, output)) <= 40
    text = " ".join(" ".join(output).split())
    for candidate in explanation.candidates[:4]:
        assert f"{candidate.document_id}, chunk {candidate.chunk} " in text
    assert f"{explanation.documents[0].title} {explanation.documents[0].chunks} chunks" in text


@pytest.mark.parametrize("width", range(16, 90, 6))
def test_lines_fit_the_terminal_and_names_are_complete(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    name = "reports/2023/annual/consolidated/harrow-mills.md"
    with KnowledgeBase(":memory:") as base:
        base.add_text(TEXT, document_id=name, title="毎年の報告書 " * 5)
        explanation = base.explain("gross margin of the mill")
    monkeypatch.setenv("COLUMNS", str(width))
    output = drawn(explanation)
    assert name in "".join(line.strip() for line in output)
    if width >= 40:
        assert max(map(columns, output)) <= width


def test_further_documents_are_counted() -> None:
    with filled_base(12, paragraphs=4) as base:
        explanation = base.explain(QUESTION, budget_tokens=200)
    shown = len(explanation.result.segments) + 3
    assert f"and {12 - shown} documents with lower relevance" in drawn(explanation)


def test_json_holds_the_explanation_without_wall_times(
    kb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", QUESTION, "--kb", kb, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert list(output) == [
        "result", "features", "groups", "typical", "terms", "documents", "candidates", "words",
        "languages",
    ]  # fmt: skip
    assert "seconds" not in output["result"]
    assert output["result"]["not_found"] is False
    best = output["candidates"][0]
    assert best["decision"] == "segment"
    assert set(best["scores"][0]["contributions"]) == set(output["features"])


def test_a_page_into_a_missing_folder_is_refused_before_anything_is_searched(
    kb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "why.html"
    assert main(["explain", QUESTION, "--kb", kb, "--html", str(path)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert f"there is no folder {path.parent}" in output.err


def test_the_page_is_written_to_the_given_file(
    kb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "why.html"
    assert main(["explain", QUESTION, "--kb", kb, "--html", str(path), "--json"]) == 0
    output = capsys.readouterr()
    assert output.err == f"page: {path}\n"
    assert json.loads(output.out)["candidates"]
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("can_open", [True, False])
def test_the_page_is_opened_from_a_temporary_file(
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
    output = capsys.readouterr().err
    assert f"page: {path}" in output
    assert ("no browser could be opened" in output) is not can_open


def test_what_is_not_found_ends_with_code_4(kb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "quantum computers", "--abstain", "--kb", kb]) == 4
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
