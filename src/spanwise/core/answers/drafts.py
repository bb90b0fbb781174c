"""Answer of a language model before its quotes are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spanwise.types.plain import Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenQuote:
    """Quote in the answer of a model, and the source that the model gives for it."""

    quote: str
    """Text of the quote."""
    source: int
    """Index of the source in the prompt, as the model gives it; may be out of range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """Number in a calculation, and the quotes that may contain it."""

    name: str
    """Name of the operand in the formula."""
    value: str
    """Number as the model gives it, such as "5,308"."""
    quotes: tuple[GivenQuote, ...]
    """Quotes, one of which contains the number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculation:
    """Calculation in the answer of a model. Its result is computed by code, from the operands."""

    formula: str
    """Formula of numbers and names of operands, such as "(a - b) / b * 100"."""
    operands: tuple[Operand, ...]
    """Operands of the formula."""
    result: str
    """Result as the model gives it; empty if it gives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One or a few sentences, and the quotes that support them."""

    text: str
    """Text of the statement."""
    quotes: tuple[GivenQuote, ...]
    """Quotes that support it."""
    calculation: Calculation | None = None
    """Calculation of numbers in the text that the quotes do not contain; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Complete answer of a model."""

    answered: bool
    """Whether the sources contain an answer, according to the model."""
    statements: tuple[Statement, ...] = ()
    """Statements of the answer."""
    conflicts: tuple[Statement, ...] = ()
    """Contradictions between sources."""
    assumed: str = ""
    """Assumption that the answer depends on; empty if there is none."""
    missing: str = ""
    """Part of the question that the sources do not answer; empty if there is none."""
    data: Mapping[str, Plain] | None = None
    """Answer in the requested JSON form; None if no form was requested."""

    def continued(self, second: Draft) -> Draft:
        """Return this draft with the statements of a second one, which answers what is missing.

        A draft without an answer adds nothing. If both have one, only the second one says what is
        missing now; a second draft without statements was cut off, and says nothing.
        """
        if not second.answered:
            return self
        if not self.answered:
            return second
        return replace(
            self,
            statements=(*self.statements, *second.statements),
            conflicts=(*self.conflicts, *second.conflicts),
            assumed=" ".join(filter(None, dict.fromkeys([self.assumed, second.assumed]))),
            missing=second.missing if second.statements else self.missing,
        )
