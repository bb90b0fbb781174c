"""Answers whose every quote was checked, and the conversations they stand in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanwise.types.citations import Citation
from spanwise.types.notebook import QuoteCard, answer_html, counted
from spanwise.types.plain import Plain, PlainForm
from spanwise.types.usage import Usage

QuoteStatus = Literal["exact", "near", "failed"]
"""Whether a quote stands in the stored text: character for character but for white space and
typographic variants; or nearly, with every number and negation; or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCitation(PlainForm):
    """What an answer cites: a quote, and where it stands."""

    number: int
    """As in the text of the answer, "[1]" for 1."""
    quote: str
    """As the model gave it."""
    status: QuoteStatus
    similarity: float
    """Words of the quote that stand in the text in their order, in [0, 1]; 1 if "exact"."""
    citation: Citation | None
    """To the very characters that were quoted; None if "failed"."""

    @property
    def mark(self) -> str:
        """How it stands in the text of the answer: "[1]", or "[1?]" if it failed."""
        return f"[{self.number}]" if self.verified else f"[{self.number}?]"

    @property
    def verified(self) -> bool:
        """Whether the quote was found in the stored text."""
        return self.status != "failed"

    @property
    def document_id(self) -> str | None:
        """Document that is quoted; None if the quote failed."""
        return None if self.citation is None else self.citation.document_id

    @property
    def pages(self) -> tuple[int, int] | None:
        """First and last page of the quote, 1-based; None without pages, or if it failed."""
        return None if self.citation is None else self.citation.pages


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenQueries(PlainForm):
    """What is searched for a question, as a language model wrote it."""

    question: str
    """As it was asked."""
    standalone: str
    """The question as it reads without the conversation before it; the same without one."""
    queries: tuple[str, ...]
    """Further queries, one to six, none equal to the question."""
    where: str = ""
    """Filter on metadata that exists, as text; empty for none."""
    warnings: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(PlainForm):
    """Answer to a question, from the documents alone."""

    question: str
    text: str
    """The answer; "[1]" stands for the citation with number 1, "[1?]" for one whose quote
    failed, "[?]" for no quote at all. If refused, what was searched."""
    citations: tuple[AnswerCitation, ...]
    """By number."""
    refused: bool
    """Whether the documents hold no answer, so that none is given."""
    queries: tuple[str, ...]
    """What was searched by: the question first, then further queries."""
    where: str = ""
    """Filter under which was searched, as text; empty for none."""
    conflicts: tuple[str, ...] = ()
    """Where documents say different things, in sentences that cite them."""
    sources: tuple[Citation, ...] = ()
    """The segments or excerpts that the model read, in the order it read them."""
    data: Mapping[str, Plain] | None = None
    """The answer in the form that was asked for; None where none was."""
    model: str = ""
    """Vendor and model that was asked; where its fallback answered, `warnings` say so."""
    usage: Usage = field(default_factory=Usage)
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each step."""
    thread: str = ""
    """Id of the conversation it stands in; empty for none."""

    def _repr_html_(self) -> str:
        """Return it for a notebook."""
        return answer_html(
            self.question,
            text=self.text,
            summary=f"{self.model}, {counted(len(self.sources), 'text')} read",
            quotes=[
                QuoteCard(
                    mark=one.mark,
                    place="not found in the text" if one.citation is None else str(one.citation),
                    quote=one.quote,
                    is_verified=one.verified,
                )
                for one in self.citations
            ],
            remarks=[*(f"conflict: {one}" for one in self.conflicts), *self.warnings],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(PlainForm):
    """A question of a conversation with its answer."""

    question: str
    standalone: str
    """The question as it reads without the turns before it."""
    answer: Answer
    asked_at: str
    """ISO 8601, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadInfo(PlainForm):
    """What is known of a conversation without its turns."""

    id: str
    title: str
    """Its first question."""
    turns: int
    created_at: str
    """ISO 8601, UTC."""
    changed_at: str
    """Of its last turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(PlainForm):
    """A conversation, kept in the knowledge base."""

    info: ThreadInfo
    turns: tuple[Turn, ...]
    """In order."""
