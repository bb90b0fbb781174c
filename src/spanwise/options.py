"""One frozen class of options for each step, checked when it is made; presets are constants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal, Self

from spanwise.errors import OptionError

__all__ = [
    "METHOD_PRESETS",
    "ChunkOptions",
    "ExcerptOptions",
    "FetchOptions",
    "HeaderOptions",
    "ParseOptions",
    "PublishedOptions",
    "SearchOptions",
    "SectionOptions",
    "SegmentOptions",
    "method_options",
]


METHOD_PRESETS: Mapping[str, tuple[str, ...]] = {
    "exact": ("precise", "balanced", "comprehensive"),
    "greedy": ("dsrag-balanced", "dsrag-precision", "dsrag-find-all"),
}
"""How segments can be chosen, and the presets of each way."""

_USUAL_PRESETS = {"exact": "balanced", "greedy": "dsrag-balanced"}

_OCR_ENGINE = re.compile(r"auto|off|rapidocr|tesseract(:[A-Za-z_]+(\+[A-Za-z_]+)*)?")


def _check(condition: object, name: str, value: object, wanted: str) -> None:
    if not condition:
        raise OptionError(f"{name} is {value!r}; it must be {wanted}")


def _check_preset(name: object, *, method: str) -> None:
    wanted = f'one of {", ".join(METHOD_PRESETS[method])} with method "{method}"'
    _check(name in METHOD_PRESETS[method], "preset", name, wanted)


def _constant(preset: str) -> str:
    return preset.replace("-", "_").upper()


_SIZES = (
    "file_bytes",
    "unpacked_bytes",
    "memory_bytes",
    "text_bytes",
    "pages",
    "members",
    "container_bytes",
    "nesting",
)


_MOST_SECONDS = 1_000_000
"""Of a parse: the clocks of some systems take no more than a few weeks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Limits under which a file is parsed, in a process of its own, and who reads its pictures."""

    max_file_bytes: int = 1_000_000_000
    max_unpacked_bytes: int = 1_000_000_000
    """Of an archive format (DOCX), all members together."""
    max_memory_bytes: int = 3_000_000_000
    """Address space of the parsing process, where the platform can limit it."""
    max_text_bytes: int = 500_000_000
    """Of the text that comes out, in UTF-8."""
    max_pages: int = 20_000
    max_members: int = 100_000
    """Of an archive, mailbox or e-mail, with those of the containers that are in it."""
    max_container_bytes: int = 10_000_000_000
    """Of the same together, unpacked in the folder for temporary files."""
    max_nesting: int = 4
    """Containers that are opened one inside another."""
    base_seconds: float = 20.0
    """For a page, and for a document beside what its pages may take."""
    page_seconds: float = 0.2
    """For each page, and for each 100,000 bytes of a document without pages."""
    timeout_seconds: float = 3_600.0
    """For a whole document, whatever its pages; at most 1,000,000."""
    parser: str = "spanwise"
    """Who reads documents: "spanwise", or a parser that an installed package registers as an entry
    point of `spanwise.parsers`, such as "docling" and "unstructured" (extras)."""
    ocr: str = "auto"
    """Who reads pages that are pictures of text: "rapidocr" (the extra), "tesseract" (the program,
    with its languages behind a colon: "tesseract:deu+eng"), "auto" for the first that is there, or
    "off"."""

    def __post_init__(self) -> None:
        for name in _SIZES:
            value = getattr(self, f"max_{name}")
            _check(value >= 1, f"max_{name}", value, "at least 1")
        for name in ("base_seconds", "page_seconds", "timeout_seconds"):
            _check(getattr(self, name) > 0, name, getattr(self, name), "positive")
        _check(
            self.timeout_seconds <= _MOST_SECONDS,
            "timeout_seconds",
            self.timeout_seconds,
            f"at most {_MOST_SECONDS:,}",
        )
        wanted = '"auto", "off", "rapidocr", "tesseract" or "tesseract:LANGUAGES"'
        _check(_OCR_ENGINE.fullmatch(self.ocr), "ocr", self.ocr, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """Limits under which a URL is fetched."""

    max_bytes: int = 100_000_000
    timeout_seconds: float = 30.0
    """For the whole fetch, redirects included."""
    max_redirects: int = 5
    allow_private: bool = False
    """Whether addresses of private networks and of this machine may be fetched."""
    robots: bool = True
    """Whether what a server forbids programs in its robots.txt is left alone."""

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
        _check_preset(name, method="exact")
        preset: SegmentOptions = getattr(cls, _constant(name))
        return preset


SegmentOptions.PRECISE = SegmentOptions(segment_charge=0.005)
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
        _check(0 <= penalty <= 1, "irrelevant_chunk_penalty", penalty, "in [0, 1]")
        _check(self.rank_decay >= 0.001, "rank_decay", self.rank_decay, "at least 0.001")
        _check(
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
            _check(whole, name, value, f"a whole number of at least {least}")
        for name, wanted in _PUBLISHED_CHOICES.items():
            value = getattr(self, name)
            _check(value in wanted, name, value, f"one of {', '.join(wanted)}")

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
    _check(method in METHOD_PRESETS, "method", method, f"one of {', '.join(METHOD_PRESETS)}")
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
        _check(
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
            _check(
                isinstance(value, Integral) and 1 <= int(value) <= most,
                name,
                value,
                f"a whole number from 1 to {most:,}",
            )
