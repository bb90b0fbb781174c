"""Line ends, and offsets where a text must not be cut."""

import pytest

from spanwise.core.text.sentences import LINE_END, is_paragraph_end, safe_cut


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("a\nb", [(2, False)]),
        ("a\r\nb\rc", [(3, False), (5, False)]),
        ("a\n\nb", [(3, True)]),
        ("a\r\n \t\r\n  b", [(7, True)]),
        ("a\n\n\n\n", [(5, True)]),
        ("a\fb\u2028c\x85d", [(2, False), (4, False), (6, False)]),
        ("a b", []),
    ],
)
def test_lines_end_after_their_blank_lines(text: str, ends: list[tuple[int, bool]]) -> None:
    """A break takes the blank lines after it, and leaves the indentation to the next line."""
    found = [(match.end(), is_paragraph_end(match)) for match in LINE_END.finditer(text)]
    assert found == ends


@pytest.mark.parametrize(
    ("text", "cut", "place"),
    [
        ("abcd", 2, 2),
        ("a\r\nb", 2, 1),
        ("ab\ud83d\ude00c", 3, 2),
        ("abe\u0301\u0323c", 4, 2),
        ("ab👩\u200d👧c", 4, 2),
        ("ab👍🏽c", 3, 2),
        ("\u0301\u0301\u0301\u0301", 2, 2),
        ("abcd", 4, 4),
    ],
)
def test_cuts_never_split_a_visible_character(text: str, cut: int, place: int) -> None:
    """A cut moves back to a safe offset; without one it is unchanged."""
    assert safe_cut(text, cut, start=0) == place
