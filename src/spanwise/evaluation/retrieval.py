"""Interface of retrievers, and the type of their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from spanwise.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """Text returned by a retriever, with its position if known."""

    document_id: str
    start: int | None = None
    """Index of the first character in the document; None if unknown."""
    end: int | None = None
    """Index after the last character; None if unknown."""
    pages: tuple[int, int] | None = None
    """First and last page, counted from 1; None if characters are known."""
    text: str | None = None
    """Returned text; None if it is the document text at this position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Results of a retriever for one question."""

    found: tuple[Retrieved, ...]
    """Returned texts, best first."""
    usage: Usage = field(default_factory=Usage)
    """Usage of models."""
    warnings: tuple[str, ...] = ()
    """Warnings about this search."""


class Retriever(Protocol):
    """Interface of a retriever: it returns texts or positions in documents for a question."""

    @property
    def name(self) -> str:
        """Name of the retriever in tables; retrievers with equal settings have equal names."""

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the results for a question, best first.

        Args:
            question: Text of the question.
            budget_tokens: Maximum tokens that count; results beyond the budget are discarded.
            documents: Ids of the documents to search; None for all.
        """
