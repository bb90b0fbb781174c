"""Sections from the line numbers and titles of a model."""

from __future__ import annotations

from spanwise.core.documents.model_sections import (
    NumberedLines,
    Stretch,
    decide_seam,
    read_starts,
    settle_starts,
)

LINES = NumberedLines(
    bounds=tuple(range(0, 201, 10)),
    shown=("words here",) * 20,
    headings=frozenset((5, 6)),
    parts=(0, 15),
)


def read(*named: tuple[int, str], window: range = range(15)) -> dict[int, str]:
    return read_starts(named, lines=LINES, window=window)


def test_numbers_count_from_one_in_the_window() -> None:
    assert read((1, "A"), (3, "B"), window=range(10, 15)) == {10: "A", 12: "B"}


def test_lines_before_the_first_section_are_one_without_a_title() -> None:
    assert read((4, "A")) == {0: "", 3: "A"}


def test_an_answer_in_any_order_and_out_of_range() -> None:
    assert read((9, "B"), (99, "D"), (0, "E"), (-1, "F"), (1, "A")) == {0: "A", 8: "B"}


def test_no_section_is_one_without_a_title() -> None:
    assert read() == {0: ""}


def test_of_several_with_one_line_the_first_with_a_title_counts() -> None:
    assert read((1, "..."), (1, "A"), (1, "B")) == {0: "A"}


def test_parts_begin_sections() -> None:
    assert read((1, "A"), window=range(20)) == {0: "A", 15: ""}


def test_headings_before_a_section_belong_to_it() -> None:
    """Also if the heading was named itself; the first line of a window has none before it."""
    assert read((1, "A"), (8, "B")) == {0: "A", 5: "B"}
    assert read((1, "A"), (6, "HEADING"), (8, "B")) == {0: "A", 5: "B"}
    assert read((1, "A"), (6, "HEADING"), (7, "B")) == {0: "A", 5: "B"}
    assert read((1, "A"), (2, "B"), window=range(6, 9)) == {6: "B"}


def settle(starts: dict[int, str], *, stop: int = 15) -> dict[int, str]:
    return settle_starts(starts, lines=LINES, stop=stop, min_chars=30)


def test_short_sections_join_the_next_one() -> None:
    """The longest of them gives the title."""
    assert settle({0: "A", 1: "B", 2: "C", 8: "D"}) == {0: "C", 8: "D"}


def test_a_short_last_section_joins_the_one_before() -> None:
    assert settle({0: "A", 5: "B", 13: "C"}) == {0: "A", 5: "B"}
    assert settle({0: "A", 13: "B", 15: "C", 16: "D"}, stop=17) == {0: "A", 15: "C"}


def test_an_untitled_section_takes_the_title_of_its_merge() -> None:
    assert settle({0: "", 2: "B", 9: "C"}) == {0: "B", 9: "C"}
    assert settle({0: "A", 5: "", 13: "C"}) == {0: "A", 5: "C"}


def test_neighbours_of_one_title_are_one_section() -> None:
    """But not over the beginning of a part."""
    assert settle({0: "A", 4: "a", 9: "B"}) == {0: "a", 9: "B"}
    assert settle({0: "A", 15: "A"}, stop=20) == {0: "A", 15: "A"}
    assert settle({0: "", 5: ""}) == {0: "", 5: ""}


STARTS = {0: "A", 6: "B", 10: "C", 12: "D"}
STRETCH = Stretch(range(6, 12), 10)


def test_a_section_over_the_seam_has_the_title_that_was_decided() -> None:
    assert decide_seam(STARTS, STRETCH, {6: "B and C"}) == {0: "A", 6: "B and C", 12: "D"}
    assert decide_seam(STARTS, STRETCH, {6: ""}) == {0: "A", 6: "B", 12: "D"}


def test_sections_next_to_the_seam_keep_their_titles() -> None:
    assert decide_seam(STARTS, STRETCH, {6: "New", 8: "E", 10: "Other"}) == {
        0: "A",
        6: "B",
        8: "E",
        10: "C",
        12: "D",
    }


def test_a_section_that_is_seen_in_part_keeps_its_beginning() -> None:
    stretch = Stretch(range(8, 11), 10)
    assert decide_seam(STARTS, stretch, {8: "All of it"}) == {0: "A", 6: "All of it", 12: "D"}
    assert decide_seam(STARTS, stretch, {8: "Rest", 9: "E"}) == {0: "A", 6: "B", 9: "E", 12: "D"}
