"""What a search for excerpts returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spanwise.types.citations import Citation
from spanwise.types.notebook import Card, cards_html
from spanwise.types.plain import Plain, PlainForm
from spanwise.types.results import also_in_notes, evidence_notes, summary_line
from spanwise.types.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptSpan(PlainForm):
    """Run of text of an excerpt: evidence, or what was filled in between and around."""

    start: int
    end: int
    text: str
    is_evidence: bool
    relevance: float
    """Mean over its characters, in [0, 1]."""
    citation: Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt(PlainForm):
    """Text of one document, filled up to a number of tokens around the evidence it holds."""

    document_id: str
    title: str
    spans: tuple[ExcerptSpan, ...]
    """In document order, disjoint; those that touch are read as one."""
    text: str
    """The spans with their section paths; lines say how much was left out between them."""
    header: str
    """Document title and summary."""
    tokens: int
    """Of header and text as they stand in the context."""
    relevance: float
    """Mean over the characters of all spans, in [0, 1]."""
    value: float
    """Sum of the chunk values of its evidence, in share."""
    is_whole: bool
    """Whether it is the whole document."""
    citation: Citation
    """From the first character to the last, under the section path of its best chunk."""
    queries: tuple[int, ...] = (0,)
    """Positions in `ExcerptResult.queries` of those it holds evidence for, ascending."""
    also_in: tuple[str, ...] = ()
    """Documents that hold nearly the text of its evidence: ids, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptResult(PlainForm):
    """Excerpts for a question, ready for a reader or for one reader each."""

    question: str
    queries: tuple[str, ...]
    """What was searched by: the question first, then further queries."""
    excerpts: tuple[Excerpt, ...]
    """By mean relevance, highest first; ties by value."""
    context: str
    """Headers, text and citations of all excerpts, for a language model."""
    tokens: int
    """Of `context`; at most `excerpt_tokens` times the number of excerpts."""
    excerpt_tokens: int
    candidates: int
    """Chunks that were weighed."""
    evidence: float = 0.5
    """As `SearchResult.evidence`."""
    weak_evidence: bool = False
    """As `SearchResult.weak_evidence`."""
    best_guess: Excerpt | None = None
    """The text around the best chunk, where nothing is found; None otherwise."""
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each step."""
    usage: Usage = field(default_factory=Usage)
    """Of models, such as a reranker."""
    where: str = ""
    """As `SearchResult.where`."""

    @property
    def not_found(self) -> bool:
        """Whether there is hardly any evidence, or no chunk reached the minimum of the options."""
        return not self.excerpts

    def to_dict(self) -> dict[str, Plain]:
        """Return it as dicts, lists and scalars, `not_found` among them."""
        return {**PlainForm.to_dict(self), "not_found": self.not_found}

    def _repr_html_(self) -> str:
        """Return it for a notebook; the bars are the relevance of the spans."""
        guess = [self.best_guess] if self.best_guess is not None else []
        budget = self.excerpt_tokens * max(len(self.excerpts), 1)
        return cards_html(
            self.question,
            summary=summary_line(len(self.excerpts), "excerpt", self.tokens, budget),
            cards=[
                Card(
                    title=excerpt.title or excerpt.document_id,
                    place=excerpt.citation.place,
                    relevance=excerpt.relevance,
                    relevances=tuple(span.relevance for span in excerpt.spans),
                    text=excerpt.text,
                    notes=also_in_notes(excerpt.also_in),
                )
                for excerpt in (*self.excerpts, *guess)
            ],
            remarks=[
                *evidence_notes(is_missing=self.not_found, is_weak=self.weak_evidence),
                *self.warnings,
            ],
        )
