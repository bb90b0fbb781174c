"""Answer of a language model before its quotes are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.types.plain import Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenQuote:
    """Quote in the answer of a model, and the source that the model gives for it."""

    quote: str
    """Text of the quote."""
    source: int
    """Index of the source in the prompt, as the model gives it; may be out of range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One or a few sentences, and the quotes that support them."""

    text: str
    """Text of the statement."""
    quotes: tuple[GivenQuote, ...]
    """Quotes that support it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Complete answer of a model."""

    answered: bool
    """Whether the sources contain an answer, according to the model."""
    statements: tuple[Statement, ...] = ()
    """Statements of the answer."""
    conflicts: tuple[Statement, ...] = ()
    """Contradictions between sources."""
    missing: str = ""
    """Part of the question that the sources do not answer; empty if there is none."""
    data: Mapping[str, Plain] | None = None
    """Answer in the requested JSON form; None if no form was requested."""
