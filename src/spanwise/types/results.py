"""Result of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spanwise.types.citations import Citation
from spanwise.types.documents import Figure, MetadataValue
from spanwise.types.plain import Plain, PlainForm
from spanwise.types.usage import Usage

_NOT_FOUND = "Nothing in the knowledge base answers this question; below is the best guess."
_WEAK = "Weak evidence: the knowledge base may not hold an answer to this question."


def evidence_notes(*, is_missing: bool, is_weak: bool) -> tuple[str, ...]:
    """Return notebook remarks about missing or weak evidence."""
    return (_NOT_FOUND,) if is_missing else (_WEAK,) if is_weak else ()


def summary_line(count: int, noun: str, tokens: int, budget: int) -> str:
    """Return the notebook summary of a result: "3 segments, 900 of 4,000 tokens"."""
    return f"{count} {noun}{'' if count == 1 else 's'}, {tokens:,} of {budget:,} tokens"


def also_in_notes(documents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the notebook remark about other documents with nearly the same text."""
    return (f"nearly the same text in {', '.join(documents)}",) if documents else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarMatch(PlainForm):
    """Word of the question, and the similar word that a segment contains in its place."""

    question_word: str
    """Word of the question."""
    word: str
    """Similar word in lower case. The segment contains this word or another form of it."""
    similarity: float
    """Cosine of the vectors of the two words, in [0, 1]."""


def similar_words_notes(words: Sequence[SimilarMatch]) -> tuple[str, ...]:
    """Return the note on similar words, such as 'similar words: cellar as "basement"', if any."""
    matches = ", ".join(f'{match.question_word} as "{match.word}"' for match in words)
    return (f"similar words: {matches}",) if words else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment(PlainForm):
    """Consecutive chunks of one document, chosen for a question.

    The text begins and ends with a whole sentence if the budget allows. It may therefore extend
    beyond the first and the last chunk, or leave out a part of them.
    """

    document_id: str
    """Id of the document."""
    start: int
    """Offset of the first character in the document."""
    end: int
    """Offset one past the last character in the document."""
    first_chunk: int
    """Position of the first chunk in the document, from 0."""
    last_chunk: int
    """Position one past the last chunk in the document."""
    text: str
    """Text of the segment; only the relevant sentences if it was trimmed
    (`SegmentOptions.trim`)."""
    header: str
    """Document title, summary, section path and table head, shown before the text in the
    context."""
    tokens: int
    """Number of tokens of header and text."""
    relevance: float
    """Probability that the segment contains evidence, in [0, 1]: the probability that the documents
    answer the question (`SearchResult.evidence`) times the probability that the evidence is in this
    segment.
    """
    value: float
    """Sum of the values of the chunks, in shares of all evidence for the question."""
    rank: int
    """Rank by relevance among the segments of the result, from 0 for the highest; ties by value,
    then by position."""
    citation: Citation
    """Citation of the segment."""
    relevances: tuple[float, ...] = ()
    """Probability that each chunk of the segment contains evidence, in order; none is greater than
    `relevance`."""
    queries: tuple[int, ...] = (0,)
    """Positions in `SearchResult.queries` of the queries that the segment has evidence for, in
    ascending order."""
    also_in: tuple[str, ...] = ()
    """Ids of other documents with nearly the same text, in ascending order; the result shows the
    text only once."""
    similar_words: tuple[SimilarMatch, ...] = ()
    """Words of the question that the segment contains only as similar words, in the order of the
    question."""
    knowledge_base: str = ""
    """Name of the knowledge base in a search of several; empty otherwise."""
    figures: tuple[Figure, ...] = ()
    """Figures in the segment, in order."""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    """Metadata fields of the document by name."""
    table_head: str = ""
    """Title, units and column headings of the table that the segment begins inside; empty if it
    begins with text or at the beginning of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCounts(PlainForm):
    """Numbers of documents in the result of a question that asks for documents."""

    searched: int
    """Number of documents in scope."""
    found: int
    """Estimated number of documents with evidence; 0 if all evidence is weak, although the best
    places are shown."""
    shown: int
    """Number of documents in the result; each has one segment or excerpt."""

    def __str__(self) -> str:
        """Return a summary such as "evidence in 17 of 40 documents; 12 shown"."""
        noun = "document" if self.searched == 1 else "documents"
        shown = "" if self.shown == self.found else f"; {self.shown:,} shown"
        return f"evidence in {self.found:,} of {self.searched:,} {noun}{shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(PlainForm):
    """Result of `KnowledgeBase.search`: segments in reading order."""

    question: str
    """Question as the caller gave it."""
    queries: tuple[str, ...] = ()
    """Search queries: the question first, then additional queries."""
    segments: tuple[Segment, ...]
    """Segments grouped by document: documents ordered by their best segment, segments of a document
    by position; empty if none was found."""
    context: str
    """Headers, text and citations of all segments, formatted for a language model."""
    tokens: int
    """Upper bound of the tokens of `context`, never above the budget. It is a sum of counts of
    parts. A segment adds a few tokens to the true number, and one whose header names several
    sections up to about a hundred."""
    budget_tokens: int
    """Maximum number of tokens of the context, as requested."""
    candidates: int
    """Number of chunks that were scored."""
    deep_chunks: int = 0
    """Number of different chunks that MiniLM compared with the queries, at most 100 per query; 0 if
    it was not used. It is lower if the time limit was reached."""
    evidence: float = 0.5
    """Probability that the documents answer the question, in [0, 1], if half of all questions are
    answerable; the maximum over all queries. 0.5 if it cannot be estimated."""
    weak_evidence: bool = False
    """Whether the evidence is so low that the segments may not answer the question."""
    best_guess: Segment | None = None
    """Best chunk as a segment if nothing was found; None otherwise."""
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
    """Quoted phrases that were required. Every segment contains one of them, or the title of its
    document does."""
    documents: DocumentCounts | None = None
    """Numbers of documents if the search was for documents (`SearchOptions.spread`), with one
    segment of each; None otherwise."""

    @property
    def not_found(self) -> bool:
        """Whether there are no segments, because of too little evidence or no chunk of value."""
        return not self.segments

    def to_dict(self) -> dict[str, Plain]:
        """Return the result as dicts, lists and scalars, including `not_found`."""
        return {**PlainForm.to_dict(self), "not_found": self.not_found}

    def _repr_html_(self) -> str:
        """Return the result as HTML for a notebook."""
        from spanwise.types.notebook import Card, cards_html

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
                    notes=(
                        *also_in_notes(segment.also_in),
                        *similar_words_notes(segment.similar_words),
                    ),
                )
                for segment in (*self.segments, *guess)
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
