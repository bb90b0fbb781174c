"""Numbers of pages in words for people."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["name_pages"]


def name_pages(numbers: Sequence[int]) -> str:
    """Return "page 3" or "pages 3-5, 9" for ascending numbers."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    places = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {places}"
