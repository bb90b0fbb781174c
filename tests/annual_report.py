"""Annual report of a fictional company, as plain text with page footers and as Markdown.

The parts are in the order of a filing. `TOPICS` has the words of each part, from which its
sentences are made; a fact is one sentence that no other part repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

COMPANY = "Wrenlock Tidal Mills"
TITLE = f"{COMPANY} annual report 2031"

STATEMENTS = {
    "Consolidated Statements of Income": (
        "Revenues", "Cost of milling", "Gross profit", "Haulage expense", "Wages of keepers",
        "Interest expense", "Income before income taxes", "Income tax expense", "Net income",
    ),
    "Consolidated Statements of Comprehensive Income": (
        "Net income", "Translation of foreign mills", "Hedges of grain", "Comprehensive income",
    ),
    "Consolidated Balance Sheets": (
        "Cash", "Receivables from bakeries", "Grain in store", "Sluices and wheels", "Total assets",
        "Payables to farmers", "Loans", "Deferred income taxes", "Total liabilities", "Equity",
    ),
    "Consolidated Statements of Cash Flows": (
        "Net income", "Depreciation of wheels", "Change in grain", "Cash from operations",
        "Purchase of sluices", "Sale of barges", "Loans drawn", "Dividends paid", "Change in cash",
    ),
    "Consolidated Statements of Shareholders' Equity": (
        "Balance at the start", "Net income", "Shares issued to keepers", "Dividends",
        "Shares bought back", "Balance at the end",
    ),
}  # fmt: skip
"""Rows of each statement."""

TOPICS = {
    "Business": "millers stones flour barges harbours bakeries tides keepers wheels quays",
    "Risk Factors": "storms drought rivals strikes silt regulators floods outages shortages pests",
    "Properties": "warehouses yards jetties towers offices docks granaries lofts cranes ramps",
    "Legal Proceedings": "courts claims appeals hearings plaintiffs judges filings verdicts",
    "Market for Common Equity": "holders brokers quotes dividends buybacks tickers votes",
    "Discussion and Analysis": "margins volumes prices regions budgets forecasts trends segments",
    "Market Risk": "currencies hedges forwards swaps exposures volatility maturities",
    "Controls and Procedures": "audits reviews approvals ledgers reconciliations officers",
}
"""Words of the items, by their titles; the statements and notes are between the last two."""

NOTES = {
    "Summary of Significant Accounting Policies": "estimates consolidation principles judgements",
    "Inventories": "grain sacks silos harvests spoilage weighing",
    "Property and Equipment": "sluices wheels stones gates shafts depreciation",
    "Leases": "rents landlords terms renewals quays premises lessors options",
    "Income Taxes": "rates credits authorities deductions allowances jurisdictions",
    "Revenues": "bakeries flour contracts deliveries rebates channels",
    "Stock-Based Compensation": "grants keepers vesting awards strike exercises",
    "Commitments and Contingencies": "guarantees bonds suppliers disputes promises",
}
"""Words of the notes, by their titles, in the order of their numbers."""

FACTS = {
    "When was Wrenlock Tidal Mills founded?": (
        "Business",
        "The company was founded in 1874 at the mouth of the Wren by two lock keepers.",
    ),
    "How many people does Wrenlock employ?": (
        "Business",
        "At the end of the year we had 2,417 employees, half of them on night tides.",
    ),
    "Who is the chief executive of Wrenlock?": (
        "Controls and Procedures",
        "Ottoline Marsh has been our chief executive since 2027.",
    ),
    "What is the interest rate of the harbour loan?": (
        "Market Risk",
        "The harbour loan has a fixed interest rate of 4.35 percent until 2038.",
    ),
    "How high is the tower at Saltby?": (
        "Properties",
        "The tower at Saltby is 61 metres high and is the tallest building of the company.",
    ),
}
"""One-line facts, by question: the item with the sentence, and the sentence."""

_SENTENCES = (
    "Our {0} depend on {1}, and in most years the {2} follow within a season.",
    "We review the {0} of each mill together with its {1} before the {2} are settled.",
    "Compared with the year before, {0} were steady while {1} and {2} moved apart.",
    "Where {0} are late, the {1} are adjusted and the {2} are told in writing.",
    "Management believes that {0} and {1} are adequate, although {2} remain uncertain.",
    "No single one of the {0} accounts for a tenth of the {1} or of the {2}.",
    "The {0} of the northern mills differ from the {1} of the southern ones in their {2}.",
)


@dataclass(frozen=True, slots=True)
class Part:
    """Heading of the report and the text under it."""

    level: int
    title: str
    text: str


def parts() -> Iterator[Part]:
    """Yield the parts of the report in order."""
    *items, controls = TOPICS
    numbers = ("1", "1A", "2", "3", "5", "7", "7A")
    for item, title in zip(numbers, items, strict=True):
        if item in ("1", "5"):
            yield Part(1, "PART I" if item == "1" else "PART II", "")
        facts = [fact for place, fact in FACTS.values() if place == title]
        yield Part(2, f"Item {item}. {title}", _prose(TOPICS[title], 30, facts=facts))
    yield Part(2, "Item 8. Financial Statements and Supplementary Data", "")
    for place, (title, rows) in enumerate(STATEMENTS.items()):
        yield Part(3, title, _table(rows, place))
    yield Part(3, "Notes to Consolidated Financial Statements", "")
    for number, (title, topic) in enumerate(NOTES.items(), start=1):
        rows = tuple(f"{word.capitalize()} of the year" for word in topic.split())
        yield Part(4, f"Note {number} — {title}", f"{_prose(topic, 12)}\n{_table(rows, number)}")
    facts = [fact for place, fact in FACTS.values() if place == controls]
    yield Part(2, f"Item 9A. {controls}", _prose(TOPICS[controls], 20, facts=facts))


def plain_report() -> str:
    """Return the report as a converter of PDF writes it.

    There are no blank lines, and the footer of each page runs into the next page.
    """
    lines = [f"{COMPANY.upper()}", "ANNUAL REPORT ON FORM 10-K", "FOR THE YEAR 2031"]
    for part in parts():
        title = part.title.upper() if part.level != 2 else part.title.replace("Item", "ITEM")
        lines += [title, *filter(None, part.text.split("\n"))]
    pages = (f"{COMPANY.upper()}      {page}" for page in count(1))
    return "\n".join(
        next(pages) + line if number % 30 == 0 else line for number, line in enumerate(lines, 1)
    )


def markdown_report() -> str:
    """Return the report as Markdown with headings and tables."""
    written = [f"# {TITLE}"]
    for part in parts():
        written.append(f"{'#' * (part.level + 1)} {part.title}")
        if part.text:
            written.append(part.text.replace("\n", "\n\n"))
    return "\n\n".join(written) + "\n"


def _prose(topic: str, sentences: int, *, facts: list[str] | None = None) -> str:
    """Return sentences about a topic, five on a line, with the facts in the middle."""
    words = topic.split()
    said = []
    for number in range(sentences):
        at = [(number * step + shift) % len(words) for step, shift in ((1, 0), (3, 1), (5, 2))]
        said.append(_SENTENCES[number % len(_SENTENCES)].format(*(words[place] for place in at)))
    said[sentences // 2 : sentences // 2] = facts or []
    return "\n".join(" ".join(said[start : start + 5]) for start in range(0, len(said), 5))


def _table(rows: tuple[str, ...], place: int) -> str:
    """Return rows with the figures of three years."""
    years = "Year ended 31 March 2031 2030 2029"
    figures = [
        f"{row} $ {1_000 + 137 * at + 41 * place:,} $ {990 + 131 * at:,} $ {970 + 129 * at:,}"
        for at, row in enumerate(rows)
    ]
    return "\n".join([years, *figures])
