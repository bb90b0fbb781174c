"""CSV and TSV: a row is a line of cells, as in sheets; nothing is lost."""

from __future__ import annotations

import pytest

from spanwise.errors import ParseError
from spanwise.parsers.csv_table import parse_csv
from spanwise.parsers.parsed import Parsed, Source


def parse(text: str, name: str = "a.csv") -> Parsed:
    return parse_csv(Source(data=text.encode(), name=name))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "name;price\nPen;1,5\nInk;2,3\n",
            "name | price\nPen | 1,5\nInk | 2,3",
        ),
        ("name\tage\nAda\t3\n", "name | age\nAda | 3"),
        ("name|age\nAda|3\n", "name | age\nAda | 3"),
        ('name,age\n"Ada, B",3\n', "name | age\nAda, B | 3"),
        ("Item,2019,2020\nSales,1,2\n", "Item | 2019 | 2020\nSales | 1 | 2"),
        ("name,,age\nAda,x,3\n", "name |  | age\nAda | x | 3"),
        ("name,age\rAda,3\rBen,\r", "name | age\nAda | 3\nBen"),
        ("sep=;\na;b\n1;2", "a | b\n1 | 2"),
        ("1,2\n3,4\n", "1 | 2\n3 | 4"),
        ("Ada,1984\nBen,1990\n", "Ada | 1984\nBen | 1990"),
        (
            "May report\n\nname,city,age\nA,B,3\n,D,4",
            "May report\n\nname | city | age\nA | B | 3\n | D | 4",
        ),
        (
            "prose, with a comma\nand lines\nmore of it",
            "prose, with a comma\nand lines\nmore of it",
        ),
        ("one column\n1\n2\n", "one column\n1\n2\n"),
    ],
)
def test_rows_are_told_by_their_columns(source: str, expected: str) -> None:
    """Whatever parts the cells, with a head row and without one."""
    assert parse(source).text == expected


def test_short_rows_are_a_table() -> None:
    """Of whole lines."""
    parsed = parse("1,2\n3,4\n")
    assert [(b.start, b.end, b.kind) for b in parsed.blocks] == [(0, len(parsed.text), "table")]


MANY = "".join(f"Ship {number},{number}\n" for number in range(100))


@pytest.mark.parametrize(
    ("above", "first"),
    [
        ("name,crew\n", "name: Ship 0 | crew: 0"),
        ("name,2019\n", "name: Ship 0 | 2019: 0"),
        ("name,crew\n\nShip X,\n", "name: Ship X"),
        ("name,5\n", "Ship 0 | 0"),
        ("name,name\n", "Ship 0 | 0"),
        ("Ship 7,four\n", "Ship 0 | 0"),
        ("name," + "long " * 20 + "\n", "Ship 0 | 0"),
    ],
)
def test_long_tables_name_their_columns(above: str, first: str) -> None:
    """Where the first row is a head row; blank rows part nothing."""
    parsed = parse(above + MANY)
    lines = parsed.text.split("\n")
    assert lines[1] == first
    assert bool(parsed.blocks) == (first == "Ship 0 | 0")


def test_long_cells_are_text() -> None:
    """A section headed by what titles it, with the paragraphs of the cell; other rows are lines."""
    body = "First paragraph.\n\n" + "word " * 200
    parsed = parse(f'Fleet,,\nid,title,text\n1,Of ships,"{body}"\n2,Of ports,none\n')
    assert [(h.level, h.title) for h in parsed.headings] == [(1, "Fleet"), (2, "Of ships")]
    assert parsed.text == (
        f"Fleet\n\nid | title | text\n\nOf ships\n\nid: 1\n\n{body.strip()}\n\n"
        "id: 2 | title: Of ports | text: none"
    )


def test_what_is_no_table_is_text() -> None:
    """A line of more cells than any table has."""
    line = "ab," * 20_000
    assert parse(line).text == line
    parsed = parse(f"a,b\n1,2\n{line}\n3,4")
    assert parsed.text.startswith("a | b\na: 1 | b: 2\n\nab | ab | ab")
    assert parsed.text.endswith("ab | ab\n\na: 3 | b: 4")


def test_names_of_columns_do_not_outgrow_the_limit() -> None:
    """They stand in each row; what follows is left out, and that is told."""
    source = "a long name,another\n" + "1,2\n" * 2000
    parsed = parse_csv(Source(data=source.encode(), name="a.csv", max_text_bytes=20_000))
    assert parsed.status == "partial"
    assert "the rows after 1000 are left out" in parsed.warnings[0]
    assert len(parsed.text) < 40_000


def test_cells_too_many_are_kept_and_told() -> None:
    """A row is never cut."""
    parsed = parse("name,age\nAda,3,x\nBen,4\nCy,5")
    assert parsed.text.startswith("name | age\nAda | 3 | x\n")
    assert parsed.warnings == ("1 rows have more cells than the table has columns",)


def test_quotation_without_an_end_is_a_character() -> None:
    """It does not swallow the rows below."""
    parsed = parse('a,b\n"x,1\ny,2\nz,3\n')
    assert parsed.text == 'a | b\n"x | 1\ny | 2\nz | 3'
    assert "1 quotation marks are not closed" in parsed.warnings[0]


def test_cell_over_many_lines_is_one_cell() -> None:
    """A quotation that ends is what it is meant to be."""
    parsed = parse('name,note\nAda,"one\ntwo"\nBen,x\n')
    assert parsed.text == "name | note\nAda | one two\nBen | x"


def test_title_is_the_name_of_the_file() -> None:
    """And never the first record's."""
    assert parse("name,age\nAda,3", "data/people.csv").title == "people.csv"


def test_empty_cells_are_refused() -> None:
    """Nothing is silently empty."""
    with pytest.raises(ParseError, match="empty") as caught:
        parse(",,\n,,\n")
    assert caught.value.code == "no_text"


def test_marks_of_quotation_take_linear_time() -> None:
    """Each opens a cell that never ends; the rows below are read again but once."""
    source = "\n".join(['"open,1', *(["a,b"] * 600)] * 20)
    parsed = parse(source)
    assert parsed.text.count("open") == 20
