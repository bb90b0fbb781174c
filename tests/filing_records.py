"""Records of filings and turns of a conversation about them, for what is written of a question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.records import make_record

from spanwise.types import Answer, DocumentRecord, Scalar, Turn

__all__ = ["as_answer", "filing", "filings", "turn"]


def filing(company: str, year: int, **metadata: Scalar) -> DocumentRecord:
    """Return the record of an annual report."""
    fields = {
        "company": company,
        "form": "10-K",
        "fiscal_year": year,
        "period_end": f"{year}-12-31",
        **metadata,
    }
    record = make_record(f"{company}-{year}", root="/in")
    return replace(record, title=f"{company} 10-K {year}", metadata=fields, language="en")


def filings() -> list[DocumentRecord]:
    """Return the records of twelve annual reports."""
    return [
        filing(company, year)
        for company in ("3M", "Amazon.com", "Apple", "Microsoft")
        for year in (2016, 2017, 2018)
    ]


def turn(question: str, answer: str) -> Turn:
    """Return a turn of a conversation."""
    made = Answer(question=question, text=answer, citations=(), refused=False, queries=(question,))
    return Turn(
        question=question, standalone=question, answer=made, asked_at="2025-01-01T00:00:00+00:00"
    )


def as_answer(
    queries: Sequence[object],
    *,
    standalone: str = "",
    conditions: Sequence[Mapping[str, object]] = (),
) -> str:
    """Return what a model answers, as JSON."""
    return json.dumps(
        {"standalone": standalone, "queries": list(queries), "conditions": list(conditions)},
        ensure_ascii=False,
    )
