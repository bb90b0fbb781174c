"""Cut the text of one chunk to the sentences that are worth their tokens.

Rules:
    Only where a sentence stops may be cut. Rows of tables, headings, and lines of lists and code
    without a stop stay with what follows them.
    The share of the chunk is spread over its sentences by their length, and by how much of the
    question's words they hold. A sentence is worth its share less what its tokens must earn, as a
    chunk is; sentences in a row that are worth most are kept, at least one.

Cut segments to the sentences that a question is about.
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.options import SegmentOptions
    from spanwise.search.evidence import Evidence
    from spanwise.search.rendering import SegmentRange

_STOPPED = re.compile(f"[{STOPS}][{CLOSERS}]{{0,8}}+\\s*+\\Z")
_LOOK_CHARS = 80  # a stop, what closes with it, and blank lines
_WORDS_WEIGHT = 5.0
"""A sentence with all words of the question weighs e ** 5 times as much as one with none.

Chosen on ten sets together; 3 and 8 do about the same on their mean, and the cosine to the question
beside it adds nothing.
"""


def sentence_places(text: str) -> list[int]:
    """Return where the sentences of a text begin, and its end: at least two places, ascending.

    Args:
        text: Not empty.
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


def select_sentences(
    lengths: Sequence[int], coverages: Sequence[float], *, share: float, cost: float
) -> tuple[int, int]:
    """Return the range of sentences that is worth most.

    Args:
        lengths: Of the sentences, in characters, > 0; at least one.
        coverages: Part of the weight of the question's words that each holds, in [0, 1].
        share: Of all of them, >= 0.
        cost: What the tokens of all of them must earn, in share, >= 0.

    Returns:
        First sentence, and one past the last. Of ranges worth as much the first.
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
    kept, most, first = (0, 1), -inf, 0
    for last in range(len(values)):
        first = min(first, last, key=lambda at: sums[at])
        worth = sums[last + 1] - sums[first]
        if worth > most:
            kept, most = (first, last + 1), worth
    return kept


@dataclass(frozen=True, slots=True)
class Trimmer:
    """Cuts segments of one chunk to sentences.

    Chunks in a row stay whole: where a question chose several, its evidence is long. So does a
    best guess that is not worth its tokens: the sentence that loses least would be the shortest.
    """

    words: tuple[tuple[Mapping[str, int], tuple[float, ...]], ...]
    """Of each query: the word that a term is a form of, and the weight of each word; sum 1."""
    token_cost: float
    """What a token must earn, in share."""

    @classmethod
    def of(cls, evidence: Evidence, options: SegmentOptions, model: RelevanceModel) -> Self | None:
        """Return what cuts the segments of a question; None where the options want them whole."""
        if not options.trim:
            return None
        penalty_share = model.share_at(options.irrelevant_chunk_penalty)
        words = []
        for question, found in zip(evidence.questions, evidence.scored, strict=True):
            if found is None:
                continue
            forms, places = question.forms()
            weights = keyword_weights(found.scan)
            weights = weights / max(float(weights.sum()), np.finfo(np.float64).tiny)
            terms = dict(zip(forms, places or range(len(forms)), strict=True))
            words.append((terms, tuple(weights.tolist())))
        return cls(tuple(words), penalty_share / options.reference_length)

    def kept(self, run: SegmentRange, text: str, *, language: str) -> tuple[int, int]:
        """Return which characters of the text of a run are kept, at least a sentence.

        Args:
            run: The run.
            text: Of its chunks.
            language: Of its document.
        """
        cost = self.token_cost * run.tokens
        if run.end - run.start > 1 or run.share <= cost:
            return 0, len(text)
        places = sentence_places(text)
        sentences = list(pairwise(places))
        first, last = select_sentences(
            [end - start for start, end in sentences],
            [self._coverage(text[start:end], language) for start, end in sentences],
            share=run.share,
            cost=cost,
        )
        return places[first], places[last]

    def _coverage(self, sentence: str, language: str) -> float:
        """Return which part of the words of a query a sentence holds, of the query it fits best."""
        held = set(text_terms(sentence, language=language))
        coverages = []
        for terms, weights in self.words:
            found = {word for term, word in terms.items() if term in held}
            coverages.append(sum(weights[word] for word in sorted(found)))
        return min(1.0, max(coverages))
