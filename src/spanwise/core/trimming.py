"""Cut the text of one chunk to the sentences that are worth their tokens.

Rules:
    Only where a sentence stops may be cut. Rows of tables, headings, and lines of lists and code
    without a stop stay with what follows them.
    The share of the chunk is spread over its sentences by their length, and by how much of the
    question's words they hold. A sentence is worth its share less what its tokens must earn, as a
    chunk is; sentences in a row that are worth most are kept, at least one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from math import exp, inf

from spanwise.core.ends import PARAGRAPH, ROW, SENTENCE, grade_of, place_of, text_ends
from spanwise.core.sentences import CLOSERS, STOPS

__all__ = ["kept_sentences", "sentence_places"]

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


def kept_sentences(
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
