"""Filters on the metadata of documents, built in Python or parsed from text.

::

    (field("year") >= 2018) & field("company").is_in(["3M", "Apple"])
    parse_filter('year >= 2018 and company in ("3M", "Apple")')

Rules:
    Both forms give the same tree. `str` of a tree is its canonical text, which parses to an equal
    tree.
    Integers and floats are one kind. Booleans are not numbers and have no order.
    A document without the field matches no comparison, including `!=` and `not in`; `~` inverts
    that.
    Values of different kinds are never equal and have no order.
    Texts compare by code point, so ISO 8601 dates compare in time order.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeVar, get_args

from spanwise.errors import FilterError, shown
from spanwise.types import Scalar

__all__ = [
    "MAX_FILTER_CHARS",
    "MAX_FILTER_DEPTH",
    "MAX_FILTER_PARTS",
    "And",
    "Comparison",
    "Exists",
    "Field",
    "Filter",
    "Kind",
    "Membership",
    "Not",
    "Operator",
    "Or",
    "check_filter",
    "field",
    "filter_fields",
    "known_fields",
    "matches",
    "parse_filter",
]

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
                    f"the field {leaf.name!r} holds {_kinds_text(kinds)}, and `{leaf}` "
                    f"compares it with {kind}; give a value of the kind it holds"
                )


def _kinds_text(kinds: Collection[Kind]) -> str:
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


MAX_FILTER_CHARS = 65_536
"""Maximum length of a filter in text form, in characters."""

_NUMBER = re.compile(r"[+-]?\d{1,400}(?P<decimals>\.\d{1,400})?(?P<exponent>[eE][+-]?\d{1,5})?")
_SIGN = re.compile(r"==|!=|<=|>=|=|<|>")
_SIGNS: dict[str, Operator] = {"==": "=", **{known: known for known in get_args(Operator)}}
_SPACE = re.compile(r"\s*")
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*+){quote}", re.S) for quote in "\"'`"}
_ESCAPE = re.compile(r"\\(.)", re.S)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'", "`": "`"}


def parse_filter(text: str) -> Filter:
    """Return the filter parsed from a text.

    Comparisons are `name = value` (or `==`), `!=`, `<`, `<=`, `>`, `>=`, `name in (value, ...)`,
    `name not in (...)` and `name exists`. They are combined by `not`, `and`, `or` (from highest to
    lowest precedence) and parentheses. Keywords are case-insensitive. A value is a text in single
    or double quotes, a number, `true` or `false`. A name consists of letters, digits, `_`, `-` and
    `.`, or is enclosed in backquotes. Escapes inside quotes are a backslash before a quote, a
    backslash, `n`, `r` or `t`.

    Raises:
        FilterError: If the text is malformed; the message gives the position, counted from 0.
    """
    if len(text) > MAX_FILTER_CHARS:
        raise FilterError(f"the filter has {len(text)} characters; give at most {MAX_FILTER_CHARS}")
    return _Parser(text).parse()


class _Parser:
    """Recursive-descent parser; `position` is the offset of the next non-space character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.skip(0)

    def skip(self, chars: int) -> None:
        """Advance by a number of characters and the spaces after them."""
        space = _SPACE.match(self.text, self.position + chars)
        self.position = len(self.text) if space is None else space.end()

    def fail(self, expected: str) -> NoReturn:
        following = self.text[self.position : self.position + 20]
        actual = repr(following) if following else "the end"
        raise FilterError(
            f"the filter cannot be read at character {self.position}: expected {expected}, "
            f"found {actual}"
        )

    def word(self) -> str:
        """Return the unquoted word at the position in lower case; empty for none."""
        match = PLAIN_NAME.match(self.text, self.position)
        return match.group().lower() if match else ""

    def take(self, word: str) -> bool:
        """Consume a keyword if it is next; return whether it was."""
        if self.word() != word:
            return False
        self.skip(len(word))
        return True

    def take_sign(self, sign: str) -> bool:
        """Consume a sign if it is next; return whether it was."""
        if not self.text.startswith(sign, self.position):
            return False
        self.skip(len(sign))
        return True

    def parse(self) -> Filter:
        tree = self.disjunction()
        if self.position < len(self.text):
            self.fail("`and`, `or` or the end")
        return tree

    def disjunction(self) -> Filter:
        parts = [self.conjunction()]
        while self.take("or"):
            parts.append(self.conjunction())
        return joined(Or, parts) if len(parts) > 1 else parts[0]

    def conjunction(self) -> Filter:
        parts = [self.unit()]
        while self.take("and"):
            parts.append(self.unit())
        return joined(And, parts) if len(parts) > 1 else parts[0]

    def unit(self) -> Filter:
        self.depth += 1
        if self.depth > 2 * MAX_FILTER_DEPTH:  # `not (` is one node but two units
            self.fail(f"less than {2 * MAX_FILTER_DEPTH} levels of `not` and parentheses")
        if self.take("not"):
            tree: Filter = ~self.unit()
        elif self.take_sign("("):
            tree = self.disjunction()
            if not self.take_sign(")"):
                self.fail("`)`")
        else:
            tree = self.predicate()
        self.depth -= 1
        return tree

    def predicate(self) -> Filter:
        name = self.name()
        if self.take("exists"):
            return Exists(name=name)
        negated = self.take("not")
        if self.take("in"):
            return Membership(name=name, values=self.values(), negated=negated)
        sign = _SIGN.match(self.text, self.position)
        if negated or sign is None:
            self.fail("`in`" if negated else "one of = != < <= > >= in, not in, exists")
        self.skip(len(sign.group()))
        return Comparison(name=name, operator=_SIGNS[sign.group()], value=self.value())

    def name(self) -> str:
        if self.text.startswith("`", self.position):
            start = self.position
            name = self.quoted("`")
            if not name:
                self.position = start
                self.fail("a name between the backquotes")
            return name
        plain = PLAIN_NAME.match(self.text, self.position)
        if plain is None or self.word() in RESERVED:
            self.fail("the name of a field (in backquotes if it is a word of the language)")
        self.skip(len(plain.group()))
        return plain.group()

    def values(self) -> tuple[Scalar, ...]:
        if not self.take_sign("("):
            self.fail("`(`")
        values: list[Scalar] = []
        while not self.take_sign(")"):
            if values and not self.take_sign(","):
                self.fail("`,` or `)`")
            values.append(self.value())
        return tuple(values)

    def value(self) -> Scalar:
        for quote in "\"'":
            if self.text.startswith(quote, self.position):
                return self.quoted(quote)
        for word in ("true", "false"):
            if self.take(word):
                return word == "true"
        number = _NUMBER.match(self.text, self.position)
        if number is None or len(number.group()) < len(self.word()):
            self.fail("a value: a text in quotes, a number, true or false")
        if number["decimals"] is None and number["exponent"] is None:
            value: Scalar = int(number.group())
        else:
            value = float(number.group())
            if not math.isfinite(value):
                self.fail("a number below 1.8e308")
        self.skip(len(number.group()))
        return value

    def quoted(self, quote: str) -> str:
        match = _QUOTED[quote].match(self.text, self.position)
        if match is None:
            self.fail(f"the closing quote of {quote}")
        for escape in _ESCAPE.finditer(match.group(1)):
            if escape.group(1) not in _ESCAPES:
                self.position += 1 + escape.start()
                self.fail("one of \\n \\r \\t \\\\ \\\" \\' \\`")
        self.skip(len(match.group()))
        return _ESCAPE.sub(lambda escape: _ESCAPES[escape.group(1)], match.group(1))
