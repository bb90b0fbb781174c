"""Names of companies."""

import pytest

from spanwise.packs.filing_covers import company_name, has_legal_form


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Apple Inc.", "Apple"),
        ("The Kraft Heinz Company", "Kraft Heinz"),
        ("JPMorgan Chase & Co.", "JPMorgan Chase"),
        ("3M COMPANY", "3M"),
        ("Amazon.com, Inc.", "Amazon.com"),
        ("Verizon  Communications\nInc.", "Verizon Communications"),
        ("Nestlé S.A.", "Nestlé"),
        ("Novo Nordisk A/S", "Novo Nordisk"),
        ("Bank of America Corp /DE/", "Bank of America"),
        ("The Company", "Company"),
        ("Altby Holdings Co., Ltd.", "Altby Holdings"),
        ("__ Square, Inc. __", "Square"),
        (") Altby Harbour, Inc.", "Altby Harbour"),
        ("001-12345) Altby Harbour, Inc.", "Altby Harbour"),
        ("(I.R.S. Employer Identification No.) Altby Harbour plc", "Altby Harbour"),
        ("Altby Harbour plc (", "Altby Harbour"),
        ("Bank (UK) plc", "Bank (UK)"),
        ("Ann & Altby", "Ann & Altby"),
    ],
)
def test_name_loses_article_and_legal_form(written: str, name: str) -> None:
    """One name for all spellings on covers."""
    assert company_name(written, text="") == name


@pytest.mark.parametrize(
    "written",
    ["", "A", "12-34", "x" * 81, "(Exact name of registrant)", "Washington, D.C.", "FORM 10-K"],
)
def test_text_that_is_no_name_gives_an_empty_name(written: str) -> None:
    """Words of the form around a name are not taken for it."""
    assert company_name(written, text="") == ""


@pytest.mark.parametrize(
    ("written", "text", "name"),
    [
        ("PEPSICO, INC.", "PepsiCo makes drinks. PepsiCo sells snacks.", "PepsiCo"),
        (
            "MGM R ESORTS I NTERNATIONAL",
            "MGM Resorts International owns.",
            "MGM Resorts International",
        ),
        ("NVIDIA CORPORATION", "NVIDIA " * 5 + "Nvidia", "NVIDIA"),
        ("ALTBY HARBOUR INC.", "altby harbour", "Altby Harbour"),
        ("BMW AG", "", "BMW"),
        ("U.S. STEEL CORP", "", "U.S. Steel"),
    ],
)
def test_capitals_are_written_as_the_text_writes_them(written: str, text: str, name: str) -> None:
    """The most frequent spelling in the text; without one, words are capitalised."""
    assert company_name(written, text=text) == name


ALTBY_ALONE = "Altby sells boats. " * 30 + "Altby Systems Incorporated was founded in 1982."


@pytest.mark.parametrize(
    ("written", "text", "name"),
    [
        ("ALTBY SYSTEMS INCORPORATED", ALTBY_ALONE, "Altby"),
        ("Altby Inc.", ALTBY_ALONE, "Altby"),
        ("Altby Harbour Inc.", ALTBY_ALONE, "Altby Harbour"),
        ("Altby Systems Inc.", "Altby Systems sells boats. " * 30, "Altby Systems"),
        ("United Technologies Corp", "The United States. United Technologies. " * 30, None),
        ("Altby Systems Inc.", "Altby sells boats.", "Altby Systems"),
    ],
)
def test_name_is_that_of_other_years(written: str, text: str, name: str | None) -> None:
    """A last word that describes the business is dropped if the text mostly drops it."""
    assert company_name(written, text=text) == (name or "United Technologies")


def test_legal_form_is_seen() -> None:
    """A name with a legal form is that of a company."""
    assert has_legal_form("Altby Harbour Inc.")
    assert not has_legal_form("Building the future")
