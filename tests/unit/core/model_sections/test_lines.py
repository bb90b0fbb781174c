"""Numbered lines of a document for a model."""

from __future__ import annotations

from itertools import pairwise

from spanwise.core.documents.model_sections import NumberedLines, number_lines
from spanwise.types import Block, Document, Heading, Section


def number(text: str, *marks: str, blocks: tuple[Block, ...] = ()) -> NumberedLines:
    """Return the lines of a text where some words are headings of level 1."""
    headings = [
        Heading(start=text.index(mark), end=text.index(mark) + len(mark), level=1, title=mark)
        for mark in marks
    ]
    document = Document(id="d", text=text, blocks=blocks)
    return number_lines(document, headings=headings)


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


def test_parts_begin_at_headings_that_begin_a_plain_section() -> None:
    """This holds for headings of every level. Other beginnings of sections do not begin a part."""
    body = "The fee is due in May. " * 10
    text = f"A\n\n{body}\n\nB\n\n{body}\n\nC\n\n{body}\n"
    headings = [
        Heading(start=text.index(title), end=text.index(title) + 1, level=level, title=title)
        for title, level in (("A", 2), ("B", 3), ("C", 5))
    ]
    starts = [0, text.index("B"), text.index("B") + 100, text.index("C")]
    plain = [
        Section(start=start, end=end, title="", path=("",))
        for start, end in pairwise([*starts, len(text)])
    ]
    lines = number_lines(Document(id="d", text=text), headings=headings, plain=plain)
    assert [lines.shown[part] for part in lines.parts] == ["A", "B", "C"]


def test_turns_of_speakers_are_lines() -> None:
    """This holds also for a turn without a final stop, which looks like a wrapped line."""
    turns = [
        f"{name}: I think that we are talking about the number {number} of the functions to do\n"
        for number, name in enumerate(["Chair", "Marketing", "User Interface"] * 3)
    ]
    assert number("".join(turns)).shown == tuple(turn.strip() for turn in turns)


def test_a_wrapped_line_with_a_colon_is_no_turn() -> None:
    text = "The harbour lets its berths to many owners of boats of one\nkind: those with sails.\n"
    assert len(number(text).shown) == 1
