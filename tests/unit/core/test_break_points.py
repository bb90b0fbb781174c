"""Break points and their grades."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.text.break_points import (
    LEAD,
    LINE,
    PARAGRAPH,
    ROW,
    SENTENCE,
    character_ends,
    clause_ends,
    grade_of,
    is_stop,
    nearest_stops,
    place_of,
    text_ends,
    word_ends,
)
from spanwise.types import Block


def graded(text: str, *blocks: Block) -> list[tuple[str, int]]:
    """Return the piece before each end with the grade of the end."""
    found = []
    start = 0
    for end in text_ends(text, start=0, stop=len(text), blocks=blocks):
        found.append((text[start : place_of(end)], grade_of(end)))
        start = place_of(end)
    return found


def test_paragraphs_sentences_and_broken_lines() -> None:
    """A line that breaks off in a sentence is worse than a sentence, a paragraph is better."""
    text = (
        "This is the first line of a paragraph that was broken in the\n"
        "middle of a sentence. Another one\nends.\n\nNew."
    )
    assert graded(text) == [
        ("This is the first line of a paragraph that was broken in the\n", LINE),
        ("middle of a sentence. ", SENTENCE),
        ("Another one\n", LINE),
        ("ends.\n\n", PARAGRAPH),
    ]


def test_short_first_lines_lead_into_the_text() -> None:
    """A heading, a speaker and the head row of a table are not the end of anything."""
    text = "Fees\n\nTime: 10:00\nAnn: Hello there!\nName  Age\n\nThey are paid. \nx"
    assert graded(text) == [
        ("Fees\n\n", LEAD),
        ("Time: 10:00\n", LEAD),
        ("Ann: Hello there!\n", SENTENCE),
        ("Name  Age\n\n", PARAGRAPH),
        ("They are paid. \n", SENTENCE),
    ]


def test_rows_are_whole() -> None:
    """A row is not cut at a stop inside it."""
    text = "All is said. | It is. | 1\nAgain. All | So. It is | 2\nOne. Two."
    assert graded(text) == [
        ("All is said. | It is. | 1\n", LEAD),
        ("Again. All | So. It is | 2\n", ROW),
        ("One. ", SENTENCE),
    ]


def test_rows_of_an_html_table_end_at_their_last_line() -> None:
    """Other line ends are worse breaks, even after a stop."""
    rows = "  <tr>\n   <td>One.\n   </td>\n   <td>Two\n   </td>\n  </tr>\n"
    text = f"<table>\n{rows}{rows}</table>\nText"
    stops = [piece for piece, grade in graded(text) if grade == LINE]
    assert stops == ["  <tr>\n", "   <td>One.\n", "   </td>\n", "   <td>Two\n", "   </td>\n"] * 2
    assert [piece for piece, grade in graded(text) if grade == ROW] == ["  </tr>\n"] * 2 + [
        "</table>\n"
    ]


def test_blocks_have_no_sentences() -> None:
    """Inside a block, only lines end."""
    text = "One. Two.\nprint('It is. It was.')\nThree. Four."
    block = Block(start=10, end=35, kind="code")
    assert [piece for piece, _ in graded(text, block)] == [
        "One. ",
        "Two.\n",
        "print('It is. It was.')\n",
        "Three. ",
    ]


def test_clauses_words_and_characters() -> None:
    """Finer ends, for sentences that are too long."""
    text = "one, two;three: four 他，说"
    clauses = [place_of(end) for end in clause_ends(text, start=0, stop=len(text), step=0)]
    words = [place_of(end) for end in word_ends(text, start=0, stop=len(text), step=0)]
    assert [text[:place] for place in clauses] == [
        "one, ",
        "one, two;three: ",
        "one, two;three: four 他，",
    ]
    assert words == [5, 16, 21]
    assert [place_of(e) for e in word_ends(text, start=0, stop=len(text), step=6)] == [16]
    assert [place_of(e) for e in character_ends("a" * 10, start=0, stop=10, step=4)] == [4, 8]


def test_no_word_ends_before_a_mark() -> None:
    """A mark after a space belongs to the space."""
    text = "a \u0301b c"
    assert [place_of(end) for end in word_ends(text, start=0, stop=len(text), step=0)] == [5]


PIECES = ["word ", "The end. ", "1. ", "Mr. ", "A. ", "no. 3", "Inc. The ", "。", "他说。"]
PIECES += ["!", "...", ")", '"', "!”", "end.", "Foo", "bar", "- item"]
PIECES += ["\n", "\n\n", "\r\n", "\n \n", " \n\n  ", "\u2028", "  ", "\t", "| a | b ", "\n|", "| "]
PIECES += ["<tr>", "<td", "</td>", "</tr>", "<"]
PIECES += ["x" * 30 + " ", "x" * 90, " " * 90, "lorem ipsum, " * 8, "lorem ipsum, " * 35]


@settings(max_examples=200, deadline=None)
@given(
    before=st.lists(st.sampled_from(PIECES), max_size=4),
    inside=st.lists(st.sampled_from(PIECES), min_size=2, max_size=16),
    after=st.lists(st.sampled_from(PIECES), max_size=4),
)
def test_a_stop_that_is_known_does_not_depend_on_the_rest(
    before: list[str], inside: list[str], after: list[str]
) -> None:
    """A single place has the grade that it has among all ends of the whole text."""
    head, text, tail = "".join(before), "".join(inside), "".join(after)
    whole = head + text + tail
    stops = {
        place_of(end)
        for end in text_ends(whole, start=0, stop=len(whole))
        if grade_of(end) in (PARAGRAPH, SENTENCE, ROW)
    }
    for place in range(1, len(text)):
        found = is_stop(text, place, is_begun=not head, is_ended=not tail)
        assert found is None or found == (len(head) + place in stops)
        assert found is not None or head or tail
    bounds = sorted({0, *stops, len(whole)})
    for place in range(1, len(text), 7):
        nearest = nearest_stops(text, place, is_begun=not head, is_ended=not tail)
        at = len(head) + place
        assert nearest is None or tuple(len(head) + one for one in nearest) == (
            max(one for one in bounds if one < at),
            min(one for one in bounds if one > at),
        )
        assert nearest is not None or head or tail


def test_a_stop_is_known_from_the_lines_around_it() -> None:
    """The text of two short lines is enough, half a line is not."""
    text = "The first line is here.\nA second line ends. The next one begins here.\nMore of it."
    place = text.index("The next")
    assert is_stop(text, place, is_begun=False, is_ended=False)
    assert is_stop(text, place + 4, is_begun=False, is_ended=False) is False
    assert is_stop(text[24:], place - 24, is_begun=False, is_ended=False) is None
    assert is_stop(text[24:], place - 24, is_begun=True, is_ended=False)
