"""Evaluation of filters, and validation against the fields of a knowledge base."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from spanwise.errors import FilterError
from spanwise.filters.tree import (
    And,
    Comparison,
    Exists,
    Filter,
    Kind,
    Membership,
    Not,
    Operator,
    Or,
    checked_filter,
    children,
    kind_of,
)
from spanwise.types import Scalar

_COMPARE: Mapping[Operator, Callable[[Scalar, Scalar], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LISTED_FIELDS = 10


def matches(where: Filter, metadata: Mapping[str, Scalar]) -> bool:
    """Return whether a document with this metadata matches the filter."""
    if isinstance(where, And):
        return all(matches(part, metadata) for part in where.parts)
    if isinstance(where, Or):
        return any(matches(part, metadata) for part in where.parts)
    if isinstance(where, Not):
        return not matches(where.part, metadata)
    value = metadata.get(where.name)
    return value is not None and _leaf_matches(where, value)


def _leaf_matches(leaf: Comparison | Membership | Exists, value: Scalar) -> bool:
    """Return whether a leaf of the tree matches the value of its field."""
    if isinstance(leaf, Exists):
        return True
    kind = kind_of(value)
    if isinstance(leaf, Membership):
        members = zip(leaf.kinds, leaf.values, strict=True)
        return leaf.negated != any((kind, value) == member for member in members)
    if kind != leaf.kind:
        return leaf.operator == "!="
    return _COMPARE[leaf.operator](value, leaf.value)


def filter_fields(
    metadata: Mapping[str, Scalar], *, title: str, language: str, status: str
) -> Mapping[str, Scalar]:
    """Return the fields of a document for filters: metadata, title, language and status.

    Metadata fields take precedence over the other three. An unknown title or language is omitted.
    """
    built_in = {"title": title, "language": language, "status": status}
    return {**{name: value for name, value in built_in.items() if value}, **metadata}


def known_fields(metadata: Iterable[Mapping[str, Scalar]]) -> dict[str, frozenset[Kind]]:
    """Return the kinds of values of each field over all documents, sorted by field name."""
    kinds_by_field: dict[str, set[Kind]] = {}
    for fields in metadata:
        for name, value in fields.items():
            kinds = kinds_by_field.setdefault(name, set())
            kind = kind_of(value)
            if kind is not None:
                kinds.add(kind)
    return {name: frozenset(kinds) for name, kinds in sorted(kinds_by_field.items())}


def check_filter(where: Filter, fields: Mapping[str, Collection[Kind]]) -> None:
    """Raise an error for a filter that does not fit the metadata of a knowledge base.

    Args:
        where: Filter to check.
        fields: Kinds of values of each field over all documents, see `known_fields`.

    Raises:
        FilterError: If no document has a field of the filter, or a field has no value of the kind
            that it is compared with.
    """
    for leaf in _leaves(checked_filter(where)):
        if leaf.name not in fields:
            raise FilterError(
                f"unknown field {leaf.name!r} in `{leaf}`; {_suggestion(leaf.name, fields)}"
            )
        kinds = fields[leaf.name]
        compared: tuple[Kind, ...] = ()
        if isinstance(leaf, Comparison):
            compared = (leaf.kind,)
        elif isinstance(leaf, Membership):
            compared = leaf.kinds
        for kind in compared:
            if kind not in kinds:
                raise FilterError(
                    f"the field {leaf.name!r} holds {_listed(kinds)}, and `{leaf}` "
                    f"compares it with {kind}; give a value of the kind it holds"
                )


def _listed(kinds: Collection[Kind]) -> str:
    return " or ".join(sorted(kinds)) or "nothing that can be compared"


def _suggestion(name: str, fields: Collection[str]) -> str:
    if not fields:
        return "no document has any metadata"

    def distance(known: str) -> tuple[float, str]:
        return -difflib.SequenceMatcher(None, name.lower(), known.lower()).ratio(), known

    known = sorted(fields, key=distance)
    more = f" and {len(known) - _LISTED_FIELDS} more" if len(known) > _LISTED_FIELDS else ""
    return f"known fields, closest first: {', '.join(known[:_LISTED_FIELDS])}{more}"


def _leaves(node: Filter) -> Iterator[Comparison | Membership | Exists]:
    """Yield the nodes without children, from left to right."""
    if isinstance(node, Comparison | Membership | Exists):
        yield node
    for child in children(node):
        yield from _leaves(child)
