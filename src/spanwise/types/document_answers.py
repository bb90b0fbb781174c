"""Answers to a question that was put to each document separately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from spanwise.types.answers import AnswerCitation
from spanwise.types.notebook import QuoteCard, answer_html, counted
from spanwise.types.plain import Plain, PlainForm
from spanwise.types.usage import Usage

Verdict = Literal["yes", "no", "not stated", "failed", "not read"]
"""Verdict of a document on a question.

"yes" means that the document is one that the question asks for, or that it contains the value that
the question asks for. "no" means that the document says the opposite, and "not stated" that the
passages that were read say nothing about it. "failed" means that the model gave no usable answer
for the document. "not read" means that the model did not read it: the cost limit was reached, no
passage was found, or the call was a dry run.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAnswer(PlainForm):
    """Answer of one document to a question."""

    document_id: str
    """Id of the document."""
    title: str
    """Title of the document; empty if it has none."""
    verdict: Verdict
    """One of "yes", "no", "not stated", "failed" or "not read"."""
    value: str = ""
    """Value that the question asks for, as the model wrote it, such as "Delaware"; empty for a
    question without a value, and without an answer."""
    statements: tuple[str, ...] = ()
    """Statements about the document, with citation markers as in `Answer.text`; empty unless the
    verdict is "yes" or "no"."""
    citations: tuple[AnswerCitation, ...] = ()
    """Citations of the statements. The numbers continue across all documents."""
    read_share: float = 0.0
    """Share of the document's characters that the model read, in [0, 1]."""
    reason: str = ""
    """Reason why the verdict is "failed" or "not read"; empty for other verdicts."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about statements without a checked quote, and about the search."""
    knowledge_base: str = ""
    """Name of the knowledge base if several were searched; empty otherwise."""

    @property
    def name(self) -> str:
        """Title of the document, or its id if it has none."""
        return self.title or self.document_id

    @property
    def verified(self) -> bool:
        """Whether at least one quote of the statements was found in the document."""
        return any(citation.verified for citation in self.citations)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAnswers(PlainForm):
    """Result of `KnowledgeBase.ask_each`: a question that was put to each document separately."""

    question: str
    """Question as the caller gave it."""
    text: str
    """Number of documents with each verdict, and the list of the documents with their statements
    and citation markers."""
    documents: tuple[DocumentAnswer, ...]
    """All documents in scope, ordered by id."""
    queries: tuple[str, ...] = ()
    """Search queries that were used in each document."""
    where: str = ""
    """Metadata filter of the documents, in text form; empty for none."""
    model: str = ""
    """Vendor and name of the requested model."""
    usage: Usage = field(default_factory=Usage)
    """Model calls, tokens and cost; upper bounds of them for a dry run."""
    cost_limit_reached: bool = False
    """Whether documents were not read because of the cost limit. The same call with a higher limit
    continues."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about the whole list; those about one document are in
    `DocumentAnswer.warnings`."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each step ("queries", "documents"), in seconds."""

    @property
    def yes(self) -> tuple[DocumentAnswer, ...]:
        """Documents with the verdict "yes"."""
        return self._with("yes")

    @property
    def no(self) -> tuple[DocumentAnswer, ...]:
        """Documents with the verdict "no"."""
        return self._with("no")

    @property
    def not_stated(self) -> tuple[DocumentAnswer, ...]:
        """Documents with the verdict "not stated"."""
        return self._with("not stated")

    @property
    def failed(self) -> tuple[DocumentAnswer, ...]:
        """Documents with the verdict "failed"."""
        return self._with("failed")

    @property
    def not_read(self) -> tuple[DocumentAnswer, ...]:
        """Documents with the verdict "not read"."""
        return self._with("not read")

    @property
    def citations(self) -> tuple[AnswerCitation, ...]:
        """Citations of all documents, ordered by number."""
        return tuple(citation for document in self.documents for citation in document.citations)

    @property
    def counts(self) -> dict[str, int]:
        """Number of documents with each verdict."""
        return {verdict: len(self._with(verdict)) for verdict in get_args(Verdict)}

    @property
    def summary(self) -> str:
        """Counts in one line: "read 40 of 40 documents: 12 yes, 27 not stated, 1 failed"."""
        counts = self.counts
        total = len(self.documents)
        read = total - counts["not read"]
        parts = [f"{number:,} {verdict}" for verdict, number in counts.items() if number]
        line = f"read {read:,} of {counted(total, 'document')}"
        return f"{line}: {', '.join(parts)}" if parts else line

    def to_dict(self) -> dict[str, Plain]:
        """Return the result as dicts, lists and scalars, including `counts`."""
        return {**PlainForm.to_dict(self), "counts": dict(self.counts)}

    def _with(self, verdict: Verdict) -> tuple[DocumentAnswer, ...]:
        return tuple(document for document in self.documents if document.verdict == verdict)

    def _repr_html_(self) -> str:
        """Return the list as HTML for a notebook."""
        return answer_html(
            self.question,
            text=self.text,
            summary=f"{self.model}, {self.summary}",
            quotes=[
                QuoteCard(
                    mark=cited.mark,
                    place=str(cited.citation or "not found in the text"),
                    quote=cited.quote,
                    is_verified=cited.verified,
                )
                for cited in self.citations
            ],
            remarks=self.warnings,
        )
