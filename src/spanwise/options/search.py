"""How a question is answered with segments and excerpts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal, Self

from spanwise.errors import OptionError
from spanwise.options.checks import check

METHOD_PRESETS: Mapping[str, tuple[str, ...]] = {
    "exact": ("precise", "balanced", "comprehensive"),
    "greedy": ("dsrag-balanced", "dsrag-precision", "dsrag-find-all"),
}
"""How segments can be chosen, and the presets of each way."""

_USUAL_PRESETS = {"exact": "balanced", "greedy": "dsrag-balanced"}


def _check_preset(name: object, *, method: str) -> None:
    wanted = f'one of {", ".join(METHOD_PRESETS[method])} with method "{method}"'
    check(name in METHOD_PRESETS[method], "preset", name, wanted)


def _constant(preset: str) -> str:
    return preset.replace("-", "_").upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOptions:
    """How segments are chosen among the candidates of a question."""

    irrelevant_chunk_penalty: float = 0.002
    """Relevance at which a chunk of reference length is worth nothing, in [0, 1): when to stop."""
    relative_penalty: float = 0.0
    """The same as a part of the best chunk's share, in [0, 1): the surer the answer, the sooner to
    stop. The higher of both penalties counts."""
    segment_charge: float = 0.0175
    """What one more segment costs, in share, in [0, 1]: how contiguous the answer is."""
    min_segment_value: float = 0.0
    """Least value of a segment before the charge, in share."""
    max_segment_tokens: int | None = None
    """Of the text, without its header; None for no limit but the budget."""
    reference_length: int = 100
    """Tokens of a chunk whose relevance equals the penalty and whose value is 0."""
    trim: bool = False
    """Whether a segment of one chunk is cut to its sentences that are worth their tokens, and one
    document alone is not given whole. Excerpts fill up with text and are not cut."""

    PRECISE: ClassVar[Self]
    BALANCED: ClassVar[Self]
    COMPREHENSIVE: ClassVar[Self]

    def __post_init__(self) -> None:
        check(
            0 <= self.irrelevant_chunk_penalty < 1,
            "irrelevant_chunk_penalty",
            self.irrelevant_chunk_penalty,
            "in [0, 1)",
        )
        check(
            0 <= self.relative_penalty < 1, "relative_penalty", self.relative_penalty, "in [0, 1)"
        )
        check(0 <= self.segment_charge <= 1, "segment_charge", self.segment_charge, "in [0, 1]")
        check(
            self.min_segment_value >= 0, "min_segment_value", self.min_segment_value, "at least 0"
        )
        check(
            self.max_segment_tokens is None
            or (isinstance(self.max_segment_tokens, Integral) and self.max_segment_tokens >= 1),
            "max_segment_tokens",
            self.max_segment_tokens,
            "a whole number of at least 1, or None",
        )
        check(self.reference_length >= 1, "reference_length", self.reference_length, "at least 1")

    @classmethod
    def preset(cls, name: str) -> SegmentOptions:
        """Return the preset of that name.

        Raises:
            OptionError: If there is none.
        """
        _check_preset(name, method="exact")
        preset: SegmentOptions = getattr(cls, _constant(name))
        return preset


SegmentOptions.PRECISE = SegmentOptions(segment_charge=0.005, relative_penalty=0.4, trim=True)
SegmentOptions.BALANCED = SegmentOptions()
SegmentOptions.COMPREHENSIVE = SegmentOptions(segment_charge=0.04, irrelevant_chunk_penalty=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedOptions:
    """How the published method chooses segments: greedily, under limits counted in chunks."""

    irrelevant_chunk_penalty: float = 0.18
    """Relevance at which a chunk is worth nothing, in [0, 1]."""
    rank_decay: float = 30.0
    """Rank, from 0, at which relevance counts for 1/e of itself, at least 0.001."""
    max_segment_chunks: int = 15
    """Chunks of one segment."""
    budget_chunks: int = 30
    """Chunks of all segments together, for one query."""
    further_query_chunks: int = 5
    """What each further query adds to `budget_chunks`."""
    min_segment_value: float = 0.5
    """Least value of a segment."""
    document_ranks: int = 10
    """Only documents with one of so many best chunks of a query are looked at."""
    length_adjustment: Literal["proportional", "floor", "none"] = "floor"
    """Whether a value grows with the length of its chunk: always, above a floor, or never."""
    floor_chars: int = 700
    """With "floor", a chunk counts as at least so long."""
    reference_chars: int = 700
    """Length of a chunk whose value is not adjusted."""
    unretrieved_length: Literal["real", "reference", "zero"] = "zero"
    """Length of a chunk that no search of its query found, before the floor."""

    DSRAG_BALANCED: ClassVar[Self]
    DSRAG_PRECISION: ClassVar[Self]
    DSRAG_FIND_ALL: ClassVar[Self]

    def __post_init__(self) -> None:
        penalty = self.irrelevant_chunk_penalty
        check(0 <= penalty <= 1, "irrelevant_chunk_penalty", penalty, "in [0, 1]")
        check(self.rank_decay >= 0.001, "rank_decay", self.rank_decay, "at least 0.001")
        check(
            0 <= self.min_segment_value < 1_000_000,
            "min_segment_value",
            self.min_segment_value,
            "at least 0 and below 1,000,000",
        )
        counts = {"further_query_chunks": 0, "max_segment_chunks": 1, "budget_chunks": 1}
        counts |= {"document_ranks": 1, "floor_chars": 1, "reference_chars": 1}
        for name, least in counts.items():
            value = getattr(self, name)
            whole = isinstance(value, Integral) and int(value) >= least
            check(whole, name, value, f"a whole number of at least {least}")
        for name, wanted in _PUBLISHED_CHOICES.items():
            value = getattr(self, name)
            check(value in wanted, name, value, f"one of {', '.join(wanted)}")

    @classmethod
    def preset(cls, name: str) -> PublishedOptions:
        """Return the preset of that name, with the numbers of dsRAG 0.5.6.

        Raises:
            OptionError: If there is none.
        """
        _check_preset(name, method="greedy")
        preset: PublishedOptions = getattr(cls, _constant(name))
        return preset


_PUBLISHED_CHOICES: dict[str, tuple[str, ...]] = {
    "length_adjustment": ("proportional", "floor", "none"),
    "unretrieved_length": ("real", "reference", "zero"),
}
PublishedOptions.DSRAG_BALANCED = PublishedOptions()
PublishedOptions.DSRAG_PRECISION = PublishedOptions(
    irrelevant_chunk_penalty=0.2, min_segment_value=0.7
)
PublishedOptions.DSRAG_FIND_ALL = PublishedOptions(
    rank_decay=200.0,
    max_segment_chunks=40,
    budget_chunks=200,
    further_query_chunks=0,
    min_segment_value=0.4,
    document_ranks=200,
)


def method_options(
    method: str,
    *,
    preset: str | None = None,
    given: SegmentOptions | PublishedOptions | None = None,
) -> tuple[SegmentOptions, PublishedOptions | None]:
    """Return how a method chooses segments: options of the exact one, and of the greedy one.

    Args:
        method: "exact", or "greedy" as published.
        preset: Name of a preset of that method, the balanced one when None; does not count where
            options are given.
        given: Options of that method, in place of a preset.

    Raises:
        OptionError: If there is no such method, or preset or options are of the other one.
    """
    check(method in METHOD_PRESETS, "method", method, f"one of {', '.join(METHOD_PRESETS)}")
    preset = _USUAL_PRESETS[method] if preset is None else preset
    if method == "exact":
        if isinstance(given, PublishedOptions):
            raise OptionError(f'segment_options are {given!r}; method "exact" takes SegmentOptions')
        return given or SegmentOptions.preset(preset), None
    if isinstance(given, SegmentOptions):
        raise OptionError(f'segment_options are {given!r}; method "greedy" takes PublishedOptions')
    return SegmentOptions.BALANCED, given or PublishedOptions.preset(preset)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What a search returns."""

    budget_tokens: int = 4_000
    """Most tokens of the context, headers included."""
    segments: SegmentOptions = SegmentOptions.BALANCED
    published: PublishedOptions | None = None
    """For method "greedy", in place of `segments`; None for method "exact"."""
    headers: bool = True
    """Whether each segment stands under its header; without, the budget is for text alone."""
    tokenizer: str | None = None
    """Reader whose tokens are counted; None for the tokenizer of the knowledge base."""
    abstain: bool = True
    """Whether nothing is found where there is hardly any evidence; never by method "greedy"."""

    def __post_init__(self) -> None:
        check(
            isinstance(self.budget_tokens, Integral) and 1 <= self.budget_tokens <= 10_000_000,
            "budget_tokens",
            self.budget_tokens,
            "a whole number from 1 to 10,000,000",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptOptions:
    """What excerpts hold, and how many there are."""

    excerpts: int = 3
    """At most so many."""
    excerpt_tokens: int = 1_000
    """Most tokens of each, headers included."""
    segments: SegmentOptions = SegmentOptions.BALANCED
    """How the evidence inside an excerpt is chosen; `max_segment_tokens` bounds one run of it."""
    headers: bool = True
    """Whether document and sections stand above the text; without, text and gaps alone count."""
    tokenizer: str | None = None
    """Reader whose tokens are counted; None for the tokenizer of the knowledge base."""
    abstain: bool = True
    """Whether nothing is found where there is hardly any evidence."""

    def __post_init__(self) -> None:
        for name, most in (("excerpts", 32), ("excerpt_tokens", 10_000_000)):
            value = getattr(self, name)
            check(
                isinstance(value, Integral) and 1 <= int(value) <= most,
                name,
                value,
                f"a whole number from 1 to {most:,}",
            )
