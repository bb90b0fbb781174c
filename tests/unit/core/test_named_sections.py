"""Questions that name a section, and the sections that they name."""

import pytest

from spanwise.core.ranking.named_sections import find_named_sections, read_named_part
from spanwise.core.ranking.question import read_question
from spanwise.types import Section

TITLE = "Tidewater Mills annual report"

REPORT = (
    ("Item 1A. Risk Factors", "Weather"),
    ("Item 1A. Risk Factors", "Suppliers"),
    ("Item 2. Properties",),
    ("Item 3. Legal Proceedings / Item 4. Mine Safety",),
    ("Item 8. Financial Statements", "CONSOLIDATED STATEMENTS OF INCOME"),
    ("Item 8. Financial Statements", "CONSOLIDATED BALANCE SHEETS"),
    ("Item 8. Financial Statements", "CONSOLIDATED STATEMENTS OF CASH FLOWS"),
    ("Item 8. Financial Statements", "NOTES TO FINANCIAL STATEMENTS", "1. Accounting Policies"),
    ("Item 8. Financial Statements", "NOTES TO FINANCIAL STATEMENTS", "Note 2 — Leases", "Boats"),
    ("Item 8. Financial Statements", "NOTES TO FINANCIAL STATEMENTS", "Note 2 — Leases", "Mills"),
    ("Item 8. Financial Statements", "NOTES TO FINANCIAL STATEMENTS", "Note 3 — Income Taxes"),
    ("The mill leases boats, and the tide carries them where it likes",),
)
CONTRACT = (
    ("ARTICLE IV Term", "4.1 Length"),
    ("ARTICLE IV Term", "4.2 Renewal"),
    ("ARTICLE IV Term", "4.2(b) Notice"),
    ("ARTICLE V Limitation of Liability",),
    ("12 Termination for Cause",),
    ("Chapter 3: The Tide",),
    ("Schedule A",),
)


def named(
    question: str, paths: tuple[tuple[str, ...], ...] = REPORT, *, title: str = TITLE
) -> tuple[int, int] | None:
    """Return the sections that a question names, as first index and end."""
    part = read_named_part(read_question(question))
    sections = [
        Section(start=100 * at, end=100 * at + 100, title=path[-1], path=path)
        for at, path in enumerate(paths)
    ]
    found = part and find_named_sections(part, sections, names=title)
    return (found.start, found.end) if found else None


@pytest.mark.parametrize(
    ("question", "sections"),
    [
        ("Item 1A risk factors", (0, 2)),
        ("item 1a", (0, 2)),
        ("What does Item 1A say?", (0, 2)),
        ("Tidewater Mills risk factors", (0, 2)),
        ("legal proceedings", (3, 4)),
        ("Item 4", (3, 4)),
        ("Tidewater consolidated financial statements", (4, 7)),
        ("Show me the full financial statements.", (4, 7)),
        ("the balance sheet", (5, 6)),
        ("cash flow statement of Tidewater", (6, 7)),
        ("notes to the financial statements", (7, 11)),
        ("Note 1", (7, 8)),
        ("the note on leases", (8, 10)),
        ("What is in the leases note?", (8, 10)),
        ("Note 2 Leases", (8, 10)),
        ("income taxes note", (10, 11)),
        ("Explain the risk factors", (0, 2)),
    ],
)
def test_a_part_of_a_report_is_named(question: str, sections: tuple[int, int]) -> None:
    """By number, by kind and topic, or by its title; sections inside it are included."""
    assert named(question) == sections


@pytest.mark.parametrize(
    ("question", "sections"),
    [
        ("Article 4", (0, 3)),
        ("Article IV", (0, 3)),
        ("section 4.2", (1, 2)),
        ("clause 4.2(b)", (2, 3)),
        ("the limitation of liability clause", (3, 4)),
        ("What is the limitation of liability clause?", (3, 4)),
        ("the termination section", (4, 5)),
        ("section 12", (4, 5)),
        ("chapter 3", (5, 6)),
        ("Schedule A", (6, 7)),
    ],
)
def test_a_part_of_a_contract_is_named(question: str, sections: tuple[int, int]) -> None:
    """Roman numerals and digits are equal, and a clause needs no word of its kind."""
    assert named(question, CONTRACT, title="Mill contract") == sections


TERMS = (
    ("Article 1", '1.1 "Net Sales" / 1.2 "Mill"'),
    ("Article 1", '1.3 "Term"'),
    ("Net Sales",),
    ("Sales",),
)


@pytest.mark.parametrize(
    ("question", "sections"),
    [
        ("definition of net sales", (0, 1)),
        ("definition of Net Sales in the mill contract", (0, 1)),
        ("How is Term defined?", (1, 2)),
        ("What does Mill mean in the mill contract?", (0, 1)),
        ("What is meant by “Term”?", (1, 2)),
        ("definition of sales", None),  # a title, but no term
        ("What does the term mean for the sales?", None),
        ("definition of a good term", None),
    ],
)
def test_a_defined_term_is_named(question: str, sections: tuple[int, int] | None) -> None:
    """Its title is in quotation marks."""
    assert named(question, TERMS, title="Mill contract") == sections


NOTES = (
    ("Notes", "Note 1 — Summary of Significant Accounting Policies", "Wool"),
    ("Notes", "Note 1 — Summary of Significant Accounting Policies", "Yarn"),
    ("Notes", "Policies for the Accounting of Boats"),
    ("Notes", "Looms, Carding Engines, Spinning Frames and Wool Presses"),
)


@pytest.mark.parametrize(
    ("question", "sections"),
    [
        ("Explain the accounting policies", (0, 2)),
        ("Please describe Tidewater's significant accounting policies.", (0, 2)),
        ("Give me the accounting policies", (0, 2)),
        ("Describe the carding engines", None),
        ("Explain the policies", None),
        ("Explain the wool accounting policies", None),
        ("Explain the accounting of policies for wool", None),
        ("accounting policies", None),
        ("Which accounting policies are there?", None),
        ("Explain why accounting policies differ", None),
    ],
)
def test_a_request_names_a_section_by_a_phrase_of_its_title(
    question: str, sections: tuple[int, int] | None
) -> None:
    """The phrase has at least two content words and half of those of the title."""
    assert named(question, NOTES) == sections


@pytest.mark.parametrize(
    "question",
    [
        "What are the risks of leases?",
        "Which properties are leased?",
        "What are the legal proceedings about?",
        "How many notes are there?",
        "What does Note 2 say about the tide?",
        "Note 9 Leases",
        "Item 7",
        "the note on pensions",
        "the properties note",
        "the tide of the mill boats",
        "leases",
        "Who wrote the statement?",
        "",
    ],
)
def test_other_questions_name_no_section(question: str) -> None:
    """Every content word must be accounted for, and the kind and the number must fit."""
    assert named(question) is None


def test_words_of_the_title_of_the_document_may_be_in_a_section_title() -> None:
    """The words of both titles may be the same."""
    paths = (("Note 1 Policies",), ("Note 2 Leases",), ("Note 3 Taxes",))
    assert named("the leases note", paths, title="Leases of the mill") == (1, 2)


def test_statements_far_apart_are_no_group() -> None:
    """The longest group of consecutive statements is returned."""
    paths = (
        ("Statements of Income",),
        *((f"Part {number}",) for number in range(8)),
        ("Balance Sheets",),
        ("Statements of Cash Flows",),
    )
    assert named("consolidated financial statements", paths) == (9, 11)
