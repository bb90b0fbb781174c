"""Port of retrievers, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from spanwise.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """One returned text, with its place as far as it is known."""

    document_id: str
    start: int | None = None
    """First character in the text of the document; None if only pages are known."""
    end: int | None = None
    """One past the last character."""
    pages: tuple[int, int] | None = None
    """First and last page, from 1; None if characters are known."""
    text: str | None = None
    """Returned text; None for the text at the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Results of a retriever for one question."""

    found: tuple[Retrieved, ...]
    """Returned texts, best first."""
    usage: Usage = field(default_factory=Usage)
    """Usage of models."""
    warnings: tuple[str, ...] = ()


class Retriever(Protocol):
    """Returns places in documents for a question."""

    @property
    def name(self) -> str:
        """Name in tables; equal for equal settings."""

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return places for a question.

        Args:
            question: The question.
            budget_tokens: Number of tokens that are used; the rest is truncated, so that all
                retrievers are compared at equal token budgets.
            documents: Ids of the documents that may be searched; None for all.
        """
