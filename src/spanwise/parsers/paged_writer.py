"""Text of parsers that give one item after the other, each with the page it stood on."""

from __future__ import annotations

from spanwise.parsers.writer import TextWriter
from spanwise.types import Page

__all__ = ["PagedWriter"]


class PagedWriter(TextWriter):
    """A writer that is told where pages begin."""

    def __init__(self) -> None:
        super().__init__()
        self._page_starts: list[int] = []

    def turn_to(self, page: int) -> None:
        """Say which page the next piece stands on, from 1; an earlier one changes nothing."""
        start = self.next_start
        while len(self._page_starts) < page:
            self._page_starts.append(start if self._page_starts else 0)

    def pages(self) -> tuple[Page, ...]:
        """Return the pages so far; none where none was told."""
        length = len(self.text)
        starts = [min(start, length) for start in self._page_starts]
        ends = [*starts[1:], length] if starts else []
        return tuple(Page(start=start, end=end) for start, end in zip(starts, ends, strict=True))
