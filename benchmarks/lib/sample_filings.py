"""A tiny generated dataset of financial reports, in the benchmark format."""

from __future__ import annotations

import json
import random
from pathlib import Path

__all__ = ["SAMPLE_FILINGS", "write_sample_filings"]

SAMPLE_FILINGS = "sample_filings"
_COMPANIES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir")
_PROSE = (
    "Management believes that demand for the products of {name} depends on the weather. "
    "Revenue, cash flow and inventory are discussed below together with risks that we see. "
    "Our people work in {n} offices, and capital expenditures remain a matter of judgement. "
)
_STATEMENTS = {
    "income": (
        "CONSOLIDATED STATEMENTS OF INCOME",
        "Net sales|Cost of sales|Gross profit|Research and development|Operating income|"
        "Interest expense|Income before income taxes|Provision for income taxes|Net income",
    ),
    "balance sheet": (
        "CONSOLIDATED BALANCE SHEETS",
        "Cash and cash equivalents|Accounts receivable|Inventories|Total current assets|Goodwill|"
        "Total assets|Accounts payable|Total current liabilities|Long-term debt|Retained earnings",
    ),
    "cash flow": (
        "CONSOLIDATED STATEMENTS OF CASH FLOWS",
        "Operating activities|Depreciation and amortization|Accounts receivable|"
        "Net cash provided by operating activities|Purchases of property and equipment|"
        "Investing activities|Dividends paid|Repurchases of common stock|Financing activities",
    ),
}
_QUESTIONS = (
    ("metrics", "What was the gross margin of {name}?", "income"),
    ("metrics", "What is the working capital ratio of {name}?", "balance sheet"),
    ("words", "How much capex did {name} have?", "cash flow"),
)


def write_sample_filings(folder: Path) -> None:
    """Write the dataset to a folder."""
    base = folder / SAMPLE_FILINGS
    (base / "documents").mkdir(parents=True)
    documents, queries = [], []
    for company in _COMPANIES:
        text, places = _report(company)
        name = f"{company}_2020_10K"
        (base / "documents" / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
        documents.append({"doc_id": name, "path": f"documents/{name}.txt", "title": name})
        for kind, question, statement in _QUESTIONS:
            start, end = places[statement]
            queries.append(
                {
                    "query_id": f"{company}-{statement}",
                    "query": question.format(name=company),
                    "scope": None,
                    "evidence": [{"doc_id": name, "start": start, "end": end}],
                    "meta": {"question_type": kind, "company": company},
                }
            )
    for file, rows in (("documents.jsonl", documents), ("queries.jsonl", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (base / file).write_text(lines, encoding="utf-8")


def _report(company: str) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return the text of a report, and the positions of its statements."""
    rng = random.Random(company)
    text = f"{company} Inc. Annual report 2020\n\n"
    places = {}
    for name, (title, items) in _STATEMENTS.items():
        text += (
            "".join(_PROSE.format(name=company, n=rng.randrange(90)) for _ in range(24)) + "\n\n"
        )
        start = len(text)
        text += f"{title}\n(in millions)\n2020 2019 2018\n"
        for item in items.split("|"):
            text += f"{item} {' '.join(f'{rng.randrange(10**5):,}' for _ in range(3))}\n"
        places[name] = (start, len(text))
        text += "\n"
    return text, places
