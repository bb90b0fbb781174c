"""Options for the selection of segments and excerpts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal, Self, get_args

from spanwise.errors import OptionError
from spanwise.options.checks import check, check_types, check_whole

METHOD_PRESETS: Mapping[str, tuple[str, ...]] = {
    "exact": ("precise", "balanced", "comprehensive"),
    "greedy": ("dsrag-balanced", "dsrag-precision", "dsrag-find-all"),
}
"""Methods of selecting segments, with the names of their presets."""

_DEFAULT_PRESETS = {"exact": "balanced", "greedy": "dsrag-balanced"}


def _check_preset(name: object, *, method: str) -> None:
    expected = f'one of {", ".join(METHOD_PRESETS[method])} with method "{method}"'
    check(name in METHOD_PRESETS[method], "preset", name, expected)


def _constant(preset: str) -> str:
    return preset.replace("-", "_").upper()


PRICED_TOKENS = 1_000
"""Number of tokens to which `SegmentOptions.token_price` refers."""
_MAX_PRICE = 1_000
_RELATIVE_CHARGE = 0.1
_COMPARISON_CHARGE = 1 / 3
"""Factor on the segment charge for a question that compares documents: it needs more segments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOptions:
    """Options for selecting segments among the candidates of a question, exactly under a budget.

    A share is the part of a question's evidence that a chunk is expected to contain, in [0, 1].
    """

    token_price: float = 0.015
    """Price of 1,000 tokens, in shares, in [0, 1,000]: the part of the expected evidence that 1,000
    further tokens must contain to be returned. Higher values give shorter results. With 0, the
    budget is filled, and a single document that fits is returned whole."""
    segment_charge: float | None = None
    """Charge of each segment, in shares, in [0, 1]. Higher values give fewer and longer segments.
    None for a tenth of the mean share around the best chunk."""
    min_segment_value: float = 0.0
    """Minimum value of a segment before the charge, in shares, at least 0."""
    max_segment_tokens: int | None = None
    """Maximum tokens of a segment's text without its header, at least 1; None for no limit except
    the budget."""
    trim: bool = False
    """Whether a segment of one chunk is reduced to the sentences that are worth their tokens.
    Excerpts are never trimmed."""

    PRECISE: ClassVar[Self]
    BALANCED: ClassVar[Self]
    COMPREHENSIVE: ClassVar[Self]

    def __post_init__(self) -> None:
        check_types(self)
        price, charge = self.token_price, self.segment_charge
        check(0 <= price <= _MAX_PRICE, "token_price", price, f"in [0, {_MAX_PRICE:,}]")
        check(charge is None or 0 <= charge <= 1, "segment_charge", charge, "in [0, 1], or None")
        value, limit = self.min_segment_value, self.max_segment_tokens
        expected = "at least 0 and below 1,000,000"
        check(0 <= value < 1_000_000, "min_segment_value", value, expected)
        is_valid = limit is None or (isinstance(limit, Integral) and limit >= 1)
        check(is_valid, "max_segment_tokens", limit, "a whole number of at least 1, or None")

    @property
    def fixed_charge(self) -> float:
        """Segment charge; 0 if it depends on the question."""
        return self.segment_charge or 0.0

    def charge(self, near_share: float, *, compares: bool) -> float:
        """Return the charge of a segment for one question, in shares.

        Args:
            near_share: Mean share around the best chunk: 1/2 its own, 1/4 of each neighbour. If the
                neighbours have little, the evidence consists of short pieces; segments then cost
                less, and short pieces from several places are returned.
            compares: Whether the question compares documents. It then needs more segments, and the
                charge is a third.
        """
        charge = self.segment_charge
        if charge is None:
            charge = _RELATIVE_CHARGE * near_share
        return charge * (_COMPARISON_CHARGE if compares else 1.0)

    @classmethod
    def preset(cls, name: str) -> SegmentOptions:
        """Return the preset with the given name.

        Raises:
            OptionError: If there is no such preset.
        """
        _check_preset(name, method="exact")
        preset: SegmentOptions = getattr(cls, _constant(name))
        return preset


SegmentOptions.PRECISE = SegmentOptions(token_price=0.3, trim=True)
SegmentOptions.BALANCED = SegmentOptions()
SegmentOptions.COMPREHENSIVE = SegmentOptions(token_price=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedOptions:
    """Options for the greedy selection of segments as published (RSE), with limits in chunks."""

    irrelevant_chunk_penalty: float = 0.18
    """Relevance at which a chunk has the value 0, in [0, 1]."""
    rank_decay: float = 30.0
    """Rank, counted from 0, at which the relevance of a chunk is divided by e; at least 0.001."""
    max_segment_chunks: int = 15
    """Maximum number of chunks of one segment, at least 1."""
    budget_chunks: int = 30
    """Maximum number of chunks of all segments for a single query, at least 1."""
    further_query_chunks: int = 5
    """Number of chunks that each additional query adds to `budget_chunks`, at least 0."""
    min_segment_value: float = 0.5
    """Minimum value of a segment, at least 0 and below 1,000,000."""
    document_ranks: int = 10
    """Number of best chunks of each query whose documents are considered, at least 1."""
    length_adjustment: Literal["proportional", "floor", "none"] = "floor"
    """Adjustment of values by chunk length: "proportional", "floor" (proportional, with a minimum
    length) or "none"."""
    floor_chars: int = 700
    """Length that shorter chunks are treated as having with "floor", in characters, at least 1."""
    reference_chars: int = 700
    """Length of a chunk whose value is not adjusted, in characters, at least 1."""
    unretrieved_length: Literal["real", "reference", "zero"] = "zero"
    """Length assumed for a chunk that its query did not find, before the floor is applied: its
    "real" length, the "reference" length, or "zero"."""

    DSRAG_BALANCED: ClassVar[Self]
    DSRAG_PRECISION: ClassVar[Self]
    DSRAG_FIND_ALL: ClassVar[Self]

    def __post_init__(self) -> None:
        check_types(self)
        penalty = self.irrelevant_chunk_penalty
        check(0 <= penalty <= 1, "irrelevant_chunk_penalty", penalty, "in [0, 1]")
        check(self.rank_decay >= 0.001, "rank_decay", self.rank_decay, "at least 0.001")
        value, expected = self.min_segment_value, "at least 0 and below 1,000,000"
        check(0 <= value < 1_000_000, "min_segment_value", value, expected)
        counts = {"further_query_chunks": 0, "max_segment_chunks": 1, "budget_chunks": 1}
        counts |= {"document_ranks": 1, "floor_chars": 1, "reference_chars": 1}
        for name, minimum in counts.items():
            count = getattr(self, name)
            is_valid = isinstance(count, Integral) and int(count) >= minimum
            check(is_valid, name, count, f"a whole number of at least {minimum}")
        for name, choices in _PUBLISHED_CHOICES.items():
            choice = getattr(self, name)
            check(choice in choices, name, choice, f"one of {', '.join(choices)}")

    @classmethod
    def preset(cls, name: str) -> PublishedOptions:
        """Return the preset with the given name, with the values of dsRAG 0.5.6.

        Raises:
            OptionError: If there is no such preset.
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
    """Return the options for method "exact", and the options for method "greedy" if it is used.

    Args:
        method: "exact", or "greedy" for the published method.
        preset: Name of a preset of the method; None for the balanced preset. Ignored if `given` is
            set.
        given: Options of the method, which replace the preset; None for the preset.

    Raises:
        OptionError: If the method is unknown, or preset or options belong to the other method.
    """
    check(method in METHOD_PRESETS, "method", method, f"one of {', '.join(METHOD_PRESETS)}")
    preset = _DEFAULT_PRESETS[method] if preset is None else preset
    if method == "exact":
        if isinstance(given, PublishedOptions):
            raise OptionError(f'segment_options are {given!r}; method "exact" takes SegmentOptions')
        return SegmentOptions.preset(preset) if given is None else given, None
    if isinstance(given, SegmentOptions):
        raise OptionError(f'segment_options are {given!r}; method "greedy" takes PublishedOptions')
    published = PublishedOptions.preset(preset) if given is None else given
    return SegmentOptions.BALANCED, published


Spread = Literal["auto", "passages", "documents"]
"""Whether a search is for passages, or for the best place of each document."""


def check_spread(spread: str) -> None:
    """Raise an error if a value of `spread` is unknown.

    Raises:
        OptionError: If it is not one of `Spread`.
    """
    values = get_args(Spread)
    check(spread in values, "spread", spread, f"one of {', '.join(values)}")


def _check_seconds(seconds: float) -> None:
    check(0 <= seconds <= 86_400, "deep_seconds", seconds, "in [0, 86,400]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Options of a search for segments."""

    budget_tokens: int = 4_000
    """Maximum tokens of the context including headers, from 1 to 10,000,000."""
    segments: SegmentOptions = SegmentOptions.BALANCED
    """Options for the selection of segments with method "exact"."""
    published: PublishedOptions | None = None
    """Options for method "greedy", which replace `segments`; None for method "exact"."""
    headers: bool = True
    """Whether each segment has its header. If False, the whole budget is for text."""
    tokenizer: str | None = None
    """Tokenizer that counts tokens, usually that of the reading model; None for the one of the
    knowledge base."""
    abstain: bool = False
    """Whether the result is empty if there is hardly any evidence; ignored by method "greedy"."""
    deep: bool = True
    """Whether MiniLM compares the best candidates with the question, if it is installed."""
    deep_seconds: float = 1.0
    """Time limit in seconds for embedding candidates without a stored MiniLM vector, in
    [0, 86,400]. The best eight of them in each query are always embedded."""
    spread: Spread = "auto"
    """Kind of the result: "passages" for the best segments of all documents, "documents" for the
    best place of each document with evidence, or "auto" for "documents" if the question asks for
    documents ("Which contracts ...?"), otherwise "passages". Method "greedy" returns passages."""
    max_documents: int = 20
    """Maximum number of documents in a search for documents, from 1 to 10,000."""

    def __post_init__(self) -> None:
        check_types(self)
        check_whole("budget_tokens", self.budget_tokens, 1, 10_000_000)
        check_spread(self.spread)
        check_whole("max_documents", self.max_documents, 1, 10_000)
        is_greedy = self.published is not None
        if is_greedy and self.spread == "documents":
            raise OptionError('spread is "documents", but method "greedy" returns passages')
        _check_seconds(self.deep_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptOptions:
    """Options of a search for excerpts."""

    excerpts: int = 3
    """Maximum number of excerpts, from 1 to 32."""
    excerpt_tokens: int = 1_000
    """Maximum tokens of each excerpt including headers, from 1 to 10,000,000."""
    segments: SegmentOptions = SegmentOptions.BALANCED
    """Options for the selection of evidence inside an excerpt; `max_segment_tokens` limits one
    consecutive piece of evidence."""
    headers: bool = True
    """Whether excerpts have the document header and section paths. If False, only text and the
    lines that mark gaps count."""
    tokenizer: str | None = None
    """Tokenizer that counts tokens, usually that of the reading model; None for the one of the
    knowledge base."""
    abstain: bool = False
    """Whether the result is empty if there is hardly any evidence."""
    deep: bool = True
    """Whether MiniLM compares the best candidates with the question, if it is installed."""
    deep_seconds: float = 1.0
    """Time limit in seconds for embedding candidates without a stored MiniLM vector, in
    [0, 86,400]. The best eight of them in each query are always embedded."""
    spread: Spread = "auto"
    """Kind of the result: "passages", "documents" or "auto", defined at `SearchOptions.spread`. For
    "documents", each document has one excerpt."""

    @property
    def budget_tokens(self) -> int:
        """Maximum tokens of all excerpts together."""
        return self.excerpts * self.excerpt_tokens

    def __post_init__(self) -> None:
        check_types(self)
        check_whole("excerpts", self.excerpts, 1, 32)
        check_spread(self.spread)
        _check_seconds(self.deep_seconds)
        check_whole("excerpt_tokens", self.excerpt_tokens, 1, 10_000_000)
