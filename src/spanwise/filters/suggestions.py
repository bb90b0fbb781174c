"""Explanation of a filter that no document passes: near values of its fields."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from spanwise.filters.matching import document_test
from spanwise.filters.tree import And, Comparison, Filter, Membership, field, value_text
from spanwise.filters.values import folded, is_date, items_of, year_text
from spanwise.types import MetadataValue, Scalar

Fields = Mapping[str, MetadataValue]
_MAX_VALUES = 20_000  # values of a field that are compared with the wanted one
_MAX_CHARS = 100  # longer values are not suggested
_MAX_RATIOS = 500  # texts whose similarity is computed, those of the highest bounds
_MAX_SUGGESTIONS, _MAX_LISTED = 3, 8
_MAX_WHERE_CHARS = 500
_REPLACED = ("=", "contains", "starts with", "exactly")  # operators with near values
_MIN_RATIO, _MIN_RATIO_SHORT, _SHORT_CHARS = 0.7, 0.5, 3
_CONTAINED = 0.95  # similarity of a text to one that contains it as a word


def no_match_message(
    where: Filter, documents: Sequence[Fields], *, subject: str = "no document"
) -> str:
    """Return a message that no document passes a filter, with near values.

    A part of the filter is replaced by near values if they are values of documents that pass all
    other parts. If there are none, parts that no document passes are replaced.

    Args:
        where: Filter that no document passes.
        documents: Fields of each searched document, see `filter_fields`.
        subject: Subject of the message.
    """
    parts = where.parts if isinstance(where, And) else (where,)
    passing_others = _passing_others(parts, documents)
    chosen: list[tuple[Filter, Sequence[Fields]]]
    chosen = [(part, others) for part, others in zip(parts, passing_others, strict=True) if others]
    is_joint = bool(chosen) and len(parts) > 1
    if not chosen:
        tests = [document_test(part) for part in parts]
        chosen = [
            (part, documents)
            for part, test in zip(parts, tests, strict=True)
            if not any(map(test, documents))
        ]
    text = str(where)
    if len(text) > _MAX_WHERE_CHARS:
        text = text[:_MAX_WHERE_CHARS] + "…"
    message = f"{subject} passes the filter `{text}`"
    near = [f"`{one}`" for part, others in chosen for one in _near(part, others)]
    if near:
        return f"{message}; did you mean {' or '.join(near[:_MAX_SUGGESTIONS])}?"
    facts = [fact for part, others in chosen if (fact := _fact(part, others, others=is_joint))]
    return "; ".join([message, *facts[:_MAX_SUGGESTIONS]])


def _passing_others(parts: Sequence[Filter], documents: Sequence[Fields]) -> list[list[Fields]]:
    """Return, for each part, the documents that pass all other parts but not this one."""
    tests = [document_test(part) for part in parts]
    passing: list[list[Fields]] = [[] for _ in parts]
    for fields in documents:
        failing = list(islice((at for at, test in enumerate(tests) if not test(fields)), 2))
        if len(failing) == 1:
            passing[failing[0]].append(fields)
    return passing


def _values(name: str, documents: Iterable[Fields]) -> list[Scalar]:
    """Return the distinct values of a field, in the order of the documents."""
    found = (item for fields in documents if name in fields for item in items_of(fields[name]))
    distinct = {(type(item), item): item for item in found}
    return list(islice(distinct.values(), _MAX_VALUES))


def _near(part: Filter, documents: Sequence[Fields]) -> Iterator[Filter]:
    """Yield conditions on near values in place of a condition; none if nothing is near."""
    if isinstance(part, Comparison) and part.operator in _REPLACED:
        wanted: Sequence[Scalar] = (part.value,)
    elif isinstance(part, Membership) and not part.negated:
        wanted = part.values[:_MAX_SUGGESTIONS]
    else:
        return
    values = _values(part.name, documents)
    near = {value: None for one in wanted for value in _near_values(one, values)}
    for value in islice(near, _MAX_SUGGESTIONS):
        yield field(part.name) == value


def _near_values(wanted: Scalar, values: Sequence[Scalar]) -> list[Scalar]:
    """Return the values nearest to a wanted one: numbers, dates, or texts by their spelling."""
    if isinstance(wanted, bool):
        return []
    texts = [value for value in values if isinstance(value, str)]
    if isinstance(wanted, str) and not is_date(wanted):
        return list(_similar_texts(wanted, texts))
    numbers = [value for value in values if not isinstance(value, str | bool)]
    if not isinstance(wanted, str) and numbers:
        return _neighbours(wanted, numbers)
    day = wanted if isinstance(wanted, str) else year_text(wanted)
    return _neighbours(day, list(filter(is_date, texts))) if day else []


def _neighbours(wanted: Any, values: Sequence[Any]) -> list[Scalar]:
    """Return the last value up to the wanted one and the first one after it, if they exist."""
    below = [value for value in values if value <= wanted]
    above = [value for value in values if value > wanted]
    return [*([max(below)] if below else []), *([min(above)] if above else [])]


def _similar_texts(wanted: str, texts: Sequence[str]) -> list[str]:
    """Return texts that contain the wanted text, or have a word of similar spelling, best first."""
    text = folded(wanted)
    least = _MIN_RATIO_SHORT if len(text) <= _SHORT_CHARS else _MIN_RATIO
    matcher = difflib.SequenceMatcher(b=text, autojunk=False)
    ratios: dict[str, float] = {}
    bounds: list[tuple[float, str, str]] = []
    for value in texts:
        own = folded(value) if len(value) <= _MAX_CHARS else ""
        if own and text in own:
            ratios[value] = _CONTAINED
        for part in (own, *own.split()) if " " in own else (own,):
            matcher.set_seq1(part)
            if matcher.real_quick_ratio() >= least and (bound := matcher.quick_ratio()) >= least:
                bounds.append((bound, value, part))
    for _, value, part in heapq.nlargest(_MAX_RATIOS, bounds):
        matcher.set_seq1(part)
        ratios[value] = max(ratios.get(value, 0.0), matcher.ratio())
    similar = [value for value, ratio in ratios.items() if ratio >= least]
    return sorted(similar, key=lambda value: (-ratios[value], value))


def _fact(part: Filter, documents: Sequence[Fields], *, others: bool) -> str:
    """Return a phrase that lists the values of the field of a condition; empty for other parts.

    Args:
        part: Part of the filter.
        documents: Documents that have these values.
        others: Whether the filter has other conditions, which these documents pass.
    """
    if not isinstance(part, Comparison | Membership):
        return ""
    values = _values(part.name, documents)
    if not values:
        return ""
    values_of = f"the values of {part.name}{' that pass the other conditions' if others else ''}"
    numbers = [value for value in values if not isinstance(value, str | bool)]
    dates = [value for value in values if isinstance(value, str) and is_date(value)]
    for ordered in (numbers, dates):
        if len(ordered) == len(values) > 1:
            return f"{values_of} are {min(ordered)} to {max(ordered)}"
    listed = [value_text(value) for value in values if len(str(value)) <= _MAX_CHARS]
    if len(listed) == len(values) <= _MAX_LISTED:
        return f"{values_of} are {', '.join(sorted(listed))}"
    first = ", ".join([*listed[:_MAX_SUGGESTIONS], "…"])
    return f"{values_of} are {first} ({len(values):,} in total)"
