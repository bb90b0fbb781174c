"""Where a quoted text stands in a document."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from spanwise.core.quotes.check import QuoteChecker

__all__ = ["MAX_PLACES", "PlaceFinder", "is_same_text"]

MAX_PLACES = 10
"""Most places that are looked for: one is wanted, and more are told to people."""
_KEPT = 8
"""Documents that are kept as read: questions about one mostly come one after the other."""


def is_same_text(first: str, second: str) -> bool:
    """Return whether two texts are the same, white space aside."""
    return first == second or "".join(first.split()) == "".join(second.split())


class PlaceFinder:
    """Finds quoted texts, and reads a document once for those that stand there in other letters."""

    def __init__(self) -> None:
        """Begin with no document read."""
        self._checker = lru_cache(maxsize=_KEPT)(lambda text: QuoteChecker([text]))

    def find(self, text: str, quote: str) -> list[tuple[int, int]]:
        """Return where a quote stands, in order, at most `MAX_PLACES`; nothing where it does not.

        It is looked for character for character, then with other white space between its words. If
        it stands nowhere, where typographic variants alone differ, such as quotation marks and
        hyphens at the ends of lines (`core.quotes`): the first such place, and all that are
        written as that one is.

        Args:
            text: Of the document.
            quote: At least one character that is no white space; white space around it does not
                count.
        """
        found = _runs(text, quote)
        if found:
            return found
        checked = self._checker(text).check(quote)
        if checked.status != "exact":
            return []
        return _runs(text, text[checked.start : checked.end])


def _runs(text: str, quote: str) -> list[tuple[int, int]]:
    """Return where the words of a quote stand, with any white space between them."""
    words = r"\s+".join(map(re.escape, quote.split()))
    return [match.span() for match in islice(re.finditer(words, text), MAX_PLACES)] if words else []
