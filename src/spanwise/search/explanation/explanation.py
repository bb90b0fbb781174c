"""Why a chunk is in or out, in words; the page fills the same sentences.

What is known of one search: scores, shares, values and decisions, chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwise.types.plain import Plain, PlainForm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spanwise.types import SearchResult

Decision = Literal[
    "segment",
    "bridge",
    "whole",
    "copy",
    "penalty",
    "budget",
    "longest",
    "minimum",
    "charge",
    "refused",
    "method",
]

DECISIONS: dict[Decision, str] = {
    "segment": "in segment {segment}",
    "bridge": "bridges a gap in segment {segment}",
    "whole": "in segment {segment}: its document fits whole, so it is given whole",
    "copy": "nearly identical to chunk {other_chunk} of {other_document}, which stands for it",
    "penalty": "worth less than its {tokens} tokens must earn: "
    "relevance {relevance} at a penalty of {penalty}",
    "budget": "worth taking, and the budget of {budget} tokens is full",
    "longest": "beyond the longest segment of {longest} tokens",
    "minimum": "a segment of it is worth less than the least value of {minimum}",
    "charge": "not worth a segment of its own: value {value} at a charge of {charge}",
    "refused": "would be taken, but too little speaks for an answer here",
    "method": "left out by the greedy method",
}
"""A sentence for each decision, its gaps named."""


def said(number: float) -> str:
    """Return a share, value or relevance with three digits that tell, for people."""
    if number and abs(number) < 1e-4:
        return "under 0.0001" if number > 0 else "above -0.0001"
    return f"{number:.3g}"


def decision_text(decision: Decision, **gaps: object) -> str:
    """Return the sentence of a decision with its gaps filled; numbers as `said`."""
    filled = {name: said(gap) if isinstance(gap, float) else gap for name, gap in gaps.items()}
    return DECISIONS[decision].format_map(filled)


SPREAD = "further chunk of its document"
"""How `QueryScores.spread` is called for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryScores(PlainForm):
    """What one query says about one chunk."""

    query: int
    """Position in `Explanation.result.queries`."""
    keyword: float
    """BM25 of the chunk's text and its document's title."""
    cosine: float
    """Of the chunk's vector and the query's; 0 without an embedder."""
    contributions: Mapping[str, float]
    """What each feature adds to the score, by the names of `Explanation.features`."""
    score: float
    """Sum of the contributions; only differences mean anything."""
    spread: float
    """What the score loses, <= 0, because better chunks of the same document come first."""
    share: float
    """Part of the query's evidence that the chunk is expected to hold."""
    relevance: float
    """Chance that it holds evidence for the query, in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateExplanation(PlainForm):
    """A chunk that was scored, or that stands in a segment, and what became of it."""

    document_id: str
    chunk: int
    """Index inside its document."""
    start: int
    end: int
    section_path: tuple[str, ...]
    text: str
    terms: tuple[str, ...]
    """Words of the question, as searched for, that it holds."""
    scores: tuple[QueryScores, ...]
    """By query; of those that scored it, none for a chunk that only bridges a gap."""
    relevance: float
    """Chance that it holds evidence for any query, in [0, 1]."""
    share: float
    """Of all queries; that of near-identical chunks stands with the one that is shown for them."""
    tokens: int
    value: float
    """Share less what its tokens must earn."""
    decision: Decision
    segment: int | None
    """Rank of the segment it is in; None where it is in none."""
    copy_of: tuple[str, int] | None
    """Document and chunk that stand for this one, which has nearly the same text; or None."""
    reason: str
    """The decision in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRun(PlainForm):
    """Consecutive chunks that were read, `[start, start + len(tokens))`."""

    start: int
    tokens: tuple[int, ...]
    shares: tuple[float, ...]
    """0 for a chunk that was not scored."""
    relevances: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentExplanation(PlainForm):
    """The relevance along one document."""

    document_id: str
    title: str
    chunks: int
    """Of the whole document."""
    runs: tuple[ChunkRun, ...]
    """What was read of it, by start."""
    position: int
    """Place of the document in the order by which ties between segments are settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceTerms(PlainForm):
    """What held for the choice of segments; `core.segments` chooses the same again from it."""

    budget_tokens: int
    header_tokens: int
    """Of one segment, the same for all: the number with which headers fitted at last."""
    irrelevant_chunk_penalty: float
    """That of the options, or the higher one that `relative_penalty` asks of this question."""
    segment_charge: float
    """That of the options, or less for a question that compares documents."""
    min_segment_value: float
    max_segment_tokens: int | None
    reference_length: int
    required: tuple[tuple[str, int], ...]
    """Document and chunk of the best chunk of each query, to hold before anything else."""
    table: tuple[tuple[float, float], ...]
    """Shares, ascending from 0, with the relevance that each stands for."""
    choice: Literal["exact", "greedy", "whole"]
    """How it was chosen: "whole" where one document alone was asked and is given whole."""
    trim: bool = False
    """Whether segments of one chunk were then cut to sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(PlainForm):
    """Why a search chose what it chose."""

    result: SearchResult
    """As `search` returns it."""
    features: Mapping[str, str]
    """Name of each feature, and how it is called for people; then what packs add, by its name."""
    groups: Mapping[str, tuple[str, ...]]
    """Names of the features that say something to people together, by how that is called."""
    typical: Mapping[int, Mapping[str, float]]
    """Mean contribution of each feature over the candidates of each query that has some.

    What a feature adds beyond it is what sets a chunk apart.
    """
    terms: ChoiceTerms
    documents: tuple[DocumentExplanation, ...]
    """Those with a candidate: by best segment, the others by best relevance."""
    candidates: tuple[CandidateExplanation, ...]
    """By share, highest first; then what stands in segments without being one, in order."""

    def why(self, candidate: CandidateExplanation) -> list[tuple[str, float]]:
        """Return what sets a candidate apart from the mean one, as words and score, highest first.

        Of the query that gives it the greatest share, features in groups; empty for a chunk that
        no query scored.
        """
        if not candidate.scores:
            return []
        best = max(candidate.scores, key=lambda scores: scores.share)
        typical = self.typical[best.query]
        amounts = [
            (words, sum(best.contributions[name] - typical[name] for name in names))
            for words, names in self.groups.items()
        ]
        return sorted([*amounts, (SPREAD, best.spread)], key=lambda part: -part[1])

    def to_dict(self) -> dict[str, Plain]:
        """Return it as dicts, lists and scalars, fields in their order."""
        return {**PlainForm.to_dict(self), "result": self.result.to_dict()}

    def to_html(self) -> str:
        """Return one page that shows it and lets the reader move penalty, charge and budget.

        It asks nothing of any network, works opened from disk, and stays under a million bytes
        where the documents allow: of many candidates it lists the best.
        """
        from spanwise.search.explanation.page import render_page

        return render_page(self)

    def plot(self, *, documents: int = 6) -> Figure:
        """Return a figure of the relevance along the best documents; needs `spanwise[plot]`.

        Raises:
            OptionError: If matplotlib is not installed, nothing was scored, or `documents` is
                below 1.
        """
        from spanwise.search.explanation.plot import plot_explanation

        return plot_explanation(self, documents=documents)

    def _repr_html_(self) -> str:
        """Return it for a notebook: the best documents, each with its relevance from end to end."""
        from spanwise.search.explanation.page import strips_html

        return strips_html(self)
