"""The text form of filters, read by recursive descent."""

from __future__ import annotations

import math
import re
from typing import NoReturn, get_args

from spanwise.errors import FilterError
from spanwise.filters.tree import (
    MAX_FILTER_DEPTH,
    PLAIN_NAME,
    RESERVED,
    And,
    Comparison,
    Exists,
    Filter,
    Membership,
    Operator,
    Or,
    joined,
)
from spanwise.types import Scalar

MAX_FILTER_CHARS = 65_536
"""Longest text that `parse_filter` reads."""

_NUMBER = re.compile(r"[+-]?\d{1,400}(?P<decimals>\.\d{1,400})?(?P<exponent>[eE][+-]?\d{1,5})?")
_SIGN = re.compile(r"==|!=|<=|>=|=|<|>")
_OPERATORS: dict[str, Operator] = {"==": "=", **{known: known for known in get_args(Operator)}}
_SPACE = re.compile(r"\s*")
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*+){quote}", re.S) for quote in "\"'`"}
_ESCAPE = re.compile(r"\\(.)", re.S)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'", "`": "`"}


def parse_filter(text: str) -> Filter:
    """Return the filter that a text says.

    Comparisons are `name = value` (or `==`), `!=`, `<`, `<=`, `>`, `>=`, `name in (value, ...)`,
    `name not in (...)` and `name exists`, combined by `not`, `and`, `or` (binding in this order)
    and parentheses; words in any case. A value is a text in single or double quotes, a number,
    `true` or `false`. A name is of letters, digits, `_`, `-` and `.`, or stands in backquotes.
    Inside quotes, a backslash stands before a quote, a backslash, `n`, `r` or `t`.

    Raises:
        FilterError: If the text cannot be read; the message names the place, counted from 0.
    """
    if len(text) > MAX_FILTER_CHARS:
        raise FilterError(f"the filter has {len(text)} characters; give at most {MAX_FILTER_CHARS}")
    return _Parser(text).parse()


class _Parser:
    """Recursive descent over the text; `place` is the next character, never a space."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.depth = 0
        self.skip(0)

    def skip(self, chars: int) -> None:
        """Move on by some characters and the spaces after them."""
        space = _SPACE.match(self.text, self.place + chars)
        self.place = len(self.text) if space is None else space.end()

    def fail(self, wanted: str) -> NoReturn:
        found = self.text[self.place : self.place + 20]
        what = repr(found) if found else "the end"
        raise FilterError(
            f"the filter cannot be read at character {self.place}: expected {wanted}, found {what}"
        )

    def word(self) -> str:
        """Return the plain word here, in small letters; empty where there is none."""
        found = PLAIN_NAME.match(self.text, self.place)
        return found.group().lower() if found else ""

    def take(self, word: str) -> bool:
        """Move past a word of the language, if it stands here."""
        if self.word() != word:
            return False
        self.skip(len(word))
        return True

    def take_sign(self, sign: str) -> bool:
        """Move past a sign, if it stands here."""
        if not self.text.startswith(sign, self.place):
            return False
        self.skip(len(sign))
        return True

    def parse(self) -> Filter:
        tree = self.disjunction()
        if self.place < len(self.text):
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
        if self.depth > 2 * MAX_FILTER_DEPTH:  # twice: `not (` is one node and two units
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
        sign = _SIGN.match(self.text, self.place)
        if negated or sign is None:
            self.fail("`in`" if negated else "one of = != < <= > >= in, not in, exists")
        self.skip(len(sign.group()))
        return Comparison(name=name, operator=_OPERATORS[sign.group()], value=self.value())

    def name(self) -> str:
        if self.text.startswith("`", self.place):
            start = self.place
            name = self.quoted("`")
            if not name:
                self.place = start
                self.fail("a name between the backquotes")
            return name
        plain = PLAIN_NAME.match(self.text, self.place)
        if plain is None or self.word() in RESERVED:
            self.fail("the name of a field (in backquotes if it is a word of the language)")
        self.skip(len(plain.group()))
        return plain.group()

    def values(self) -> tuple[Scalar, ...]:
        if not self.take_sign("("):
            self.fail("`(`")
        found: list[Scalar] = []
        while not self.take_sign(")"):
            if found and not self.take_sign(","):
                self.fail("`,` or `)`")
            found.append(self.value())
        return tuple(found)

    def value(self) -> Scalar:
        for quote in "\"'":
            if self.text.startswith(quote, self.place):
                return self.quoted(quote)
        for word in ("true", "false"):
            if self.take(word):
                return word == "true"
        number = _NUMBER.match(self.text, self.place)
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
        found = _QUOTED[quote].match(self.text, self.place)
        if found is None:
            self.fail(f"the closing quote of {quote}")
        for escape in _ESCAPE.finditer(found.group(1)):
            if escape.group(1) not in _ESCAPES:
                self.place += 1 + escape.start()
                self.fail("one of \\n \\r \\t \\\\ \\\" \\' \\`")
        self.skip(len(found.group()))
        return _ESCAPE.sub(lambda escape: _ESCAPES[escape.group(1)], found.group(1))
