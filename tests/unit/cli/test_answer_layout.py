"""Terminal output of answers."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.cli.commands.ask import AnswerText, draw_notes
from spanwise.cli.layout import Page
from spanwise.types import Answer, AnswerCitation, Citation, Usage


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def written(*pieces: str) -> list[str]:
    """Return the lines that some pieces are written in."""
    stream = io.StringIO()
    text = AnswerText(Page(stream))
    for piece in pieces:
        text.write(piece)
    text.end()
    return stream.getvalue().split("\n")[:-1]


@given(words=st.lists(st.text("abcdefgh[]?1", min_size=1, max_size=30), min_size=1, max_size=60))
def test_words_keep_their_order_and_lines_their_width(words: list[str]) -> None:
    lines = written(*[f" {word}" if number else word for number, word in enumerate(words)])
    assert " ".join(lines).split() == words
    assert all(len(line) <= 80 for line in lines)
    assert all(line == line.strip() for line in lines)


def test_a_line_ends_where_the_answer_ends_one() -> None:
    assert written("One. [1]", "\n- two [2]", " three.") == ["One. [1]", "- two [2] three."]


def test_a_text_cannot_steer_the_terminal() -> None:
    assert written("a\x1b[2Jb") == ["a\ufffd[2Jb"]


def test_what_was_not_checked_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    AnswerText(Page(stream)).write("So. [1][2?] Or. [?]")
    assert stream.getvalue() == "So. [1]\x1b[31m[2?]\x1b[0m Or. \x1b[31m[?]\x1b[0m"


def test_citations_conflicts_warnings_and_cost_follow_the_answer() -> None:
    place = Citation(document_id="a", title="Report", start=3, end=9, pages=(4, 4))
    exact = AnswerCitation(number=1, quote="one", status="exact", similarity=1.0, citation=place)
    near = AnswerCitation(number=2, quote="two", status="near", similarity=0.96, citation=place)
    failed = AnswerCitation(number=3, quote="six", status="failed", similarity=0.2, citation=None)
    answer = Answer(
        question="?",
        text="So. [1][2][3?]",
        citations=(exact, near, failed),
        refused=False,
        queries=("?", "further"),
        conflicts=("Two figures. [1][2]",),
        model="openai:gpt-5-mini",
        usage=Usage(calls=2, input_tokens=1_000, output_tokens=50, cost=0.0012),
        warnings=("1 quote was not found in the text and marked so",),
        seconds={"answer": 1.5},
    )
    stream = io.StringIO()
    draw_notes(answer, Page(stream))
    assert stream.getvalue().split("\n") == [
        "",
        "[1] Report, page 4, characters 3-9",
        '    "one"',
        "",
        "[2] Report, page 4, characters 3-9 (similar: 96% of the words match)",
        '    "two"',
        "",
        "[3?] not found in the text",
        '    "six"',
        "",
        "conflict: Two figures. [1][2]",
        "warning: 1 quote was not found in the text and marked so",
        "also searched: further",
        "2 model calls | 1,000 tokens in | 50 out | $0.0012 | 0 ms of model time",
        "openai:gpt-5-mini | 1.5 s",
        "",
    ]


def test_a_notebook_shows_what_failed_and_runs_nothing() -> None:
    failed = AnswerCitation(
        number=1, quote="<script>", status="failed", similarity=0.0, citation=None
    )
    answer = Answer(
        question="<b>?",
        text="So <i>. [1?]",
        citations=(failed,),
        refused=False,
        queries=("?",),
        conflicts=("A & B",),
    )
    drawn = answer._repr_html_()
    assert "[1?] not found in the text" in drawn
    assert "conflict: A &amp; B" in drawn
    assert not any(tag in drawn for tag in ("<script", "<b>", "<i>"))


def test_a_long_place_hangs_below_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    place = Citation(document_id="a", title="Annual report of the mills", start=3, end=9)
    cited = AnswerCitation(number=1, quote="one", status="exact", similarity=1.0, citation=place)
    answer = Answer(question="?", text="So. [1]", citations=(cited,), refused=False, queries=("?",))
    stream = io.StringIO()
    draw_notes(answer, Page(stream))
    assert stream.getvalue().split("\n")[1:4] == [
        "[1] Annual report of the mills,",
        "    characters 3-9",
        '    "one"',
    ]
