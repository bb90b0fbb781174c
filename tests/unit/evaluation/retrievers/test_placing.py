"""Texts found again in the documents they came from."""

from __future__ import annotations

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.retrieval import Retrieval, Retrieved
from spanwise.evaluation.retrievers.text_location import UNPLACED, Placer

_TEXTS = {
    "reports/a.txt": DocumentText(text="Freight rose. Rents fell.\nWages stayed as they were."),
    "reports/b.txt": DocumentText(text="Rents fell. Nothing more is known."),
    "old/a.txt": DocumentText(text="Freight fell."),
}


def _place(*items: Retrieved, documents: list[str] | None = None) -> Retrieval:
    return Placer(_TEXTS).place(Retrieval(found=items), documents=documents)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Retrieved(document_id="reports/b.txt", text="Rents fell."), ("reports/b.txt", 0, 11)),
        (Retrieved(document_id="", text="Rents fell."), ("reports/a.txt", 14, 25)),
        (Retrieved(document_id="", text=" fell. Wages  stayed "), ("reports/a.txt", 20, 38)),
        (Retrieved(document_id="/data/reports/b.txt", text="fell"), ("reports/b.txt", 6, 10)),
        (Retrieved(document_id="b.txt", text="Rents"), ("reports/b.txt", 0, 5)),
        (Retrieved(document_id="c:\\old\\a.txt", text="Freight"), ("old/a.txt", 0, 7)),
        (Retrieved(document_id="a.txt", text="Freight fell"), ("old/a.txt", 0, 12)),
        (Retrieved(document_id="reports/b.txt", start=1, end=5), ("reports/b.txt", 1, 5)),
        (
            Retrieved(document_id="reports/b.txt", start=0, end=5, text="Rents"),
            ("reports/b.txt", 0, 5),
        ),
        (
            Retrieved(document_id="reports/b.txt", start=0, end=5, text="Nothing more"),
            ("reports/b.txt", 12, 24),
        ),
        (
            Retrieved(document_id="reports/b.txt", start=0, end=5, text="A header: Rents"),
            ("reports/b.txt", 0, 5),
        ),
    ],
)
def test_texts_are_placed(given: Retrieved, expected: tuple[str, int, int]) -> None:
    """By their document as far as it is known, where they are said to stand, or by the text."""
    result = _place(given)
    (found,) = result.found
    assert (found.document_id, found.start, found.end) == expected
    assert found.text is None
    assert result.warnings == ()


def test_what_stands_nowhere_counts_and_is_said() -> None:
    """A text that was made up keeps its text and has no place, and its document if known."""
    result = _place(
        Retrieved(document_id="", text="A summary by a model."),
        Retrieved(document_id="old/a.txt", text="Another one."),
        Retrieved(document_id="", text="  "),
    )
    assert [(one.document_id, one.start, one.text) for one in result.found] == [
        (UNPLACED, None, "A summary by a model."),
        ("old/a.txt", None, "Another one."),
        (UNPLACED, None, "  "),
    ]
    (warning,) = result.warnings
    assert warning.startswith("3 of 3 returned texts occur in no document")


def test_what_a_question_is_not_about_is_left_out() -> None:
    """Texts of documents outside of the scope do not count, and it is said."""
    result = _place(
        Retrieved(document_id="reports/b.txt", text="Rents"),
        Retrieved(document_id="old/a.txt", text="Freight"),
        documents=["old/a.txt"],
    )
    assert [one.document_id for one in result.found] == ["old/a.txt"]
    assert "1 of 2 texts are from documents" in result.warnings[0]


def test_a_place_in_an_unknown_document_is_an_error() -> None:
    """A place cannot be guessed."""
    with pytest.raises(OptionError, match=r"'c\.txt'"):
        _place(Retrieved(document_id="c.txt", start=0, end=1))
