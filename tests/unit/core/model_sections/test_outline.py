"""Section paths."""

from __future__ import annotations

from spanwise.core.documents.model_sections import Outline, make_outline
from spanwise.types import Heading

TEXT = "\nA\nB\nBody of B.\nC\nBody of C.\nD\nBody of D.\n"


def outline() -> Outline:
    """Return the outline of a text in which B and C are children of A."""
    levels = {"A": 1, "B": 2, "C": 2, "D": 1}
    headings = [
        Heading(start=place, end=place + 1, level=level, title=title)
        for title, level in levels.items()
        if (place := TEXT.index(f"\n{title}\n") + 1)
    ]
    return make_outline(TEXT, headings)


def test_a_path_has_every_heading_that_applies() -> None:
    b, c, d = (TEXT.index(f"\n{title}\n") + 1 for title in "BCD")
    assert outline().path(b, c) == ("A", "B")
    assert outline().path(b, d) == ("A",)
    assert outline().path(b, len(TEXT)) == ()
    assert outline().path(c + 3, d) == ("A", "C")
    assert outline().path(d, len(TEXT)) == ("D",)


def test_headings_in_a_row_count_as_the_last_of_them() -> None:
    """Blank text before the first one belongs to it."""
    c = TEXT.index("\nC\n") + 1
    assert outline().path(0, c) == ("A", "B")
    assert outline().begins(0)
    assert outline().begins(c)
    assert not outline().begins(c + 1)


def test_a_text_without_headings_has_no_paths() -> None:
    assert make_outline("Words.", []).path(0, 6) == ()
    assert not make_outline("Words.", []).begins(0)


def test_a_path_has_at_most_seven_headings() -> None:
    """The title of the section itself is the eighth."""
    headings = [Heading(start=at, end=at + 1, level=at + 1, title=str(at)) for at in range(12)]
    assert make_outline("abcdefghijklm", headings).path(12, 13) == tuple("0123456")
