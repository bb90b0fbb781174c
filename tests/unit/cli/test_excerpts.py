"""Terminal output of `spanwise excerpts`."""

from __future__ import annotations

import dataclasses
import io

import pytest

from spanwise.cli.commands.search import draw_excerpts
from spanwise.cli.layout import Page
from spanwise.cli.main import main
from spanwise.types import Citation, Excerpt, ExcerptResult, ExcerptSpan

CITATION = Citation(
    document_id="report.pdf",
    title="Annual report",
    start=10,
    end=90,
    pages=(3, 4),
    section_path=("Results",),
    source="in/report.pdf",
)
EXCERPT = Excerpt(
    document_id="report.pdf",
    title="Annual report",
    spans=(
        ExcerptSpan(
            start=10, end=24, text="Margins fell.\n", is_evidence=True, relevance=1.0,
            citation=CITATION,
        ),
    ),
    text="Results\n\nMargins fell.\n\n[... 40 characters left out ...]\n\nCosts rose.",
    header="Annual report",
    tokens=120,
    relevance=0.62,
    value=0.4,
    is_whole=False,
    citation=CITATION,
)  # fmt: skip
RESULT = ExcerptResult(
    question="Why?",
    queries=("Why?",),
    excerpts=(EXCERPT,),
    context="",
    tokens=120,
    excerpt_tokens=1_000,
    candidates=1_200,
    seconds={"weigh": 0.002, "excerpts": 0.001},
)


def drawn(result: ExcerptResult) -> list[str]:
    """Return the lines that are drawn on a terminal of 80 columns."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    draw_excerpts(result, Page(stream))
    stream.seek(0)
    return stream.read().splitlines()


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_an_excerpt_shows_rank_title_relevance_pages_and_characters() -> None:
    assert drawn(RESULT) == [
        "1st  Annual report" + " " * 47 + "██████░░░░ 0.62",
        "report.pdf · pages 3-4 · characters 10-90 · 120 tokens",
        "",
        "Results",
        "",
        "Margins fell.",
        "",
        "[... 40 characters left out ...]",
        "",
        "Costs rose.",
        "",
        "1 excerpt · 120 tokens · 1,200 candidates scored · 3 ms",
    ]


def test_a_whole_document_is_marked() -> None:
    whole = dataclasses.replace(EXCERPT, is_whole=True)
    line = drawn(dataclasses.replace(RESULT, excerpts=(whole,)))[1]
    assert line == "report.pdf · pages 3-4 · the whole document · 120 tokens"


def test_queries_and_duplicates_of_an_excerpt_are_shown() -> None:
    excerpt = dataclasses.replace(EXCERPT, queries=(0, 1), also_in=("a", "b"))
    result = dataclasses.replace(RESULT, queries=("Why?", "What for?"), excerpts=(excerpt,))
    lines = drawn(result)
    assert "found for: Why? · What for?" in lines
    assert "nearly the same text in 2 other documents: a, b" in lines


def test_weak_evidence_is_reported_first() -> None:
    result = dataclasses.replace(RESULT, evidence=0.21, weak_evidence=True)
    assert drawn(result)[0].startswith("weak evidence: 21% probability")


def test_nothing_found_shows_the_guess_apart() -> None:
    result = dataclasses.replace(RESULT, excerpts=(), best_guess=EXCERPT, warnings=("no vectors",))
    lines = drawn(result)
    assert lines[0] == "Nothing in the knowledge base answers this question."
    assert lines[3].startswith("guess  Annual report")
    assert lines[-2] == "warning: no vectors"


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["two", "words"], "put it in quotes"),
        (["Why?", "--context", "--json"], "exclude each other"),
        (["Why?", "--excerpts", "0"], "--excerpts"),
        (["Why?", "--preset", "dsrag-balanced"], "--preset"),
    ],
)
def test_an_invalid_command_line_is_explained(
    words: list[str], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["excerpts", *words]) == 2
    written = capsys.readouterr()
    assert output in written.out + written.err
