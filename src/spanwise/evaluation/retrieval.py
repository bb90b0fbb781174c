"""What is measured: anything that returns places in documents for a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from spanwise.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """One text that was returned: where it stands, as far as the retriever says so."""

    document_id: str
    start: int | None = None
    """First character in the text of the document; None where only pages are known."""
    end: int | None = None
    """One past the last character."""
    pages: tuple[int, int] | None = None
    """First and last page, from 1; None where characters are known."""
    text: str | None = None
    """What was returned; None for the text that stands in the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """What a retriever returned for one question."""

    found: tuple[Retrieved, ...]
    """Best first."""
    usage: Usage = field(default_factory=Usage)
    """What models took."""
    warnings: tuple[str, ...] = ()


class Retriever(Protocol):
    """Finds places in documents."""

    @property
    def name(self) -> str:
        """How it is called in tables; the same for the same settings."""

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return places for a question.

        Args:
            question: What is asked.
            budget_tokens: How many tokens are looked at; what is over is cut off, so that all
                retrievers are compared at equal tokens.
            documents: Ids of the documents that may be searched; None for all.
        """
