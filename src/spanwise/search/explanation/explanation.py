"""Data of an explanation: scores, shares, values and decisions, chunk by chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from spanwise.errors import OptionError
from spanwise.options.checks import check
from spanwise.options.search import PRICED_TOKENS
from spanwise.types import SearchResult, SimilarMatch
from spanwise.types.plain import Plain, PlainForm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from spanwise.types import Segment

_SHOWN_TOKENS = 100  # length of a typical chunk

Decision = Literal[
    "segment",
    "bridge",
    "named",
    "whole",
    "copy",
    "price",
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
    "named": 'in segment {segment}: in the section that the question names, "{section}"',
    "whole": "in segment {segment}: its document fits whole, so it is returned whole",
    "copy": "nearly identical to chunk {other_chunk} of {other_document}, which is shown instead",
    "price": "its share is below the price of its {tokens} tokens: value {value}",
    "budget": "worth taking, but the budget of {budget} tokens is full",
    "longest": "beyond the longest segment of {longest} tokens",
    "minimum": "a segment with it is worth less than the minimum value of {minimum}",
    "charge": "not worth a segment of its own: value {value} at a charge of {charge}",
    "refused": "would be taken, but the evidence for an answer is too weak",
    "method": "left out by the greedy method",
}
"""Sentence for each decision, with named placeholders. The interactive page uses them too."""


def format_number(number: float) -> str:
    """Return a share, value or relevance with three significant digits."""
    if number and abs(number) < 1e-4:
        return "under 0.0001" if number > 0 else "above -0.0001"
    return f"{number:.3g}"


def decision_text(decision: Decision, **values: object) -> str:
    """Return the sentence of a decision with its placeholders filled; floats by `format_number`."""
    filled = {
        name: format_number(value) if isinstance(value, float) else value
        for name, value in values.items()
    }
    return DECISIONS[decision].format_map(filled)


SPREAD = "better chunks in its document"
"""Display label of `QueryScores.spread`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryScores(PlainForm):
    """Scores of one chunk for one query."""

    query: int
    """Position in `Explanation.result.queries`."""
    keyword: float
    """BM25 score of the chunk's text and its document's title."""
    cosine: float
    """Cosine of the chunk's vector and the query's; 0 without an embedder."""
    contributions: Mapping[str, float]
    """Contribution of each feature to the score, by a name of `Explanation.features`."""
    score: float
    """Sum of the contributions; only differences between scores are meaningful."""
    spread: float
    """Reduction of the score, <= 0, by better chunks of the same document."""
    share: float
    """Expected share of the query's evidence in the chunk."""
    relevance: float
    """Probability that the chunk contains evidence for the query, in [0, 1], as in
    `Segment.relevances`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateExplanation(PlainForm):
    """A chunk that was scored or is part of a segment, and the decision about it."""

    document_id: str
    """Id of the document."""
    chunk: int
    """Index of the chunk in the document."""
    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    section_path: tuple[str, ...]
    """Titles of the section and its ancestors, outermost first."""
    text: str
    """Text of the chunk."""
    terms: tuple[str, ...]
    """Words of the question that the chunk contains."""
    scores: tuple[QueryScores, ...]
    """Scores by query; empty for a chunk that only bridges a gap."""
    relevance: float
    """Probability that the chunk contains evidence for any query, in [0, 1], as in
    `Segment.relevances`."""
    share: float
    """Share over all queries, including the shares of near-duplicates that are not shown."""
    tokens: int
    """Tokens of the chunk."""
    value: float
    """Share of the chunk minus the price of its tokens."""
    decision: Decision
    """Decision about the chunk."""
    segment: int | None
    """Rank of the segment that contains it; None for none."""
    copy_of: tuple[str, int] | None
    """Document id and index of the near-duplicate that is shown instead; None for none."""
    reason: str
    """The decision in words."""
    knowledge_base: str = ""
    """Knowledge base of the document in a search of several; empty for one."""
    copy_in: str = ""
    """Knowledge base of `copy_of` in a search of several; empty for one."""

    @property
    def document_name(self) -> str:
        """Id of the document, after its knowledge base in a search of several."""
        return _name_in(self.knowledge_base, self.document_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRun(PlainForm):
    """Consecutive chunks of a document that were read, `[start, start + len(tokens))`."""

    start: int
    """Index of the first chunk in the document."""
    tokens: tuple[int, ...]
    """Tokens of each chunk."""
    shares: tuple[float, ...]
    """Share of each chunk; 0 if it was not scored."""
    relevances: tuple[float, ...]
    """Probability that each chunk contains evidence, in [0, 1], as in `Segment.relevances`."""
    borders: tuple[float, ...] = ()
    """Cost of a segment that continues into each chunk from the previous section, as a part of the
    charge; 0 inside a section. Empty if all are 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentExplanation(PlainForm):
    """Scores of the chunks of one document."""

    document_id: str
    """Id of the document."""
    title: str
    """Title of the document."""
    chunks: int
    """Number of chunks of the whole document."""
    runs: tuple[ChunkRun, ...]
    """Chunks that were read, by start."""
    position: int
    """Position of the document in the order that breaks ties between segments."""
    knowledge_base: str = ""
    """Knowledge base of the document in a search of several; empty for one."""

    @property
    def document_name(self) -> str:
        """Id of the document, after its knowledge base in a search of several."""
        return _name_in(self.knowledge_base, self.document_id)

    def contains(self, segment: Segment) -> bool:
        """Return whether a segment is from this document."""
        return (segment.knowledge_base, segment.document_id) == (
            self.knowledge_base,
            self.document_id,
        )


def _name_in(knowledge_base: str, document_id: str) -> str:
    return f"{knowledge_base}: {document_id}" if knowledge_base else document_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceTerms(PlainForm):
    """All parameters of the choice of segments, with which it can be repeated."""

    budget_tokens: int
    """Token budget."""
    header_tokens: int
    """Tokens reserved for the header of each segment."""
    token_price: float
    """Price of 1,000 tokens, in shares. It applies to the tokens of headers too."""
    segment_charge: float
    """Charge per segment for this question, without the price of the header."""
    min_segment_value: float
    """Minimum value of a segment."""
    max_segment_tokens: int | None
    """Maximum tokens of a segment; None for no limit."""
    required: tuple[tuple[str, int], ...]
    """Document id and index of the best chunk of each query, which has priority."""
    table: tuple[tuple[float, float], ...]
    """Calibration table: shares, ascending from 0, with the relevance of each."""
    choice: Literal["exact", "greedy", "whole"]
    """Method of the choice; "whole" if the only document searched is returned whole."""
    named: str = ""
    """Title of the section that the question names; empty for none."""
    trim: bool = False
    """Whether segments of one chunk were trimmed to sentences afterwards."""
    answer_chance: float = 1.0
    """Probability that the documents answer the question. It is a factor of every relevance, but
    not of `table`."""
    required_in: tuple[str, ...] = ()
    """Knowledge base of each chunk in `required` in a search of several; empty for one."""
    charge_factor: float = 1.0
    """Factor that is part of `segment_charge`: a third if the question compares documents."""

    @property
    def price_relevance(self) -> float:
        """Relevance at which a chunk of 100 tokens has the value 0."""
        share = self.token_price * _SHOWN_TOKENS / PRICED_TOKENS
        relevance = self.table[-1][1] if self.table else 0.0
        for (low, least), (high, most) in pairwise(self.table):
            if share < high:
                relevance = least + (most - least) * (share - low) / (high - low)
                break
        return relevance * self.answer_chance


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWord(PlainForm):
    """Word of a query, with the words of the documents that count as it."""

    word: str
    """Word as the query has it."""
    terms: tuple[str, ...]
    """Its terms in the keyword index: stems, in all languages of the documents."""
    similar: tuple[SimilarMatch, ...] = ()
    """Similar words of the documents, most similar first. Only if some words of the query are not
    found together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(PlainForm):
    """Explanation of one search."""

    result: SearchResult
    """Result of the search."""
    features: Mapping[str, str]
    """Label of each feature, by name, followed by the additions of packs, known answers and
    rerankers.
    """
    groups: Mapping[str, tuple[str, ...]]
    """Names of the features that are explained together, by label."""
    typical: Mapping[int, Mapping[str, float]]
    """Mean contribution of each feature over the candidates of each query, by the query's index."""
    terms: ChoiceTerms
    """Parameters of the choice."""
    documents: tuple[DocumentExplanation, ...]
    """Documents with a candidate, ordered by best segment, then by best relevance."""
    candidates: tuple[CandidateExplanation, ...]
    """Candidates by share, highest first; then the other chunks of segments, by position."""
    words: tuple[QuestionWord, ...] = ()
    """Words of all queries that were searched, without function words."""
    languages: tuple[str, ...] = ()
    """Languages of the documents, in which the words were stemmed."""

    def why(self, candidate: CandidateExplanation) -> list[tuple[str, float]]:
        """Return the differences of a candidate's contributions to the mean, highest first.

        Each is a pair of label and score. Uses the query with the greatest share, and features in
        groups. Empty for a chunk that no query scored.
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
        """Return the explanation as dicts, lists and scalars, with fields in class order."""
        return {**PlainForm.to_dict(self), "result": self.result.to_dict()}

    def to_html(self) -> str:
        """Return an interactive page with sliders for price, charge and budget.

        The page is self-contained and works from disk. It has at most about a million
        bytes; if there are too many candidates, it lists only the best.
        """
        from spanwise.search.explanation.page import render_page

        return render_page(self)

    def plot(self, *, documents: int = 6) -> Figure:
        """Return a figure of the relevance along the best documents; requires `spanwise[plot]`.

        Raises:
            OptionError: If matplotlib is not installed, nothing was scored, or `documents` is below
            1.
        """
        return plot_explanation(self, documents=documents)

    def _repr_html_(self) -> str:
        """Return a notebook view: the best documents, each with its relevance from start to end."""
        from spanwise.search.explanation.page import strips_html

        return strips_html(self)


_ACCENT, _SHADE, _QUIET = "#2f6fde", "#f2b84b", "#888888"
_WIDTH_INCHES, _ROW_INCHES = 9.0, 1.6
_TITLE_CHARS = 90


def plot_explanation(explanation: Explanation, *, documents: int) -> Figure:
    """Return a figure with one row per document, best first.

    The x-axis is the chunk, the y-axis the relevance on a square-root scale. Chosen segments are
    shaded. The dashed line is the price, the relevance at which a chunk of 100 tokens has the value
    0. Chunks that were not read have no bar.

    Args:
        explanation: Explanation of a search with candidates.
        documents: Maximum number of rows, at least 1.

    Raises:
        OptionError: If matplotlib is not installed, nothing was scored, or `documents` is below 1.
    """
    check(documents >= 1, "documents", documents, "at least 1")
    shown = explanation.documents[:documents]
    if not shown:
        raise OptionError("no chunk was scored for this question; there is nothing to plot")
    try:
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise OptionError("matplotlib is not installed; pip install 'spanwise[plot]'") from error
    figure = NewFigure(
        figsize=(_WIDTH_INCHES, _ROW_INCHES * len(shown) + 0.6), layout="constrained"
    )
    figure.suptitle(explanation.result.question, fontsize=11, x=0.01, ha="left")
    rows = figure.subplots(len(shown), 1, squeeze=False, sharey=True)[:, 0]
    for axes, document in zip(rows, shown, strict=True):
        _draw(axes, document, explanation)
    rows[-1].set_xlabel("chunk of the document")
    return figure


def _draw(axes: Axes, document: DocumentExplanation, explanation: Explanation) -> None:
    """Draw one document."""
    import numpy as np  # keeps the import of the package light

    for segment in explanation.result.segments:
        if document.contains(segment):
            axes.axvspan(
                segment.first_chunk - 0.5, segment.last_chunk - 0.5, color=_SHADE, alpha=0.35, lw=0
            )
    for run in document.runs:
        places = range(run.start, run.start + len(run.relevances))
        axes.bar(places, run.relevances, width=0.9, color=_ACCENT)
    price = explanation.terms.price_relevance
    axes.axhline(price, color=_QUIET, linestyle="--", linewidth=0.8)
    axes.set_xlim(-0.5, max(document.chunks, 1) - 0.5)
    axes.set_yscale("function", functions=(np.sqrt, np.square))
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.1, 0.5, 1], ["0", "0.1", "0.5", "1"])
    axes.set_ylabel("relevance")
    title = document.title or document.document_name
    axes.set_title(title[:_TITLE_CHARS], fontsize=9, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
