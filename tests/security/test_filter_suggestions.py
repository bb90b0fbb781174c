"""Near values of a filter, from metadata that was made to be slow or to deceive."""

from __future__ import annotations

import time

from spanwise import KnowledgeBase
from spanwise.filters import field, no_match_message


def test_long_and_similar_values_are_compared_in_bounded_time() -> None:
    """The similarity of two texts takes quadratic time; few pairs are compared completely."""
    alike = [{"a": "é" * 90 + str(number)} for number in range(10_000)]
    spaced = [{"a": " ".join(["ab" * 10] * 4) + str(number)} for number in range(10_000)]
    huge = [{"a": "x" * 1_000_000}] * 3
    started = time.process_time()
    message = no_match_message(field("a") == "e" * 89, [*alike, *spaced, *huge])
    assert "did you mean" in message
    assert len(message) < 1_000
    assert time.process_time() - started < 4
    assert len(no_match_message(field("a") == "q" * 60_000, [*alike, *huge])) < 2_000


def test_a_value_cannot_add_conditions_to_the_suggested_filter() -> None:
    """Quotes and control characters of a value are escaped."""
    value = 'nike" or year exists or "\x1b[31m\n'
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("A text about margins.", document_id="x", metadata={"a": value, "year": 1})
        (warning,) = (
            one
            for one in base.search("margins", where='a = "nike or year exist or"').warnings
            if "did you mean" in one
        )
        suggested = warning.split("did you mean `")[1].rpartition("`?")[0]
        assert [record.id for record in base.list(suggested)] == ["x"]
        assert base.list("a exactly " + suggested.partition(" = ")[2])[0].metadata["a"] == value
