"""Evaluation of filters on the metadata of documents."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from spanwise.errors import FilterError
from spanwise.filters.tree import (
    And,
    Comparison,
    Exists,
    Filter,
    Membership,
    Not,
    Or,
    checked_filter,
    leaves,
)
from spanwise.filters.values import (
    FieldKind,
    Kind,
    folded,
    is_date,
    items_of,
    kind_of,
    year_text,
)
from spanwise.types import MetadataValue, Scalar

ScalarTest = Callable[[Scalar], bool]
"""Function that returns whether a scalar satisfies a comparison."""
ValueTest = Callable[[MetadataValue], bool]
"""Function that returns whether a value of a field, possibly a list, satisfies a comparison."""
DocumentTest = Callable[[Mapping[str, MetadataValue]], bool]
"""Function that returns whether a document with some metadata matches a filter."""

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LISTED_FIELDS = 10


def matches(where: Filter, metadata: Mapping[str, MetadataValue]) -> bool:
    """Return whether a document with this metadata matches the filter."""
    return document_test(where)(metadata)


def document_test(where: Filter) -> DocumentTest:
    """Return a function that tests the metadata of documents; it is fast for many documents."""
    if isinstance(where, And | Or):
        tests = [document_test(part) for part in where.parts]
        joint = all if isinstance(where, And) else any
        return lambda metadata: joint(test(metadata) for test in tests)
    if isinstance(where, Not):
        inner = document_test(where.part)
        return lambda metadata: not inner(metadata)
    name, passes = where.name, value_test(where)
    return lambda metadata: (value := metadata.get(name)) is not None and passes(value)


def value_test(leaf: Comparison | Membership | Exists) -> ValueTest:
    """Return a function that tests values of the field of a leaf; it is fast for many values.

    A list passes if one of its items does. For `!=` and `not in`, none of its items may be equal.
    """
    if isinstance(leaf, Exists):
        return lambda _: True
    if isinstance(leaf, Membership):
        test, is_negated = _equality_test(leaf.values), leaf.negated
    elif leaf.operator == "contains" and leaf.kind == "text":
        return _contains_test(str(leaf.value))
    else:
        test, is_negated = _scalar_test(leaf), leaf.operator == "!="
    return _negated(test) if is_negated else _any_item(test)


def _scalar_test(leaf: Comparison) -> ScalarTest:
    """Return a test for single values; for `!=`, the test for equal values."""
    if leaf.operator in _ORDERS:
        return _order_test(_ORDERS[leaf.operator], leaf.value)
    if leaf.operator == "exactly":
        return lambda item: item == leaf.value and kind_of(item) == leaf.kind
    if leaf.operator == "starts with":
        start = folded(str(leaf.value))
        return lambda item: isinstance(item, str) and folded(item).startswith(start)
    return _equality_test((leaf.value,))


def _any_item(test: ScalarTest) -> ValueTest:
    return lambda value: any(map(test, value)) if isinstance(value, tuple | list) else test(value)


def _negated(test: ScalarTest) -> ValueTest:
    return lambda value: not any(map(test, items_of(value)))


def _contains_test(wanted: str) -> ValueTest:
    """Return a test for texts that contain a text, and for lists with an item that equals it."""
    part, equals = folded(wanted), _equality_test((wanted,))

    def test(value: MetadataValue) -> bool:
        if isinstance(value, str):
            return part in folded(value)
        return any(map(equals, items_of(value)))

    return test


def _equality_test(values: Collection[Scalar]) -> ScalarTest:
    """Return a test for values that equal one of some values.

    A partial date equals every date that begins with it. A year given as a number equals every date
    in that year.
    """
    texts = {folded(value) for value in values if isinstance(value, str)}
    booleans = {value for value in values if isinstance(value, bool)}
    numbers = {
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    }
    dates = {text for text in texts if is_date(text)}
    dates |= {text for text in map(year_text, numbers) if text}
    lengths = sorted({len(text) for text in dates})

    def test(item: Scalar) -> bool:
        if isinstance(item, bool):
            return item in booleans
        if not isinstance(item, str):
            return item in numbers
        text = folded(item)
        if text in texts:
            return True
        return bool(lengths) and is_date(text) and any(text[:n] in dates for n in lengths)

    return test


def _order_test(compare: Callable[[Any, Any], bool], wanted: Scalar) -> ScalarTest:
    """Return a test for values before or after a value.

    Texts compare by the code points of their folded form. A date is compared with a partial date
    by the part that both have, so all days of February are equal to "2019-02".
    """
    is_text = isinstance(wanted, str)
    limit = folded(wanted) if isinstance(wanted, str) else year_text(wanted)
    length = len(limit) if is_date(limit) else 0

    def test(item: Scalar) -> bool:
        if not isinstance(item, str):
            return not is_text and kind_of(item) == "number" and compare(item, wanted)
        text = folded(item)
        if length and is_date(text):
            return compare(text[:length], limit)
        return is_text and compare(text, limit)

    return test


def check_filter(where: Filter, fields: Mapping[str, Collection[FieldKind]]) -> None:
    """Raise an error for a filter that does not fit the metadata of a knowledge base.

    Args:
        where: Filter to check.
        fields: Kinds of values of each field over all documents, see `known_fields`.

    Raises:
        FilterError: If no document has a field of the filter, or a field has no value of the kind
            that it is compared with.
    """
    for leaf in leaves(checked_filter(where)):
        if leaf.name not in fields:
            raise FilterError(
                f"unknown field {leaf.name!r} in `{leaf}`; {_suggestion(leaf.name, fields)}"
            )
        kinds = fields[leaf.name]
        compared: tuple[tuple[Scalar, Kind], ...] = ()
        if isinstance(leaf, Comparison):
            compared = ((leaf.value, leaf.kind),)
        elif isinstance(leaf, Membership):
            compared = tuple(zip(leaf.values, leaf.kinds, strict=True))
        for value, kind in compared:
            if kinds and not _fits(value, kind, kinds):  # empty lists fit any value
                raise FilterError(
                    f"the field {leaf.name!r} contains {_kinds_text(kinds)}, and `{leaf}` "
                    f"compares it with a {kind}"
                )


def _fits(value: Scalar, kind: Kind, kinds: Collection[FieldKind]) -> bool:
    """Return whether a value can be compared with a field of these kinds."""
    if kind in kinds:
        return True
    if "date" not in kinds or isinstance(value, bool):
        return False
    return isinstance(value, str) or bool(year_text(value))


def _kinds_text(kinds: Collection[FieldKind]) -> str:
    return " and ".join(f"{kind}s" for kind in sorted(kinds))


def _suggestion(name: str, fields: Collection[str]) -> str:
    if not fields:
        return "no document has any metadata"

    def distance(known: str) -> tuple[float, str]:
        return -difflib.SequenceMatcher(None, name.lower(), known.lower()).ratio(), known

    known = sorted(fields, key=distance)
    more = f" and {len(known) - _LISTED_FIELDS} more" if len(known) > _LISTED_FIELDS else ""
    return f"known fields, closest first: {', '.join(known[:_LISTED_FIELDS])}{more}"
