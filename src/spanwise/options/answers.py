"""Options for answering questions, and for search queries that a language model writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from spanwise.errors import OptionError
from spanwise.options.checks import check, check_types, check_whole
from spanwise.options.search import PublishedOptions, SegmentOptions, Spread, check_spread

PageImages = Literal["off", "auto"]
"""Whether images of pages go to the model that answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """Options for the search queries that a language model writes for a question."""

    queries: int = 4
    """Maximum number of queries in addition to the question, from 1 to 6."""
    guidance: str = ""
    """Background for the model on the documents or the questions; empty for none."""
    filters: bool = True
    """Whether the model may restrict the search by a filter on metadata."""

    def __post_init__(self) -> None:
        check_types(self)
        check_whole("queries", self.queries, 1, 6)


EACH_TOKENS = 4_000
"""Default of `AnswerOptions.budget_tokens` in `ask_each`: tokens of each document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Options for answering a question."""

    budget_tokens: int = 8_000
    """Maximum tokens of the context that the model reads, from 1 to 10,000,000."""
    segments: SegmentOptions = SegmentOptions.BALANCED
    """Options for the selection of segments, or of the evidence inside an excerpt."""
    published: PublishedOptions | None = None
    """Options for method "greedy", which replace `segments`; None for method "exact". Excerpts have
    no method "greedy"."""
    excerpts: int = 0
    """Number of excerpts that are read in parallel by one call each, whose conclusions are then
    combined, from 1 to 32. 0 answers from the segments of one search in one call."""
    excerpt_tokens: int = 4_000
    """Maximum tokens of each excerpt, from 1 to 10,000,000."""
    guidance: str = ""
    """Instructions to the model on how to answer; empty for none."""
    rounds: int = 2
    """Maximum number of rounds of search, 1 or 2. In a second round, the model writes queries for
    what the answer says is missing, and adds statements from the texts that are found. There is
    one round for excerpts, and if the model writes no queries."""
    history: int = 6
    """Maximum number of earlier turns of the conversation shown to the model, from 0 to 100."""
    max_output_tokens: int = 4_000
    """Maximum tokens of the answer, from 1 to 1,000,000."""
    temperature: float = 0.0
    """Sampling temperature of the answer, from 0 to 2. A model that accepts no temperature fails if
    it is not 0."""
    abstain: bool = False
    """Whether the question is refused without an answer from the model if there is hardly any
    evidence."""
    deep: bool = True
    """Whether MiniLM compares the best candidates of the search with the question, if it is
    installed."""
    spread: Spread = "auto"
    """Kind of the search result: "passages", "documents" or "auto", defined at
    `SearchOptions.spread`."""
    page_images: PageImages = "off"
    """Whether the model also gets images of PDF pages. With "auto", it gets up to four pages of the
    segments that are tables or were read by OCR or by a model, if it accepts images. An image
    costs up to 2,500 tokens in addition to `budget_tokens`. Excerpts have no images."""

    def __post_init__(self) -> None:
        check_types(self)
        check_whole("budget_tokens", self.budget_tokens, 1, 10_000_000)
        choices = get_args(PageImages)
        check(
            self.page_images in choices,
            "page_images",
            self.page_images,
            f"one of {', '.join(choices)}",
        )
        check_whole("excerpts", self.excerpts, 0, 32)
        check_spread(self.spread)
        check_whole("excerpt_tokens", self.excerpt_tokens, 1, 10_000_000)
        check_whole("rounds", self.rounds, 1, 2)
        check_whole("history", self.history, 0, 100)
        check_whole("max_output_tokens", self.max_output_tokens, 1, 1_000_000)
        check(0 <= self.temperature <= 2, "temperature", self.temperature, "from 0 to 2")
        if self.published is not None and (self.excerpts or self.spread == "documents"):
            given = f"{self.excerpts} excerpts" if self.excerpts else 'spread "documents"'
            raise OptionError(f'method "greedy" cannot be combined with {given}; use "exact"')
