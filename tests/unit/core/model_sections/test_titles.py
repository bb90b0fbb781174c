"""Cleaning of titles from a model."""

from __future__ import annotations

import pytest

from spanwise.core.documents.model_sections import clean_title


@pytest.mark.parametrize(
    ("title", "cleaned"),
    [
        ("Capital spending, 2018", "Capital spending, 2018"),
        ("[17] Capital spending", "Capital spending"),
        ("Lines 3-8: Capital spending", "Capital spending"),
        ("line 4 - Capital spending", "Capital spending"),
        ("2. Capital spending", "Capital spending"),
        ("(2) [7] Capital spending", "Capital spending"),
        ('## **"Capital spending"**', "Capital spending"),
        ("- Capital spending:", "Capital spending"),
        ("Capital\n spending", "Capital spending"),
        ("10-K of 3M", "10-K of 3M"),
        ("401(k) plans", "401(k) plans"),
        ("2018 capital spending", "2018 capital spending"),
        ("Lines of credit", "Lines of credit"),
        ("[Reserved]", "[Reserved]"),
        ("Fees \ud800of\x1b Ltd.", "Fees of Ltd."),
        ("Programs in C#", "Programs in C#"),
        ('[17] A review of "Emma"', 'A review of "Emma"'),
        ("", ""),
        ("[17]", ""),
        ("...", ""),
        ("Untitled", ""),
        ("I'm sorry, but I cannot help with that.", ""),
        ("As an AI language model, I", ""),
    ],
)
def test_marks_and_line_numbers_go(title: str, cleaned: str) -> None:
    assert clean_title(title, first_line="Words of the document") == cleaned


def test_a_number_of_the_document_stays() -> None:
    """The number begins the section itself."""
    assert clean_title("1. Definitions", first_line="1. DEFINITIONS") == "1. Definitions"
    assert clean_title("1. Definitions", first_line="2. DEFINITIONS") == "Definitions"


def test_a_long_title_is_cut_at_a_word() -> None:
    cleaned = clean_title("spending " * 40, first_line="")
    assert len(cleaned) <= 120
    assert cleaned.endswith("spending…")
