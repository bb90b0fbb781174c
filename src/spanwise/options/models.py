"""Options for calls to models, and for the ingest and reranking by models."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.options.checks import check, check_types, check_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options for calls to models: concurrency, rate limits, timeouts, retries and cost limit."""

    concurrency: int = 0
    """Maximum concurrent calls per provider, from 0 to 1,000. 0 selects the default: 16, or 4 for a
    self-hosted server."""
    requests_per_minute: int | None = None
    """Maximum calls per minute to one provider, at least 1; None for the provider's limit alone."""
    tokens_per_minute: int | None = None
    """Maximum tokens of input and output per minute, at least 1; None for the provider's limit
    alone."""
    timeout_seconds: float = 120.0
    """Timeout of one call including its answer, in seconds, in (0, 86,400]."""
    retries: int = 5
    """Maximum retries of a call if the provider is busy, fails or cannot be reached, from 0 to 100.
    At most 2 if a self-hosted server fails or cannot be reached. After that, the next calls to the
    same server are made once for a minute, or until one succeeds."""
    max_wait_seconds: float = 60.0
    """Maximum wait before a retry, in seconds, in (0, 86,400]. The call fails if the provider asks
    for a longer wait."""
    answer_retries: int = 1
    """Maximum retries of a call whose answer is unusable (no JSON, cut off, of the wrong types),
    from 0 to 10."""
    fallback: str = ""
    """Model that is called if the first one fails ("vendor:model"); empty for none."""
    max_cost: float | None = None
    """Cost limit of one operation in US dollars, at least 0; None for no limit. The operation ends
    cleanly before it exceeds the limit. Language models, embedders and rerankers count together. A
    model whose price is unknown is refused if there is a limit."""
    batch: bool = False
    """Whether an ingest uses the provider's batch interface, which is cheaper but takes hours."""

    def __post_init__(self) -> None:
        check_types(self)
        check_whole("concurrency", self.concurrency, 0, 1_000)
        check_whole("retries", self.retries, 0, 100)
        check_whole("answer_retries", self.answer_retries, 0, 10)
        for name in ("requests_per_minute", "tokens_per_minute"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1, 1_000_000_000)
        for name in ("timeout_seconds", "max_wait_seconds"):
            check(0 < getattr(self, name) <= 86_400, name, getattr(self, name), "in (0, 86,400]")
        is_valid = self.max_cost is None or self.max_cost >= 0
        check(is_valid, "max_cost", self.max_cost, "at least 0, or None")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """Options for the parts of a document that a language model writes on ingest."""

    sections: bool = False
    """Whether the model splits the document into sections by topic."""
    headers: bool = False
    """Whether the model writes the title and summary of the document and the summary of each
    section."""
    chunk_contexts: bool = False
    """Whether the model writes 50 to 100 tokens of context for each chunk."""
    read_pages: bool = False
    """Whether the model reads image files, and pages of PDFs that are images of text, have unusable
    characters, or contain a ruled table with merged cells. Requires a model that accepts images."""
    describe_figures: bool = False
    """Whether the model describes image files, and charts, drawings and pictures of PDF, DOCX and
    PPTX files. A description becomes part of the text, marked as written by the model. Requires
    a model that accepts images."""
    section_guidance: str = ""
    """Instructions to the model on what a section is; empty for none."""
    title_guidance: str = ""
    """Instructions to the model on titles of documents; empty for none."""
    summary_guidance: str = ""
    """Instructions to the model on summaries of documents; empty for none."""
    section_summary_guidance: str = ""
    """Instructions to the model on summaries of sections; empty for none."""
    language: str = ""
    """Language of the written titles and summaries; empty for the language of the document."""
    window_tokens: int = 5_000
    """Length of text that the model splits into sections in one call, in tokens, from 200 to
    100,000."""
    title_tokens: int = 4_000
    """Length of text from the beginning of the document used for its title, in tokens, from 100 to
    100,000."""
    summary_tokens: int = 8_000
    """Length of text from the beginning of the document used for its summary, in tokens, from 100
    to 1,000,000."""

    @property
    def requests_parts(self) -> bool:
        """Whether a language model has to make any part."""
        return (
            self.read_pages
            or self.describe_figures
            or self.sections
            or self.headers
            or self.chunk_contexts
        )

    def __post_init__(self) -> None:
        check_types(self)
        check_whole("window_tokens", self.window_tokens, 200, 100_000)
        check_whole("title_tokens", self.title_tokens, 100, 100_000)
        check_whole("summary_tokens", self.summary_tokens, 100, 1_000_000)


_MIN_READ, _MAX_READ = 100, 1_000
_TOKENS_READ = 20  # tokens of the budget for each candidate that a reranker scores


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOptions:
    """Options for reranking the candidates of a query."""

    chunks: int | None = None
    """Number of best candidates of each query that the reranker scores, from 1 to 1,000; None for 5
    candidates for each 100 tokens of the budget, at least 100 and at most 1,000. By default, a
    language model as reranker reads only the best of them, up to the tokens of the budget and 2,500
    more, at least 20."""
    weight: float | None = None
    """Factor on the calibrated scores of the reranker in the final score, from 0 to 100; None for
    the tuned weight, or else the documented default."""

    def count(self, budget_tokens: int) -> int:
        """Return the number of candidates that the reranker scores for a token budget."""
        return self.chunks or max(_MIN_READ, min(budget_tokens // _TOKENS_READ, _MAX_READ))

    def __post_init__(self) -> None:
        check_types(self)
        if self.chunks is not None:
            check_whole("chunks", self.chunks, 1, _MAX_READ)
        is_valid = self.weight is None or 0 <= self.weight <= 100
        check(is_valid, "weight", self.weight, "from 0 to 100, or None")
