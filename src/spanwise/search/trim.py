"""Trimming of single-chunk segments to the sentences that are worth their tokens.

Rules:
    Text is cut only at the end of a sentence. Table rows, headings, and lines of lists and code
    without a stop stay with the following text.
    The share of the chunk is divided among its sentences by their length and by the question words
    they contain. The value of a sentence is its share minus a cost. The cost is the price of its
    tokens, or 0.4 of the mean share of a text of its length in the chunk if that is higher. The
    consecutive sentences of greatest total value are returned, at least one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import exp, inf
from typing import TYPE_CHECKING, Self

import numpy as np

from spanwise.core.ranking.routing import keyword_weights
from spanwise.core.text.break_points import PARAGRAPH, ROW, SENTENCE, grade_of, place_of, text_ends
from spanwise.core.text.sentences import CLOSERS, STOPS
from spanwise.core.text.terms import text_terms
from spanwise.options.search import PRICED_TOKENS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.options import SegmentOptions
    from spanwise.search.evidence import Evidence
    from spanwise.search.rendering import SegmentRange

_STOPPED = re.compile(f"[{STOPS}][{CLOSERS}]{{0,8}}+\\s*+\\Z")
_MIN_DENSITY = 0.4  # share per token relative to that of the chunk
_LOOK_CHARS = 80  # enough for a stop, closing characters and blank lines
_WORDS_WEIGHT = 5.0
"""Exponential weight of word coverage: a sentence with all words weighs e ** 5 times one with none.

Chosen on ten datasets together. Weights of 3 and 8 give about the same mean quality; adding the
cosine to the question has no effect.
"""


def sentence_places(text: str) -> list[int]:
    """Return the start of each sentence of a text and the end of the text, ascending.

    Args:
        text: A text that is not empty.
    """
    places = [
        place_of(end)
        for end in text_ends(text, start=0, stop=len(text))
        if grade_of(end) in (PARAGRAPH, SENTENCE, ROW)
    ]
    stopped = [
        place for place in places if _STOPPED.search(text, max(0, place - _LOOK_CHARS), place)
    ]
    return [0, *stopped, len(text)]


def row_places(text: str, start: int, end: int) -> list[int]:
    """Return the ends of the table rows inside a range of a text, ascending."""
    ends = text_ends(text, start=start, stop=end)
    return [place_of(found) for found in ends if grade_of(found) == ROW and place_of(found) < end]


def select_sentences(
    lengths: Sequence[int], coverages: Sequence[float], *, share: float, cost: float
) -> tuple[int, int]:
    """Return the range of sentences of greatest value (maximum subarray).

    Args:
        lengths: Length of each sentence in characters, > 0; at least one.
        coverages: Weighted share of the question's words in each sentence, in [0, 1].
        share: Share of the evidence in all sentences together, >= 0.
        cost: Price of the tokens of all sentences together, in the unit of shares, >= 0.

    Returns:
        Index of the first sentence, and index after the last; ties go to the first range.
    """
    weights = [
        length * exp(_WORDS_WEIGHT * coverage)
        for length, coverage in zip(lengths, coverages, strict=True)
    ]
    total, chars = sum(weights), sum(lengths)
    values = [
        share * weight / total - cost * length / chars
        for weight, length in zip(weights, lengths, strict=True)
    ]
    sums = list(accumulate(values, initial=0.0))
    best, best_value, first = (0, 1), -inf, 0
    for last in range(len(values)):
        first = min(first, last, key=lambda at: sums[at])
        value = sums[last + 1] - sums[first]
        if value > best_value:
            best, best_value = (first, last + 1), value
    return best


@dataclass(frozen=True, slots=True)
class Trimmer:
    """Trims segments of one chunk to sentences.

    Runs of several chunks are unchanged, because their evidence is long. A best guess of negative
    value is unchanged too, because trimming would always reduce it to one short sentence.
    """

    words: tuple[tuple[Mapping[str, int], tuple[float, ...]], ...]
    """For each query: the index of the word of each term, and the weight of each word (sum 1)."""
    token_cost: float
    """Price of a token, in shares."""

    @classmethod
    def of(cls, evidence: Evidence, options: SegmentOptions) -> Self | None:
        """Return the trimmer of a question; None if the options keep segments whole."""
        if not options.trim:
            return None
        words = []
        for number, scored, _ in evidence.queries():
            forms, places = evidence.questions[number].forms()
            weights = keyword_weights(scored.scan)
            weights = weights / max(float(weights.sum()), np.finfo(np.float64).tiny)
            terms = dict(zip(forms, places or range(len(forms)), strict=True))
            words.append((terms, tuple(weights.tolist())))
        return cls(tuple(words), options.token_price / PRICED_TOKENS)

    def sentence_range(self, run: SegmentRange, text: str, *, language: str) -> tuple[int, int]:
        """Return the range of characters of a run's text to keep, at least one sentence.

        Args:
            run: The run.
            text: Text of its chunks.
            language: Language of its document.
        """
        price = self.token_cost * run.tokens
        if run.end - run.start > 1 or run.share <= price:
            return 0, len(text)
        places = sentence_places(text)
        sentences = list(pairwise(places))
        first, last = select_sentences(
            [end - start for start, end in sentences],
            [self.coverage(text[start:end], language) for start, end in sentences],
            share=run.share,
            cost=max(price, _MIN_DENSITY * run.share),
        )
        return places[first], places[last]

    def coverage(self, sentence: str, language: str) -> float:
        """Return the weighted fraction of query words in a sentence, maximum over queries."""
        sentence_terms = set(text_terms(sentence, language=language))
        coverages = []
        for terms, weights in self.words:
            words_found = {word for term, word in terms.items() if term in sentence_terms}
            coverages.append(sum(weights[word] for word in sorted(words_found)))
        return min(1.0, max(coverages))
