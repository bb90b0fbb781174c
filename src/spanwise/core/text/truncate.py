"""The beginning of a text, as long as a number of tokens allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_MOST_CHARS_A_TOKEN = 8  # of prose; of what has more, a little less is given than would fit


def opening(
    text: str, *, max_tokens: int, count_tokens: Callable[[Sequence[str]], list[int]]
) -> str:
    """Return a text, or its beginning up to the last white space within so many tokens.

    Args:
        text: The text.
        max_tokens: Most tokens of the result, at least 1.
        count_tokens: Counts the tokens of each text.

    Returns:
        The whole text where it fits and has at most 8 characters a token.
    """
    length = min(len(text), _MOST_CHARS_A_TOKEN * max_tokens)
    tokens = count_tokens([text[:length]])[0]
    while tokens > max_tokens:
        length = min(length - 1, length * max_tokens // tokens)
        tokens = count_tokens([text[:length]])[0]
    if length == len(text):
        return text
    cut = max(text.rfind(space, length // 2, length) for space in (" ", "\n"))
    return text[: cut if cut > 0 else length]
