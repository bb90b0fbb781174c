"""A question, read once: its words, the terms it searches by, and what kind of question it is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.terms import content_words, is_number_question, word_terms, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MAX_TERMS", "Question", "read_question", "telling_terms"]

_COMPARISON = re.compile(
    r"\b(compar\w*|versus|vs|over time|trends?|evolv\w*|evolution|stack up|across|historically"
    r"|year[- ]over[- ]year|fluctuat\w*|in these|prior (quarters?|years?|periods?)"
    r"|(these|all|both|several|each|different|multiple|various)"
    r" (documents?|reports?|filings?|compan(y|ies)|10-[qk]s|contracts?|agreements?|quarters"
    r"|years))\b",
    re.IGNORECASE,
)
MAX_TERMS = 64
"""Terms that one query searches by; of a longer one the most telling are taken."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a question looks for."""

    text: str
    words: tuple[str, ...]
    """All words in order."""
    stems: tuple[str | None, ...]
    """The first term of each word that carries meaning, None for the others."""
    terms: tuple[str, ...]
    """Distinct terms in order of first occurrence."""
    asks_number: bool
    compares: bool
    """Whether it asks the same of several documents: over time, or one against another."""

    def without(self, title_terms: frozenset[str]) -> str | None:
        """Return the question without the words that a title holds.

        None where the title holds none of its words, or all that carry meaning.
        """
        named = {stem for stem in self.stems if stem is not None and stem in title_terms}
        if not named or named.issuperset(stem for stem in self.stems if stem is not None):
            return None
        kept = [w for w, s in zip(self.words, self.stems, strict=True) if s not in named]
        return " ".join(kept)


def read_question(text: str) -> Question:
    """Return a question with all its terms; `terms` is empty for a text without words."""
    found = tuple(words(text))
    telling = frozenset(content_words(text))
    stems = tuple(word_terms(word)[0] if word in telling else None for word in found)
    terms = dict.fromkeys(term for word in found if word in telling for term in word_terms(word))
    return Question(
        text=text,
        words=found,
        stems=stems,
        terms=tuple(terms),
        asks_number=is_number_question(text),
        compares=_COMPARISON.search(text) is not None,
    )


def telling_terms(
    text: str, terms: Sequence[str], weights: NDArray[np.float64], *, limit: int = MAX_TERMS
) -> tuple[str, ...]:
    """Return the `limit` terms that say most about a long text, in their order.

    A term says more the rarer it is in the knowledge base and the more often the text holds it:
    `weight * (1 + ln(count))`; ties go to the earlier term.

    Args:
        text: The question.
        terms: Its distinct terms.
        weights: Weight of each; 0 for a term that nothing holds.
        limit: How many to return at most.
    """
    counts = Counter(term for word in words(text) for term in word_terms(word))
    value = weights * (1 + np.log([max(counts[term], 1) for term in terms]))
    best = np.sort(np.argsort(-value, kind="stable")[:limit])
    return tuple(terms[i] for i in best)
