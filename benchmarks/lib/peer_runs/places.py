"""Find where a text of a framework stands in its document, white space aside.

Splitters strip, join and wrap what they cut; the characters that are no white space stay.
"""

from __future__ import annotations

from bisect import bisect_left


class Places:
    """The places of texts in one document."""

    def __init__(self, text: str) -> None:
        self._offsets = [at for at, char in enumerate(text) if not char.isspace()]
        self._squeezed = "".join(text.split())

    def find(self, text: str, *, after: int = 0) -> tuple[int, int] | None:
        """Return where a text first stands, half-open in characters of the document.

        Args:
            text: It; None is returned where it is white space alone.
            after: Characters that are no white space before which it does not begin; too far on is
                mended by looking from the beginning.

        Raises:
            ValueError: If the document does not hold it.
        """
        wanted = "".join(text.split())
        if not wanted:
            return None
        at = self._squeezed.find(wanted, max(after, 0))
        if at < 0:
            at = self._squeezed.find(wanted)
        if at < 0:
            raise ValueError(f"the document does not hold {text[:80]!r}")
        return self._offsets[at], self._offsets[at + len(wanted) - 1] + 1

    def squeezed(self, place: int) -> int:
        """Return how many characters that are no white space stand before a place."""
        return bisect_left(self._offsets, place)
