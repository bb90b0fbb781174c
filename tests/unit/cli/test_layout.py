from __future__ import annotations

import io
import sys

import pytest

from spanwise.cli.layout import (
    Page,
    columns,
    count,
    duration,
    one_line,
    ordinal,
    shortened,
    size,
)
from spanwise.core.text.controls import clean


class Terminal(io.StringIO):
    """Text stream that says it is a terminal, in some encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return True


def test_escape_sequences_of_a_document_cannot_steer_the_terminal() -> None:
    """Text of documents is data: no control character but tab and line feed reaches the screen."""
    assert clean("a\x1b[2Jb\x07\u202e\tc\r\nd\fe") == "a\ufffd[2Jb\ufffd\ufffd\tc\nd\ne"


def test_one_line_folds_white_space() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"


def test_text_from_right_to_left_has_no_added_marks_when_piped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An id can be passed to the next command."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert one_line("דוח  שנתי") == "דוח שנתי"


def test_text_from_right_to_left_is_set_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, however often it is laid out, and also where its end is cut off."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    apart = one_line("דוח  שנתי")
    assert apart == "\u2068דוח שנתי\u2069"
    assert one_line(f"3 · {apart} · 12") == "3 · \u2068דוח שנתי\u2069 · 12"
    assert columns(apart) == 8
    assert shortened(apart, 7) == "\u2068דוח...\u2069"


def test_marks_take_no_column_and_wide_letters_two() -> None:
    assert [columns(text) for text in ("ที่", "e\u0301a", "收入")] == [1, 2, 4]


@pytest.mark.parametrize(
    ("number", "output"), [(0, "0 chunks"), (1, "1 chunk"), (1200, "1,200 chunks")]
)
def test_count_agrees_with_its_noun(number: int, output: str) -> None:
    assert count(number, "chunk") == output


@pytest.mark.parametrize(
    ("seconds", "output"), [(0.0214, "21 ms"), (3.21, "3.2 s"), (245.0, "4 min 5 s")]
)
def test_duration_is_in_the_unit_people_use(seconds: float, output: str) -> None:
    assert duration(seconds) == output


@pytest.mark.parametrize(
    ("number", "output"),
    [(999, "999 bytes"), (1000, "1.0 kB"), (2_500_000, "2.5 MB"), (10**13, "10.0 TB")],
)
def test_size_is_in_powers_of_a_thousand(number: int, output: str) -> None:
    assert size(number) == output


@pytest.mark.parametrize(
    ("rank", "output"),
    [
        (0, "1st"),
        (1, "2nd"),
        (2, "3rd"),
        (3, "4th"),
        (10, "11th"),
        (12, "13th"),
        (20, "21st"),
        (110, "111th"),
    ],
)
def test_rank_0_is_the_first_place(rank: int, output: str) -> None:
    assert ordinal(rank) == output


def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Page(Terminal()).paint("text", "bold", "cyan") == "\x1b[1;36mtext\x1b[0m"
    assert Page(io.StringIO()).paint("text", "bold") == "text"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert Page(Terminal()).paint("text", "bold") == "text"


def test_bar_shows_tenths_and_stays_inside_its_ends() -> None:
    page = Page(Terminal())
    assert page.bar(0.68) == "███████░░░"
    assert page.bar(1.5) == "██████████"
    assert page.bar(-1) == "░░░░░░░░░░"


def test_bar_and_dots_are_ascii_where_the_encoding_is() -> None:
    page = Page(Terminal("ascii"))
    assert page.bar(0.3) == "###-------"
    assert page.joined(["a", "", "b"]) == "a | b"


def body(text: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines of a text of a document on a terminal of 20 columns."""
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    Page(stream).body(text)
    return stream.getvalue().splitlines()


def test_body_keeps_lines_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert body("\n\n  row one   two\n\nb\n c\n", monkeypatch) == [
        "  row one   two",
        "",
        "b",
        " c",
    ]


def test_body_reflows_prose_with_long_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "words of a paragraph in lines\nthat are longer than it is\nwide.\n"
    assert body(text, monkeypatch) == [
        "words of a paragraph",
        "in lines that are",
        "longer than it is",
        "wide.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Revenue of the year   88.4\nMargin               23.1",
        "- one item of a long list\n- another",
        "| a table | with bars | and |\n| b | c | d |",
        "A title of some length\nof two\nB",
    ],
)
def test_body_keeps_rows_and_items_apart(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    last = text.splitlines()[-1].split(maxsplit=1)[0]
    starts = [line.split()[0] for line in body(text, monkeypatch)]
    assert last in starts


def test_facts_have_two_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    stream = io.StringIO()
    Page(stream).facts([("a", "1"), ("long name", "words that are folded"), ("b", "")])
    assert stream.getvalue().splitlines() == [
        "a          1",
        "long name  words that",
        "           are folded",
        "b          ",
    ]


def test_a_message_is_one_line_and_wrapped_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are kept whole there: a path can be copied."""
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    path = "folder/with-a-name-of-30-chars.txt"
    stream = io.StringIO()
    Page(stream).message("failed: ", f"{path}: it\nis empty", "red")
    assert stream.getvalue() == f"failed: {path}: it is empty\n"
    terminal = Terminal()
    Page(terminal).message("failed: ", f"{path}: it\nis empty", "red")
    assert terminal.getvalue() == f"\x1b[31mfailed:\x1b[0m\n{path}:\nit is empty\n"


def test_wide_characters_take_two_columns_where_lines_are_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "铁路规定 乘客应当在列车出发前十分钟到达站台 and 12 words of English"
    lines = body(text, monkeypatch)
    assert max(map(columns, lines)) <= 20
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert lines[0] == "铁路规定 乘客应当在"  # lines are filled, too
