"""Numbered lines of a document for a model."""

from __future__ import annotations

from spanwise.core.documents.model_sections import NumberedLines, number_lines
from spanwise.types import Block, Document, Heading


def number(
    text: str, *marks: str, blocks: tuple[Block, ...] = (), min_chars: int = 1_000
) -> NumberedLines:
    """Return the lines of a text where some words are headings of level 1."""
    headings = [
        Heading(start=text.index(mark), end=text.index(mark) + len(mark), level=1, title=mark)
        for mark in marks
    ]
    document = Document(id="d", text=text, blocks=blocks)
    return number_lines(document, headings=headings, min_chars=min_chars)


def test_a_wrapped_sentence_is_one_line() -> None:
    """A sentence wrapped over several lines is one line."""
    text = (
        "Altby lets berths to the owners of boats, to crews, and\n"
        "cranes to those who lift them.\nIn winter boats lie on land.\n\nSeasons\n\nThey are two.\n"
    )
    lines = number(text)
    assert lines.shown == (
        "Altby lets berths to the owners of boats, to crews, and cranes to those who lift them.",
        "In winter boats lie on land.",
        "Seasons",
        "They are two.",
    )
    assert lines.numbered(range(2, 4)) == "[1] Seasons\n[2] They are two."
    assert lines.bounds[-1] == len(text)
    assert lines.line_at(lines.bounds[2]) == 2
    assert lines.line_at(len(text)) == 3


def test_a_long_line_is_parted_at_the_last_sentence_that_fits() -> None:
    sentence = "The harbour of Altby lets berths to the owners of many boats. "
    lines = number(sentence * 20)
    assert lines.shown == ((sentence * 6).strip(),) * 3 + ((sentence * 2).strip(),)


def test_a_long_line_without_sentences_is_parted_at_words_or_characters() -> None:
    assert max(map(len, number("harbour " * 200).shown)) <= 400
    assert max(map(len, number("x" * 2_000).shown)) <= 400


def test_a_small_table_is_one_line() -> None:
    table = "a | b\n1 | 2\n3 | 4\n"
    text = f"Words before it.\n\n{table}\nWords after it.\n"
    start = text.index("a |")
    block = Block(start=start, end=start + len(table), kind="table")
    assert number(text, blocks=(block,)).shown == (
        "Words before it.",
        "a | b 1 | 2 3 | 4",
        "Words after it.",
    )


def test_a_line_begins_with_each_heading() -> None:
    """Also in the middle of a line; a line with only a heading is marked as one."""
    lines = number("Boats. FEES The fee is due.\n\nENDS\n\nIt ends.\n", "FEES", "ENDS")
    assert lines.shown == ("Boats.", "FEES The fee is due.", "ENDS", "It ends.")
    assert lines.headings == {2}


def test_a_line_without_a_word_belongs_to_the_one_before_it() -> None:
    """Unless that becomes long."""
    lines = number("FEES\n----\n\nThe fee is due.\n***\n", "FEES")
    assert lines.shown == ("FEES ----", "The fee is due. ***")
    assert lines.headings == {0}
    assert len(number("The fee is due.\n" + "----\n" * 1_000).shown) > 10


def test_blank_text_before_the_first_line_belongs_to_it() -> None:
    lines = number("\n\n  \nFEES\n\nThe fee is due.\n \n", "FEES")
    assert lines.shown == ("FEES", "The fee is due.")
    assert lines.bounds == (0, 11, 29)
    assert lines.headings == {0}


def test_a_blank_text_is_one_blank_line() -> None:
    assert number("\n\n \n").shown == ("",)


def test_parts_begin_with_outer_headings_and_are_not_short() -> None:
    """A short last part is merged into the one before."""
    body = "The fee is due in May. " * 10
    text = f"A\n\n{body}\n\nB\n\nC\n\n{body}\n\nD\n\nIt ends.\n"
    lines = number(text, "A", "B", "C", "D", min_chars=100)
    assert [lines.shown[part] for part in lines.parts] == ["A", "B"]


def test_headings_of_the_third_level_begin_no_part() -> None:
    body = "The fee is due in May. " * 10
    text = f"A\n\n{body}\n\nB\n\n{body}\n\nC\n\n{body}\n"
    headings = [
        Heading(start=text.index(title), end=text.index(title) + 1, level=level, title=title)
        for title, level in (("A", 2), ("B", 3), ("C", 5))
    ]
    lines = number_lines(Document(id="d", text=text), headings=headings, min_chars=50)
    assert [lines.shown[part] for part in lines.parts] == ["A", "B"]
