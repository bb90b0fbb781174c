"""How documents are cut and headed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spanwise.options.checks import check


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOptions:
    """How a document is cut into sections."""

    min_chars: int = 600
    """A cut by meaning leaves no section shorter than this, where the text allows."""
    max_chars: int = 8_000
    """A section longer than this is cut by the change of meaning between its sentences."""

    def __post_init__(self) -> None:
        check(self.min_chars >= 1, "min_chars", self.min_chars, "at least 1")
        check(
            self.max_chars >= 2 * self.min_chars,
            "max_chars",
            self.max_chars,
            f"at least twice min_chars ({2 * self.min_chars})",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """How a section is cut into chunks. Lengths are in characters unless `unit` is "tokens".

    A character of a Chinese, Japanese or Korean document counts for two.
    """

    target: int = 400
    max: int = 460
    """No chunk is longer, but for a block (table, code) that is kept together."""
    paragraph_min: int = 200
    """A blank line ends a chunk that is at least this long."""
    block_max: int = 800
    """A table or a piece of code up to this length is kept in one chunk."""
    unit: Literal["chars", "tokens"] = "chars"

    def __post_init__(self) -> None:
        check(self.target >= 1, "target", self.target, "at least 1")
        check(self.max >= self.target, "max", self.max, f"at least target ({self.target})")
        check(
            1 <= self.paragraph_min <= self.target,
            "paragraph_min",
            self.paragraph_min,
            f"from 1 to target ({self.target})",
        )
        check(self.block_max >= self.max, "block_max", self.block_max, f"at least max ({self.max})")
        check(self.unit in ("chars", "tokens"), "unit", self.unit, '"chars" or "tokens"')


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions:
    """What stands before a segment where it is read."""

    max_chars: int = 400
    """Longer headers lose the middle of the section path first, then the ends of the summaries."""
    summary: bool = True
    """Whether the summaries of document and section stand in it."""

    def __post_init__(self) -> None:
        check(self.max_chars >= 40, "max_chars", self.max_chars, "at least 40")
