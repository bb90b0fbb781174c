"""Break points and their grades."""

from spanwise.core.text.break_points import (
    LEAD,
    LINE,
    PARAGRAPH,
    ROW,
    SENTENCE,
    character_ends,
    clause_ends,
    grade_of,
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
