"""Warnings of a run, for who reads its figures."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.evaluation.report.summary import Summary

__all__ = ["notices"]

_MOST = 8
_NUMBERS = re.compile(r"\d[\d.,]*")


def notices(summary: Summary) -> tuple[str, ...]:
    """Return what is to be known of the run, and the most frequent warnings of the searches.

    Each warning has how often it came; those that differ in numbers alone are told once.
    """
    told: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for one in summary.evaluation.scores:
        for warning in one.warnings:
            kind = (one.retriever, _NUMBERS.sub("0", warning))
            first.setdefault(kind, f"{one.retriever}: {warning}")
            told[kind] += 1
    return summary.evaluation.notes + tuple(
        f"{first[kind]} ({times:,} such warnings)" if times > 1 else first[kind]
        for kind, times in told.most_common(_MOST)
    )
