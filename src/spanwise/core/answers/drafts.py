"""What a language model says in answer to a question, before its quotes are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.types.plain import Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenQuote:
    """Words that a model says stand in a source."""

    quote: str
    source: int
    """Position of the source among those that the model was shown; it may be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence or a few, and the quotes that are to prove them."""

    text: str
    quotes: tuple[GivenQuote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A whole answer."""

    answered: bool
    """Whether the model says that the sources hold an answer."""
    statements: tuple[Statement, ...] = ()
    conflicts: tuple[Statement, ...] = ()
    """Where sources contradict each other."""
    missing: str = ""
    """What is asked and not said by the sources; empty for nothing."""
    data: Mapping[str, Plain] | None = None
    """The answer in the form that was asked for."""
