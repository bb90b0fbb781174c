"""Expression tree of a filter, and its canonical text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NoReturn, TypeVar, get_args

from spanwise.errors import FilterError, shown
from spanwise.filters.values import Kind, Operand, folded, plain_operand
from spanwise.types import Scalar

MAX_FILTER_DEPTH = 32
"""Maximum number of nodes from the root of a tree to a leaf."""
MAX_FILTER_PARTS = 10_000
"""Maximum number of parts of one `And` or `Or`."""
Operator = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "starts with", "exactly"]

_OPERATORS: tuple[Operator, ...] = get_args(Operator)
_UNORDERED: tuple[Operator, ...] = ("=", "!=", "contains", "exactly")
RESERVED = frozenset({"and", "or", "not", "in", "exists", "true", "false"})
"""Keywords of the text form in lower case; a field with such a name needs backquotes."""
PLAIN_NAME = re.compile(r"[\w.-]+")
"""Pattern of a field name that needs no backquotes."""


class _Node:
    """Base of all nodes: supports `&`, `|` and `~`, and has no truth value."""

    __slots__ = ()

    def __and__(self, other: Filter) -> And:
        return joined(And, (self, other))

    def __or__(self, other: Filter) -> Or:
        return joined(Or, (self, other))

    def __rand__(self, other: object) -> NoReturn:
        _refuse_part(other)  # only called if the left operand is not a node

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
        "and, or, not and chained comparisons, with each comparison in parentheses"
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
        value, kind = plain_operand(self.value)
        if self.operator not in _OPERATORS:
            raise FilterError(
                f"unknown operator {shown(self.operator)}; give one of {', '.join(_OPERATORS)}"
            )
        if self.operator == "starts with" and kind != "text":
            raise FilterError(
                f"`starts with` compares the field {self.name!r} with {shown(value)}; "
                "give a text in quotes"
            )
        is_part = self.operator in ("contains", "starts with")
        if is_part and isinstance(value, str) and not folded(value):
            raise FilterError(
                f"`{self.operator}` of the field {self.name!r} has an empty text, which every text "
                "contains; give at least one character"
            )
        if kind == "boolean" and self.operator not in _UNORDERED:
            raise FilterError(
                f"the field {self.name!r} is compared by order with {shown(value)}; "
                "compare true and false by == and != only"
            )
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "kind", kind)

    def __str__(self) -> str:
        return f"{_name_text(self.name)} {self.operator} {value_text(self.value)}"


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
        plain = [plain_operand(value) for value in self.values]
        object.__setattr__(self, "values", tuple(value for value, _ in plain))
        object.__setattr__(self, "kinds", tuple(kind for _, kind in plain))

    def __str__(self) -> str:
        listed = ", ".join(value_text(value) for value in self.values)
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
Where = Filter | Mapping[str, object] | str
"""Filter as a tree, as a mapping of fields to accepted values, or as text."""


def checked_filter(node: object) -> Filter:
    """Return the argument if it is a node of a filter.

    Raises:
        FilterError: If it is not, for example because comparisons were combined by `and`.
    """
    if isinstance(node, Filter):
        return node
    _refuse_part(node)


def joined(kind: type[_Combined], nodes: Sequence[object]) -> _Combined:
    """Return the conjunction or disjunction of nodes; nested nodes of the same kind are flattened.

    Parts of a nested node are not checked again, so a chain of operators only copies its parts.
    """
    parts: list[Filter] = []
    depth = 0
    for node in map(checked_filter, nodes):
        parts += node.parts if isinstance(node, kind) else (node,)
        depth = max(depth, _depth_of(node) + (not isinstance(node, kind)))
    combined = object.__new__(kind)
    object.__setattr__(combined, "parts", tuple(parts))
    _check_length(combined)
    _set_depth(combined, depth)
    return combined


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
            f"of type {kind.__name__}: combine filters by & or |"
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


def value_text(value: Scalar) -> str:
    """Return a value in the text form of filters."""
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

    def __eq__(self, value: Operand) -> Comparison:  # type: ignore[override]
        return self._compared("=", value)

    def __ne__(self, value: Operand) -> Comparison:  # type: ignore[override]
        return self._compared("!=", value)

    def __lt__(self, value: Operand) -> Comparison:
        return self._compared("<", value)

    def __le__(self, value: Operand) -> Comparison:
        return self._compared("<=", value)

    def __gt__(self, value: Operand) -> Comparison:
        return self._compared(">", value)

    def __ge__(self, value: Operand) -> Comparison:
        return self._compared(">=", value)

    def _compared(self, operator: Operator, value: Operand) -> Comparison:
        return Comparison(name=self.name, operator=operator, value=plain_operand(value)[0])

    __hash__ = None  # type: ignore[assignment]  # equality returns a filter

    def __bool__(self) -> NoReturn:  # noqa: PLE0304  # a truth value would be wrong
        _refuse_truth(_name_text(self.name))

    def __contains__(self, value: object) -> NoReturn:
        raise FilterError(
            f"`in` is applied to the field {self.name!r}; write field(...).contains({shown(value)})"
        )

    def contains(self, value: Operand) -> Comparison:
        """Return a filter for documents whose field contains a value.

        A list contains the value if one of its items equals it. A text contains another text
        anywhere. Case and accents are ignored.
        """
        return self._compared("contains", value)

    def starts_with(self, text: str) -> Comparison:
        """Return a filter for documents whose field starts with a text, ignoring case and accents.

        For a list, one of its items must start with the text.
        """
        return self._compared("starts with", text)

    def exactly(self, value: Operand) -> Comparison:
        """Return a filter for documents whose field has this value, including case and accents.

        For a list, one of its items must have the value.
        """
        return self._compared("exactly", value)

    def is_in(self, values: Iterable[Operand]) -> Membership:
        """Return a filter for documents whose field has one of the values."""
        return Membership(name=self.name, values=_listed(values))

    def not_in(self, values: Iterable[Operand]) -> Membership:
        """Return a filter for documents that have the field with none of the values."""
        return Membership(name=self.name, values=_listed(values), negated=True)

    def exists(self) -> Exists:
        """Return a filter for documents that have the field."""
        return Exists(name=self.name)


def _listed(values: Iterable[Operand]) -> tuple[Scalar, ...]:
    if isinstance(values, str):
        raise FilterError(
            f"a list of values is the text {shown(values)}; give a list, as [{shown(values)}]"
        )
    return tuple(plain_operand(value)[0] for value in values)


def field(name: str) -> Field:
    """Return the metadata field with the given name, for comparisons."""
    return Field(name)


def leaves(node: Filter) -> Iterator[Comparison | Membership | Exists]:
    """Yield the nodes without children, from left to right."""
    if isinstance(node, Comparison | Membership | Exists):
        yield node
    for child in children(node):
        yield from leaves(child)


def read_mapping(fields: Mapping[str, object]) -> Filter | None:
    """Return a filter for documents whose fields have these values; None for an empty mapping.

    Args:
        fields: Value of each field. With several values in a list, any of them is accepted.

    Raises:
        FilterError: If a name is not a text, or a value cannot be compared.
    """
    parts = [_equality(name, value) for name, value in fields.items()]
    if not parts:
        return None
    return joined(And, parts) if len(parts) > 1 else parts[0]


def _equality(name: str, value: object) -> Filter:
    if isinstance(value, list | tuple | set | frozenset):
        return field(name).is_in(value)
    if isinstance(value, str | int | float | date):
        return field(name) == value
    raise FilterError(
        f"the filter has {shown(value)} for the field {shown(name)}; give a text, a finite number, "
        "a date, True, False or a list of them, or write other conditions as field(...) or as text"
    )
