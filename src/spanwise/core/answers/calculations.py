"""Calculations in answers: a formula of named operands, computed by code.

Grammar:
    sum = product (("+" | "-") product)*
    product = power (("*" | "/") power)*
    power = sign ("^" power)?
    sign = ("-" | "+") sign | atom
    atom = number "%"? | name | function "(" sum ("," sum)* ")" | "(" sum ")"

The functions are `abs`, `min`, `max`, `sum` and `average`. Nothing is evaluated by Python. Length,
depth and exponents are limited.

Rules of the check:
    The value of each operand must be in one of its checked quotes.
    Other numbers in the formula must be in a quote of an operand, or be usual constants such as
    100 and 365. The result must depend on the operands to at least 1%, so that constants alone
    yield no wanted number. Results of other operations support no number of the statement.
    The given result is compared with the computed one at its own precision. A power of ten between
    them is ignored: it is a unit such as percent or millions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, DecimalException, localcontext
from typing import TYPE_CHECKING

from spanwise.core.answers.claims import Number, read_numbers

if TYPE_CHECKING:
    from spanwise.core.answers.drafts import Calculation
    from spanwise.types import CalculationStatus

MAX_FORMULA_CHARS = 500
"""Maximum length of a formula."""

_MAX_DEPTH = 40
_MAX_EXPONENT = 100
_DIGITS = 30
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?)"
    r"|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|[-+*/^(),%×·÷−–]))"
)
_SAME = {"**": "^", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"}
_FUNCTIONS: Mapping[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "abs": lambda values: abs(values[0]),
    "min": min,
    "max": max,
    "sum": lambda values: sum(values, Decimal(0)),
    "average": lambda values: sum(values, Decimal(0)) / len(values),
    "avg": lambda values: sum(values, Decimal(0)) / len(values),
}


_CONSTANTS = frozenset(
    map(Decimal, (1, 2, 3, 4, 12, 52, 100, 360, 365, 366, 1_000, 1_000_000, 1_000_000_000))
)
_UNITS = tuple(Decimal(10) ** exponent for exponent in (0, 2, -2, 3, -3, 6, -6, 9, -9))
_CHANGE = Decimal("1.01")
_CHANGES = (_CHANGE, Decimal("0.987"))  # the second one, if the first leads to a division by zero
_MIN_EFFECT = Decimal("0.0001")  # relative change of a result that depends on changed operands
_MANY = 1_000  # results from here on are shown with two decimals
_FEW = Decimal("0.001")  # results below are shown with four significant digits


class FormulaError(ValueError):
    """Error of a formula that cannot be computed. The message gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """Result of a formula."""

    value: Decimal
    """Result."""
    parts: tuple[Decimal, ...]
    """Results of all operations in the formula, among them the result."""
    names: frozenset[str]
    """Names in the formula."""
    constants: tuple[Decimal, ...]
    """Numbers in the formula."""


def compute(formula: str, operands: Mapping[str, Decimal]) -> Computed:
    """Return the result of a formula.

    Args:
        formula: Formula, as "(a - b) / b * 100".
        operands: Value of each name.

    Raises:
        FormulaError: If the formula does not follow the grammar, has an unknown name, is too long,
            or divides by zero.
    """
    if len(formula) > MAX_FORMULA_CHARS:
        raise FormulaError(f"the formula has more than {MAX_FORMULA_CHARS} characters")
    parser = _Parser(_symbols(formula), operands)
    with localcontext(Context(prec=_DIGITS, Emax=999, Emin=-999)):
        try:
            value = parser.whole()
        except DecimalException as error:
            raise FormulaError("the formula divides by zero or its result is too large") from error
    return Computed(
        value=value,
        parts=tuple(parser.parts),
        names=frozenset(parser.names),
        constants=tuple(parser.constants),
    )


def _symbols(formula: str) -> list[str]:
    symbols: list[str] = []
    place, text = 0, formula.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"the formula contains {text[place]!r}")
        symbol = match.group().strip()
        symbols.append(_SAME.get(symbol, symbol))
        place = match.end()
    return symbols


@dataclass(slots=True)
class _Parser:
    """Recursive descent through the symbols of a formula, which computes its value."""

    symbols: list[str]
    operands: Mapping[str, Decimal]
    parts: list[Decimal] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    constants: list[Decimal] = field(default_factory=list)
    _at: int = 0
    _depth: int = 0

    def whole(self) -> Decimal:
        value = self._sum()
        if self._at < len(self.symbols):
            raise FormulaError(f"the formula has {self.symbols[self._at]!r} at the wrong place")
        self.parts.append(value)
        return value

    def _next(self, *signs: str) -> str:
        """Return the next symbol and advance if it is one of these signs; otherwise return ""."""
        if self._at < len(self.symbols) and self.symbols[self._at] in signs:
            self._at += 1
            return self.symbols[self._at - 1]
        return ""

    def _sum(self) -> Decimal:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise FormulaError("the formula is nested too deeply")
        value = self._product()
        while sign := self._next("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
            self.parts.append(value)
        self._depth -= 1
        return value

    def _product(self) -> Decimal:
        value = self._power()
        while sign := self._next("*", "/"):
            other = self._power()
            value = value * other if sign == "*" else value / other
            self.parts.append(value)
        return value

    def _power(self) -> Decimal:
        base = self._signed()
        if not self._next("^"):
            return base
        exponent = self._signed()
        if abs(exponent) > _MAX_EXPONENT:
            raise FormulaError(f"the formula has an exponent above {_MAX_EXPONENT}")
        self.parts.append(base**exponent)
        return self.parts[-1]

    def _signed(self) -> Decimal:
        is_negative = False
        while sign := self._next("-", "+"):
            is_negative ^= sign == "-"
        value = self._atom()
        return -value if is_negative else value

    def _atom(self) -> Decimal:
        if self._at >= len(self.symbols):
            raise FormulaError("the formula ends too early")
        symbol = self.symbols[self._at]
        self._at += 1
        if symbol == "(":
            value = self._sum()
            self._close()
            return value
        if symbol[0].isdigit():
            value = Decimal(symbol.replace(",", ""))
            if self._next("%"):
                value /= 100
            self.constants.append(value)
            return value
        if symbol.lower() in _FUNCTIONS and self._next("("):
            return self._call(symbol.lower())
        if symbol not in self.operands:
            raise FormulaError(f"the formula has {symbol!r}, which is not an operand")
        self.names.add(symbol)
        return self.operands[symbol]

    def _call(self, name: str) -> Decimal:
        values = [self._sum()]
        while self._next(","):
            values.append(self._sum())
        self._close()
        self.parts.append(_FUNCTIONS[name](values))
        return self.parts[-1]

    def _close(self) -> None:
        if not self._next(")"):
            raise FormulaError('the formula lacks a ")"')


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCalculation:
    """Result of the check of a calculation."""

    status: CalculationStatus
    """Result of the check."""
    result: str = ""
    """Computed result for readers; empty if the formula cannot be computed."""
    problem: str = ""
    """Reason why the status is not "correct"; empty if it is."""
    parts: tuple[Decimal, ...] = ()
    """Results of all operations, which support numbers of the statement; empty if "unchecked"."""


def check_calculation(
    calculation: Calculation, quoted: Sequence[Sequence[str]]
) -> CheckedCalculation:
    """Check whether the result of a calculation follows from its quotes.

    Args:
        calculation: Calculation of a model.
        quoted: Texts of the checked quotes of each operand.
    """
    values: dict[str, Decimal] = {}
    for operand, texts in zip(calculation.operands, quoted, strict=True):
        value = read_operand(operand.value)
        if value is None:
            problem = f"the value of {operand.name} is {operand.value!r}, which is not a number"
            return CheckedCalculation(status="unchecked", problem=problem)
        if not any(contains_operand(text, operand.value) for text in texts):
            problem = f"the quote of {operand.name} does not contain {operand.value}"
            return CheckedCalculation(status="unchecked", problem=problem)
        values[operand.name] = value
    try:
        computed = compute(calculation.formula, values)
        parts = _dependent_parts(calculation.formula, computed, values)
    except FormulaError as error:
        return CheckedCalculation(status="unchecked", problem=str(error))
    result = shown_result(computed.value)
    problem = _arbitrary(computed, quoted)
    if not problem and computed.value not in parts:
        problem = "the result does not depend on an operand"
    if problem:
        return CheckedCalculation(status="unchecked", result=result, problem=problem)
    given = _single_number(calculation.result)
    if given is not None and not _is_result(given, computed.value):
        problem = f"the result is {result}, not {calculation.result}"
        return CheckedCalculation(status="wrong", result=result, problem=problem, parts=parts)
    return CheckedCalculation(status="correct", result=result, parts=parts)


def _arbitrary(computed: Computed, quoted: Sequence[Sequence[str]]) -> str:
    """Return which number of a formula is neither quoted nor usual; empty for none."""
    quoted_values = {
        number.value for texts in quoted for text in texts for number in read_numbers(text)
    }
    for constant in computed.constants:
        if constant not in _CONSTANTS and not {constant, 100 * constant} & quoted_values:
            return f"the formula contains {constant}, which is not an operand"
    return ""


def _dependent_parts(
    formula: str, computed: Computed, values: Mapping[str, Decimal]
) -> tuple[Decimal, ...]:
    """Return the results of the operations that depend on the operands."""
    effects = [Decimal(0)] * len(computed.parts)
    for name in computed.names:
        changed = _changed_parts(formula, name, values)
        pairs = zip(computed.parts, changed, strict=False)
        for at, (part, other) in enumerate(pairs):
            effects[at] += abs(other - part)
    return tuple(
        part
        for part, effect in zip(computed.parts, effects, strict=True)
        if effect > abs(part) * _MIN_EFFECT
    )


def _changed_parts(formula: str, name: str, values: Mapping[str, Decimal]) -> tuple[Decimal, ...]:
    """Return the results of the operations with another value of an operand; empty without any."""
    for change in _CHANGES:
        try:
            return compute(formula, {**values, name: values[name] * change}).parts
        except FormulaError:
            continue
    return ()


def _single_number(text: str) -> Number | None:
    """Return the number of a text; None if it has none or several."""
    numbers = read_numbers(text)
    return numbers[0] if len(numbers) == 1 else None


def read_operand(text: str) -> Decimal | None:
    """Return the value of an operand, with its sign; None if it is not a single number."""
    number = _single_number(text)
    if number is None:
        return None
    before = text[: number.start].strip() + text[number.start]
    value = number.value * (number.scale or 1)
    return -value if before[0] in "(-−–" else value


def contains_operand(text: str, value: str) -> bool:
    """Return whether a quote contains the value of an operand, without rounding."""
    number = _single_number(value)
    return number is not None and any(
        number.value in {other.value, other.other_value}
        and (number.scale is None or number.scale == other.scale)
        for other in read_numbers(text)
    )


def _is_result(given: Number, computed: Decimal) -> bool:
    """Return whether two results are equal at the precision of the given one."""
    return any(
        abs(given.value - abs(computed) * unit) <= given.step / 2 for unit in _UNITS
    ) and bool(given.value or abs(computed) < _CHANGE)


def shown_result(value: Decimal) -> str:
    """Return a result for readers: "1,577.25", "10.7143", "0.0004321"."""
    if value and abs(value) < _FEW:
        return f"{value:.4g}"
    decimals = 2 if abs(value) >= _MANY else 4
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")
