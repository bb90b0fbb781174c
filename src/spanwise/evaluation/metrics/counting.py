"""How tokens are counted where retrievers are compared at equal tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spanwise.providers.tokens import CharacterTokenizer

if TYPE_CHECKING:
    from spanwise.ports import Tokenizer

__all__ = ["Count", "counter"]

Count = Callable[[str], float]
"""Tokens of a text, at least 0: 0 for an empty one."""


def counter(tokenizer: Tokenizer) -> Count:
    """Return what counts the tokens of one text for `cut` and `score`.

    Characters over a number are counted as fractions. Rounded up text by text, whoever returns many
    short texts would pay for tokens that nobody reads; published figures do not round either.
    """
    if isinstance(tokenizer, CharacterTokenizer):
        chars = tokenizer.chars
        return lambda text: len(text) / chars
    return lambda text: tokenizer.count([text])[0]
