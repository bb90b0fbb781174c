"""Cut segments to the sentences that a question is about."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from spanwise.core.routing import keyword_weights
from spanwise.core.terms import text_terms
from spanwise.core.trimming import kept_sentences, sentence_places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.core.relevance import RelevanceModel
    from spanwise.options import SegmentOptions
    from spanwise.query.evidence import Evidence
    from spanwise.query.present import Located

__all__ = ["Trimmer"]


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
        for question, found in zip(evidence.questions, evidence.weighed, strict=True):
            if found is None:
                continue
            forms, places = question.forms()
            weights = keyword_weights(found.scan)
            weights = weights / max(float(weights.sum()), np.finfo(np.float64).tiny)
            terms = dict(zip(forms, places or range(len(forms)), strict=True))
            words.append((terms, tuple(weights.tolist())))
        return cls(tuple(words), penalty_share / options.reference_length)

    def kept(self, run: Located, text: str, *, language: str) -> tuple[int, int]:
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
        first, last = kept_sentences(
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
