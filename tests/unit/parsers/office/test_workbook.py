"""Workbooks come out as sections of rows, whatever program wrote them."""

from __future__ import annotations

from datetime import date

import pytest
from tests.documents import build_zip
from tests.office_documents import build_odf, build_xls, build_xlsb, build_xlsx, cell, sheet

from spanwise.errors import ParseError
from spanwise.parsers import row_writer
from spanwise.parsers.office import workbook as binary_workbook
from spanwise.parsers.office.workbook import parse_workbook
from spanwise.parsers.parsed import Parsed, Source


def parse(data: bytes, *, max_unpacked_bytes: int = 10_000_000) -> Parsed:
    return parse_workbook(Source(data=data, name="a", max_unpacked_bytes=max_unpacked_bytes))


def titles(parsed: Parsed) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in parsed.headings]


def tables(parsed: Parsed) -> list[str]:
    return [parsed.text[block.start : block.end] for block in parsed.blocks]


def ods(rows: str, *, manifest: str = "") -> bytes:
    body = f'<table:table table:name="S">{rows}</table:table>'
    return build_odf("spreadsheet", body, manifest=manifest)


SALES = sheet(["Region", 2021, 2022], ["North", 5, 6], ["South", 7.5, None])


def test_sheet_is_a_section_and_a_row_a_line() -> None:
    """A short table is a block with its head row."""
    parsed = parse(build_xlsx({"Sales": SALES}))
    assert parsed.text == "Sales\n\nRegion | 2021 | 2022\nNorth | 5 | 6\nSouth | 7.5"
    assert titles(parsed) == [(1, "Sales")]
    assert tables(parsed) == ["Region | 2021 | 2022\nNorth | 5 | 6\nSouth | 7.5"]


def test_title_and_units_stand_above_their_table() -> None:
    """Also where a blank row parts them."""
    rows = sheet(["Sales by region"], ["in thousands"], [], ["Region", "Sum"], ["North", 5])
    parsed = parse(build_xlsx({"A": rows}))
    assert parsed.text == "A\n\nSales by region\n\nin thousands\n\nRegion | Sum\nNorth | 5"
    assert titles(parsed) == [(1, "A"), (2, "Sales by region")]


def test_escaped_characters_are_read() -> None:
    """Excel writes a carriage return as "_x000D_", and that text with an escaped line."""
    rows = sheet(["first_x000D_\nsecond", "_x005F_x000D_", "a_x0001_b"])
    assert "first second | _x000D_ | ab" in parse(build_xlsx({"A": rows})).text


def test_lone_number_is_no_title() -> None:
    """Though a formula may have stored it as a text."""
    parsed = parse(build_xlsx({"A": sheet(["7.5"], [], ["Notes"], [], [8])}))
    assert titles(parsed) == [(1, "A"), (2, "Notes")]


def test_blank_rows_part_tables() -> None:
    """Each has its own columns, so that one does not widen the other."""
    rows = sheet(["a", "b"], [1, 2], [], [None, None, "c", "d"], [None, None, 3, 4])
    parsed = parse(build_xlsx({"A": rows}))
    assert tables(parsed) == ["a | b\n1 | 2", "c | d\n3 | 4"]


MANY = [[f"N{number}", number] for number in range(200)]


@pytest.mark.parametrize(
    ("head", "named"),
    [
        (["Name", "Sum"], "Name: N7 | Sum: 7"),
        (["Name", 2021], "Name: N7 | 2021: 7"),
        (["Name", 5], "N7 | 7"),
        (["Name", "long " * 20], "N7 | 7"),
    ],
)
def test_long_table_names_its_columns(head: list[object], named: str) -> None:
    """Where its first row is a head row: short words and years."""
    parsed = parse(build_xlsx({"A": sheet(head, *MANY)}))
    lines = parsed.text.split("\n")
    assert lines[2] == " | ".join(str(name).strip() for name in head)
    assert lines[3 + 7] == named
    assert len(lines) == 203
    assert bool(parsed.blocks) == (named == "N7 | 7")


def test_years_below_years_are_data() -> None:
    """A column of years heads nothing."""
    rows = [[2000 + number, f"Event {number} of a long list"] for number in range(60)]
    assert parse(build_xlsx({"A": sheet(*rows)})).text.startswith("A\n\n2000 | Event 0 of")


def test_words_below_words_have_a_head_that_is_as_wide() -> None:
    """Without numbers, nothing else tells."""
    rows = [["city", "land"], *([f"City {number}", "Land of the sea"] for number in range(60))]
    parsed = parse(build_xlsx({"A": sheet(*rows)}))
    assert parsed.text.endswith("city: City 59 | land: Land of the sea")
    parsed = parse(build_xlsx({"A": sheet(*rows, ["a", "b", "c"])}))
    assert "city: City 59" in parsed.text


def test_a_head_of_two_rows_names_the_columns_of_each_group() -> None:
    body: list[list[object]]
    body = [[f"Region number {n}", n, n + 1, n + 2, n + 3] for n in range(40)]
    head: list[list[object]]
    head = [[None, 2022, None, 2023, None], ["Region", "Plan", "Actual", "Plan", "Actual"]]
    text = parse(build_xlsx({"A": sheet(*head, *body)})).text
    assert " | 2022 |  | 2023\nRegion | Plan | Actual | Plan | Actual\n" in text
    line = (
        "Region: Region number 7 | 2022 Plan: 7 | 2022 Actual: 8 | 2023 Plan: 9 | 2023 Actual: 10"
    )
    assert line in text


def test_a_label_merged_over_both_rows_of_a_head_names_its_column() -> None:
    body: list[list[object]]
    body = [[f"Region number {n}", n, n + 1, n + 2, n + 3, 4 * n + 6] for n in range(40)]
    head: list[list[object]]
    head = [["Region", 2022, None, 2023, None, "Sum"], [None, "Plan", "Actual", "Plan", "Actual"]]
    text = parse(build_xlsx({"A": sheet(*head, *body)})).text
    assert "Region | 2022 |  | 2023 |  | Sum\n | Plan | Actual | Plan | Actual\n" in text
    line = (
        "Region: Region number 7 | 2022 Plan: 7 | 2022 Actual: 8 | 2023 Plan: 9 | "
        "2023 Actual: 10 | Sum: 34"
    )
    assert line in text


def test_a_row_of_data_with_empty_cells_is_no_second_row_of_a_head() -> None:
    body: list[list[object]] = [[f"Task {n}", "open", "Ann", n] for n in range(60)]
    first: list[list[object]] = [["Task", "State", "Owner", "Days"], ["Task A", "late", "late"]]
    text = parse(build_xlsx({"A": sheet(*first, *body)})).text
    assert "Task: Task A | State: late | Owner: late\nTask: Task 0 | State: open |" in text


def test_head_row_may_begin_empty() -> None:
    """The corner of a table often is; the cells below it have no name."""
    rows = [[f"Row {number}", number, 0] for number in range(100)]
    parsed = parse(build_xlsx({"A": sheet([None, 2021, "Share"], *rows)}))
    assert parsed.text.startswith("A\n\n | 2021 | Share\nRow 0 | 2021: 0 | Share: 0\nRow 1 |")


def test_cells_are_as_they_are_shown() -> None:
    """Formats, shared and rich texts, truth values, errors, dates, results of formulas."""
    rows = f"""<row r="1">{cell("A1", 0.123, style=1)}{cell("B1", 44197, style=2)}
      {cell("C1", 0, kind="s")}{cell("D1", 1, kind="b")}{cell("E1", "#REF!", kind="e")}
      {cell("F1", "2021-02-03T00:00:00", kind="d")}{cell("G1", 0.30000000000000004)}
      {cell("H1", 7, inner="<f>SUM(A1:B1)</f>")}{cell("I1", "x", kind="str", inner="<f>A</f>")}
      {cell("J1", "not a number", kind="n")}{cell("K1", "two<r/> lines")}</row>"""
    strings = ['<r><t>rich </t></r><r><t xml:space="preserve">text</t></r><rPh><t>no</t></rPh>']
    parsed = parse(build_xlsx({"A": rows}, formats=["0.0%", "d/m/yy"], strings=strings))
    assert parsed.text.split("\n")[-1] == (
        "12.3% | 2021-01-01 | rich text | TRUE | #REF! | 2021-02-03 | 0.3 | 7 | x | not a number"
        " | two lines"
    )
    assert parsed.status == "ok"


def test_days_from_1904() -> None:
    """As the workbook says."""
    rows = f'<row r="1">{cell("A1", 42735, style=1)}</row>'
    parsed = parse(build_xlsx({"A": rows}, formats=["yyyy"], from_1904=True))
    assert parsed.text == "A\n\n2021"


def test_formula_without_result_is_told() -> None:
    """Programs that only write files store none."""
    rows = f'<row r="1">{cell("A1", 5)}{cell("B1", "", inner="<f>A1*2</f>")}</row>'
    parsed = parse(build_xlsx({"A": rows}))
    assert parsed.status == "partial"
    assert parsed.warnings == (
        "sheet 'A': 1 formulas have no stored result; open the file in a spreadsheet program, "
        "save it, and add it again",
    )


def test_missing_shared_text_is_told() -> None:
    """A cell that points to nothing held something once."""
    rows = f'<row r="1">{cell("A1", 5)}{cell("B1", 8, kind="s")}</row>'
    parsed = parse(build_xlsx({"A": rows}))
    assert parsed.warnings == ("sheet 'A': the text of 1 cells is missing",)


def test_hidden_sheet_says_so_and_empty_one_is_not_there() -> None:
    """Sheets without cells leave nothing."""
    parsed = parse(build_xlsx({"A": "", "B": sheet(["x"])}, hidden=["B"]))
    assert parsed.text == "B\n\n(hidden sheet)\n\nx"


def test_cell_in_the_last_place_costs_nothing() -> None:
    """The file that other readers take 512 GiB for; places may be left out, too."""
    rows = f'<row r="1048576">{cell("XFD1048576", 5)}</row><row><c><v>6</v></c></row>'
    parsed = parse(build_xlsx({"A": rows}))
    assert parsed.text == "A\n\n5\n6"


def test_very_long_table_is_written_in_portions() -> None:
    """A column that comes late is taken in; a table without a head is one block."""
    rows: list[list[object]] = [[f"n{i}", i] for i in range(1200)]
    rows.append(["last", 1, "late"])
    parsed = parse(build_xlsx({"A": sheet(*rows)}))
    assert parsed.text.split("\n")[2:] == [" | ".join(map(str, row)) for row in rows]
    assert len(parsed.blocks) == 1
    parsed = parse(build_xlsx({"A": sheet(["name", "sum"], *rows)}))
    assert parsed.text.endswith("\nname: n1199 | sum: 1199\nname: last | sum: 1 | late")


def test_too_many_cells_are_left_out_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the file is partial."""
    monkeypatch.setattr(row_writer, "MAX_CELLS", 3)
    parsed = parse(build_xlsx({"A": sheet([1, 2], [3, 4]), "B": sheet([5])}))
    assert parsed.text == "A\n\n1 | 2"
    assert parsed.status == "partial"
    assert "sheet 'A' from row 2 on" in parsed.warnings[0]


def test_shared_text_is_repeated_up_to_the_limit() -> None:
    """Many cells may name one long text."""
    rows = "".join(f"<row>{cell('A1', 0, kind='s')}</row>" for _ in range(100))
    data = build_xlsx({"A": rows}, strings=[f"<t>{'x' * 1000}</t>"])
    parsed = parse_workbook(Source(data=data, name="a", max_text_bytes=40_000))
    assert parsed.text.count("\n") == 11
    assert parsed.status == "partial"


def test_damaged_sheet_leaves_the_others() -> None:
    """And the rows before the damage."""
    parsed = parse(build_xlsx({"A": sheet([1]) + "<row>", "B": sheet([2])}))
    assert parsed.text == "A\n\n1\n\nB\n\n2"
    assert parsed.status == "partial"
    assert parsed.warnings[0].startswith("sheet 'A' could not be read completely")


def test_properties_are_metadata() -> None:
    """As in every Office file."""
    parsed = parse(build_xlsx({"A": SALES}, core="<dc:title>Sales of 2022</dc:title>"))
    assert parsed.title == "Sales of 2022"


def test_a_workbook_without_a_title_is_titled_by_its_file_not_by_its_first_sheet() -> None:
    data = build_xlsx({"Regions": SALES, "Projects": SALES})
    parsed = parse_workbook(Source(data=data, name="data/plan.xlsx"))
    assert parsed.title == "plan.xlsx"


def test_open_document_sheet_is_as_it_was_shown() -> None:
    """Texts of the cells, dates in one form, comments left out, repeats repeated."""
    rows = """
    <table:table-row><table:table-cell office:value-type="string"><text:p>Item</text:p>
      </table:table-cell><table:table-cell office:value-type="string"><text:p>Share</text:p>
      </table:table-cell></table:table-row>
    <table:table-row table:number-rows-repeated="2">
      <table:table-cell office:value-type="string"><text:p>A<text:s/>b</text:p>
        <office:annotation><text:p>comment</text:p></office:annotation></table:table-cell>
      <table:table-cell table:number-columns-repeated="2" office:value-type="percentage"
        office:value="0.123"><text:p>12.3 %</text:p></table:table-cell>
      <table:table-cell office:value-type="date" office:date-value="2021-03-04T05:06:00">
        <text:p>4/3/21</text:p></table:table-cell>
      <table:table-cell office:value-type="float" office:value="1.50"/></table:table-row>
    <table:table-row table:number-rows-repeated="1048573">
      <table:table-cell table:number-columns-repeated="16384"/></table:table-row>"""
    parsed = parse(ods(rows))
    line = "A b | 12.3 % | 12.3 % | 2021-03-04 05:06:00 | 1.5"
    assert parsed.text == f"S\n\nItem | Share\n{line}\n{line}"


def test_open_document_says_what_is_hidden_and_missing() -> None:
    """A hidden sheet by its style; formulas without results."""
    automatic = (
        '<style:style style:name="t"><style:table-properties table:display="false"/></style:style>'
    )
    body = (
        '<table:table table:name="S" table:style-name="t"><table:table-row><table:table-cell>'
        '<text:p>x</text:p></table:table-cell><table:table-cell table:formula="of:=1"/>'
        "</table:table-row></table:table>"
    )
    parsed = parse(build_odf("spreadsheet", body, automatic=automatic))
    assert parsed.text == "S\n\n(hidden sheet)\n\nx"
    assert parsed.status == "partial"


def test_repeated_rows_end_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes may ask for a million rows."""
    monkeypatch.setattr(row_writer, "MAX_CELLS", 1000)
    rows = (
        '<table:table-row table:number-rows-repeated="1048576"><table:table-cell '
        'table:number-columns-repeated="10"><text:p>x</text:p></table:table-cell></table:table-row>'
    )
    parsed = parse(ods(rows))
    assert parsed.text.count("\n") == 101
    assert parsed.status == "partial"


def test_old_workbook_is_read() -> None:
    """XLS, through calamine."""
    data = build_xls([["Region", "Sum"], ["North", 5, date(2021, 3, 4)], ["South", 7.5, True]])
    parsed = parse(data)
    assert parsed.text == "Old\n\nRegion | Sum\nNorth | 5 | 2021-03-04\nSouth | 7.5 | TRUE"
    assert parsed.media_type == "application/vnd.ms-excel"


def test_binary_workbook_is_read_within_its_extent() -> None:
    """XLSB, through calamine, which would take memory for all places between the cells."""
    parsed = parse(build_xlsb([(0, 0, 1.5), (0, 1, 2), (3, 1, 7)]))
    assert parsed.text == "Numbers\n\n1.5 | 2\n\n7"
    with pytest.raises(ParseError) as caught:
        parse(build_xlsb([(0, 0, 1.5), (1_048_575, 16_383, 7)]))
    assert caught.value.code == "too_large"


def test_panic_of_calamine_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """It raises what no handler of exceptions takes; anything else of that kind passes."""

    class PanicException(BaseException):
        """Stands for that of the Rust runtime."""

    class Workbook:
        raised: BaseException = PanicException("out of range")

        @classmethod
        def from_filelike(cls, _file: object) -> None:
            raise cls.raised

    monkeypatch.setattr(binary_workbook, "CalamineWorkbook", Workbook)
    with pytest.raises(ParseError, match="out of range") as caught:
        parse(build_xls([["a"]]))
    assert caught.value.code == "corrupt"
    Workbook.raised = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        parse(build_xls([["a"]]))


ENCRYPTED = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (build_xlsx({"A": ""}), "no_text"),
        (build_xlsx({"A": "<row>"}), "corrupt"),
        (build_xlsx({"A": " " * 11_000_000}), "too_large"),
        (build_zip({"xl/workbook.xml": b"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"}), "corrupt"),
        (build_zip({"xl/other.xml": b"<a/>"}), "corrupt"),
        (build_xls([["a"]])[:3000], "corrupt"),
        (build_xls([["a"]], locked=True), "encrypted"),
        (ods("", manifest=ENCRYPTED), "encrypted"),
        (ods(""), "no_text"),
        (ods("<table:table-row>")[:-30], "corrupt"),
    ],
)
def test_bad_workbook_is_refused(data: bytes, code: str) -> None:
    """With the kind of the cause."""
    with pytest.raises(ParseError) as caught:
        parse(data)
    assert caught.value.code == code
