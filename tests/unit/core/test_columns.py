"""Features of a chunk that stores hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.ranking.scan import digit_share, section_openings


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("abc", 0), ("123", 255), ("a1", 128), ("½Ⅷx", 0), ("٣²", 255), ("–1", 128)],
)
def test_known_shares(text: str, expected: int) -> None:
    """In steps of 1/255; digits of every script, superscripts too, fractions not."""
    assert digit_share(text) == expected / 255


@pytest.mark.slow
@given(text=st.text() | st.text(alphabet="0159aé–²٣ "))
@settings(max_examples=200)
def test_it_is_the_rounded_share_of_isdigit(text: str) -> None:
    """As counted one by one."""
    share = sum(character.isdigit() for character in text) / max(1, len(text))
    assert digit_share(text) == pytest.approx(share, abs=0.5 / 255 + 1e-12)
    assert digit_share(text) * 255 == pytest.approx(round(digit_share(text) * 255), abs=1e-9)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ([], []),
        ([0], [True]),
        ([0, 0, 1, 2, 2, 2], [True, False, True, True, False, False]),
        ([3, 3], [True, False]),
    ],
)
def test_the_first_chunk_of_each_section_opens_it(
    sections: list[int], expected: list[bool]
) -> None:
    assert section_openings(sections).tolist() == expected


@given(lengths=st.lists(st.integers(1, 5)))
def test_there_are_as_many_openings_as_sections(lengths: list[int]) -> None:
    """And a section goes on to the next opening."""
    sections = [number for number, length in enumerate(lengths) for _ in range(length)]
    openings = section_openings(sections)
    assert (openings.cumsum() - 1).tolist() == sections
