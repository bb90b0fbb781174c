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


def test_legal_form_is_seen() -> None:
    """A name with a legal form is that of a company."""
    assert has_legal_form("Altby Harbour Inc.")
    assert not has_legal_form("Building the future")
