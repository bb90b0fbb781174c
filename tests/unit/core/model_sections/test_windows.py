"""Windows of lines, and seams between them."""

from __future__ import annotations

from spanwise.core.documents.model_sections import (
    NumberedLines,
    Stretch,
    find_stretches,
    split_windows,
)


def ten_chars(count: int, *, parts: tuple[int, ...] = (0,)) -> NumberedLines:
    """Return lines of ten characters each."""
    return NumberedLines(
        bounds=tuple(range(0, 10 * count + 1, 10)),
        shown=("words here",) * count,
        headings=frozenset(),
        parts=parts,
    )


def test_parts_share_a_window_while_they_fit() -> None:
    assert split_windows([1] * 9, parts=[0, 2, 4, 6], limit=4) == [
        range(4),
        range(4, 6),
        range(6, 9),
    ]


def test_a_long_part_is_split_evenly() -> None:
    """No rest of a few lines is left."""
    assert split_windows([1] * 9, parts=[0], limit=4) == [range(3), range(3, 6), range(6, 9)]


def test_a_long_part_shares_no_window() -> None:
    assert split_windows([1] * 8, parts=[0, 1, 7], limit=4) == [
        range(1),
        range(1, 4),
        range(4, 7),
        range(7, 8),
    ]


def test_a_line_is_never_cut() -> None:
    assert split_windows([9, 1, 9], parts=[0], limit=4) == [range(1), range(1, 2), range(2, 3)]


def stretches(
    found: list[dict[int, str] | None], *, parts: tuple[int, ...] = (0,), min_chars: int = 10
) -> list[Stretch]:
    """Return the stretches of two or more windows of ten lines each."""
    count = 10 * len(found)
    return find_stretches(
        [range(start, start + 10) for start in range(0, count, 10)],
        found,
        lines=ten_chars(count, parts=parts),
        tokens=[1] * count,
        min_chars=min_chars,
    )


def test_sections_on_both_sides_of_a_seam_are_decided_again() -> None:
    found: list[dict[int, str] | None] = [{0: "A", 8: "B"}, {10: "C", 12: "D"}]
    assert stretches(found) == [Stretch(range(8, 12), 10)]


def test_short_first_sections_are_decided_together() -> None:
    found: list[dict[int, str] | None] = [{0: "A", 8: "B"}, {10: "C", 12: "D", 13: "E"}]
    assert stretches(found, min_chars=30) == [Stretch(range(8, 13), 10)]


def test_of_long_sections_half_a_window_is_decided() -> None:
    """So that the seams on both sides of a window never decide about the same line."""
    found: list[dict[int, str] | None] = [{0: "A"}, {10: "B"}, {20: "C"}]
    assert stretches(found) == [Stretch(range(5, 15), 10), Stretch(range(15, 25), 20)]


def test_failed_windows_and_part_starts_have_no_seam() -> None:
    assert stretches([{0: "A"}, None, {20: "C"}]) == []
    assert stretches([{0: "A"}, {10: "B"}], parts=(0, 10)) == []


def test_a_stretch_ends_at_the_start_of_a_part() -> None:
    found: list[dict[int, str] | None] = [{0: "A"}, {10: "B", 11: ""}]
    assert stretches(found, parts=(0, 11), min_chars=50) == [Stretch(range(5, 11), 10)]


def test_single_line_windows_have_no_seam() -> None:
    made = find_stretches(
        [range(1), range(1, 2)],
        [{0: "A"}, {1: "B"}],
        lines=ten_chars(2),
        tokens=[1, 1],
        min_chars=5,
    )
    assert made == []
