"""The work of a search: statements of SQL and calls of Python functions, not time."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from spanwise import KnowledgeBase
from spanwise.threads import map_bounded

_TOPICS = ("harbour", "orchard", "quarry", "glacier", "printing", "weaving", "bakery", "railway")
_STATEMENTS = 12
_CALLS = 12_500


def _report(number: int) -> str:
    """Return a text of 40 sections; each contains words that other documents contain too."""
    sections = (
        f"# Chapter {part}\n\n"
        f"The {_TOPICS[part % 8]} of district {number} employs {part * 7 + number} people. "
        f"Its yearly output depends on the {_TOPICS[(part + number) % 8]} nearby, which supplies "
        f"most of the materials under contract {number * 100 + part}.\n"
        for part in range(40)
    )
    return "\n".join(sections)


def _work_of(call: Callable[[], object]) -> Counter[str]:
    """Return the numbers of Python calls ("call") and of SQL statements ("sql") of a call."""
    counts: Counter[str] = Counter()

    def count(_frame: FrameType, event: str, function: object) -> None:
        counts[event] += 1
        owner = getattr(function, "__self__", None)
        if event == "c_call" and isinstance(owner, sqlite3.Connection):
            counts["sql"] += getattr(function, "__name__", "") == "execute"

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return counts


def test_a_search_among_known_documents_reads_few_rows_and_makes_few_calls(tmp_path: Path) -> None:
    """The number of statements does not depend on the documents that the result shows."""
    with KnowledgeBase(tmp_path / "known.kb") as base:
        for number in range(30):
            base.add_text(_report(number), document_id=f"report {number}", title="Yearly report")
        shown: set[str] = set()

        def search() -> None:
            result = base.search("Which output depends on the glacier and the bakery?", deep=False)
            shown.update(segment.document_id for segment in result.segments)

        search()
        first = _work_of(search)
    assert len(shown) > 3
    assert 0 < first["sql"] <= _STATEMENTS
    assert first["call"] <= _CALLS


def test_a_search_with_the_parts_divided_among_threads_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan of a large knowledge base uses several threads; here that of a small one does."""
    with KnowledgeBase(tmp_path / "parts.kb") as base:
        for number in range(12):
            base.add_text(_report(number), document_id=f"report {number}", title="Yearly report")
            if number % 4 == 3:
                base.search("glacier", deep=False)  # indexes the documents so far in a part
        question = "Which output depends on the glacier and the bakery?"
        expected = base.search(question, deep=False)
        divided: list[int] = []

        def spy(function: Callable[[Any], Any], items: Sequence[Any], *, limit: int) -> list[Any]:
            divided.append(len(items))
            return map_bounded(function, items, limit=limit)

        monkeypatch.setattr("spanwise.stores.scan.map_bounded", spy)
        assert base.search(question, deep=False).segments == expected.segments
        assert divided == []
        monkeypatch.setattr("spanwise.stores.scan._THREADED_ROWS", 0)
        found = base.search(question, deep=False)
    assert max(divided) > 1
    assert found.segments == expected.segments
    assert found.evidence == expected.evidence
