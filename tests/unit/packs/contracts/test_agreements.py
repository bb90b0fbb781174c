"""Fields of contracts: kind of agreement, parties, effective date, governing law."""

from collections.abc import Callable

import pytest
from tests.growth import assert_linear_time

from spanwise.packs.agreement_covers import agreement_fields, agreement_title
from spanwise.types import Scalar

BODY = (
    "\n\nWHEREAS, Lessor owns the berths; NOW, THEREFORE, the parties agree:\n\n1. Term. The term"
    " is five years.\n\n9. Law. {law}\n"
)
LAW = "This Agreement shall be governed by the laws of the State of Maine."


def contract(preamble: str, *, title: str = "BERTH LEASE AGREEMENT", law: str = LAW) -> str:
    """Return a contract of our own."""
    return f"Exhibit 10.2\n\n{title}\n\n{preamble}{BODY.format(law=law)}"


PREAMBLE = (
    'This Berth Lease Agreement (the "Agreement") is made as of May 3, 2021 (the "Effective Date"),'
    " by and between ALTBY HARBOUR, INC., a Maine corporation with offices at 1 Pier Road, Altby"
    " (“Lessor”), and Wide Waters Ltd. (“Lessee”)."
)


def test_fields_of_a_contract() -> None:
    """Names lose legal forms, and capitals become words."""
    assert agreement_fields(contract(PREAMBLE)) == {
        "agreement": "Berth Lease Agreement",
        "parties": ("Altby Harbour", "Wide Waters"),
        "effective_date": "2021-05-03",
        "date": "2021-05-03",
        "governing_law": "Maine",
    }


@pytest.mark.parametrize(
    ("preamble", "parties"),
    [
        (
            "This Agreement is made among Altby Harbour, Inc., a Maine corporation, Wide Waters"
            " LLC, a Maine limited liability company, and Low & Sons plc.",
            ("Altby Harbour", "Wide Waters", "Low & Sons"),
        ),
        (
            'This Agreement is made between Low, Altby & Waters, Inc. (the "Agent") and Wide Waters'
            ' Ltd. (the "Company").',
            ("Low, Altby & Waters", "Wide Waters"),
        ),
        (
            "This Agreement is entered into among Altby Harbour LLC, a company of Maine (“Altby”),"
            " Wide Waters Inc. (“Waters”), and Ben Low, an individual.",
            ("Altby Harbour", "Wide Waters", "Ben Low"),
        ),
        (
            "THIS AGREEMENT is made on 3 May 2021 BETWEEN: (1) ALTBY HARBOUR LIMITED of 1 Pier Road"
            ' ("Lessor"); and (2) WIDE WATERS PTY LTD of 2 Pier Road ("Lessee").',
            ("Altby Harbour", "Wide Waters"),
        ),
        (
            'This Agreement is made between TIDE GAS COMPANY ("Seller") and ALTBY GAS AND ELECTRIC'
            ' COMPANY, a Maine corporation ("Buyer").',
            ("Tide Gas", "Altby Gas & Electric"),
        ),
        (
            "This Agreement, dated as of May 3, 2021, is entered into by Altby Harbour Inc., a"
            ' Maine corporation ("Altby"), and Waters AG ("Waters").',
            ("Altby Harbour", "Waters"),
        ),
        (
            "This Agreement is made by and among, on the one hand, Altby Harbour, LLC, and, on the"
            " other hand, Wide Waters, Inc., a company of Maine.",
            ("Altby Harbour", "Wide Waters"),
        ),
        (
            "This Agreement is made between the sailor ANN LOW (hereinafter called “Sailor”) and"
            " salesboats.com, inc. (“Shop”).",
            ("Ann Low", "salesboats.com"),
        ),
        (
            'Altby Harbour, Inc. ("Altby") and Wide Waters, Inc. ("Waters") agree as follows.',
            ("Altby Harbour", "Wide Waters"),
        ),
        (
            "by and between\n\nALTBY HARBOUR, INC.\n\nand\n\nWIDE WATERS LTD.\n\nDated May 3, 2021",
            ("Altby Harbour", "Wide Waters"),
        ),
        (
            "This Agreement is made between Altby (Maine) Harbour Co., Ltd. and the Distributor"
            " named below.",
            ("Altby (Maine) Harbour",),
        ),
        ("This Agreement is made between ____________ and ____________.", None),
    ],
)
def test_parties(preamble: str, parties: tuple[str, ...] | None) -> None:
    """Names with a legal form, a term in quotes or a description; blanks and roles are omitted."""
    assert agreement_fields(contract(preamble)).get("parties") == parties


@pytest.mark.parametrize(
    ("title", "agreement"),
    [
        ("BERTH LEASE AGREEMENT", "Berth Lease Agreement"),
        ("EXECUTION VERSION\n\nBerth Lease\nAgreement", "Berth Lease Agreement"),
        ("LEASE, LICENSE AND\nMAINTENANCE AGREEMENT", "Lease, License and Maintenance Agreement"),
        ("AMENDMENT NO. 2 TO BERTH LEASE AGREEMENT", "Amendment No. 2 to Berth Lease Agreement"),
        ("FORM OF BERTH LEASE AGREEMENT", "Berth Lease Agreement"),
        ("ALTBY HARBOUR, INC.\n\nBERTH LEASE AGREEMENT", "Berth Lease Agreement"),
        ("Altby Harbour, Inc. BERTH LEASE AGREEMENT", "Berth Lease Agreement"),
        ("BERTH LEASE AGREEMENT (Maine)", "Berth Lease Agreement"),
        ("Terms for the berths", "Berth Lease Agreement"),
        ("NON-DISCLOSURE AGREEMENT", "Non-Disclosure Agreement"),
    ],
)
def test_name_is_the_line_above_the_preamble(title: str, agreement: str) -> None:
    """Without stamps and companies; a text without such a line has the name in its preamble."""
    assert agreement_fields(contract(PREAMBLE, title=title))["agreement"] == agreement


def test_abbreviation_stays_in_capitals() -> None:
    """A short word that the text writes in capitals between other words is an abbreviation."""
    text = contract(PREAMBLE, title="ODM SUPPLY AGREEMENT") + "The seller is an ODM supplier."
    assert agreement_fields(text)["agreement"] == "ODM Supply Agreement"


def test_a_capitalised_word_that_the_text_also_writes_otherwise_is_no_abbreviation() -> None:
    text = (
        "This SITE LEASE AGREEMENT (“Agreement”) is made between Altby Harbour, Inc. (“Altby”) and"
        " Wide Waters Ltd. (“Waters”). Altby builds the Site."
    )
    fields = agreement_fields(contract(text, title="SITE LEASE AGREEMENT"))
    assert fields["agreement"] == "Site Lease Agreement"


def test_a_notice_about_left_out_passages_is_not_part_of_the_name() -> None:
    notice = "PARTS OF THIS\n\nDOCUMENT HAVE BEEN LEFT OUT\n\nAND HAVE BEEN SENT\n\n1\n\n"
    fields = agreement_fields(notice + contract(PREAMBLE).replace("Exhibit 10.2\n\n", ""))
    assert fields["agreement"] == "Berth Lease Agreement"


def test_a_repeated_word_occurs_once_in_the_name() -> None:
    preamble = PREAMBLE.replace("Berth Lease Agreement", "Agreement")
    fields = agreement_fields(contract(preamble, title="BERTH LEASE AGREEMENT AGREEMENT"))
    assert fields["agreement"] == "Berth Lease Agreement"


def test_number_before_a_party_is_not_part_of_its_name() -> None:
    text = (
        "This AGREEMENT is made on 3 May 2021 BETWEEN 1. Altby Harbour Corp., a Maine corporation"
        " (“Altby”) AND 2. Wide Waters Limited (“Waters”)"
    )
    assert agreement_fields(contract(text))["parties"] == ("Altby Harbour", "Wide Waters")


def test_text_in_one_line() -> None:
    """Converted files often have no line breaks."""
    text = " ".join(contract(PREAMBLE).split())
    assert agreement_fields(text)["agreement"] == "Berth Lease Agreement"
    assert agreement_fields(text)["parties"] == ("Altby Harbour", "Wide Waters")


BETWEEN = 'between Altby Harbour, Inc. ("Altby") and Wide Waters Ltd. ("Waters").'


@pytest.mark.parametrize(
    ("preamble", "day"),
    [
        (f"This Agreement is made this 3rd day of May, 2021, {BETWEEN}", "2021-05-03"),
        (f"This Agreement is made this first day of May 2021 {BETWEEN}", "2021-05-01"),
        (f"This Agreement is made on the 15t h day of May 2021 {BETWEEN}", "2021-05-15"),
        (f"This Agreement is made on 5/28/2021 {BETWEEN}", "2021-05-28"),
        (f"This Agreement is made on 28/5/2021 {BETWEEN}", "2021-05-28"),
        (f"This Agreement is made on 5/3/2021 {BETWEEN}", None),
        (f"This Agreement is made on 50/60/2021 {BETWEEN}", None),
        (f"This Agreement is made on 31 June 2021 {BETWEEN}", None),
        (f"This Agreement is made as of May __, 2021 {BETWEEN}", None),
        (
            f"This Agreement, signed on May 3, 2021 and effective as of June 1, 2021, is {BETWEEN}",
            "2021-06-01",
        ),
        (
            f"This Agreement is made on May 3, 2021 {BETWEEN} “Effective Date” means June 1, 2021.",
            "2021-06-01",
        ),
        (f"This Agreement is {BETWEEN} Its term commences on the 1st of June, 2021.", "2021-06-01"),
        (f"Dated as of May 3, 2021\n\nThis Agreement is {BETWEEN}", "2021-05-03"),
        (
            "1\n\n\nSource: ALTBY ABS LLC, 8-K, 4/23/2021\n\nBERTH LEASE AGREEMENT, dated as of "
            f"May 3, 2021, {BETWEEN}",
            "2021-05-03",
        ),
    ],
)
def test_effective_date(preamble: str, day: str | None) -> None:
    """The date that the text calls effective, or else the date of the preamble."""
    fields = agreement_fields(contract(preamble))
    assert fields.get("effective_date") == day
    assert fields.get("date") == day


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (LAW, "Maine"),
        ("This Agreement is governed by and construed under New York law.", "New York"),
        ("This Agreement is governed by English law.", "England"),
        ("THIS AGREEMENT IS GOVERNED BY THE LAWS OF ENGLAND & WALES.", "England and Wales"),
        ("This contract is construed by the laws of the People's Republic of China.", None),
        ("This Agreement is governed by the laws of the state where a suit is filed.", ""),
        ("The laws of Maine are known to all.", ""),
        (
            "The Bank is governed by the laws of Ohio. This Agreement shall be governed by the laws"
            " of the Commonwealth of Virginia.",
            "Virginia",
        ),
        ("Disputes are governed by the laws of Québec.", "Quebec"),
    ],
)
def test_governing_law(law: str, name: str | None) -> None:
    """A known state or country in the clause about the agreement, or else in another one."""
    found = agreement_fields(contract(PREAMBLE, law=law)).get("governing_law", "")
    assert found == ("People's Republic of China" if name is None else name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The agreement between Altby and Waters was signed in May.",
        "Meeting notes\n\nAnn: this agreement is made for both of us, I think.",
        "SUPPLY AGREEMENT\n\nHow to write one: name the goods, the price and the day.",
        "Annual report\n\nWe entered into a lease agreement between Altby Inc. and Waters Inc.",
    ],
)
def test_other_texts_have_no_fields(text: str) -> None:
    """A text about a contract is not a contract."""
    assert agreement_fields(text) == {}


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        (
            {
                "parties": (
                    "Altby",
                    "Waters",
                )
            },
            "Lease between Altby and Waters",
        ),
        (
            {
                "parties": (
                    "Altby",
                    "Waters",
                    "Low",
                )
            },
            "Lease between Altby, Waters and Low",
        ),
        (
            {
                "parties": (
                    "A1",
                    "A2",
                    "A3",
                    "A4",
                    "A5",
                )
            },
            "Lease between A1, A2, A3 and others",
        ),
        ({"parties": ("Altby",)}, "Lease with Altby"),
        ({}, ""),
        ({"agreement": "", "parties": "Altby"}, ""),
    ],
)
def test_title_of_a_contract(fields: dict[str, Scalar], title: str) -> None:
    """Kind of agreement and up to three parties; empty if one of both is unknown."""
    assert agreement_title({"agreement": "Lease", **fields}) == title


@pytest.mark.parametrize(
    "text_of",
    [
        lambda count: "This " + "Lease " * count,
        lambda count: "A B " * count + "Agreement",
        lambda count: contract(PREAMBLE, law="governed by the laws " * count),
        lambda count: contract("This Agreement is made between " + "(A and " * count),
        lambda count: contract(PREAMBLE + " effective date " * count),
    ],
)
def test_time_is_linear_in_the_text(text_of: Callable[[int], str]) -> None:
    """For repeated text."""
    assert_linear_time(agreement_fields, text_of, size=10_000)


SIGNATURES = (
    "\n\nIN WITNESS WHEREOF, the parties have executed this Agreement.\n\nALTBY HARBOUR, INC.\n"
    "By: /s/ Ann\nName: Ann\n\nWide Waters LLC\nBy: ________\n"
)
COLUMNS = (
    "\n\nIN WITNESS WHEREOF, the parties have executed this Agreement.\n\n"
    "ALTBY HARBOUR, INC.          WIDE WATERS LLC\nBy: /s/ Ann                  By: /s/ Ben\n"
)
NO_PARTIES = "The terms below apply to the lease of berths.\n"


@pytest.mark.parametrize(
    "text",
    [
        contract(NO_PARTIES) + SIGNATURES,
        contract(NO_PARTIES) + COLUMNS,
        contract("This Lease is made between Altby Harbour, Inc. and the lessee.") + SIGNATURES,
        contract(
            "Party A: Altby Harbour Co., Ltd.\nAddress: 1 Pier\nParty B: Wide Waters Co., Ltd."
        ),
        contract("Lessor: Altby Harbour, Inc.\nLessee: Wide Waters LLC\n"),
        contract(
            "THIS AGREEMENT is dated 1 May 2020\n\nPARTIES\n\n(1) ALTBY HARBOUR LIMITED of "
            "England (Lessor); and\n\n(2) WIDE WATERS LIMITED (Lessee).\n\nBACKGROUND\n"
        ),
        contract(
            "This agreement is dated 1 May 2020\n\nParties\n\n1. Altby Harbour Limited, of 1 Pier"
            ' ("Lessor"); and\n2. Wide Waters Limited ("Lessee")\n\nAgreed terms\n'
        ),
    ],
)
def test_parties_without_a_sentence_that_names_them(text: str) -> None:
    """They are in a list, after labels or above the signatures."""
    assert agreement_fields(text)["parties"] == ("Altby Harbour", "Wide Waters")


def test_signatures_add_nothing_to_two_parties() -> None:
    """A guarantor may sign too."""
    signed = contract(PREAMBLE) + SIGNATURES + "\nBEN LOW HOLDINGS, INC.\nBy: /s/ Ben\n"
    assert agreement_fields(signed)["parties"] == ("Altby Harbour", "Wide Waters")


def test_signatures_take_linear_time() -> None:
    """The time for names without a signature grows linearly."""
    title = contract(NO_PARTIES) + "IN WITNESS WHEREOF\n"
    assert_linear_time(agreement_fields, lambda n: title + "Altby Harbour, Inc. " * n, size=2_000)
