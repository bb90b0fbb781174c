"""Earlier messages are found in what a mail quotes, in the ways of several programs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.parsers.mail import quoted_messages


def titles(text: str) -> list[tuple[int, str]]:
    return [(one.level, one.title) for one in quoted_messages(text)]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("-----Original Message-----\nFrom: Bob\nSent: Monday\nTo: Ann", "Original Message"),
        ("-----Ursprüngliche Nachricht-----\nVon: Bob", "Ursprüngliche Nachricht"),
        ("---------- Forwarded message ---------\nFrom: Bob", "Forwarded message"),
        (
            "Begin forwarded message:\n\nFrom: Bob\nDate: Monday\nTo: Ann",
            "Begin forwarded message:",
        ),
        ("From: Bob <b@b.org>\nSent: Monday\nTo: Ann\nSubject: S", "From: Bob <b@b.org>"),
        ("Am 12.02.2018 um 10:00 schrieb Bob Groß:", "Am 12.02.2018 um 10:00 schrieb Bob Groß:"),
        ("Le lun. 12 févr. 2018, Bob a écrit :", "Le lun. 12 févr. 2018, Bob a écrit :"),
    ],
)
def test_ways_to_announce_a_message(text: str, title: str) -> None:
    assert titles(f"Answer.\n\n{text}\n\nquestion") == [(2, title)]


def test_messages_after_rules_follow_each_other() -> None:
    rule = "-----Original Message-----\nFrom: A\nSent: B\nTo: C\nSubject: D\n\ntext\n\n"
    assert titles(f"top\n\n{rule}{rule}") == [(2, "Original Message")] * 2


@pytest.mark.parametrize(
    "text",
    [
        "On Monday we wrote: nothing",
        "From: the beginning\nto the end",
        "She wrote:",
        "-----\nOn and on",
        "On " + "x" * 100_000 + " wrote:",
    ],
)
def test_other_lines_announce_nothing(text: str) -> None:
    assert titles(text) == []


def test_a_quoted_message_begins_with_its_marks() -> None:
    """The message before it does not end with them."""
    text = "Yes.\n\n > > On Monday, Bob wrote:\n > > question"
    (quoted,) = quoted_messages(text)
    assert text[quoted.start : quoted.end] == "> > On Monday, Bob wrote:"


PARTS = st.sampled_from(
    ["On Mon Bob wrote:", "> ", ">> ", "\n", "-----Original Message-----", "From: x", "To: y",
     "Sent: z", "On Mon", "wrote:", "text", " "]
)  # fmt: skip


@given(st.lists(PARTS, max_size=30).map("".join))
def test_headings_lie_apart_and_in_order(text: str) -> None:
    """And have no white space at their edges."""
    last = 0
    for one in quoted_messages(text):
        assert last <= one.start < one.end
        words = text[one.start : one.end]
        assert words == words.strip()
        assert 2 <= one.level <= 8
        last = one.end
