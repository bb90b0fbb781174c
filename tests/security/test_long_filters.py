"""Filters of many parts: their cost grows with their length alone, and has a limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

import pytest
from tests.growth import assert_linear_time

from spanwise import KnowledgeBase, field, parse_filter
from spanwise.errors import FilterError
from spanwise.filters import MAX_FILTER_CHARS, MAX_FILTER_PARTS, Filter, Or


def chain(parts: int) -> str:
    """Return a text of so many comparisons between which stands "or"."""
    return " or ".join(f"y = {number % 10}" for number in range(parts))


def combined(parts: int) -> Filter:
    """Return the same filter, made of nodes."""
    return reduce(or_, [field("y") == number % 10 for number in range(parts)])


def searched(parts: int) -> object:
    """Search with the filter."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("A text about margins.", document_id="x", metadata={"y": 3})
        return base.search("margins", where=chain(parts))


@pytest.mark.parametrize("build", [lambda n: parse_filter(chain(n)), combined, searched])
def test_time_is_linear_in_the_parts_of_a_chain(build: Callable[[int], object]) -> None:
    assert_linear_time(build, lambda parts: parts, size=750)


def test_a_chain_is_the_same_filter_however_it_is_made() -> None:
    parsed, made = parse_filter(chain(50)), combined(50)
    assert parsed == made == parse_filter(str(made))
    assert isinstance(made, Or)
    assert Or(parts=made.parts) == made
    assert hash(parsed) == hash(made)


def test_a_chain_beyond_the_limit_is_refused() -> None:
    assert len(chain(2 * MAX_FILTER_PARTS)) > MAX_FILTER_CHARS
    with pytest.raises(FilterError):
        parse_filter(chain(2 * MAX_FILTER_PARTS))
    whole = combined(MAX_FILTER_PARTS)
    with pytest.raises(FilterError, match="10,000"):
        whole | (field("y") == 1)
    with pytest.raises(FilterError, match="deep"):
        reduce(lambda nested, _: ~nested, range(40), whole)
