"""How language models, rerankers and what they make are used."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

from spanwise.options.checks import check


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    whole = isinstance(value, Integral) and least <= int(value) <= most
    check(whole, name, value, f"a whole number from {least:,} to {most:,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How models are called: how many at once, how long, how often again, and for how much."""

    concurrency: int = 0
    """Calls at once to one provider; 0 for 16, and for 4 to a server of one's own."""
    requests_per_minute: int | None = None
    """Most calls to one provider in a minute; None for no limit but the provider's own."""
    tokens_per_minute: int | None = None
    """Most tokens of input and output in a minute; None for no limit but the provider's own."""
    timeout_seconds: float = 120.0
    """For one call, its answer included."""
    retries: int = 5
    """Further calls where a provider is busy, fails or cannot be reached."""
    max_wait_seconds: float = 60.0
    """Longest wait before a further call; a provider that asks for more has failed."""
    answer_retries: int = 1
    """Further calls where an answer is not usable: no JSON, cut off, of wrong types."""
    fallback: str = ""
    """Model that is asked where the first one fails ("vendor:model"); empty for none."""
    max_cost: float | None = None
    """Cost limit of one operation in US dollars, or None. The operation ends before it is passed.
    All models count together: language model, embedder and reranker. A model whose price is not
    known is refused if there is a limit."""
    batch: bool = False
    """Whether an ingest uses the batch interface of the provider: cheaper, within hours."""

    def __post_init__(self) -> None:
        _check_whole("concurrency", self.concurrency, 0, 1_000)
        _check_whole("retries", self.retries, 0, 100)
        _check_whole("answer_retries", self.answer_retries, 0, 10)
        for name in ("requests_per_minute", "tokens_per_minute"):
            if getattr(self, name) is not None:
                _check_whole(name, getattr(self, name), 1, 1_000_000_000)
        for name in ("timeout_seconds", "max_wait_seconds"):
            check(0 < getattr(self, name) <= 86_400, name, getattr(self, name), "in (0, 86,400]")
        check(
            self.max_cost is None or self.max_cost >= 0,
            "max_cost",
            self.max_cost,
            "at least 0, or None",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """What a language model makes of a document when it is added."""

    sections: bool = False
    """Whether it cuts the document into sections by meaning."""
    headers: bool = False
    """Whether it writes the title of the document, its summary, and that of each section."""
    chunk_contexts: bool = False
    """Whether it writes 50 to 100 tokens for each chunk that place it in its document."""
    read_pages: bool = False
    """Whether it reads pages of PDFs that are pictures of text, have letters without a meaning, or
    a ruled table with merged cells; it must see pictures."""
    section_guidance: str = ""
    """What a section is to you, in words for the model."""
    title_guidance: str = ""
    summary_guidance: str = ""
    """For the summary of the document."""
    section_summary_guidance: str = ""
    language: str = ""
    """In which titles and summaries are written; empty for the language of the document."""
    window_tokens: int = 5_000
    """Text that is sectioned in one call."""
    title_tokens: int = 4_000
    """Text at the beginning that the title is made of."""
    summary_tokens: int = 8_000
    """Text at the beginning that the summary of the document is made of."""

    def __post_init__(self) -> None:
        _check_whole("window_tokens", self.window_tokens, 200, 100_000)
        _check_whole("title_tokens", self.title_tokens, 100, 100_000)
        _check_whole("summary_tokens", self.summary_tokens, 100, 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOptions:
    """How a reranker is used."""

    chunks: int = 100
    """The best candidates of each query, which it reads."""
    weight: float | None = None
    """What a deviation of its scores counts in the score; None for what was trained with it, or
    the documented default."""

    def __post_init__(self) -> None:
        _check_whole("chunks", self.chunks, 1, 1_000)
        check(
            self.weight is None or 0 <= self.weight <= 100,
            "weight",
            self.weight,
            "from 0 to 100, or None",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """How a language model writes queries for a question."""

    queries: int = 4
    """At most so many, beside the question itself."""
    guidance: str = ""
    """What it should know of the documents or of what is asked."""
    filters: bool = True
    """Whether it may restrict the search to documents by values of their metadata."""

    def __post_init__(self) -> None:
        _check_whole("queries", self.queries, 1, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """How a question is answered."""

    budget_tokens: int = 8_000
    """Tokens of the context that the answer is made of."""
    excerpts: int = 0
    """Excerpts that are read one by one, in parallel, and whose conclusions are combined; 0 to
    answer from the segments of one search at once."""
    excerpt_tokens: int = 4_000
    """Tokens of each excerpt."""
    guidance: str = ""
    """How to answer, in words for the model."""
    history: int = 6
    """Turns of the conversation before the question that the model is told."""
    max_output_tokens: int = 4_000
    """Most tokens of the answer."""

    def __post_init__(self) -> None:
        _check_whole("budget_tokens", self.budget_tokens, 1, 10_000_000)
        _check_whole("excerpts", self.excerpts, 0, 32)
        _check_whole("excerpt_tokens", self.excerpt_tokens, 1, 10_000_000)
        _check_whole("history", self.history, 0, 100)
        _check_whole("max_output_tokens", self.max_output_tokens, 1, 1_000_000)
