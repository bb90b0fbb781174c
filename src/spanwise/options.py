"""One frozen class of options for each step, checked when it is made; presets are constants."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal, Self

from spanwise.errors import OptionError

__all__ = [
    "ChunkOptions",
    "FetchOptions",
    "HeaderOptions",
    "ParseOptions",
    "SearchOptions",
    "SectionOptions",
    "SegmentOptions",
]


def _check(condition: object, name: str, value: object, wanted: str) -> None:
    if not condition:
        raise OptionError(f"{name} is {value!r}; it must be {wanted}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Limits under which a file is parsed, in a process of its own."""

    max_file_bytes: int = 1_000_000_000
    max_unpacked_bytes: int = 1_000_000_000
    """Of an archive format (DOCX), all members together."""
    max_memory_bytes: int = 3_000_000_000
    """Address space of the parsing process, where the platform can limit it."""
    timeout_seconds: float = 600.0
    max_pages: int = 20_000

    def __post_init__(self) -> None:
        for name in ("max_file_bytes", "max_unpacked_bytes", "max_memory_bytes", "max_pages"):
            _check(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        _check(self.timeout_seconds > 0, "timeout_seconds", self.timeout_seconds, "positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """Limits under which a URL is fetched."""

    max_bytes: int = 100_000_000
    timeout_seconds: float = 30.0
    """For the whole fetch, redirects included."""
    max_redirects: int = 5
    allow_private: bool = False
    """Whether addresses of private networks and of this machine may be fetched."""

    def __post_init__(self) -> None:
        _check(self.max_bytes >= 1, "max_bytes", self.max_bytes, "at least 1")
        _check(self.timeout_seconds > 0, "timeout_seconds", self.timeout_seconds, "positive")
        _check(self.max_redirects >= 0, "max_redirects", self.max_redirects, "at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOptions:
    """How a document is cut into sections."""

    min_chars: int = 600
    """A cut by meaning leaves no section shorter than this, where the text allows."""
    max_chars: int = 8_000
    """A section longer than this is cut by the change of meaning between its sentences."""

    def __post_init__(self) -> None:
        _check(self.min_chars >= 1, "min_chars", self.min_chars, "at least 1")
        _check(
            self.max_chars >= 2 * self.min_chars,
            "max_chars",
            self.max_chars,
            f"at least twice min_chars ({2 * self.min_chars})",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """How a section is cut into chunks. Lengths are in characters unless `unit` is "tokens"."""

    target: int = 400
    max: int = 460
    """No chunk is longer, but for a block (table, code) that is kept together."""
    paragraph_min: int = 200
    """A blank line ends a chunk that is at least this long."""
    block_max: int = 800
    """A table or a piece of code up to this length is kept in one chunk."""
    unit: Literal["chars", "tokens"] = "chars"

    def __post_init__(self) -> None:
        _check(self.target >= 1, "target", self.target, "at least 1")
        _check(self.max >= self.target, "max", self.max, f"at least target ({self.target})")
        _check(
            1 <= self.paragraph_min <= self.target,
            "paragraph_min",
            self.paragraph_min,
            f"from 1 to target ({self.target})",
        )
        _check(
            self.block_max >= self.max, "block_max", self.block_max, f"at least max ({self.max})"
        )
        _check(self.unit in ("chars", "tokens"), "unit", self.unit, '"chars" or "tokens"')


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions:
    """What stands before a segment where it is read."""

    max_chars: int = 400
    """Longer headers lose the middle of the section path first, then the end of the summary."""
    summary: bool = True

    def __post_init__(self) -> None:
        _check(self.max_chars >= 40, "max_chars", self.max_chars, "at least 40")


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOptions:
    """How segments are chosen among the candidates of a question."""

    irrelevant_chunk_penalty: float = 0.002
    """Relevance at which a chunk of reference length is worth nothing, in [0, 1): when to stop."""
    segment_charge: float = 0.0175
    """What one more segment costs, in share, in [0, 1]: how contiguous the answer is."""
    min_segment_value: float = 0.0
    """Least value of a segment before the charge, in share."""
    max_segment_tokens: int | None = None
    """Of the text, without its header; None for no limit but the budget."""
    reference_length: int = 100
    """Tokens of a chunk whose relevance equals the penalty and whose value is 0."""

    PRECISE: ClassVar[Self]
    BALANCED: ClassVar[Self]
    COMPREHENSIVE: ClassVar[Self]

    def __post_init__(self) -> None:
        _check(
            0 <= self.irrelevant_chunk_penalty < 1,
            "irrelevant_chunk_penalty",
            self.irrelevant_chunk_penalty,
            "in [0, 1)",
        )
        _check(0 <= self.segment_charge <= 1, "segment_charge", self.segment_charge, "in [0, 1]")
        _check(
            self.min_segment_value >= 0, "min_segment_value", self.min_segment_value, "at least 0"
        )
        _check(
            self.max_segment_tokens is None
            or (isinstance(self.max_segment_tokens, Integral) and self.max_segment_tokens >= 1),
            "max_segment_tokens",
            self.max_segment_tokens,
            "a whole number of at least 1, or None",
        )
        _check(self.reference_length >= 1, "reference_length", self.reference_length, "at least 1")

    @classmethod
    def preset(cls, name: str) -> SegmentOptions:
        """Return the preset of that name.

        Raises:
            OptionError: If there is none.
        """
        presets = {
            "precise": cls.PRECISE,
            "balanced": cls.BALANCED,
            "comprehensive": cls.COMPREHENSIVE,
        }
        _check(name in presets, "preset", name, f"one of {', '.join(presets)}")
        return presets[name]


SegmentOptions.PRECISE = SegmentOptions(segment_charge=0.005)
SegmentOptions.BALANCED = SegmentOptions()
SegmentOptions.COMPREHENSIVE = SegmentOptions(segment_charge=0.04, irrelevant_chunk_penalty=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What a search returns."""

    budget_tokens: int = 4_000
    """Most tokens of the context, headers included."""
    segments: SegmentOptions = SegmentOptions.BALANCED
    headers: bool = True
    """Whether each segment stands under its header; without, the budget is for text alone."""
    tokenizer: str | None = None
    """Reader whose tokens are counted; None for the tokenizer of the knowledge base."""

    def __post_init__(self) -> None:
        _check(
            isinstance(self.budget_tokens, Integral) and 1 <= self.budget_tokens <= 10_000_000,
            "budget_tokens",
            self.budget_tokens,
            "a whole number from 1 to 10,000,000",
        )
