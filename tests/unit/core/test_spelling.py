"""Which unknown words of a question are misspelt."""

from __future__ import annotations

import pytest

from spanwise.core.ranking.spelling import is_misspelt


@pytest.mark.parametrize(
    ("word", "nearest", "edits", "pieces", "expected"),
    [
        ("enviroment", "environment", 1, (2, 1), True),
        ("inviroment", "environment", 2, (4, 1), True),
        ("goverment", "government", 1, (2, 1), True),
        ("ivral", "viral", 1, (2, 2), True),
        ("viist", "visit", 1, (2, 1), True),
        ("field", "filed", 1, (1, 2), False),  # a common word
        ("kids", "kinds", 1, (2, 1), False),
        ("toffee", "coffee", 1, (3, 1), False),  # another first letter
        ("overhaul", "overall", 2, (3, 1), False),
        ("Moore", "more", 1, (2, 1), False),  # a short name
        ("trem", "term", 1, (1, 1), False),
        ("teh", "the", 1, (2, 1), False),
        ("opex", "open", 1, (3, 1), False),  # a short word of a trade
    ],
)
def test_a_word_is_misspelt_if_it_divides_into_more_pieces(
    word: str, nearest: str, edits: int, pieces: tuple[int, int], *, expected: bool
) -> None:
    own, other = pieces
    found = is_misspelt(word, nearest, edits=edits, pieces=own, nearest_pieces=other)
    assert found is expected
