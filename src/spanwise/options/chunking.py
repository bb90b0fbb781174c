"""Options for splitting documents into sections and chunks, and for segment headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spanwise.options.checks import check


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOptions:
    """Options for splitting a document into sections."""

    min_chars: int = 600
    """Minimum length of a section split off at a change of topic, in characters; at least 1. Texts
    without a suitable break may have shorter sections."""
    max_chars: int = 8_000
    """Length above which a section is split at changes of topic between its sentences, in
    characters; at least twice `min_chars`."""

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
    """Options for splitting a section into chunks.

    Lengths are in characters unless `unit` is "tokens". A character of a Chinese, Japanese or
    Korean document counts as two.
    """

    target: int = 400
    """Target length of a chunk, at least 1."""
    max: int = 460
    """Maximum length of a chunk, at least `target`. Tables and code up to `block_max` may be
    longer."""
    paragraph_min: int = 200
    """Minimum length at which a blank line ends a chunk, from 1 to `target`."""
    block_max: int = 800
    """Maximum length of a table or piece of code that is kept in one chunk, at least `max`."""
    unit: Literal["chars", "tokens"] = "chars"
    """Unit of the lengths: "chars", or "tokens" of the knowledge base's tokenizer."""

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
    """Options for the header shown before a segment."""

    max_chars: int = 400
    """Maximum length of a header in characters, at least 40. Longer headers lose the middle of the
    section path first, then the ends of the summaries."""
    summary: bool = True
    """Whether headers contain the summaries of document and section."""

    def __post_init__(self) -> None:
        check(self.max_chars >= 40, "max_chars", self.max_chars, "at least 40")
