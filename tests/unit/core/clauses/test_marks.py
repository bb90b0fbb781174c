"""Numbers that may begin clauses."""

import pytest

from spanwise.core.documents.clauses import Reading, find_marks


@pytest.mark.parametrize(
    ("line", "label", "readings"),
    [
        ("ARTICLE IV Fees", "Article IV", [Reading("article", (4,))]),
        ("Article 4. Fees", "Article 4", [Reading("article", (4,))]),
        ("Article 4.2 Fees", "4.2", [Reading("number", (4, 2))]),
        ("SECTION 5. Fees", "5", [Reading("number", (5,))]),
        ("Section 5.2. Fees", "5.2", [Reading("number", (5, 2))]),
        ("  12.3.1 Fees", "12.3.1", [Reading("number", (12, 3, 1))]),
        ("12) Fees", "12", [Reading("number", (12,))]),
        ("B. Fees", "B", [Reading("capital", (2,))]),
        ("V. Fees", "V", [Reading("capital", (22,)), Reading("roman", (5,))]),
        ("XII. Fees", "XII", [Reading("roman", (12,))]),
        ("(b) the fees", "(b)", [Reading("(a)", (2,))]),
        ("2.1(b) the fees", "(b)", [Reading("(a)", (2,))]),
        ("2.(b) the fees", "(b)", [Reading("(a)", (2,))]),
        ("(bb) the fees", "(bb)", [Reading("(a)", (28,))]),
        ("(i) the fees", "(i)", [Reading("(a)", (9,)), Reading("(i)", (1,))]),
        ("(xiv) the fees", "(xiv)", [Reading("(i)", (14,))]),
        ("(3) the fees", "(3)", [Reading("(1)", (3,))]),
        ("(C) the fees", "(C)", [Reading("(A)", (3,))]),
    ],
)
def test_number_is_read(line: str, label: str, readings: list[Reading]) -> None:
    """With its possible readings and its label."""
    (mark,) = find_marks(f"Text.\n{line}\n")
    assert (mark.label, list(mark.readings), mark.start) == (label, readings, 6)
    assert line[mark.end - 6 :] in ("Fees", "the fees")


@pytest.mark.parametrize(
    "text",
    [
        "the fee of 12 May",
        "(the Owner) pays",
        "(toolong) pays",
        "12.5m of water",
        "IIIIIIIII. Fees",
        "ARTICLE LLLLL Fees",
        "Section of the law",
        "by Section 5. 2. of it",
    ],
)
def test_other_numbers_are_not_marks(text: str) -> None:
    """No clause can begin there, or the number is invalid."""
    assert list(find_marks(f"x {text}" if text[0].isdigit() else text)) == []


def test_clauses_may_begin_inside_a_line() -> None:
    """After three spaces, or with a dot after a sentence."""
    text = (
        "The fee is due.   B. The fee is late. 2. Deposit. It is 12. And No. 3. The end; 4.1 Law."
    )
    assert [(mark.label, text[mark.start]) for mark in find_marks(text)] == [
        ("B", "B"),
        ("2", "2"),
        ("4.1", "4"),
    ]


def test_number_without_a_dot_is_bare() -> None:
    """It may be any number; others count for sure."""
    text = "12 FEES\n12. FEES\n12.1 FEES\nSection 12 FEES\n"
    assert [mark.is_bare for mark in find_marks(text)] == [True, False, False, False]
