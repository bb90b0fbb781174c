"""From conditions that a model wrote to a filter: typed, and about what the question says.

Rules:
    A condition is about a field and values that the question says (`core.question_fields`), or it
    is left out: nothing that a model writes is parsed as a filter.
    There is no "not", "<" or ">", and conditions on a field that would lose a value which the
    question says are left out: of "2016 and 2018", 2016 alone is not what is asked for. So a model
    that obeys a document can at most leave out a filter, or restrict to what the question says.
    Several values that a field is equal to are alternatives; the rest holds together.
    A filter that no document passes is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from spanwise.core.question_fields import DAY, NUMBER, folded_words, read_number
from spanwise.filters import field, matches

if TYPE_CHECKING:
    from spanwise.core.question_fields import QuestionField
    from spanwise.filters import Filter
    from spanwise.types import Scalar

__all__ = ["Condition", "filter_of_conditions"]

_SHOWN_CHARS = 60
_SAME = {"==": "=", "in": "="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition as a model wrote it, before anything in it is checked."""

    field: str
    operator: str
    """"=", ">=" or "<="; another one is left out."""
    values: tuple[str, ...]


def filter_of_conditions(
    conditions: Sequence[Condition],
    *,
    fields: Sequence[QuestionField],
    documents: Sequence[Mapping[str, Scalar]],
) -> tuple[Filter | None, tuple[str, ...]]:
    """Return the filter that conditions make, None for none, and what was left out, for people.

    Args:
        conditions: As a model wrote them.
        fields: What they may be about.
        documents: Metadata of each document.
    """
    known = {one.name.casefold(): one for one in fields}
    kept: dict[tuple[str, str], list[Scalar]] = {}
    left_out: list[str] = []
    for condition in conditions:
        about = known.get(condition.field.strip().casefold())
        operator = _SAME.get(condition.operator.strip(), condition.operator.strip())
        for text in condition.values or ("",):
            meant = [] if about is None else _meant(text, about, operator)
            if about is None or not meant:
                shown = (condition.field, operator, repr(text[:_SHOWN_CHARS]))
                left_out.append(" ".join(part[: _SHOWN_CHARS + 2] for part in shown))
            else:
                kept.setdefault((about.name, operator), []).extend(meant)
    warnings = list(_warnings(left_out))
    parts: list[Filter] = []
    for about in fields:
        own = [
            part
            for operator in ("=", ">=", "<=")
            if (values := list(dict.fromkeys(kept.get((about.name, operator), ()))))
            for part in _parts(about, operator, values)
        ]
        lost = [value for value in about.said if not _keeps(own, about, value)]
        if lost:
            warnings.append(
                f"the condition `{reduce(and_, own)}` was left out of the filter: the question "
                f"also says {lost[0]!r}"
            )
        else:
            parts += own
    if not parts:
        return None, tuple(warnings)
    where = reduce(and_, parts)
    if not any(matches(where, metadata) for metadata in documents):
        return None, (*warnings, f"the filter `{where}` was left out: no document passes it")
    return where, tuple(warnings)


def _meant(text: str, about: QuestionField, operator: str) -> list[Scalar]:
    """Return the values of a field that are said and that a text of a model means."""
    if about.kind == "text":
        if operator != "=":
            return []
        return [value for value in about.said if folded_words(str(value)) == folded_words(text)]
    read = (DAY if about.kind == "day" else NUMBER).fullmatch(text.strip())
    if read is None or operator not in ("=", ">=", "<="):
        return []
    number = int(read[1]) if about.kind == "day" else read_number(read[1], read[2])
    return [value for value in about.said if value == number]


def _parts(about: QuestionField, operator: str, values: Sequence[Scalar]) -> list[Filter]:
    """Return the filters that hold together, for values that one operator compares with."""
    if operator == "=" and about.kind == "day":
        return [reduce(or_, (_since(about, year) & _until(about, year) for year in values))]
    if operator == "=":
        one = field(about.name)
        return [one == values[0] if len(values) == 1 else one.is_in(values)]
    bound = _since if operator == ">=" else _until
    return [bound(about, value) for value in values]


def _keeps(parts: Sequence[Filter], about: QuestionField, value: Scalar) -> bool:
    """Return whether filters on a field keep the documents with a value, or with days of a year."""
    stored = f"{int(value):04d}-06" if about.kind == "day" else value
    return all(matches(part, {about.name: stored}) for part in parts)


def _since(about: QuestionField, value: Scalar) -> Filter:
    return field(about.name) >= (f"{int(value):04d}" if about.kind == "day" else value)


def _until(about: QuestionField, value: Scalar) -> Filter:
    if about.kind == "day":  # texts that begin with the year come before the next one
        return field(about.name) < f"{int(value) + 1:04d}"
    return field(about.name) <= value


def _warnings(left_out: Sequence[str]) -> tuple[str, ...]:
    if not left_out:
        return ()
    first = f"`{left_out[0]}`"
    what = f"the condition {first} was"
    if len(left_out) > 1:
        what = f"{len(left_out)} conditions, the first {first}, were"
    return (
        f"{what} left out of the filter: the question says no such value of a field that the "
        "documents have",
    )
