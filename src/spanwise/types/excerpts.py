"""Result of a search for excerpts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spanwise.types.citations import Citation
from spanwise.types.plain import Plain, PlainForm
from spanwise.types.results import (
    DocumentCounts,
    SimilarMatch,
    also_in_notes,
    evidence_notes,
    similar_words_notes,
    summary_line,
)
from spanwise.types.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptSpan(PlainForm):
    """Consecutive text of an excerpt: evidence, or context added between or around evidence."""

    start: int
    """Offset of the first character in the document."""
    end: int
    """Offset one past the last character in the document."""
    text: str
    """Text of the span."""
    is_evidence: bool
    """Whether the span was selected as evidence; False for added context."""
    relevance: float
    """Probability that the span contains evidence, in [0, 1], on the scale of
    `Segment.relevance`."""
    citation: Citation
    """Citation of the span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt(PlainForm):
    """Evidence in one document with surrounding text, up to a maximum number of tokens."""

    document_id: str
    """Id of the document."""
    title: str
    """Title of the document."""
    spans: tuple[ExcerptSpan, ...]
    """Spans in document order, disjoint; adjacent spans are shown without a gap."""
    text: str
    """Text of the spans with their section paths, and a line for each gap that states its size."""
    header: str
    """Document title and summary."""
    tokens: int
    """Number of tokens of header and text as shown in the context."""
    relevance: float
    """Probability that the excerpt contains evidence, in [0, 1], on the scale of
    `Segment.relevance`; at least that of each span."""
    value: float
    """Sum of the values of the evidence chunks, in shares of all evidence for the question."""
    is_whole: bool
    """Whether the excerpt is the whole document."""
    citation: Citation
    """Citation from the first to the last character, with the section path of the best chunk.
    `Citation.sections` has the paths of all sections that are shown."""
    queries: tuple[int, ...] = (0,)
    """Positions in `ExcerptResult.queries` of the queries that the excerpt has evidence for, in
    ascending order."""
    also_in: tuple[str, ...] = ()
    """Ids of other documents with nearly the same evidence, in ascending order."""
    similar_words: tuple[SimilarMatch, ...] = ()
    """Words of the question that the evidence contains only as similar words, in the order of the
    question."""
    knowledge_base: str = ""
    """Name of the knowledge base in a search of several; empty otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptResult(PlainForm):
    """Result of `KnowledgeBase.excerpts`: excerpts to read together or one by one."""

    question: str
    """Question as the caller gave it."""
    queries: tuple[str, ...]
    """Search queries: the question first, then additional queries."""
    excerpts: tuple[Excerpt, ...]
    """Excerpts ordered by relevance, highest first, then by value; empty if none was found."""
    context: str
    """Headers, text and citations of all excerpts, formatted for a language model."""
    tokens: int
    """Number of tokens of `context`, at most `excerpt_tokens` times the number of excerpts."""
    excerpt_tokens: int
    """Maximum tokens of one excerpt, as requested."""
    candidates: int
    """Number of chunks that were scored."""
    deep_chunks: int = 0
    """Number of different chunks that MiniLM compared with the queries, at most 100 per query; 0 if
    it was not used. It is lower if the time limit was reached."""
    evidence: float = 0.5
    """Probability that the documents answer the question, in [0, 1]; see
    `SearchResult.evidence`."""
    weak_evidence: bool = False
    """Whether the evidence is so low that the excerpts may not answer the question."""
    best_guess: Excerpt | None = None
    """Excerpt around the best chunk if nothing was found; None otherwise."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about parts of the search that failed or were skipped."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each step, in seconds."""
    usage: Usage = field(default_factory=Usage)
    """Calls, tokens and cost of models such as a reranker."""
    where: str = ""
    """Metadata filter of the search, in text form; empty for none."""
    no_document_passes: bool = False
    """Whether no document passes the filter. The first warning then names similar values."""
    phrases: tuple[str, ...] = ()
    """Quoted phrases that were required. Every excerpt contains one of them, or the title of its
    document does."""
    documents: DocumentCounts | None = None
    """Numbers of documents if the search was for documents (`ExcerptOptions.spread`), with one
    excerpt of each; None otherwise."""

    @property
    def not_found(self) -> bool:
        """Whether there are no excerpts, because of too little evidence or no chunk of value."""
        return not self.excerpts

    def to_dict(self) -> dict[str, Plain]:
        """Return the result as dicts, lists and scalars, including `not_found`."""
        return {**PlainForm.to_dict(self), "not_found": self.not_found}

    def _repr_html_(self) -> str:
        """Return the result as HTML for a notebook, with the relevance of each span as a bar."""
        from spanwise.types.notebook import Card, cards_html

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
                    notes=(
                        *also_in_notes(excerpt.also_in),
                        *similar_words_notes(excerpt.similar_words),
                    ),
                )
                for excerpt in (*self.excerpts, *guess)
            ],
            remarks=[
                *([] if self.documents is None else [str(self.documents)]),
                *evidence_notes(
                    is_missing=self.not_found and not self.no_document_passes,
                    is_weak=self.weak_evidence,
                ),
                *self.warnings,
            ],
        )
