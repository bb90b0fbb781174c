"""What a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spanwise.types.citations import Citation
from spanwise.types.notebook import Card, cards_html
from spanwise.types.plain import Plain, PlainForm
from spanwise.types.usage import Usage

_NOT_FOUND = "Nothing in the knowledge base answers this question; below is the best guess."
_WEAK = "Weak evidence: the knowledge base may not hold an answer to this question."


def evidence_notes(*, is_missing: bool, is_weak: bool) -> tuple[str, ...]:
    """Return what to know of the evidence, for a notebook."""
    return (_NOT_FOUND,) if is_missing else (_WEAK,) if is_weak else ()


def summary_line(count: int, noun: str, tokens: int, budget: int) -> str:
    """Return what came of a question in one line, for a notebook."""
    return f"{count} {noun}{'' if count == 1 else 's'}, {tokens:,} of {budget:,} tokens"


def also_in_notes(documents: tuple[str, ...]) -> tuple[str, ...]:
    """Return where else nearly the same text stands, for a notebook."""
    return (f"nearly the same text in {', '.join(documents)}",) if documents else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment(PlainForm):
    """Consecutive chunks of one document, chosen for a question."""

    document_id: str
    start: int
    end: int
    first_chunk: int
    last_chunk: int
    """One past the last: `[first_chunk, last_chunk)`."""
    text: str
    """Of its chunks; of one that was cut (`SegmentOptions.trim`), the sentences that are kept."""
    header: str
    """Document title, summary and section path: what stands before the text in the context."""
    tokens: int
    """Of header and text."""
    relevance: float
    """That of its best chunk, in [0, 1]."""
    value: float
    """Sum of its chunk values, in share."""
    rank: int
    """0 is worth most."""
    citation: Citation
    relevances: tuple[float, ...] = ()
    """Of each of its chunks, in [0, 1]."""
    queries: tuple[int, ...] = (0,)
    """Positions in `SearchResult.queries` of those it holds evidence for, ascending."""
    also_in: tuple[str, ...] = ()
    """Documents that hold nearly the same text, which is shown only here: ids, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(PlainForm):
    """Answer to a search: segments in reading order, ready for a reader."""

    question: str
    queries: tuple[str, ...] = ()
    """What was searched by: the question first, then further queries."""
    segments: tuple[Segment, ...]
    """Documents by their best segment, inside a document by position."""
    context: str
    """Headers, text and citations of all segments, for a language model."""
    tokens: int
    """Of `context`, counted in parts: it has as many or a few less; never above the budget."""
    budget_tokens: int
    candidates: int
    """Chunks that were weighed."""
    evidence: float = 0.5
    """Chance that the knowledge base answers the question, were half of all questions answerable,
    in [0, 1]; of several queries the highest. 0.5 of a question that does not say what it asks."""
    weak_evidence: bool = False
    """Whether the evidence is so low that the segments may well not answer the question."""
    best_guess: Segment | None = None
    """The best chunk, where nothing is found; None otherwise."""
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each step."""
    usage: Usage = field(default_factory=Usage)
    """Of models, such as a reranker."""
    where: str = ""
    """Filter under which was searched, as text; empty for none."""

    @property
    def not_found(self) -> bool:
        """Whether there is hardly any evidence, or no chunk reached the minimum of the options."""
        return not self.segments

    def to_dict(self) -> dict[str, Plain]:
        """Return it as dicts, lists and scalars, `not_found` among them."""
        return {**PlainForm.to_dict(self), "not_found": self.not_found}

    def _repr_html_(self) -> str:
        """Return it for a notebook."""
        guess = [self.best_guess] if self.best_guess is not None else []
        return cards_html(
            self.question,
            summary=summary_line(len(self.segments), "segment", self.tokens, self.budget_tokens),
            cards=[
                Card(
                    title=segment.citation.title or segment.document_id,
                    place=segment.citation.place,
                    relevance=segment.relevance,
                    relevances=segment.relevances,
                    text=segment.text,
                    notes=also_in_notes(segment.also_in),
                )
                for segment in (*self.segments, *guess)
            ],
            remarks=[
                *evidence_notes(is_missing=self.not_found, is_weak=self.weak_evidence),
                *self.warnings,
            ],
        )
