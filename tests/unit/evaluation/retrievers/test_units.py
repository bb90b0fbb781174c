"""Sentences, windows and pieces of a text."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from spanwise.evaluation.retrievers.baselines import PieceSize, pieces, sentences, windows


def test_a_wrapped_line_ends_no_sentence() -> None:
    """Sentences go on over the ends of wrapped lines, and end at stops and paragraphs."""
    text = (
        "The costs of freight by rail rose in the year under review, which nobody in the\n"
        "board had planned for. A review was ordered.\n\nWages stayed as they were.\n"
    )
    found = [text[start:end].strip() for start, end in sentences(text)]
    assert found == [
        "The costs of freight by rail rose in the year under review, which nobody in the\n"
        "board had planned for.",
        "A review was ordered.",
        "Wages stayed as they were.",
    ]


def test_windows_stop_at_the_ends_of_a_text() -> None:
    """The first and the last sentence have fewer neighbours."""
    ranges = [(0, 5), (5, 9), (9, 20), (20, 30)]
    assert windows(ranges, neighbours=1) == [(0, 9), (0, 20), (5, 30), (9, 30)]
    assert windows([], neighbours=3) == []


def test_pieces_are_cut_at_the_largest_unit_that_fits() -> None:
    """Paragraphs stay whole where they fit; a long one is cut at lines, a long line at spaces."""
    text = "one two\n\nthree four five\nsix seven eight nine ten\n\neleven"
    size = PieceSize(max_chars=20)
    found = [text[start:end] for start, end in pieces(text, start=0, end=len(text), size=size)]
    assert found == [
        "one two\n\n",
        "three four five\n",
        "six seven eight ",
        "nine ten\n",
        "eleven",
    ]
    short = PieceSize(max_chars=3)
    assert pieces("abcdefg", start=0, end=7, size=short) == [(0, 3), (3, 6), (6, 7)]
    assert pieces("  \n\n ", start=0, end=5, size=short) == []


def test_pieces_repeat_whole_parts_of_those_before() -> None:
    """As many words as the overlap holds come again, and none that would not leave room."""
    text = "one two three four five sixteen seven"
    size = PieceSize(max_chars=15, overlap_chars=8)
    found = [text[start:end] for start, end in pieces(text, start=0, end=len(text), size=size)]
    assert found == [
        "one two three ",
        "three four ",
        "four five ",
        "five sixteen ",
        "sixteen seven",
    ]
    size = PieceSize(max_chars=4, overlap_chars=2)
    assert pieces("abcdefg", start=0, end=7, size=size) == [(0, 4), (2, 6), (4, 7)]


@given(
    text=st.text(alphabet="ab \n", max_size=120),
    max_chars=st.integers(2, 20),
    overlap_chars=st.integers(0, 19),
)
def test_pieces_hold_all_of_a_text_and_keep_to_their_size(
    text: str, max_chars: int, overlap_chars: int
) -> None:
    """All that is no white space is in a piece, none is too long, each begins and ends later."""
    size = PieceSize(max_chars=max_chars, overlap_chars=min(overlap_chars, max_chars - 1))
    found = pieces(text, start=0, end=len(text), size=size)
    held = {at for start, end in found for at in range(start, end)}
    assert held >= {at for at, character in enumerate(text) if character.strip()}
    assert all(0 < end - start <= max_chars for start, end in found)
    for before, after in pairwise(found):
        assert before[0] < after[0]
        assert before[1] < after[1]
        assert before[1] - after[0] <= size.overlap_chars
