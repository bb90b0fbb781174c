"""Answers with checked quotes, and the conversations that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanwise.types.citations import Citation
from spanwise.types.notebook import QuoteCard, answer_html, counted
from spanwise.types.plain import Plain, PlainForm
from spanwise.types.usage import Usage

QuoteStatus = Literal["exact", "near", "failed"]
"""Result of looking a quote up in the stored text.

"exact" allows differences in white space and typographic variants only. "near" allows a few
differing words, but every number and negation must match. "failed" means that it was not found.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCitation(PlainForm):
    """A quote in an answer, with its location in the stored text."""

    number: int
    """Number of the citation in the text of the answer, from 1: "[1]" for 1."""
    quote: str
    """Quote as the model wrote it."""
    status: QuoteStatus
    """Result of looking the quote up in the stored text: "exact", "near" or "failed"."""
    similarity: float
    """Fraction of the quote's words found in the text in the same order, in [0, 1]; 1 if
    "exact"."""
    citation: Citation | None
    """Citation of exactly the quoted characters; None if the status is "failed"."""

    @property
    def mark(self) -> str:
        """Marker of the citation in the text of the answer: "[1]", or "[1?]" if it failed."""
        return f"[{self.number}]" if self.verified else f"[{self.number}?]"

    @property
    def verified(self) -> bool:
        """Whether the quote was found in the stored text."""
        return self.status != "failed"

    @property
    def document_id(self) -> str | None:
        """Id of the quoted document; None if the quote failed."""
        return None if self.citation is None else self.citation.document_id

    @property
    def pages(self) -> tuple[int, int] | None:
        """First and last page of the quote, 1-based; None if it failed or has no pages."""
        return None if self.citation is None else self.citation.pages


ClaimKind = Literal["number", "date", "name"]
"""Kind of a claim: a number, a date or year, or a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedClaim(PlainForm):
    """Number, date or name in a statement that none of its quotes contains.

    It is not in the question, in the title or heading of a quoted passage, or in a correct
    calculation either.
    """

    claim: str
    """Number, date or name as the statement gives it: "$5,380 million"."""
    kind: ClaimKind
    """Kind of the claim."""
    statement: str
    """Text of the statement, without markers."""


CalculationStatus = Literal["correct", "wrong", "unchecked"]
"""Result of the check of a calculation.

"correct" means that Spanwise computed the same result from operands that are in checked quotes.
"wrong" means that it computed another result. "unchecked" means that an operand is not in its
quote, or that the formula cannot be computed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalculationOperand(PlainForm):
    """Operand of a calculation in an answer."""

    name: str
    """Name of the operand in the formula."""
    value: str
    """Number as the model gave it: "5,308"."""
    citation: int
    """Number of the citation with the quote of the operand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCalculation(PlainForm):
    """Calculation in an answer, computed by Spanwise."""

    formula: str
    """Formula as the model gave it: "(a - b) / b * 100"."""
    operands: tuple[CalculationOperand, ...]
    """Operands of the formula."""
    status: CalculationStatus
    """Result of the check: "correct", "wrong" or "unchecked"."""
    result: str
    """Result that Spanwise computed; empty if the formula cannot be computed."""
    given: str
    """Result as the model gave it; empty if it gave none."""
    problem: str = ""
    """Reason why the status is not "correct"; empty if it is."""

    def __str__(self) -> str:
        """Return formula, result and operands in one line: "a - b = 2; a = 5 [1]; b = 3 [2]"."""
        result = f" = {self.result}" if self.result else ""
        operands = (f"{one.name} = {one.value} [{one.citation}]" for one in self.operands)
        return "; ".join([f"{self.formula}{result}", *operands])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(PlainForm):
    """Answer to a question, based only on the documents."""

    question: str
    """Question as the caller gave it."""
    text: str
    """Text of the answer. "[1]" marks the citation with number 1, "[1?]" a citation whose quote was
    not found, "[?]" a statement without a quote, and "[!]" a number, date or name in front of it
    that no quote of its statement contains. If refused, a description of the search."""
    citations: tuple[AnswerCitation, ...]
    """Citations of the answer, ordered by number."""
    refused: bool
    """Whether no answer is given because the documents do not contain one."""
    queries: tuple[str, ...]
    """Search queries: the question first, then additional queries."""
    where: str = ""
    """Metadata filter of the search, in text form; empty for none."""
    conflicts: tuple[str, ...] = ()
    """Sentences that describe contradictions between documents, with citation markers."""
    assumed: str = ""
    """Assumption that the answer depends on, in the words of the model; empty if there is none."""
    missing: str = ""
    """Part of the question that is not answered, in the words of the model, or the fields of a
    structured answer that stay null; empty if the answer is complete."""
    unsupported: tuple[UnsupportedClaim, ...] = ()
    """Numbers, dates and names of the text and the conflicts that are marked with "[!]"."""
    calculations: tuple[AnswerCalculation, ...] = ()
    """Calculations of the statements and conflicts, in order."""
    sources: tuple[Citation, ...] = ()
    """Citations of the segments or excerpts that the model read, in reading order."""
    data: Mapping[str, Plain] | None = None
    """Answer in the requested structured form; None if no form was requested."""
    model: str = ""
    """Vendor and name of the requested model; `warnings` name the fallback if it answered."""
    usage: Usage = field(default_factory=Usage)
    """Model calls, tokens and cost of the answer, its queries and reranking included."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about statements without a checked quote, and about steps that
    failed or were skipped."""
    rounds: int = 1
    """Number of searches: 2 if there was a second one for the missing part of the first answer."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each step ("queries", "search", "answer"), in seconds."""
    thread: str = ""
    """Id of the conversation that the answer belongs to; empty for none."""
    standalone: str = ""
    """Question that was searched and answered, if it was rewritten because it refers to the
    conversation; empty otherwise."""

    def _repr_html_(self) -> str:
        """Return the answer as HTML for a notebook."""
        return answer_html(
            self.question,
            text=self.text,
            summary=f"{self.model}, {counted(len(self.sources), 'text')} read",
            quotes=[
                QuoteCard(
                    mark=cited.mark,
                    place=str(cited.citation or "not found in the text"),
                    quote=cited.quote,
                    is_verified=cited.verified,
                )
                for cited in self.citations
            ],
            remarks=[
                *([f"understood as: {self.standalone}"] if self.standalone else []),
                *(f"calculation: {calculation}" for calculation in self.calculations),
                *([f"assumed: {self.assumed}"] if self.assumed else ()),
                *(f"conflict: {conflict}" for conflict in self.conflicts),
                *self.warnings,
            ],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(PlainForm):
    """One question of a conversation, with its answer."""

    question: str
    """Question as the caller gave it."""
    standalone: str
    """Question rewritten so that it can be understood without the earlier turns."""
    answer: Answer
    """Answer to the question, with citations but without the text of documents."""
    asked_at: str
    """Time of the question, ISO 8601 in UTC."""
    documents: tuple[str, ...] | None = None
    """Ids of the documents that the question was restricted to; None for all."""
    where: str = ""
    """Metadata filter that the question was restricted to, in text form; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadInfo(PlainForm):
    """Summary of a conversation, without its turns."""

    id: str
    """Id of the conversation."""
    title: str
    """First question of the conversation."""
    turns: int
    """Number of turns."""
    created_at: str
    """Time of the first turn, ISO 8601 in UTC."""
    changed_at: str
    """Time of the last turn, ISO 8601 in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(PlainForm):
    """A conversation stored in the knowledge base."""

    info: ThreadInfo
    """Id, title, size and times of the conversation."""
    turns: tuple[Turn, ...]
    """Turns of the conversation, oldest first."""
