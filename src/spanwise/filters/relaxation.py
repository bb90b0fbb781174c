"""Relaxation of a filter that a language model wrote, one field at a time.

Rules:
    All conditions on a field are dropped together.
    Conditions on dates and numbers are dropped before conditions on texts: another report of the
    same company is a better source than the same year of another company. Of several texts, the one
    that most documents pass is dropped first, because it says least about which document is meant.
    A condition is dropped only if no combination of the conditions before it is enough.
    The filter of the user is never relaxed.
    A filter that leaves weak evidence is not relaxed. On filings, no evidence was weak where the
    filter excluded the right document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, NamedTuple

from spanwise.filters.tree import And, Comparison, Exists, Membership, leaves
from spanwise.filters.values import is_date

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.filters.tree import Filter
    from spanwise.types import Scalar

_MAX_STEPS = 5
"""Maximum number of steps, so that at most 31 relaxed filters are tried."""


class RelaxedFilter(NamedTuple):
    """Filter without the conditions on some fields."""

    kept: Filter | None
    """Remaining conditions; None for none."""
    dropped: Filter
    """Conditions that were dropped."""


def relaxed_filters(where: Filter, count: Callable[[Filter], int]) -> Iterator[RelaxedFilter]:
    """Yield the relaxed forms of a filter, best first; the last one has no condition.

    Args:
        where: Filter that a model wrote.
        count: Function that returns the number of documents that pass a filter.
    """
    parts = where.parts if isinstance(where, And) else (where,)
    parts_by_field: dict[str, list[Filter]] = {}
    for part in parts:
        parts_by_field.setdefault(_field_name(part), []).append(part)
    steps = _steps({name: _joined(own) for name, own in parts_by_field.items()}, count)
    # Bit n of a number selects step n, so numbers in ascending order drop later steps last.
    for bits in range(1, 2 ** len(steps)):
        names = {name for at, step in enumerate(steps) if bits >> at & 1 for name in step}
        kept = [part for part in parts if _field_name(part) not in names]
        yield RelaxedFilter(
            kept=_joined(kept) if kept else None,
            dropped=_joined([part for part in parts if _field_name(part) in names]),
        )


def relaxed_warning(where: Filter, dropped: Filter, *, passes_none: bool) -> str:
    """Return the message that conditions of a filter were dropped.

    Args:
        where: Whole filter.
        dropped: Conditions that were dropped.
        passes_none: Whether no document passes the whole filter; otherwise, some do, but nothing
            relevant was found in them.
    """
    reason = "no document passes the filter" if passes_none else "nothing was found with the filter"
    return f"{reason} `{where}`; searched without `{dropped}`, which the language model wrote"


def _steps(conditions: dict[str, Filter], count: Callable[[Filter], int]) -> list[tuple[str, ...]]:
    """Return the fields in the order in which their conditions are dropped."""
    if len(conditions) == 1:
        return [tuple(conditions)]
    ranks = {
        name: (_compares_text(condition), -count(condition))
        for name, condition in conditions.items()
    }
    names = sorted(conditions, key=lambda name: (ranks[name], name))
    surplus = max(0, len(names) - _MAX_STEPS)
    return [tuple(names[: surplus + 1]), *((name,) for name in names[surplus + 1 :])]


def _joined(parts: Sequence[Filter]) -> Filter:
    return reduce(and_, parts)


def _field_name(part: Filter) -> str:
    return next(leaves(part)).name


def _compares_text(condition: Filter) -> bool:
    """Return whether a condition compares its field with a text that is not a date."""
    values = [value for leaf in leaves(condition) for value in _values(leaf)]
    return any(isinstance(value, str) and not is_date(value) for value in values)


def _values(leaf: Comparison | Membership | Exists) -> tuple[Scalar, ...]:
    if isinstance(leaf, Membership):
        return leaf.values
    return (leaf.value,) if isinstance(leaf, Comparison) else ()
