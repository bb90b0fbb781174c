"""Answer of a language model before its quotes are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.types.plain import Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenQuote:
    """Quote with the source that a model names for it."""

    quote: str
    """Text of the quote."""
    source: int
    """Index of the source among those shown to the model; may be out of range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One or a few sentences, and the quotes that support them."""

    text: str
    """Text of the statement."""
    quotes: tuple[GivenQuote, ...]
    """Quotes that support it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A whole answer."""

    answered: bool
    """Whether the model says that the sources contain an answer."""
    statements: tuple[Statement, ...] = ()
    """Statements of the answer."""
    conflicts: tuple[Statement, ...] = ()
    """Contradictions between sources."""
    missing: str = ""
    """Part of the question that the sources do not answer; empty for none."""
    data: Mapping[str, Plain] | None = None
    """The answer in the requested JSON form."""
