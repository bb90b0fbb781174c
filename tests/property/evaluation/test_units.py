"""Laws of the units of baselines."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.texts import TEXTS

from spanwise.evaluation.retrievers.baselines import PieceSize, pieces, sentences, windows


@given(text=TEXTS, max_chars=st.integers(1, 60))
def test_pieces_contain_all_text_once_and_none_is_too_long(text: str, max_chars: int) -> None:
    """Pieces are in order, disjoint and short enough; what is left out is white space."""
    found = pieces(text, start=0, end=len(text), size=PieceSize(max_chars=max_chars))
    place = 0
    for start, end in found:
        assert place <= start < end <= start + max_chars
        assert not text[place:start].strip()
        place = end
    assert not text[place:].strip()


@given(text=TEXTS, max_chars=st.integers(2, 60), data=st.data())
def test_pieces_that_overlap_go_on_and_leave_nothing_out(
    text: str, max_chars: int, data: st.DataObject
) -> None:
    """Each begins and ends after the one before, and repeats no more than it may."""
    overlap = data.draw(st.integers(0, max_chars - 1))
    size = PieceSize(max_chars=max_chars, overlap_chars=overlap)
    found = pieces(text, start=0, end=len(text), size=size)
    place = 0
    for start, end in found:
        assert place - overlap <= start < end <= start + max_chars
        assert end > place
        assert not text[place:start].strip()
        place = end
    assert not text[place:].strip()


@given(text=TEXTS, max_chars=st.integers(4, 60))
def test_neighbours_that_fit_together_are_one_piece_unless_a_better_place_parts_them(
    text: str, max_chars: int
) -> None:
    """Two pieces that could be one are parted where a larger unit was cut: at a line break."""
    found = pieces(text, start=0, end=len(text), size=PieceSize(max_chars=max_chars))
    for (first, middle), (start, end) in pairwise(found):
        if start == middle and end - first <= max_chars:
            around = text[max(0, first - max_chars) : end + max_chars]
            assert "\n" in around or " " in around


@given(text=TEXTS)
def test_sentences_contain_all_text_once(text: str) -> None:
    """Sentences are in order and disjoint; what is left out is white space."""
    place = 0
    for start, end in sentences(text):
        assert place <= start < end
        assert not text[place:start].strip()
        assert text[start:end].strip()
        place = end
    assert not text[place:].strip()


@given(text=TEXTS, neighbours=st.integers(0, 4))
def test_a_window_reaches_its_neighbours_and_no_further(text: str, neighbours: int) -> None:
    """A window begins and ends with a sentence, at most so many away."""
    found = sentences(text)
    for at, (start, end) in enumerate(windows(found, neighbours=neighbours)):
        inside = [one for one in found if start <= one[0] and one[1] <= end]
        assert inside == found[max(0, at - neighbours) : at + neighbours + 1]
        assert (inside[0][0], inside[-1][1]) == (start, end)
