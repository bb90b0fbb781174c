"""Laws of topic segmentation."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.core.documents.topics import best_cuts

ATOMS = st.lists(st.integers(1, 9), min_size=1, max_size=9)


@given(ATOMS, st.data())
def test_cuts_are_those_of_brute_force(lengths: list[int], data: st.DataObject) -> None:
    """The cuts have the fewest short pieces, and among those the greatest sum of strengths."""
    places = [sum(lengths[: index + 1]) for index in range(len(lengths))]
    strengths = data.draw(
        st.lists(st.integers(-5, 5).map(float), min_size=len(places) - 1, max_size=len(places) - 1)
    )
    least = data.draw(st.integers(1, 12))
    greatest = data.draw(st.integers(max(9, 2 * least), 40))

    def worth(cuts: tuple[int, ...]) -> tuple[int, float] | None:
        pieces = [end - start for start, end in pairwise([0, *cuts, places[-1]])]
        if max(pieces) > greatest:
            return None
        gained = sum(strengths[places.index(cut)] for cut in cuts)
        return -sum(piece < least for piece in pieces), gained

    every = [
        found
        for count in range(len(places))
        for cuts in combinations(places[:-1], count)
        if (found := worth(cuts)) is not None
    ]
    chosen = worth(tuple(best_cuts(places, strengths, min_chars=least, max_chars=greatest)))
    assert chosen is not None
    assert chosen == pytest.approx(max(every))
