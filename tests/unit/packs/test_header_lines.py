"""Lines about filings and contracts in the headers of segments."""

from __future__ import annotations

import pytest

from spanwise.packs.header_lines import head_lines
from spanwise.packs.known_kinds import plain_summary
from spanwise.types import MetadataValue

Fields = dict[str, MetadataValue]
ANNUAL: Fields = {
    "company": "Best Buy",
    "form": "10-K",
    "fiscal_year": 2019,
    "period_end": "2019-02-02",
}
CONTRACT: Fields = {
    "agreement": "Supply Agreement",
    "parties": ("Harrow Mills", "Northport"),
    "effective_date": "2019-04-05",
}
COVER = "UNITED STATES SECURITIES AND EXCHANGE COMMISSION, in a sentence of the first page."


def line(title: str, fields: Fields, summary: str = "") -> str:
    first, second = head_lines(title, summary=summary, metadata=fields)
    assert first == title
    return second


@pytest.mark.parametrize(
    ("title", "changes", "expected"),
    [
        ("Best Buy 10-K 2019", {}, "fiscal 2019, year ended 2019-02-02"),
        ("", {}, "Best Buy · 10-K · fiscal 2019, year ended 2019-02-02"),
        ("Report of BEST BUY", {}, "10-K · fiscal 2019, year ended 2019-02-02"),
        ("Best Buy 10-K 2019", {"period_end": ""}, "fiscal 2019"),
        ("Best Buy 10-K 2019", {"fiscal_year": ""}, "year ended 2019-02-02"),
        ("x", {"form": "10-K/A"}, "Best Buy · 10-K/A · fiscal 2019, year ended 2019-02-02"),
        ("x", {"form": "10-Q"}, "Best Buy · 10-Q · fiscal 2019, quarter ended 2019-02-02"),
        ("x", {"form": "8-K", "fiscal_year": ""}, "Best Buy · 8-K · event of 2019-02-02"),
        (
            "x",
            {"form": "earnings release"},
            "Best Buy · earnings release · fiscal 2019, period ended 2019-02-02",
        ),
        ("x", {"company": ""}, ""),
        ("x", {"form": ""}, ""),
        ("x", {"company": ("Best Buy", "Target")}, ""),
    ],
)
def test_a_filing_is_described_by_what_its_title_lacks(
    title: str, changes: Fields, expected: str
) -> None:
    assert line(title, {**ANNUAL, **changes}) == expected


@pytest.mark.parametrize(
    ("title", "changes", "expected"),
    [
        ("Supply Agreement between Harrow Mills and Northport", {}, "effective 2019-04-05"),
        ("EX-10.1", {}, "Supply Agreement · Harrow Mills and Northport · effective 2019-04-05"),
        ("SUPPLY AGREEMENT", {"effective_date": ""}, "Harrow Mills and Northport"),
        (
            "x",
            {"parties": "Harrow Mills"},
            "Supply Agreement · Harrow Mills · effective 2019-04-05",
        ),
        (
            "x",
            {"parties": ("A", "B", "C", "D"), "effective_date": ""},
            "Supply Agreement · A, B, C and others",
        ),
        ("x", {"parties": ()}, ""),
    ],
)
def test_a_contract_is_described_by_what_its_title_lacks(
    title: str, changes: Fields, expected: str
) -> None:
    assert line(title, {**CONTRACT, **changes}) == expected


def test_a_line_is_short_and_has_no_line_break() -> None:
    text = line("x", {**ANNUAL, "company": "Best\nBuy " + "y" * 500})
    assert text.startswith("Best Buy y")
    assert len(text) == 160


def test_a_written_summary_has_precedence() -> None:
    assert line("x", ANNUAL, summary="Sells televisions.") == "Sells televisions."


def test_known_kinds_have_no_extracted_summary() -> None:
    assert plain_summary(COVER, ANNUAL) == ""
    assert plain_summary(COVER, CONTRACT) == ""
    assert plain_summary(COVER, {}) == COVER
    assert plain_summary(COVER, {"form": "10-K"}) == COVER
