"""What a tuning is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.errors import OptionError

__all__ = ["LEAST_QUESTIONS", "TuneOptions"]

LEAST_QUESTIONS = 10
"""Fewer say nothing that could be told from chance."""
_MOST_CHUNK = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """What a tuning is asked for."""

    budgets: tuple[int, ...] = (1_000, 4_000)
    """In tokens of text; settings are chosen by the mean recall at them."""
    tokenizer: str | None = None
    """Whose tokens are counted; that of the knowledge base when None."""
    keyword_shares: tuple[float, ...] = (0.5, 0.85)
    """Weights of keywords beside the cosine that are tried; each is in [0, 1]."""
    chunk_targets: tuple[int, ...] = ()
    """Lengths of chunks in characters that are tried: each costs an ingest of all documents."""
    known_answers: bool = True
    """Whether words of the documents may be kept: those that answered questions of a kind, where
    documents are enough to measure each question with what others taught."""
    folds: int = 5
    """Parts of the questions; each is measured with what the others say."""

    def __post_init__(self) -> None:
        if not self.budgets or not all(1 <= one <= 10_000_000 for one in self.budgets):
            raise OptionError(f"budgets are {self.budgets!r}; give some from 1 to 10,000,000")
        if not all(0 <= one <= 1 for one in self.keyword_shares):
            raise OptionError(f"keyword_shares are {self.keyword_shares!r}; give some in [0, 1]")
        if not all(100 <= one <= _MOST_CHUNK for one in self.chunk_targets):
            raise OptionError(
                f"chunk sizes are {self.chunk_targets!r}; give some from 100 to {_MOST_CHUNK:,}"
            )
        if not 2 <= self.folds <= LEAST_QUESTIONS:
            raise OptionError(f"folds is {self.folds!r}; it must be from 2 to {LEAST_QUESTIONS}")
