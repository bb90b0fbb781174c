"""Laws of the sections that a model names by numbered lines."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.texts import DOCUMENTS, TEXTS

from spanwise.core.documents.model_sections import (
    TITLE_CHARS,
    NumberedLines,
    clean_title,
    decide_seam,
    find_stretches,
    number_lines,
    read_starts,
    settle_starts,
    split_windows,
)
from spanwise.packs.known_kinds import document_headings, split_sections
from spanwise.types import Document

TITLES = st.one_of(
    st.text(max_size=30),
    st.text(alphabet='[]()#>*-–:. 1234lineLINE"ab', max_size=30),
    st.sampled_from(["", "Fees", "fees", "[3] Fees", "I'm sorry, I cannot help", "x" * 300]),
)
ANSWERS = st.lists(st.tuples(st.integers(-3, 40), TITLES), max_size=12)
TOKENS = st.lists(st.integers(0, 9), min_size=1, max_size=30)
WORD = st.sampled_from(["fees", "boats", "storms", "crews", "tides", "flour", "ropes", "bells"])


@st.composite
def documents_of_lines(draw: st.DrawFn) -> tuple[Document, NumberedLines]:
    """Return a document that is not empty, and its lines."""
    document = draw(DOCUMENTS.filter(lambda document: bool(document.text)))
    headings = document_headings(document)
    plain = draw(st.sampled_from([(), split_sections(document)]))
    return document, number_lines(document, headings=headings, plain=plain)


@st.composite
def windows_of_lines(draw: st.DrawFn) -> tuple[NumberedLines, range]:
    """Return the lines of a document and a range of them."""
    _, lines = draw(documents_of_lines())
    start = draw(st.integers(0, len(lines.shown) - 1))
    return lines, range(start, draw(st.integers(start + 1, len(lines.shown))))


@given(documents_of_lines())
def test_the_lines_joined_are_the_text(made: tuple[Document, NumberedLines]) -> None:
    """No line is blank, unless the whole text is blank."""
    document, lines = made
    pieces = [document.text[start:stop] for start, stop in pairwise(lines.bounds)]
    assert "".join(pieces) == document.text
    assert all(pieces)
    assert len(pieces) == len(lines.shown)
    if document.text.strip():
        assert all(lines.shown)
    assert all(len(shown.splitlines()) <= 1 for shown in lines.shown)


@given(TEXTS.filter(lambda text: bool(text.strip())))
def test_no_line_is_long(text: str) -> None:
    """Displayed lines have a bounded length for any text."""
    lines = number_lines(Document(id="d", text=text * 50), headings=())
    assert max(map(len, lines.shown)) <= 500


@given(TOKENS, st.data())
def test_windows_partition_the_lines(tokens: list[int], data: st.DataObject) -> None:
    """A window that is longer than the limit is a single line."""
    parts = sorted({0, *data.draw(st.sets(st.integers(0, len(tokens) - 1)))})
    limit = data.draw(st.integers(1, 30))
    windows = split_windows(tokens, parts=parts, limit=limit)
    assert [line for window in windows for line in window] == list(range(len(tokens)))
    for window in windows:
        assert len(window) == 1 or sum(tokens[line] for line in window) <= limit


@given(windows_of_lines(), ANSWERS)
def test_any_answer_gives_sections_from_the_first_line(
    made: tuple[NumberedLines, range], answer: list[tuple[int, str]]
) -> None:
    """Its sections begin with lines of the window, those of the parts among them."""
    lines, window = made
    starts = read_starts(answer, lines=lines, window=window)
    assert list(starts) == sorted(starts)
    assert window.start in starts
    assert set(starts) <= set(window)
    assert {part for part in lines.parts if part in window} <= set(starts)


@given(windows_of_lines(), ANSWERS)
def test_what_was_repaired_stays(
    made: tuple[NumberedLines, range], answer: list[tuple[int, str]]
) -> None:
    """Reading an answer is idempotent."""
    lines, window = made
    once = read_starts(answer, lines=lines, window=window)
    again = [(line - window.start + 1, title) for line, title in once.items()]
    assert read_starts(again, lines=lines, window=window) == once


@given(windows_of_lines(), ANSWERS)
def test_the_order_of_an_answer_does_not_matter(
    made: tuple[NumberedLines, range], answer: list[tuple[int, str]]
) -> None:
    """Sections that begin with different lines may be named in any order."""
    lines, window = made
    assume(len({number for number, _ in answer}) == len(answer))
    backwards = read_starts(answer[::-1], lines=lines, window=window)
    assert backwards == read_starts(answer, lines=lines, window=window)


@given(windows_of_lines(), ANSWERS, st.integers(1, 80))
def test_settled_sections_stay(
    made: tuple[NumberedLines, range], answer: list[tuple[int, str]], min_chars: int
) -> None:
    """Only a whole part may be short, and settling is idempotent."""
    lines, window = made
    starts = read_starts(answer, lines=lines, window=window)
    settled = settle_starts(starts, lines=lines, stop=window.stop, min_chars=min_chars)
    assert set(settled) <= set(starts)
    ends = [window.start, *lines.parts, window.stop]
    for line, stop in pairwise([*settled, window.stop]):
        if lines.chars(line, stop) < min_chars:
            assert line in ends
            assert stop in ends
    assert settle_starts(settled, lines=lines, stop=window.stop, min_chars=min_chars) == settled


@given(windows_of_lines(), st.data())
def test_a_perfect_answer_stays_as_it_is(
    made: tuple[NumberedLines, range], data: st.DataObject
) -> None:
    """So does an outline of headings that are long enough, with a title each."""
    lines, window = made
    min_chars = data.draw(st.integers(1, 20))
    fitting = {window.start, *(part for part in lines.parts if part in window)}
    for line in window:
        after = min([window.stop, *(start for start in fitting if start > line)])
        before = max([window.start, *(start for start in fitting if start <= line)])
        is_long = min(lines.chars(before, line), lines.chars(line, after)) >= min_chars
        if is_long and line - 1 not in lines.headings and data.draw(st.booleans()):
            fitting.add(line)
    perfect = {line: f"On {data.draw(WORD)} {line}" for line in sorted(fitting)}
    answer = [(line - window.start + 1, title) for line, title in perfect.items()]
    starts = read_starts(answer, lines=lines, window=window)
    assert starts == perfect
    settled = settle_starts(starts, lines=lines, stop=window.stop, min_chars=min_chars)
    assert settled == perfect


@given(documents_of_lines(), st.data())
def test_stretches_around_seams_never_meet(
    made: tuple[Document, NumberedLines], data: st.DataObject
) -> None:
    """All of them can be decided in parallel, and sections begin at known lines."""
    _, lines = made
    tokens = [len(shown) // 3 + 1 for shown in lines.shown]
    windows = split_windows(tokens, parts=lines.parts, limit=data.draw(st.integers(5, 60)))
    found = [
        read_starts(data.draw(ANSWERS), lines=lines, window=window)
        if data.draw(st.integers(0, 4))
        else None
        for window in windows
    ]
    stretches = find_stretches(windows, found, lines=lines, tokens=tokens, min_chars=20)
    for before, after in pairwise(stretches):
        assert before.lines.stop <= after.lines.start
    starts = {line: title for one in found if one for line, title in one.items()}
    for stretch in stretches:
        assert stretch.lines.start < stretch.seam < stretch.lines.stop
        assert stretch.seam in starts
        assert stretch.seam not in lines.parts
        decided = read_starts(data.draw(ANSWERS), lines=lines, window=stretch.lines)
        outside = {line for line in starts if line not in stretch.lines}
        starts = decide_seam(starts, stretch, decided)
        assert list(starts) == sorted(starts)
        assert outside <= set(starts)
        assert set(starts) & set(stretch.lines) <= set(decided)


@given(TITLES, st.sampled_from(["", "1. Definitions", "(3) the fee", "Fees"]))
def test_a_title_that_was_cleaned_stays(title: str, first_line: str) -> None:
    """It is one line of bounded length."""
    cleaned = clean_title(title, first_line=first_line)
    assert len(cleaned) <= TITLE_CHARS
    assert len(cleaned.splitlines()) <= 1
    assert clean_title(cleaned, first_line=first_line) == cleaned
