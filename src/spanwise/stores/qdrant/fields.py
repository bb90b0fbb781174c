"""Metadata fields in payloads, and filters as conditions on them.

Each document and chunk carries the field `tags`, a list of texts: one for each field, and some for
each value in the normal form of filters (`filters.values`). Numbers and dates are also in fields of
their own, a date as year * 10,000 + month * 100 + day. Equality, dates and numbers are conditions
of Qdrant. `contains`, `starts with`, `exactly` and the order of texts are not; such filters are
evaluated here over the records of all documents, and the documents that pass are the condition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from spanwise.filters import (
    And,
    Comparison,
    Exists,
    FieldKind,
    Filter,
    Membership,
    Not,
    Or,
    folded,
    items_of,
)
from spanwise.filters.values import is_date, year_text
from spanwise.types import MetadataValue, Scalar

if TYPE_CHECKING:
    from qdrant_client import models

_DATE_LENGTHS = (4, 7, 10)
_EXACT_NUMBER = 2**53


def field_key(name: str) -> str:
    """Return the name of the payload field with the numbers of a metadata field."""
    return f"number_{_digest(name)}"


def date_key(name: str) -> str:
    """Return the name of the payload field with the dates of a metadata field."""
    return f"date_{_digest(name)}"


def _digest(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _tag(name: str, kind: str, value: str) -> str:
    return _digest(f"{name}\0{kind}\0{value}")


def field_payload(fields: Mapping[str, MetadataValue]) -> dict[str, Any]:
    """Return the payload fields of the metadata of a document."""
    tags: set[str] = set()
    numbers: dict[str, list[float]] = {}
    dates: dict[str, list[int]] = {}
    for name, value in fields.items():
        tags.add(_tag(name, "exists", ""))
        for item in items_of(value):
            tags |= _value_tags(name, item)
            if isinstance(item, int | float) and not isinstance(item, bool):
                numbers.setdefault(field_key(name), []).append(_as_float(item))
            elif isinstance(item, str) and is_date(folded(item)):
                dates.setdefault(date_key(name), []).append(_date_code(folded(item), "00"))
    return {"tags": sorted(tags), **numbers, **dates}


def _date_code(text: str, rest: str) -> int:
    """Return a date as a number, such as 20180331 for "2018-03-31".

    Args:
        text: Year, month or day ("2018", "2018-03", "2018-03-31").
        rest: Two digits in place of a missing month or day.
    """
    year, month, day = (*text[:10].split("-"), rest, rest)[:3]
    return int(year + month + day)


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return 1.7e308 if number > 0 else -1.7e308


def _value_tags(name: str, item: Scalar) -> set[str]:
    if isinstance(item, bool):
        return {_tag(name, "boolean", str(item))}
    if not isinstance(item, str):
        return {_tag(name, "number", _number_text(item))}
    text = folded(item)
    tags = {_tag(name, "text", text)}
    if is_date(text):
        tags |= {_tag(name, "date", text[:length]) for length in {*_DATE_LENGTHS, len(text)}}
    return tags


def _number_text(number: float) -> str:
    return str(int(number)) if int(number) == number else repr(float(number))


def payload_filter(
    where: Filter, kinds: Mapping[str, Collection[FieldKind]]
) -> models.Filter | None:
    """Return a filter as conditions on payload fields; None if it cannot be expressed exactly.

    Args:
        where: Filter.
        kinds: Kinds of the values of each field that documents have or had.
    """
    from qdrant_client import models

    if isinstance(where, And | Or):
        parts = [payload_filter(part, kinds) for part in where.parts]
        known: list[Any] = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        is_and = isinstance(where, And)
        return models.Filter(must=known) if is_and else models.Filter(should=known)
    if isinstance(where, Not):
        part = payload_filter(where.part, kinds)
        return None if part is None else models.Filter(must_not=[part])
    return _leaf_filter(where, kinds)


def has_field(name: str) -> models.FieldCondition:
    """Return the condition for documents and chunks that have a metadata field."""
    return _has_tags([_tag(name, "exists", "")])


def _leaf_filter(
    leaf: Comparison | Membership | Exists, kinds: Mapping[str, Collection[FieldKind]]
) -> models.Filter | None:
    """Return a comparison as conditions; None if it cannot be expressed exactly."""
    from qdrant_client import models

    exists = has_field(leaf.name)
    if isinstance(leaf, Exists):
        return models.Filter(must=[exists])
    if isinstance(leaf, Membership):
        return _equality(leaf.name, leaf.values, exists, is_negated=leaf.negated)
    if leaf.operator in ("=", "!="):
        return _equality(leaf.name, (leaf.value,), exists, is_negated=leaf.operator == "!=")
    if leaf.operator in ("<", "<=", ">", ">="):
        return _order(leaf, kinds.get(leaf.name, ()))
    return None


def _has_tags(tags: list[str]) -> models.FieldCondition:
    from qdrant_client import models

    return models.FieldCondition(key="tags", match=models.MatchAny(any=tags))


def _equality(
    name: str, values: tuple[Scalar, ...], exists: models.FieldCondition, *, is_negated: bool
) -> models.Filter | None:
    from qdrant_client import models

    tags: list[str] = []
    for value in values:
        own = _equal_tags(name, value)
        if own is None:
            return None
        tags += own
    if is_negated:
        return models.Filter(must=[exists], must_not=[_has_tags(tags)] if tags else None)
    return models.Filter(must=[_has_tags(tags)] if tags else [_has_tags(["none"])])


def _equal_tags(name: str, value: Scalar) -> list[str] | None:
    """Return the tags of which a field has one if it equals a value; None if tags cannot tell."""
    if isinstance(value, bool):
        return [_tag(name, "boolean", str(value))]
    if isinstance(value, str):
        text = folded(value)
        if not is_date(text):
            return [_tag(name, "text", text)]
        if len(text) not in _DATE_LENGTHS:
            return None
        return [_tag(name, "text", text), _tag(name, "date", text)]
    tags = [_tag(name, "number", _number_text(value))]
    year = year_text(value)
    return [*tags, _tag(name, "date", year)] if year else tags


def _order(where: Comparison, kinds: Collection[FieldKind]) -> models.Filter | None:
    """Return a range of numbers or dates; None if texts are compared by their order."""
    from qdrant_client import models

    value = where.value
    if isinstance(value, bool):
        return None
    ranges = []
    date = folded(value) if isinstance(value, str) else year_text(value)
    if isinstance(value, str):
        if not is_date(date) or len(date) not in _DATE_LENGTHS or "text" in kinds:
            return None
    elif abs(value) >= _EXACT_NUMBER:
        return None
    else:
        ranges.append((field_key(where.name), float(value)))
    if date:
        rest = "99" if where.operator in (">", "<=") else "00"
        ranges.append((date_key(where.name), float(_date_code(date, rest))))
    limits = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
    return models.Filter(
        should=[
            models.FieldCondition(key=key, range=models.Range(**{limits[where.operator]: limit}))
            for key, limit in ranges
        ]
    )
