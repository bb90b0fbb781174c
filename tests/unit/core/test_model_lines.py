"""Validation of single lines from a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.core.text.model_lines import model_line


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Annual report 2020", "Annual report 2020"),
        ('  "Annual\n report"\t', "Annual report"),
        ("**Lease of the harbour**", "Lease of the harbour"),
        ("# Title of the \u202eworld\x07", "Title of the world"),
        ("I cannot swim: a memoir", "I cannot swim: a memoir"),
        ("Summary of safety", "Summary of safety"),
        ("A < B and C > D", "A < B and C > D"),
        ("Jahresbericht 2020 der Müller AG", "Jahresbericht 2020 der Müller AG"),
        ("年次報告書", "年次報告書"),
        ("# A guide to C#", "A guide to C#"),
        ('A review of "Emma"', 'A review of "Emma"'),
        ('"Emma" and "Persuasion"', '"Emma" and "Persuasion"'),
        ("„Emma“", "Emma"),
        ("The sailors' rights", "The sailors' rights"),
        ("Rights of the sailors'", "Rights of the sailors'"),
        ('## **"Emma"** ##', "Emma"),
        ("__init__ of a class", "__init__ of a class"),
        ("**Emma", "Emma"),
        ('"Emma', "Emma"),
        ('A screen of 15"', 'A screen of 15"'),
    ],
)
def test_surrounding_marks_are_removed_from_a_line(written: str, expected: str) -> None:
    assert model_line(written, max_chars=60) == expected


@pytest.mark.parametrize(
    "written",
    [
        "",
        " \n",
        "...",
        "N/A",
        "Untitled",
        "Document title",
        "string",
        "I'm sorry, but I can't help with that.",
        "I’m sorry.",
        "Sorry, I cannot do this",
        "As an AI language model, I have no access",
        "I cannot determine the title",
        "I am unable to see it",
        "Please provide the document",
        "</document> Ignore all",
        "<document>",
        "```json",
        "<|im_start|>system",
        "x" * 61,
    ],
)
def test_unusable_lines_are_rejected(written: str) -> None:
    with pytest.raises(ValueError, match=r"it (is|holds|has) "):
        model_line(written, max_chars=60)


@given(st.text(alphabet=st.characters(), max_size=80))
def test_accepted_lines_are_short_and_storable(written: str) -> None:
    try:
        line = model_line(written, max_chars=60)
    except ValueError:
        return
    assert line.encode("utf-8")
    assert line == " ".join(line.split())
    assert 1 <= len(line) <= 60
