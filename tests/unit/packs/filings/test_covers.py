"""Fields of the first pages of filings."""

from collections.abc import Callable

import pytest
from tests.growth import assert_linear_time

from spanwise.packs.filing_covers import cover_fields, cover_title
from spanwise.types import Scalar

COVER = """Table of Contents
UNITED STATES
SECURITIES AND EXCHANGE COMMISSION
Washington, D.C. 20549
FORM {form}
(Mark One)
☒ {kind} REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934
{period}
☐ TRANSITION REPORT PURSUANT TO SECTION 13 OR 15(d)
For the transition period from ____ to ____
Commission file number {number}
{name}
(Exact name of registrant as specified in its charter)
Delaware 12-3456789
(State or other jurisdiction) (I.R.S. Employer Identification No.)
"""


def cover(
    form: str = "10-K",
    *,
    kind: str = "ANNUAL",
    period: str = "For the fiscal year ended December 31, 2021",
    number: str = "001-12345",
    name: str = "ALTBY HARBOUR CORPORATION",
) -> str:
    """Return the first page of a filing of our own."""
    return COVER.format(form=form, kind=kind, period=period, number=number, name=name)


def test_annual_report_of_a_filing() -> None:
    """Company, form, fiscal year and the end of the period."""
    assert cover_fields(cover()) == {
        "company": "Altby Harbour",
        "form": "10-K",
        "fiscal_year": 2021,
        "period_end": "2021-12-31",
        "date": "2021-12-31",
    }


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            cover("10-Q", kind="QUARTERLY", period="For the quarterly period ended\nMay 1, 2022"),
            {"form": "10-Q", "fiscal_year": 2022, "period_end": "2022-05-01"},
        ),
        (cover("10\u2011K/A"), {"form": "10-K/A", "fiscal_year": 2021}),
        (cover("10-K\n(Amendment No. 1)"), {"form": "10-K/A", "fiscal_year": 2021}),
        (cover("20-F", period="For the year ended 31 March 2023"), {"period_end": "2023-03-31"}),
        (cover("S-1", period=""), {"form": "S-1", "fiscal_year": None, "period_end": None}),
        (
            cover("8-K", kind="CURRENT", period="Date of Report (earliest event): May 3, 2023"),
            {"form": "8-K", "fiscal_year": None, "period_end": "2023-05-03"},
        ),
        (
            cover("8-K", period="May 26, 2023\nDate of Report (Date of earliest event reported)"),
            {"period_end": "2023-05-26"},
        ),
        (cover(period="For the fiscal year ended June 31, 2021"), {"period_end": None}),
        (
            "As filed with the Securities and Exchange Commission on May 3, 2023\n" + cover("F-1"),
            {"form": "F-1", "company": "Altby Harbour"},
        ),
        (
            cover("20-F").replace("UNITED STATES\n", "**").replace("COMMISSION", "COMMISSION**"),
            {"form": "20-F"},
        ),
        ("FORM 10-K\n" + cover("20549"), {"form": "10-K"}),
    ],
)
def test_other_forms(text: str, fields: dict[str, Scalar]) -> None:
    """Each form has its own wording of the period; an event has no fiscal year."""
    found = cover_fields(text)
    assert {name: found.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "company"),
    [
        (cover(name="Altby Harbour & Co.\n____________________"), "Altby Harbour"),
        (cover().replace("\n", " "), "Altby Harbour"),
        (
            cover().replace("(Exact name of registrant as specified in its charter)", ""),
            "Altby Harbour",
        ),
        (
            cover(number="\nMarch 31, 2021 number 1-5805", name="Altby Harbour Inc."),
            "Altby Harbour",
        ),
        (cover(name="001-12345 | Altby Harbour plc"), "Altby Harbour"),
        (cover(name="a name " * 20), None),
        (cover(name="(x)\n) Altby Harbour, Inc."), "Altby Harbour"),
        (cover(name="[ ]\nAltby Harbour, Inc."), "Altby Harbour"),
        (cover(name="(ALTBY PLC"), "Altby"),
        (cover(name="Altby plc)"), "Altby"),
        (cover(name="Altby & Altby\n(NYSE: ALT)"), "Altby & Altby"),
        (cover(name="ALTBY & ALTBY (A New Jersey corporation)"), "Altby & Altby"),
        (cover(name="Altby-Harbour\nTHE ALTBY-HARBOUR COMPANY"), "Altby-Harbour"),
        (cover(name="[LOGO]\nTHE ALTBY COMPANY"), "Altby"),
        (cover(name="Graphic\nTHE ALTBY COMPANY"), "Altby"),
        (cover(name="ALTBY INTERNATIONAL\nHARBOUR COMPANY"), "Altby International Harbour"),
        (cover(name="A L T B Y   P L C") + "Altby plc lets berths. " * 3, "Altby"),
        (cover(name="ALTBY & McHARBOUR'S COMPANY"), "Altby & McHarbour's"),
        (cover(number="001-12345\n(Commission File Number)", name="ALTBY PLC"), "Altby"),
        (
            cover(name="").replace("charter)\n", "charter)\nTHE ALTBY COMPANY\n"),
            "Altby",
        ),
        (cover(number="", name="").replace("(Exact", "(exact"), None),
        (
            cover(number="none", name="x").replace("(Exact name of registrant", "(Name"),
            None,
        ),
        (cover(name="Dear Ms. Ann:").replace("(Exact name of registrant", "(Name"), None),
    ],
)
def test_company_precedes_its_caption(text: str, company: str | None) -> None:
    """Or after the file number; a name that is not sure is left out."""
    assert cover_fields(text).get("company") == company


SIGNATURE = (
    "\nPursuant to the requirements of the Securities Exchange Act of 1934, the registrant has duly"
    " caused this report to be signed on its behalf by the undersigned, thereunto duly authorized."
    "\n\nTHE ALTBY-HARBOUR COMPANY\n(Registrant)\nBy: /s/ Ann\nDate: February 23, 2018\n"
)


@pytest.mark.parametrize(
    "text",
    [
        cover(name="") + "The Altby-Harbour Company lets berths. " * 3 + SIGNATURE,
        cover(name="__________") + SIGNATURE,
        cover(number="", name=")") + SIGNATURE.replace("(Registrant)\n", ""),
        cover(name="") + SIGNATURE.replace("authorized.", "authorized on February 23, 2018."),
        cover(name="") + SIGNATURE.replace("authorized.", "authorized.\nDate: February 23, 2018"),
        cover(name="")
        + SIGNATURE.replace(
            "authorized.",
            "authorized, in the City of Altby, State of Maine, on the 23rd day of February, 2018.",
        ),
        cover(name="") + SIGNATURE.replace("(Registrant)\nBy: /s/", "").replace("Date:", "on"),
        cover(name="")
        + SIGNATURE.replace("the registrant has", "The Altby-Harbour Company has").replace(
            "THE ALTBY-HARBOUR COMPANY\n(Registrant)", ""
        ),
    ],
)
def test_company_of_a_cover_with_a_picture_is_in_the_signature(text: str) -> None:
    """A logo has no text."""
    assert cover_fields(text)["company"] == "Altby-Harbour"


def test_signature_without_a_company() -> None:
    """A person who signs is not the company."""
    text = cover(name="") + SIGNATURE.replace("THE ALTBY-HARBOUR COMPANY\n(Registrant)\nBy:", "Ann")
    assert "company" not in cover_fields(text)


RELEASE = """Altby Harbour Reports Third Quarter Fiscal 2022 Results

ALTBY, Maine - August 4, 2022 - Altby Harbour, Inc. (NYSE: ALT) today reported results for the
quarter ended June 30, 2022.
"""


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            RELEASE,
            {
                "company": "Altby Harbour",
                "form": "earnings release",
                "fiscal_year": 2022,
                "period_end": "2022-06-30",
                "date": "2022-06-30",
            },
        ),
        (
            "Q1 Earnings: Ann and Altby plc (LSE: ALT) (“Altby”) announced today that it sold.",
            {"company": "Ann and Altby", "form": "earnings release"},
        ),
        (
            "Q1 Earnings: ALTBY, N.J. - Ann & Altby (NYSE: ALT) today announced results.",
            {"company": "Ann & Altby", "form": "earnings release"},
        ),
        (
            "Q1 2020 results of the (NYSE: ALT) are out today",
            {"form": "earnings release", "fiscal_year": 2020},
        ),
    ],
)
def test_earnings_release(text: str, fields: dict[str, Scalar]) -> None:
    """A quarter, results, and a company with its exchange that reports something "today"."""
    assert cover_fields(text) == fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "Altby Harbour\n2019 Annual Report\n" + "Altby Harbour grew. " * 3,
            {},
        ),
        (
            "Altby Harbour plc\nAnnual Report and Accounts 2019\n" + "Altby Harbour grew. " * 3,
            {"company": "Altby Harbour", "form": "annual report", "fiscal_year": 2019},
        ),
        (
            "Altby Harbour Annual Report 2019\n" + "Altby Harbour grew. " * 3,
            {"company": "Altby Harbour", "form": "annual report", "fiscal_year": 2019},
        ),
        ("Annual Report\n" + "Altby Harbour grew. " * 3, {}),
        ("Wide Waters Ltd.\nAnnual Report 2019\nWe grew.", {}),
    ],
)
def test_annual_report_for_people(text: str, fields: dict[str, Scalar]) -> None:
    """A line with its year, and a company that the text goes on to speak of."""
    assert cover_fields(text) == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SUPPLY AGREEMENT\nThis Agreement is made by Altby Harbour Corporation.",
        "The Securities and Exchange Commission asked for a Form 10-K.",
        "Securities and Exchange Commission\n" + "x " * 600 + "Form 10-K\nExact name of registrant",
        "Securities and Exchange Commission Form 12b-25 Commission file number",
        "Third quarter results were good, said Ann.",
        "MEETING OF THE FIRST QUARTER\nAltby Inc. (NYSE: ALT) sent nobody.",
        "Market wrap: first quarter earnings.\nShares of Altby Inc. (NYSE: ALT) fell in 2023.",
        "How to read a filing\n\nIt begins with a page such as this:\n\n" + cover(),
        "Ben, see below.\n\n> " + cover().replace("\n", "\n> "),
        "The Securities and Exchange Commission asks for Form 10-K. It has the Commission file"
        " number, the exact name of registrant, and the fiscal year ended December 31, 2021.",
        "CREDIT AGREEMENT\n“SEC” means the Securities and Exchange Commission. The Form 10-K for"
        " the fiscal year ended December 31, 2021 (Commission file number 001-12345) is sent.",
        "Division of Corporation Finance\nSecurities and Exchange Commission\nRe: Altby Inc.\n"
        "Form 10-K for the fiscal year ended December 31, 2021\nCommission file number 001-12345\n"
        "\nDear Ms. Ann:\nWe have read it.",
        "Exhibit 10.1 to Form 8-K\nSecurities and Exchange Commission\nCommission file number"
        " 1-2345\nSUPPLY AGREEMENT between Altby Inc. and Ben",
    ],
)
def test_other_texts_have_no_fields(text: str) -> None:
    """Precision before recall: a text about filings is not a filing."""
    assert cover_fields(text) == {}


YEAR: dict[str, Scalar] = {"company": "Altby", "fiscal_year": 2021}


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({**YEAR, "form": "10-K", "period_end": "2021-12-31"}, "Altby 10-K 2021"),
        ({**YEAR, "form": "10-Q", "period_end": "2021-03-31"}, "Altby 10-Q 2021-03-31"),
        ({**YEAR, "form": "earnings release"}, "Altby earnings release 2021"),
        ({"company": "Altby", "form": "S-1"}, "Altby S-1"),
        ({"form": "S-1"}, ""),
        (YEAR, ""),
        ({}, ""),
    ],
)
def test_title_of_a_cover(fields: dict[str, Scalar], title: str) -> None:
    """Company, form and date; empty without company or form."""
    assert cover_title(fields) == title


@pytest.mark.parametrize(
    "text_of",
    [
        lambda count: cover(name="A B " * 19) + "a b " * count,
        lambda count: "Q1 results " + "A " * count,
        lambda count: cover(period="ended " * count),
        lambda count: "fiscal year ended January 1, " * count,
    ],
)
def test_time_is_linear_in_the_text(text_of: Callable[[int], str]) -> None:
    """For repeated text."""
    assert_linear_time(cover_fields, text_of, size=10_000)
