"""Laws of the layout, for any words anywhere on any pages."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sheets import FONTS, Sheet, compose_sheets

from spanwise.parsers.pdf.layout.page import Rule

LAW = settings(max_examples=60, deadline=None)
WORDS = st.sampled_from(
    "a ships The cargo, 12 (3) 1,200 $ ) % - long- well\ufffe Item 7. — HARBOUR. • F-3 ii".split()
)
PLACES = st.tuples(
    st.lists(WORDS, min_size=1, max_size=8),
    st.integers(0, 500),
    st.integers(0, 790),
    st.sampled_from([6.0, 10.0, 12.5, 18.0]),
    st.integers(0, len(FONTS) - 1),
)
RULES = st.builds(
    lambda x, y, length, upright: (
        Rule(x, y, x, y + length) if upright else Rule(x, y, x + length, y)
    ),
    st.integers(0, 5).map(lambda at: 100.0 * at),
    st.integers(0, 5).map(lambda at: 100.0 * at),
    st.integers(1, 5).map(lambda at: 100.0 * at),
    st.booleans(),
)
SHEETS = st.lists(
    st.tuples(st.lists(PLACES, max_size=25), st.lists(RULES, max_size=12)), min_size=1, max_size=6
)


Written = tuple[list[tuple[list[str], int, int, float, int]], list[Rule]]
"""Lines (words, x, y, size, font) and rules of a page."""


def made(
    pages: list[Written],
) -> list[Sheet]:
    sheets = []
    for lines, rules in pages:
        sheet = Sheet()
        for words, x, y, size, font in lines:
            sheet.write(" ".join(words), x=x, y=y, size=size, font=font)
        sheet.rules = rules
        sheets.append(sheet)
    return sheets


def signs(text: str) -> Counter[str]:
    """Return the characters of a text without what the layout may add or take: hyphens, bars."""
    return Counter(text) - Counter({sign: text.count(sign) for sign in "-\ufffe| \n"})


@LAW
@given(SHEETS)
def test_no_character_is_lost_or_made(
    pages: list[Written],
) -> None:
    """What is written on each page is in its text, or is said to run along."""
    sheets = made(pages)
    found = compose_sheets(sheets)
    starts = [found.starts[at] for at in range(len(sheets))]
    end = len(found.text)
    for at in reversed(range(len(sheets))):
        start = starts[at] if starts[at] is not None else end
        assert start is not None
        written = "".join(sheets[at].words.texts)
        assert signs(found.text[start:end] + "".join(found.running[at])) == signs(written)
        end = start
    assert end == 0


@pytest.mark.slow
@LAW
@given(SHEETS)
def test_what_points_into_the_text_is_in_order(
    pages: list[Written],
) -> None:
    """Pages, headings and blocks are monotone; a heading's range is its title."""
    found = compose_sheets(made(pages))
    starts = [start for start in found.starts if start is not None]
    assert starts == sorted(starts)
    assert starts == sorted(set(starts))
    for heading in found.headings:
        assert found.text[heading.start : heading.end] == heading.title
        assert heading.title == heading.title.strip()
        assert heading.level >= 1
    for before, after in pairwise(found.headings):
        assert before.end <= after.start
        assert after.level <= before.level + 1
    for block, following in pairwise(found.blocks):
        assert block.end <= following.start
    for block in found.blocks:
        assert block.start == 0 or found.text[block.start - 1] == "\n"
        assert block.end == len(found.text) or found.text[block.end] == "\n"


@pytest.mark.slow
@LAW
@given(SHEETS)
def test_same_words_same_text(
    pages: list[Written],
) -> None:
    """In every run."""
    assert compose_sheets(made(pages)) == compose_sheets(made(pages))
