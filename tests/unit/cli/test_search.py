"""Terminal output of `spanwise search`."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from spanwise.cli.commands.search import draw_result
from spanwise.cli.layout import Page
from spanwise.types import Citation, SearchResult, Segment


def make_segment(
    *,
    rank: int = 0,
    title: str = "Annual report",
    path: Sequence[str] = ("Annual report", "Results"),
    pages: tuple[int, int] | None = None,
    text: str = "Margins fell.\n",
) -> Segment:
    citation = Citation(
        document_id="report.pdf",
        title=title,
        start=10,
        end=10 + len(text),
        pages=pages,
        section_path=tuple(path),
        source="in/report.pdf",
    )
    return Segment(
        document_id="report.pdf",
        start=10,
        end=10 + len(text),
        first_chunk=0,
        last_chunk=1,
        text=text,
        header="",
        tokens=12,
        relevance=0.62,
        value=0.4,
        rank=rank,
        citation=citation,
    )


def drawn(
    *segments: Segment, guess: Segment | None = None, warnings: tuple[str, ...] = ()
) -> list[str]:
    """Return the lines that are drawn for a result on a terminal of 80 columns."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    result = SearchResult(
        question="Why?",
        segments=segments,
        context="",
        tokens=12 * len(segments),
        budget_tokens=4000,
        candidates=1200,
        best_guess=guess,
        warnings=warnings,
        seconds={"scan": 0.002, "extract": 0.001},
    )
    draw_result(result, Page(stream))
    stream.seek(0)
    return stream.read().splitlines()


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_a_segment_shows_rank_title_relevance_section_pages_and_characters() -> None:
    assert drawn(make_segment(pages=(3, 4))) == [
        "1st  Annual report" + " " * 47 + "██████░░░░ 0.62",
        "Results",
        "report.pdf · pages 3-4 · characters 10-24 · 12 tokens",
        "",
        "Margins fell.",
        "",
        "1 segment · 12 of 4,000 tokens · 1,200 candidates scored · 3 ms",
    ]


def test_one_page_is_named_alone() -> None:
    assert "· page 3 ·" in drawn(make_segment(pages=(3, 3)))[2]


def test_segments_keep_their_order_and_show_their_ranks() -> None:
    lines = drawn(make_segment(rank=1), make_segment(rank=0))
    assert [line[:3] for line in lines if line.endswith("0.62")] == ["2nd", "1st"]


def test_a_long_title_leaves_room_for_the_relevance() -> None:
    first = drawn(make_segment(title="Words " * 30))[0]
    assert len(first) == 80
    assert "..." in first
    assert first.endswith("██████░░░░ 0.62")


def test_wide_characters_take_two_columns() -> None:
    first = drawn(make_segment(title="年次報告書"))[0]
    assert first == "1st  年次報告書" + " " * 50 + "██████░░░░ 0.62"
    first = drawn(make_segment(title="年" * 60))[0]
    assert first == "1st  " + "年" * 27 + "..." + "   " + "██████░░░░ 0.62"


def test_a_document_without_title_and_path_is_named_by_its_id() -> None:
    lines = drawn(make_segment(title="", path=()))
    assert lines[0].startswith("1st  report.pdf ")
    assert lines[1].startswith("report.pdf · characters")


def test_a_title_cannot_break_the_line_or_steer_the_terminal() -> None:
    first = drawn(make_segment(title="a\n\x1b[31mb"))[0]
    assert first.startswith("1st  a \ufffd[31mb ")


def test_nothing_found_shows_the_best_guess_apart() -> None:
    lines = drawn(guess=make_segment())
    assert lines[:2] == [
        "Nothing in the knowledge base answers this question.",
        "Best guess, probably not an answer:",
    ]
    assert lines[3].startswith("guess  Annual report")
    assert lines[-1].startswith("0 segments · 0 of 4,000 tokens")


def test_warnings_are_shown() -> None:
    assert "warning: searched by keywords alone" in drawn(warnings=("searched by keywords alone",))
