"""Calculations of models, computed from their quoted operands."""

from decimal import Decimal

import pytest

from spanwise.core.answers.calculations import FormulaError, check_calculation, compute
from spanwise.core.answers.drafts import Calculation, Operand
from spanwise.types import CalculationStatus

QUOTE = "Revenue | 3.1 | 2.8 | (155)"


def calculation(formula: str, result: str = "", **values: str) -> Calculation:
    """Return a calculation whose operands have no quotes of their own."""
    operands = tuple(Operand(name=name, value=values[name], quotes=()) for name in values)
    return Calculation(formula=formula, operands=operands, result=result)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("(a - b) / b * 100", "10.7143"),
        ("a + b * 2 - 1", "7.7"),
        ("-a + (b)", "-0.3"),
        ("a × b ÷ 2", "4.34"),
        ("(a / b) ^ (1 / 2) - 1", "0.0522"),
        ("average(a, b)", "2.95"),
        ("max(a, b) - min(a, b) + abs(-1)", "1.3"),
        ("sum(a, b) * 50%", "2.95"),
        ("2 ** 3 * 1,000", "8000"),
    ],
)
def test_formulas_are_computed(formula: str, value: str) -> None:
    result = compute(formula, {"a": Decimal("3.1"), "b": Decimal("2.8")})
    assert round(result.value, 4) == Decimal(value)


@pytest.mark.parametrize(
    "formula",
    [
        "", "a", "1 2", "1 +", "(1", "1)", "1 / 0", "9 ^ 99 ^ 9", "9 ^ 999", "1e9", "max()",
        "__import__('os')", "().__class__", "(" * 300 + "1", "1" * 501, "(0 - 1) ^ 0.5",
        "lambda: 1", "1 if 1 else 2", "1 = 1",
    ],
)  # fmt: skip
def test_other_formulas_are_refused(formula: str) -> None:
    with pytest.raises(FormulaError):
        compute(formula, {})


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (calculation("(a - b) / b * 100", "10.7", a="3.1", b="2.8"), "correct"),
        (calculation("(a - b) / b", "10.71%", a="3.1", b="2.8"), "correct"),
        (calculation("(a - b) * 1,000", "$300 thousand", a="3.1", b="2.8"), "correct"),
        (calculation("a / b", "", a="3.1", b="2.8"), "correct"),
        (calculation("a - b", "158.1", a="3.1", b="(155)"), "correct"),
        (calculation("(a - b) / b * 100", "10.8", a="3.1", b="2.8"), "wrong"),
        (calculation("a - b", "0.4", a="3.1", b="2.8"), "wrong"),
        (calculation("a - b", "0.4", a="3.2", b="2.8"), "unchecked"),
        (calculation("a - c", "0.3", a="3.1", b="2.8"), "unchecked"),
        (calculation("a - b", "0.3", a="about", b="2.8"), "unchecked"),
        (calculation("a - 3", "0.1", a="3.1"), "correct"),
        (calculation("a + 38.9", "42", a="3.1"), "unchecked"),
        (calculation("a / a * 52 - 12 + 2", "42", a="3.1"), "unchecked"),
        (calculation("52 - 12 + 2", "42"), "unchecked"),
        (calculation("52 - 12 + 2 + a / 1000000", "42", a="3.1"), "unchecked"),
        (calculation("a / (b - c)", "1.32", a="155", b="2.8", c="2.8"), "unchecked"),
    ],
)
def test_results_follow_from_quoted_operands_or_are_marked(
    given: Calculation, status: CalculationStatus
) -> None:
    checked = check_calculation(given, [[QUOTE]] * len(given.operands))
    assert checked.status == status
    assert bool(checked.problem) == (status != "correct")
    assert bool(checked.parts) == (status != "unchecked")


def test_the_computed_result_is_given_for_readers() -> None:
    given = calculation("(a - b) / b * 100", "12", a="3.1", b="2.8")
    checked = check_calculation(given, [[QUOTE], [QUOTE]])
    assert checked.result == "10.7143"
    assert "10.7143" in checked.problem
    assert "12" in checked.problem


def test_operands_without_a_checked_quote_prove_nothing() -> None:
    given = calculation("a - b", "0.3", a="3.1", b="2.8")
    assert check_calculation(given, [[QUOTE], []]).status == "unchecked"


def test_operations_on_constants_support_no_number_of_a_statement() -> None:
    checked = check_calculation(calculation("a * (52 - 12 + 2)", "130.2", a="3.1"), [[QUOTE]])
    assert checked.status == "correct"
    assert checked.parts == (Decimal("130.2"), Decimal("130.2"))


def test_an_operand_may_be_near_a_division_by_zero() -> None:
    quote = "Sales 10 | 101 | 100"
    given = calculation("a / (b - c)", "10", a="10", b="101", c="100")
    assert check_calculation(given, [[quote]] * 3).status == "correct"
