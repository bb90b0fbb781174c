"""Words with places become text in reading order: paragraphs, tables, headings, what runs along."""

from __future__ import annotations

import pytest
from tests.sheets import BOLD, ITALIC, Sheet, compose_sheets

from spanwise.parsers.layout.outline import OutlineEntry

PROSE = [
    "The harbour office counts ships and cargo every day of the year and",
    "writes the numbers into a book that nobody reads but the clerks who",
    "keep it, and they read it once a year.",
]
LEFT = [
    "Ships are counted at the gate",
    "by two clerks, who write the",
    "name of each ship and what it",
    "carries into the long book of",
    "the harbour, line after line,",
    "until the gate is closed.",
]
RIGHT = [
    "Cargo is weighed on the quay.",
    "The scale was made in another",
    "century and is tested every",
    "spring by the office of weights",
    "and measures, which takes the",
    "better part of a day.",
]


def test_lines_of_a_paragraph_are_joined() -> None:
    """A line that is full goes on in the next one."""
    sheet = Sheet()
    sheet.prose(PROSE, y=700)
    assert sheet.text() == " ".join(PROSE)


def test_blank_lines_stand_before_headings_and_around_tables() -> None:
    """And nowhere else: below a heading its text follows on the next line."""
    sheet = Sheet()
    y = sheet.prose(PROSE, y=740)
    sheet.write("Ships and Boats", y=y - 18, size=14, font=BOLD)
    y = sheet.prose(PROSE, y=y - 42)
    sheet.row("Ships", "12", "14", y=y - 40).row("Boats", "1", "4", y=y - 52)
    sheet.prose(PROSE, y=y - 100)
    prose = " ".join(PROSE)
    table = "Ships | 12 | 14\nBoats | 1 | 4"
    assert sheet.text() == f"{prose}\n\nShips and Boats\n{prose}\n\n{table}\n\n{prose}"


def test_a_wide_gap_parts_paragraphs() -> None:
    """Each stands on a line of its own, without a blank one between."""
    sheet = Sheet()
    y = sheet.prose(PROSE, y=700)
    sheet.prose(PROSE, y=y - 10)
    assert sheet.text() == "\n".join([" ".join(PROSE)] * 2)


def test_an_indented_line_begins_a_paragraph() -> None:
    """Without any gap."""
    sheet = Sheet()
    y = sheet.prose(PROSE[:2], y=700)
    sheet.write("   A new thought that is indented begins here, and it goes on", y=y)
    assert sheet.text().split("\n")[1].startswith("A new thought")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("the count was recur\ufffe", "ring each year", "the count was recurring each year"),
        ("a well-known harbour, well\ufffe", "known to all", "well-known harbour, well-known to"),
        ("it is long-", "term, and long-term it stays", "it is long-term, and long-term"),
        ("sold to non-", "US firms", "sold to non-US firms"),
        ("the COVID-", "19 virus came", "the COVID-19 virus came"),
    ],
)
def test_words_parted_at_a_line_end_are_mended(first: str, second: str, expected: str) -> None:
    """What stands elsewhere in the document tells whether the hyphen is the word's own."""
    sheet = Sheet().write("It is said " * 4 + first, y=700).write(second, y=688)
    assert expected in sheet.text()


def test_two_columns_are_read_one_after_the_other() -> None:
    """Though their lines stand side by side."""
    sheet = Sheet()
    for at, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        sheet.write(left, y=700 - 12 * at).write(right, x=320, y=700 - 12 * at)
    assert sheet.text() == f"{' '.join(LEFT)}\n{' '.join(RIGHT)}"


def test_a_line_across_both_columns_cuts_them() -> None:
    """What stands above it is read first."""
    sheet = Sheet()
    for top in (700, 500):
        for at, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
            sheet.write(left, y=top - 12 * at).write(right, x=320, y=top - 12 * at)
    sheet.write("A line that runs from the left margin to the right margin of the page", y=600)
    text = sheet.text()
    assert text.startswith(" ".join(LEFT))
    assert text.index("A line that runs") < text.rindex("Ships are counted")
    assert text.index("better part of a day.") < text.index("A line that runs")


def test_rows_of_a_table_are_lines() -> None:
    """Cells are joined by a bar; signs belong to their figures."""
    sheet = Sheet().row("Income", "$ 1,200", "$ 1,100", y=700).row("Costs", "(300", "(280", y=688)
    sheet.write(")", x=322, y=688).write(")", x=402, y=688)
    assert sheet.text() == "Income | $1,200 | $1,100\nCosts | (300) | (280)"


def test_a_table_begins_with_its_caption() -> None:
    """Caption, units and heads of columns are in its block; the caption is a heading."""
    sheet = Sheet()
    y = sheet.prose(PROSE, y=740)
    sheet.write("Statement of Ships", y=y - 12, font=BOLD).write("(in thousands)", y=y - 24)
    sheet.row("", "2022", "2021", y=y - 36).row("Ships", "12", "14", y=y - 48)
    sheet.row("Boats", "1", "4", y=y - 60)
    found = compose_sheets([sheet])
    (block,) = found.blocks
    assert found.text[block.start : block.end] == (
        "Statement of Ships\n(in thousands)\n2022 | 2021\nShips | 12 | 14\nBoats | 1 | 4"
    )
    assert [heading.title for heading in found.headings] == ["Statement of Ships"]


def test_a_wrapped_label_is_one() -> None:
    """Above its figures and below them."""
    sheet = Sheet().row("Cash provided by the", y=700).row("harbour", "12", "14", y=688)
    sheet.row("Ships that were sold and", "3", "4", y=676).row("not yet delivered", y=664)
    sheet.row("Total", "15", "18", y=652)
    assert sheet.text() == (
        "Cash provided by the harbour | 12 | 14\n"
        "Ships that were sold and not yet delivered | 3 | 4\nTotal | 15 | 18"
    )


def test_a_ruled_table_keeps_wrapped_and_spanned_cells() -> None:
    """A wrapped cell is one text; a cell over two columns leaves one empty."""
    sheet = Sheet()
    sheet.write("Counted by", x=64, y=690).write("clerks and", x=164, y=690)
    sheet.write("weighers", x=164, y=678)
    sheet.write("2022", x=64, y=655).write("12", x=164, y=655).write("14", x=264, y=655)
    sheet.box(60, 670, 160, 702).box(160, 670, 360, 702)
    sheet.box(60, 650, 160, 670).box(160, 650, 260, 670).box(260, 650, 360, 670)
    found = compose_sheets([sheet])
    assert found.text == "Counted by | clerks and weighers\n2022 | 12 | 14"
    assert [block.kind for block in found.blocks] == ["table"]


def test_a_frame_around_prose_is_no_table() -> None:
    """One field alone."""
    sheet = Sheet().box(50, 600, 500, 720)
    sheet.prose(PROSE, y=700)
    assert compose_sheets([sheet]).blocks == ()


def test_headings_stand_on_levels_by_their_type() -> None:
    """Larger above bold above italic; the next of a style is a sibling."""
    sheet = Sheet()
    y = 760.0
    for text, size, font in [
        ("The Harbour", 18, BOLD),
        ("Ships", 10, BOLD),
        ("Large ships", 10, ITALIC),
        ("Cargo", 10, BOLD),
    ]:
        sheet.write(text, y=y, size=size, font=font)
        y = sheet.prose(PROSE, y=y - 22) - 14
    found = compose_sheets([sheet])
    assert [(heading.level, heading.title) for heading in found.headings] == [
        (1, "The Harbour"),
        (2, "Ships"),
        (3, "Large ships"),
        (2, "Cargo"),
    ]


def test_a_wrapped_heading_is_one() -> None:
    """Its second line stands close, in the same type."""
    sheet = Sheet()
    sheet.write("The counting of all ships and of", y=720, font=BOLD)
    sheet.write("their cargo", y=708, font=BOLD)
    sheet.prose(PROSE, y=690)
    assert [heading.title for heading in compose_sheets([sheet]).headings] == [
        "The counting of all ships and of their cargo"
    ]


@pytest.mark.parametrize("line", ["It is bold, and a sentence ends here.", "December 31, 2021"])
def test_bold_lines_that_title_nothing_are_text(line: str) -> None:
    """Sentences and dates."""
    sheet = Sheet().write(line, y=720, font=BOLD)
    sheet.prose(PROSE, y=700)
    assert compose_sheets([sheet]).headings == ()


def test_an_outline_ranks_the_lines_it_names() -> None:
    """They are headings in whatever type, and stand above all others."""
    sheet = Sheet().write("Ships of the year", y=740).write("Bold ships", y=722, font=BOLD)
    sheet.prose(PROSE, y=700)
    outline = [OutlineEntry("Year", 1, 0), OutlineEntry("SHIPS of the  year", 2, 0)]
    found = compose_sheets([sheet], outline=outline)
    assert [(heading.level, heading.title) for heading in found.headings] == [
        (1, "Ships of the year"),
        (2, "Bold ships"),
    ]


def running_sheets(count: int) -> list[Sheet]:
    """Return pages with a head and a number at their foot."""
    sheets = []
    for number in range(count):
        sheet = Sheet().write("Harbour report", y=780, size=8)
        sheet.prose([f"Page body {'abcdefghij'[number]} holds words of its own."], y=700)
        sheet.write(f"- {number + 5} -", x=290, y=20, size=8)
        sheets.append(sheet)
    return sheets


def test_what_runs_along_the_pages_is_taken_out() -> None:
    """Heads are kept apart, printed numbers become labels."""
    found = compose_sheets(running_sheets(5))
    assert "Harbour report" not in found.text
    assert found.labels == ("5", "6", "7", "8", "9")
    assert found.running[0] == ("Harbour report", "- 5 -")


def test_numbers_that_do_not_count_the_pages_stay() -> None:
    """They are somebody's figures."""
    sheets = [Sheet().write("Words of a page", y=700).write(n, y=20) for n in ("12", "7", "31")]
    for number, sheet in enumerate(sheets):
        sheet.write("abc"[number] * 9, y=650)
    assert compose_sheets(sheets).labels == (None, None, None)


def test_heads_of_columns_stay_though_they_recur() -> None:
    """Statements that follow each other have the same ones."""
    sheets = []
    for name in ("Income", "Assets", "Debt", "Cash", "Equity"):
        sheet = Sheet().row("(in millions)", "2022", "2021", y=780)
        sheets.append(sheet.row(name, "12", "14", y=768).row(f"Other {name}", "1", "2", y=756))
    assert compose_sheets(sheets).text.count("(in millions) | 2022 | 2021") == 5


def test_a_page_of_nothing_but_its_head_keeps_it() -> None:
    """No page loses all its words."""
    sheets = [Sheet().write("Left blank on purpose", y=780) for _ in range(5)]
    assert compose_sheets(sheets).text.count("Left blank on purpose") == 5


def test_a_page_break_is_a_line_end() -> None:
    """A paragraph that goes on stays in one run; its characters stay on their pages."""
    first, second = Sheet(), Sheet()
    first.prose(PROSE[:2], y=100)
    second.prose([PROSE[2]], y=700)
    found = compose_sheets([first, second])
    assert found.text == f"{PROSE[0]} {PROSE[1]}\n{PROSE[2]}"
    assert found.starts == (0, len(PROSE[0]) + len(PROSE[1]) + 2)


def test_footnotes_follow_the_columns() -> None:
    """A note under the left column stands after the right one."""
    sheet = Sheet()
    for at, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        sheet.write(left, y=700 - 12 * at).write(right, x=320, y=700 - 12 * at)
    sheet.write("1 Counted on the last day of the year.", y=600, size=7)
    assert sheet.text().endswith("1 Counted on the last day of the year.")


def test_words_in_another_direction_follow_the_page() -> None:
    """They are kept, apart from its lines."""
    from spanwise.parsers.layout.pages import lay_out

    lines = lay_out(Sheet().write("Upright words", y=700).content(), aside=["Sideways", "words"])
    assert [line.text for line in lines] == ["Upright words", "Sideways words"]
