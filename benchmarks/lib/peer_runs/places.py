"""Location of a framework's text in its document, ignoring white space.

Splitters strip, join and wrap texts, but keep all characters other than white space.
"""

from __future__ import annotations

from bisect import bisect_left


class Places:
    """Locator of texts in one document."""

    def __init__(self, text: str) -> None:
        self._offsets = [at for at, char in enumerate(text) if not char.isspace()]
        self._squeezed = "".join(text.split())

    def find(self, text: str, *, after: int = 0) -> tuple[int, int] | None:
        """Return the first character range of a text in the document.

        Args:
            text: Text to find; the result is None if it is blank.
            after: Number of non-space characters before which the text does not begin. If the text
                is not found after this position, the whole document is searched.

        Raises:
            ValueError: If the document does not contain the text.
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
        """Return the number of non-space characters before a position."""
        return bisect_left(self._offsets, place)
