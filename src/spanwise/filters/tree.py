"""Nodes of the filter tree, and the fields that build them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeVar, get_args

from spanwise.errors import FilterError, shown
from spanwise.types import Scalar

MAX_FILTER_DEPTH = 32
"""Maximum number of nodes from the root of a tree to a leaf."""
MAX_FILTER_PARTS = 10_000
"""Maximum number of parts of one `And` or `Or`."""
MAX_DIGITS = 400
"""Maximum number of digits of a whole number, as in the text form."""

Kind = Literal["text", "number", "boolean"]
Operator = Literal["=", "!=", "<", "<=", ">", ">="]

_OPERATORS: tuple[Operator, ...] = get_args(Operator)
RESERVED = frozenset({"and", "or", "not", "in", "exists", "true", "false"})
"""Keywords of the text form in lower case; a field with such a name needs backquotes."""
_TOO_LARGE = 10**MAX_DIGITS
PLAIN_NAME = re.compile(r"[\w.-]+")
"""Pattern of a field name that needs no backquotes."""


def kind_of(value: object) -> Kind | None:
    """Return the kind of a value; None for a value that filters do not support."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int):
        return "number" if -_TOO_LARGE < value < _TOO_LARGE else None
    return "number" if isinstance(value, float) and math.isfinite(value) else None


def _plain(value: Scalar) -> tuple[Scalar, Kind]:
    """Return a value as an exact str, int, float or bool instead of a subclass, and its kind."""
    kind = kind_of(value)
    if kind == "text":
        return str.__str__(value), kind
    if kind == "number":
        return (int(value) if isinstance(value, int) else float(value)), kind
    if kind == "boolean":
        return value, kind
    raise FilterError(
        f"a filter compares with {shown(value)}; give a text, a finite number of at most "
        f"{MAX_DIGITS} digits, True or False (dates as ISO 8601 texts)"
    )


class _Node:
    """Base of all nodes: supports `&`, `|` and `~`, and has no truth value."""

    __slots__ = ()

    def __and__(self, other: Filter) -> And:
        return joined(And, (self, other))

    def __or__(self, other: Filter) -> Or:
        return joined(Or, (self, other))

    def __rand__(self, other: object) -> NoReturn:
        _refuse_part(other)  # only called if the left operand is no node

    __ror__ = __rand__

    def __invert__(self) -> Not:
        return Not(part=checked_filter(self))

    def __bool__(self) -> NoReturn:  # noqa: PLE0304  # a truth value would be wrong
        _refuse_truth(str(self))


def _refuse_part(node: object) -> NoReturn:
    raise FilterError(
        f"a filter is combined with {shown(node)}; put each comparison in parentheses"
    )


def _refuse_truth(what: str) -> NoReturn:
    raise FilterError(
        f"the filter `{what}` is neither true nor false; combine filters by &, | and ~ instead of "
        "and, or, not and chains, with each comparison in parentheses"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(_Node):
    """Comparison of a field with a value."""

    name: str
    """Name of the field."""
    operator: Operator
    """Comparison operator."""
    value: Scalar
    """Value that the field is compared with."""
    kind: Kind = dataclasses.field(init=False, repr=False)
    """Kind of the value; part of equality, because 1 == True in Python."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        value, kind = _plain(self.value)
        if self.operator not in _OPERATORS:
            raise FilterError(
                f"unknown operator {shown(self.operator)}; give one of {', '.join(_OPERATORS)}"
            )
        if kind == "boolean" and self.operator not in ("=", "!="):
            raise FilterError(
                f"the field {self.name!r} is put in order with {shown(value)}; "
                "compare true and false by == and != only"
            )
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "kind", kind)

    def __str__(self) -> str:
        return f"{_name_text(self.name)} {self.operator} {_value_text(self.value)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(_Node):
    """Test whether a field has one of several values, or none of them."""

    name: str
    """Name of the field."""
    values: tuple[Scalar, ...]
    """Values that the field is compared with."""
    negated: bool = False
    """Whether the field must have none of the values."""
    kinds: tuple[Kind, ...] = dataclasses.field(init=False, repr=False)
    """Kinds of the values; part of equality, because 1 == True in Python."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        plain = [_plain(value) for value in self.values]
        object.__setattr__(self, "values", tuple(value for value, _ in plain))
        object.__setattr__(self, "kinds", tuple(kind for _, kind in plain))

    def __str__(self) -> str:
        listed = ", ".join(_value_text(value) for value in self.values)
        return f"{_name_text(self.name)} {'not in' if self.negated else 'in'} ({listed})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exists(_Node):
    """Test whether a document has a field."""

    name: str
    """Name of the field."""

    def __post_init__(self) -> None:
        _check_name(self.name)

    def __str__(self) -> str:
        return f"{_name_text(self.name)} exists"


@dataclass(frozen=True, slots=True, kw_only=True)
class And(_Node):
    """Conjunction of filters."""

    parts: tuple[Filter, ...]
    """Parts of the conjunction: at least two, none of them an `And`."""
    depth: int = dataclasses.field(init=False, repr=False, compare=False)
    """Number of nodes from this one to the deepest leaf."""

    def __post_init__(self) -> None:
        _check_parts(self, And)

    def __str__(self) -> str:
        return " and ".join(f"({p})" if isinstance(p, Or) else str(p) for p in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Or(_Node):
    """Disjunction of filters."""

    parts: tuple[Filter, ...]
    """Parts of the disjunction: at least two, none of them an `Or`."""
    depth: int = dataclasses.field(init=False, repr=False, compare=False)
    """Number of nodes from this one to the deepest leaf."""

    def __post_init__(self) -> None:
        _check_parts(self, Or)

    def __str__(self) -> str:
        return " or ".join(str(part) for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Not(_Node):
    """Negation of a filter."""

    part: Filter
    """Negated filter."""
    depth: int = dataclasses.field(init=False, repr=False, compare=False)
    """Number of nodes from this one to the deepest leaf."""

    def __post_init__(self) -> None:
        _set_depth(self, 1 + _depth_of(checked_filter(self.part)))

    def __str__(self) -> str:
        return f"not ({self.part})"


_Combined = TypeVar("_Combined", And, Or)
Filter = Comparison | Membership | Exists | And | Or | Not
"""Any node of the filter tree."""


def checked_filter(node: object) -> Filter:
    """Return the argument if it is a node of a filter.

    Raises:
        FilterError: If it is not, for example because comparisons were combined by `and`.
    """
    if isinstance(node, Filter):
        return node
    _refuse_part(node)


def joined(kind: type[_Combined], nodes: Sequence[object]) -> _Combined:
    """Return the nodes combined, the parts of those of the same kind in their place.

    Parts of a node were checked when it was made and are not checked again, so that a chain costs
    no more than its parts are copied.
    """
    parts: list[Filter] = []
    depth = 0
    for node in map(checked_filter, nodes):
        parts += node.parts if isinstance(node, kind) else (node,)
        depth = max(depth, _depth_of(node) + (not isinstance(node, kind)))
    made = object.__new__(kind)
    object.__setattr__(made, "parts", tuple(parts))
    _check_length(made)
    _set_depth(made, depth)
    return made


def children(node: Filter) -> tuple[Filter, ...]:
    """Return the direct children of a node, from left to right."""
    if isinstance(node, And | Or):
        return node.parts
    return (node.part,) if isinstance(node, Not) else ()


def _check_parts(node: And | Or, kind: type[And] | type[Or]) -> None:
    object.__setattr__(node, "parts", tuple(node.parts))
    if len(node.parts) < 2 or any(isinstance(checked_filter(part), kind) for part in node.parts):
        raise FilterError(
            f"{kind.__name__} has the parts {shown(node.parts)}; give two or more, none of them "
            f"of type {kind.__name__}: & and | make them so"
        )
    _check_length(node)
    _set_depth(node, 1 + max(map(_depth_of, node.parts)))


def _check_length(node: And | Or) -> None:
    if len(node.parts) > MAX_FILTER_PARTS:
        raise FilterError(
            f"the filter combines {len(node.parts):,} parts; give at most {MAX_FILTER_PARTS:,}, "
            "or list the values: field(...).is_in([...])"
        )


def _depth_of(node: Filter) -> int:
    return node.depth if isinstance(node, And | Or | Not) else 1


def _set_depth(node: And | Or | Not, depth: int) -> None:
    if depth > MAX_FILTER_DEPTH:
        raise FilterError(f"the filter is more than {MAX_FILTER_DEPTH} nodes deep; make it flatter")
    object.__setattr__(node, "depth", depth)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise FilterError(f"the name of a field is {shown(name)}; give a text that is not empty")


def _name_text(name: str) -> str:
    if PLAIN_NAME.fullmatch(name) and name.lower() not in RESERVED:
        return name
    return _quote(name, "`")


def _value_text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quote(value, '"') if isinstance(value, str) else repr(value)


def _quote(text: str, quote: str) -> str:
    text = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"{quote}{text}{quote}"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Metadata field; comparing it with a value returns a filter."""

    name: str
    """Name of the field."""

    def __post_init__(self) -> None:
        _check_name(self.name)

    def __eq__(self, value: Scalar) -> Comparison:  # type: ignore[override]
        return Comparison(name=self.name, operator="=", value=value)

    def __ne__(self, value: Scalar) -> Comparison:  # type: ignore[override]
        return Comparison(name=self.name, operator="!=", value=value)

    def __lt__(self, value: Scalar) -> Comparison:
        return Comparison(name=self.name, operator="<", value=value)

    def __le__(self, value: Scalar) -> Comparison:
        return Comparison(name=self.name, operator="<=", value=value)

    def __gt__(self, value: Scalar) -> Comparison:
        return Comparison(name=self.name, operator=">", value=value)

    def __ge__(self, value: Scalar) -> Comparison:
        return Comparison(name=self.name, operator=">=", value=value)

    __hash__ = None  # type: ignore[assignment]  # equality returns a filter

    def __bool__(self) -> NoReturn:  # noqa: PLE0304  # a truth value would be wrong
        _refuse_truth(_name_text(self.name))

    def is_in(self, values: Iterable[Scalar]) -> Membership:
        """Return a filter for documents whose field has one of the values."""
        return Membership(name=self.name, values=_listed(values))

    def not_in(self, values: Iterable[Scalar]) -> Membership:
        """Return a filter for documents that have the field with none of the values."""
        return Membership(name=self.name, values=_listed(values), negated=True)

    def exists(self) -> Exists:
        """Return a filter for documents that have the field."""
        return Exists(name=self.name)


def _listed(values: Iterable[Scalar]) -> tuple[Scalar, ...]:
    if isinstance(values, str):
        raise FilterError(
            f"a list of values is the text {shown(values)}; give a list, as [{shown(values)}]"
        )
    return tuple(values)


def field(name: str) -> Field:
    """Return the metadata field with the given name, for comparisons."""
    return Field(name)
