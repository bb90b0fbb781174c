"""Text form of filters: a recursive-descent parser."""

from __future__ import annotations

import math
import re
from datetime import date
from typing import NoReturn

from spanwise.errors import FilterError, shown
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
"""Maximum length of a filter in text form, in characters."""

_NUMBER = re.compile(r"[+-]?\d{1,400}(?P<decimals>\.\d{1,400})?(?P<exponent>[eE][+-]?\d{1,5})?")
_SIGN = re.compile(r"==|!=|<=|>=|=|<|>")
_SIGNS: dict[str, Operator] = {
    "==": "=",
    "=": "=",
    "!=": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?", re.ASCII)
_BARE_VALUE_IN = re.compile(
    r"(?:[+-]?\d[\w.+-]*+|true|false)\s++(?:not\s++)?in\b\s*+(?!\()", re.IGNORECASE
)
"""A number, date or boolean before `in` and a name; before a list, the first word is a name."""
_SPACE = re.compile(r"\s*")
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*+){quote}", re.S) for quote in "\"'`"}
_ESCAPE = re.compile(r"\\(.)", re.S)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'", "`": "`"}


def parse_filter(text: str) -> Filter:
    """Return the filter parsed from a text.

    Comparisons are `name = value` (or `==`), `!=`, `<`, `<=`, `>`, `>=`, `name contains value` (or
    `value in name`), `name starts with value`, `name exactly value`, `name in (value, ...)`,
    `name not in (...)` and `name exists`. They are combined by `not`, `and`, `or` (from highest to
    lowest precedence) and parentheses. Keywords are case-insensitive. A value is a text in single
    or double quotes, a number, a date such as 2019-02-01 or 2019-02, `true` or `false`. A name
    consists of letters, digits, `_`, `-` and `.`, or is enclosed in backquotes. Escapes inside
    quotes are a backslash before a quote, a backslash, `n`, `r` or `t`.

    Texts are compared without regard to case and accents, except by `exactly`. A partial date means
    all of its days: `date = 2019-02` and `date <= 2019` include 2019-02-28. A field with a list
    matches if one of its items does; `!=` and `not in` require that none does.

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
        actual = repr(following) if following else "the end of the filter"
        raise FilterError(
            f"the filter {shown(self.text)} cannot be read at character {self.position}: expected "
            f"{expected}, found {actual}"
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
        if self.text[self.position : self.position + 1] in ("'", '"') or _BARE_VALUE_IN.match(
            self.text, self.position
        ):
            return self.value_in_name()
        name = self.name()
        if self.take("exists"):
            return Exists(name=name)
        negated = self.take("not")
        if self.take("in"):
            return Membership(name=name, values=self.values(), negated=negated)
        operator = None if negated else self.operator()
        if operator is None:
            self.fail(
                "`in`"
                if negated
                else "one of = != < <= > >= contains, starts with, exactly, in, not in, exists"
            )
        return Comparison(name=name, operator=operator, value=self.value())

    def operator(self) -> Operator | None:
        """Consume the operator of a comparison; return None if none is next."""
        sign = _SIGN.match(self.text, self.position)
        if sign is not None:
            self.skip(len(sign.group()))
            return _SIGNS[sign.group()]
        if self.take("starts"):
            if not self.take("with"):
                self.fail("`with`")
            return "starts with"
        if self.take("contains"):
            return "contains"
        return "exactly" if self.take("exactly") else None

    def value_in_name(self) -> Filter:
        """Return the filter of `value in name` or `value not in name`."""
        value = self.value()
        negated = self.take("not")
        if not self.take("in"):
            self.fail("`in`" if negated else "`in` or `not in` between a value and a field")
        name = self.name()
        contains = Comparison(name=name, operator="contains", value=value)
        return joined(And, [Exists(name=name), ~contains]) if negated else contains

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
        if _DATE.fullmatch(self.word()):
            return self.date_text()
        number = _NUMBER.match(self.text, self.position)
        if number is None or len(number.group()) < len(self.word()):
            self.fail("a value: a text in quotes, a number, a date, true or false")
        if number["decimals"] is None and number["exponent"] is None:
            value: Scalar = int(number.group())
        else:
            value = float(number.group())
            if not math.isfinite(value):
                self.fail("a number below 1.8e308")
        self.skip(len(number.group()))
        return value

    def date_text(self) -> str:
        """Return the date at the position as text: a day or a month."""
        text = self.word()
        try:
            date.fromisoformat(f"{text}-01"[:10])
        except ValueError:
            self.fail("a date that exists")
        self.skip(len(text))
        return text

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
