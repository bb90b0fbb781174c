"""Words with places become text in reading order: paragraphs, tables, headings, what runs along."""

from __future__ import annotations

import pytest
from tests.sheets import BOLD, ITALIC, Sheet, compose_sheets

from spanwise.parsers.pdf.layout.headings import OutlineEntry
from spanwise.parsers.pdf.layout.page import Rule
from spanwise.parsers.pdf.words import join_characters

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


def test_a_sentence_goes_on_in_the_next_column() -> None:
    """And a word that is parted there is mended."""
    sheet = Sheet()
    left, right = (
        [*LEFT[:-1], "until the gate is at last clo\ufffe"],
        ["sed for the night.", *RIGHT],
    )
    for at, line in enumerate(left):
        sheet.write(line, y=700 - 12 * at)
    for at, line in enumerate(right):
        sheet.write(line, x=320, y=700 - 12 * at)
    assert "line after line, until the gate is at last closed for the night." in sheet.text()


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
        "Statement of Ships\n(in thousands)\n | 2022 | 2021\nShips | 12 | 14\nBoats | 1 | 4"
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


def test_an_empty_cell_of_a_row_stays_empty() -> None:
    """Figures keep their columns, also where the table has no rules; none ends a row."""
    sheet = Sheet().row("", "2022", "2021", "2020", y=712)
    sheet.row("Ships", "1,200", "1,100", "1,000", y=700).row("Boats", "", "12", "14", y=688)
    sheet.row("Rafts", "", "", "7", y=676).row("Barges", "3", y=664)
    assert sheet.text() == (
        " | 2022 | 2021 | 2020\nShips | 1,200 | 1,100 | 1,000\nBoats |  | 12 | 14\n"
        "Rafts |  |  | 7\nBarges | 3"
    )


def test_raised_marks_belong_to_their_cells() -> None:
    """They are no row of their own, and no column."""
    sheet = Sheet().row("Ships", "1,200", "1,100", y=700).row("Boats", "12", "14", y=688)
    sheet.write("(a)", x=334, y=704, size=6).write("(b)", x=395, y=692, size=6)
    assert sheet.text() == "Ships | 1,200 (a) | 1,100\nBoats | 12 | 14 (b)"


def test_columns_of_words_keep_their_place_too() -> None:
    """Beside columns of figures; a cell over two columns stands in the first."""
    xs = (60, 160, 300, 380)
    sheet = Sheet().row("Name", "Made of", "Number in tons", y=712, xs=xs)
    sheet.row("Ships", "oak", "120", "14", y=700, xs=xs).row("Boats", "", "12", "9", y=688, xs=xs)
    sheet.row("Rafts", "straw", "", "7", y=676, xs=xs)
    assert sheet.text() == (
        "Name | Made of | Number in tons\nShips | oak | 120 | 14\nBoats |  | 12 | 9\n"
        "Rafts | straw |  | 7"
    )


def test_a_row_that_fits_no_columns_stays_as_it_is() -> None:
    """Two tables stand one above the other."""
    sheet = Sheet().row("Ships", "12", "14", y=700).row("Boats", "1", "4", y=688)
    sheet.row("Rafts", "5", "6", "7", y=676, xs=(60, 200, 250, 340))
    assert sheet.text().endswith("Rafts | 5 | 6 | 7")


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


def test_graph_paper_is_no_table() -> None:
    """Its fields are too many to be looked at."""
    sheet = Sheet().write("One", x=70, y=690).write("Two", x=70, y=640)
    for at in range(400):
        sheet.rules += [Rule(3 * at, 0, 3 * at, 1200), Rule(0, 3 * at, 1200, 3 * at)]
    found = compose_sheets([sheet])
    assert (found.text, found.blocks) == ("One\nTwo", ())


def test_a_word_far_off_the_page_takes_no_memory() -> None:
    """Crafted files have such words."""
    sheet = Sheet()
    sheet.prose([*PROSE, *PROSE, *PROSE], y=700)
    sheet.write("far", x=1e12, y=500)
    assert sheet.text().endswith("far")


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


def test_a_numbered_heading_goes_on_after_a_word_that_connects() -> None:
    """The second line has no number, but the first one cannot end there."""
    sheet = Sheet()
    sheet.write("ITEM 2. The Condition of the Harbour and Results of", y=720, font=BOLD)
    sheet.write("Operations", y=708, font=BOLD)
    sheet.prose(PROSE, y=690)
    assert [heading.title for heading in compose_sheets([sheet]).headings] == [
        "ITEM 2. The Condition of the Harbour and Results of Operations"
    ]


@pytest.mark.parametrize("number", ["Note 6 :", "Item 2.", "PART II"])
def test_a_number_far_before_its_title_is_no_cell(number: str) -> None:
    sheet = Sheet()
    y = sheet.prose(PROSE, y=760) - 20
    sheet.write(number, y=y, font=BOLD).write("Ships and Boats", x=160, y=y, font=BOLD)
    sheet.row("Ships", "12", "14", y=y - 14).row("Boats", "1", "4", y=y - 26)
    assert [heading.title for heading in compose_sheets([sheet]).headings] == [
        f"{number} Ships and Boats"
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


def test_a_bookmark_without_a_title_ends_the_section_before_it() -> None:
    """A heading in smaller type is still a part of that section."""
    sheet = Sheet()
    y = sheet.prose(PROSE, y=760)
    for title, size in (("Preface", 14), ("Aims", 12), ("Boats in Review", 14), ("Ships", 12)):
        sheet.write(title, y=y - 24, size=size, font=BOLD)
        y = sheet.prose(PROSE, y=y - 48)
    bookmarks = [OutlineEntry("Preface", 1, 0), OutlineEntry("Overview", 1, 0)]
    found = compose_sheets([sheet], outline=bookmarks)
    levels = [(heading.title, heading.level) for heading in found.headings]
    assert levels == [("Preface", 1), ("Aims", 2), ("Boats in Review", 1), ("Ships", 2)]
    found = compose_sheets([sheet], outline=bookmarks[:1])
    assert [heading.level for heading in found.headings] == [1, 2, 2, 3]


def test_the_capitals_of_a_name_mean_nothing() -> None:
    """Other headings of its type are not below it."""
    sheet = Sheet()
    y = 760.0
    for title in ("COVID-19", "Net Sales", "Costs"):
        sheet.write(title, y=y - 24, font=BOLD)
        y = sheet.prose(PROSE, y=y - 48)
    assert [heading.level for heading in compose_sheets([sheet]).headings] == [1, 1, 1]


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


def test_page_without_a_number_between_pages_of_one_count_gets_its_label() -> None:
    """So does one with a number of another count; between two counts nothing is known."""
    sheets = running_sheets(9)
    for place, number in ((3, None), (6, 2)):
        sheets[place] = Sheet().write("Page with words of its own.", y=700)
        if number is not None:
            sheets[place].write(f"- {number} -", x=290, y=20, size=8)
    assert compose_sheets(sheets).labels == tuple(str(number + 5) for number in range(9))
    restarted = [*running_sheets(4), Sheet().write("Other words.", y=700), *running_sheets(4)]
    labels = compose_sheets(restarted).labels
    assert labels == ("5", "6", "7", "8", None, "5", "6", "7", "8")


def test_what_runs_stands_two_deep_on_pages_with_room_below() -> None:
    """A number above a foot, far from the margins: told by what counts and recurs."""
    sheets = []
    for number in range(9):
        sheet = Sheet().write(f"Page body {'abcdefghi'[number]} holds words of its own.", y=700)
        sheets.append(sheet.write(f"- {number + 5} -", x=290, y=420).write("A long foot", y=408))
    found = compose_sheets(sheets)
    assert found.labels == tuple(str(number + 5) for number in range(9))
    assert "foot" not in found.text


def test_numbers_that_do_not_count_the_pages_stay() -> None:
    """They are somebody's figures."""
    sheets = [Sheet().write("Words of a page", y=700).write(n, y=20) for n in ("12", "7", "31")]
    for number, sheet in enumerate(sheets):
        sheet.write("abc"[number] * 9, y=650)
    assert compose_sheets(sheets).labels == (None, None, None)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_letters_that_begin_and_end_alike_keep_their_lines(count: int) -> None:
    """What stands where the text does, or at several heights, may be there by chance."""
    sheets = []
    for number in range(count):
        sheet = Sheet().write("Dear Sir,", y=720).write("abcd"[number] * 9, y=708)
        sheet.prose(PROSE, y=696)
        sheets.append(sheet.write("yours", y=696 - 12 * len(PROSE) - 30 * number))
    text = compose_sheets(sheets).text
    assert text.count("Dear Sir,") == text.count("yours") == count


@pytest.mark.parametrize("count", [2, 3])
def test_a_head_of_a_short_document_is_taken_out(count: int) -> None:
    """It stands far out, apart, at one height."""
    assert "Harbour report" not in compose_sheets(running_sheets(count)).text


def test_numbers_that_differ_otherwise_keep_their_line() -> None:
    """They say what stands on the page; those that count the pages do not."""
    sheets = []
    for number, invoice in enumerate((2031, 2044, 2050, 2071, 2099)):
        sheet = Sheet().write(f"Invoice {invoice}", y=780).write("abcde"[number] * 9, y=700)
        sheets.append(sheet.write(f"Page {number + 3} of 9, Harbour Ltd", y=20))
    found = compose_sheets(sheets)
    assert found.text.count("Invoice") == 5
    assert "Harbour" not in found.text


def test_a_number_that_stands_twice_on_one_page_stays() -> None:
    """It counts no pages."""
    sheet = Sheet().write("12", y=780).write("Ships of the year", y=700).write("12", y=20)
    assert sheet.text().count("12") == 2


def test_pages_of_nothing_but_numbers_keep_them() -> None:
    """There is no text that they would run along."""
    sheets = [Sheet().write(str(number), y=20) for number in range(1, 6)]
    assert compose_sheets(sheets).text == "1\n2\n3\n4\n5"


def test_heads_of_columns_stay_though_they_recur() -> None:
    """Statements that follow each other have the same ones."""
    sheets = []
    for name in ("Income", "Assets", "Debt", "Cash", "Equity"):
        sheet = Sheet().row("(in millions)", "2022", "2021", y=780)
        sheets.append(sheet.row(name, "12", "14", y=768).row(f"Other {name}", "1", "2", y=756))
    assert compose_sheets(sheets).text.count("(in millions) | 2022 | 2021") == 5


@pytest.mark.parametrize(
    "heads",
    [
        ("", "Three Months Ended", "", "Six Months Ended"),
        ("", "June 30,", "June 30,"),
        ("Fiscal Year",),
        ("Thirteen Weeks Ended",),
    ],
)
def test_periods_above_columns_stay_though_they_recur(heads: tuple[str, ...]) -> None:
    """Without them nobody can tell the quarter from the half-year."""
    sheets = []
    for name in ("Income", "Assets", "Debt", "Cash", "Equity", "Ships", "Boats", "Rafts", "Cargo"):
        sheet = Sheet().write("Harbour report", y=792).row(*heads, y=780)
        sheet.row("", "2022", "2021", y=768).row(name, "12", "14", y=756)
        sheets.append(sheet.row(f"Other {name}", "1", "2", y=744))
    text = compose_sheets(sheets).text
    assert text.count(heads[-1]) >= 9
    assert "Harbour report" not in text


def test_a_row_of_a_table_may_have_two_baselines() -> None:
    """Labels are set a little higher than figures, and one head a little lower than the other."""
    sheet = (
        Sheet().row("", "Three Months Ended", y=724).row("", "", "", "Six Months Ended", y=720.4)
    )
    sheet.row("", "2022", "2021", "2020", y=712)
    for at, label in enumerate(("Ships", "Boats that are no longer counted at the gate", "Rafts")):
        sheet.row(label, y=703.8 - 12 * at).row("", "12", "14", "16", y=700 - 12 * at)
    assert sheet.text().splitlines()[0].split(" | ")[-1] == "Six Months Ended"
    assert "Ships | 12 | 14 | 16\nBoats that are no longer counted at the gate | 12" in sheet.text()


def test_lines_of_columns_of_prose_are_not_joined() -> None:
    """Though their baselines differ as little."""
    sheet = Sheet()
    for at, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        sheet.write(f"{left} and the quay", y=700 - 12 * at, size=8)
        sheet.write(f"{right} And more of it.", x=300, y=697.2 - 12 * at, size=8)
    assert " | " not in sheet.text()


def test_single_characters_that_touch_are_words() -> None:
    """Some files make a line of each character."""
    sheet = Sheet()
    for line, text in enumerate(
        ("Wages of clerks and other people", "porters 1,024 in the month of May")
    ):
        for at, character in enumerate(text):
            sheet.write(character, x=60 + 5 * at, y=700 - 12 * line)
    joined = join_characters(sheet.words)
    assert (
        joined.texts == "Wages of clerks and other people porters 1,024 in the month of May".split()
    )
    assert (joined.lefts[1], joined.rights[1]) == (90, 100)


def test_single_characters_far_apart_stay() -> None:
    """Such as the digits on the axis of a chart."""
    sheet = Sheet()
    for at in range(50):
        sheet.write("7", x=10 * at, y=700)
    assert join_characters(sheet.words).texts == ["7"] * 50


def test_a_page_of_nothing_but_its_head_keeps_it() -> None:
    """No page loses all its words."""
    sheets = [Sheet().write("Left blank on purpose", y=780) for _ in range(5)]
    assert compose_sheets(sheets).text.count("Left blank on purpose") == 5


def test_a_sentence_goes_on_over_a_page_break() -> None:
    """The paragraph stays in one run; its characters stay on their pages."""
    first, second = Sheet(), Sheet()
    first.prose(PROSE[:2], y=100)
    second.prose([PROSE[2]], y=700)
    found = compose_sheets([first, Sheet(), second])
    assert found.text == " ".join(PROSE)
    assert found.starts == (0, None, len(PROSE[0]) + len(PROSE[1]) + 2)


@pytest.mark.parametrize(
    ("last", "next_line", "expected"),
    [
        ("the count was recur\ufffe", "ring all year", "was recurring all year"),
        ("a well-known harbour, well-", "known to all", "harbour, well-known to all"),
        ("the count was made.", "it was new", "made.\nit was new"),
        ("the count was made by", "Ann Quill", "made by\nAnn Quill"),
    ],
)
def test_words_parted_by_a_page_break_are_mended(last: str, next_line: str, expected: str) -> None:
    """Each half stays on its page; a new sentence begins a line of its own."""
    first, second = Sheet().write(last, y=100), Sheet().write(next_line, y=700)
    found = compose_sheets([first, second])
    assert expected in found.text
    assert found.starts[1] == found.text.index(next_line)


def test_a_heading_after_a_page_break_joins_nothing() -> None:
    """Though it begins with a small letter."""
    first, second = Sheet(), Sheet()
    first.prose(PROSE[:2], y=100)
    second.write("iShips and boats", y=740, size=18, font=BOLD)
    second.prose(PROSE, y=710)
    assert "clerks who\n\niShips and boats\n" in compose_sheets([first, second]).text


def test_a_table_goes_on_over_a_page_break() -> None:
    """Its rows are one block; one with heads of its own is another table."""
    first = Sheet().row("", "2022", "2021", y=60).row("Ships", "12", "14", y=48)
    first.row("Boats", "1", "4", y=36)
    second = Sheet().row("Rafts", "5", "6", y=760).row("Barges", "7", "8", y=748)
    third = Sheet().row("", "2022", "2021", y=760).row("Tugs", "7", "8", y=748)
    third.row("Dories", "9", "1", y=736)
    found = compose_sheets([first, second, third])
    assert found.text == (
        " | 2022 | 2021\nShips | 12 | 14\nBoats | 1 | 4\nRafts | 5 | 6\nBarges | 7 | 8\n\n"
        " | 2022 | 2021\nTugs | 7 | 8\nDories | 9 | 1"
    )
    assert [(b.start, b.end) for b in found.blocks] == [(0, 73), (75, len(found.text))]
    assert found.starts == (0, found.text.index("Rafts"), 75)


def ruled_sheet(*rows: tuple[str, str], top: float, right: float = 260) -> Sheet:
    """Return a page of a ruled table with two columns."""
    sheet = Sheet()
    for place, (label, figure) in enumerate(rows):
        y = top - 20 * place
        sheet.write(label, x=64, y=y + 5).write(figure, x=164, y=y + 5)
        sheet.box(60, y, 160, y + 20).box(160, y, right, y + 20)
    return sheet


def test_a_ruled_table_goes_on_over_a_page_break() -> None:
    """Where it is as wide; a table of another width is another one."""
    first = ruled_sheet(("Ships", "12"), ("Boats", "1"), top=100)
    second = ruled_sheet(("Rafts", "5"), ("Tugs", "7"), top=740)
    third = ruled_sheet(("Clerks", "3"), ("Guards", "2"), top=740, right=400)
    found = compose_sheets([first, second, third])
    rows = "Ships | 12\nBoats | 1\nRafts | 5\nTugs | 7"
    assert found.text == f"{rows}\n\nClerks | 3\nGuards | 2"
    assert [(b.start, b.end) for b in found.blocks] == [
        (0, len(rows)),
        (len(rows) + 2, len(found.text)),
    ]


def test_footnotes_follow_the_columns() -> None:
    """A note under the left column stands after the right one."""
    sheet = Sheet()
    for at, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        sheet.write(left, y=700 - 12 * at).write(right, x=320, y=700 - 12 * at)
    sheet.write("1 Counted on the last day of the year.", y=600, size=7)
    assert sheet.text().endswith("better part of a day.\n\n1 Counted on the last day of the year.")


def test_footnotes_stand_apart_from_the_flow() -> None:
    """They end their page, but for a sentence that goes on over the page break."""
    first, second = Sheet(), Sheet()
    first.prose(PROSE[:2], y=140)
    first.write("* Counted on the last", y=60, size=7)
    second.prose([PROSE[2]], y=700)
    found = compose_sheets([first, second])
    assert found.text == f"* Counted on the last\n\n{' '.join(PROSE)}"
    assert compose_sheets([first]).text == f"{PROSE[0]} {PROSE[1]}\n\n* Counted on the last"


def test_a_page_that_goes_on_at_both_ends_begins_with_its_text() -> None:
    """Its footnote can stand nowhere but at its end."""
    first, second, third = Sheet(), Sheet(), Sheet()
    first.prose(PROSE[:1], y=140)
    second.prose(PROSE[1:2], y=140)
    second.write("* Counted on the last", y=60, size=7)
    third.prose(PROSE[2:], y=700)
    found = compose_sheets([first, second, third])
    assert found.text == f"{PROSE[0]} {PROSE[1]}\n\n* Counted on the last\n\n{PROSE[2]}"


def test_words_in_another_direction_follow_the_page() -> None:
    """They are kept, apart from its lines."""
    from spanwise.parsers.pdf.layout.compose import lay_out

    lines = lay_out(Sheet().write("Upright words", y=700).content(), aside=["Sideways", "words"])
    assert [line.text for line in lines] == ["Upright words", "Sideways words"]
