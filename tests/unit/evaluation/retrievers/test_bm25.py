"""BM25 against its formula, counted slowly."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from spanwise.core.text.terms import text_terms
from spanwise.evaluation.retrievers.baselines import Bm25

_TEXTS = (
    "Freight costs rose, and freight by rail rose most.",
    "Rents rose.",
    "The board met twice and talked about the weather in spring.",
)


def _slow(question_terms: list[str], texts: tuple[str, ...]) -> list[float]:
    documents = [text_terms(text) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        total = 0.0
        for term in question_terms:
            holding = sum(term in one for one in documents)
            uses = document.count(term)
            weight = log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            norm = 1.2 * (0.25 + 0.75 * len(document) / mean)
            total += weight * uses * 2.2 / (uses + norm)
        scores.append(total)
    return scores


def test_scores_are_those_of_the_formula() -> None:
    """Stems count, function words do not, and what holds no word has 0."""
    index = Bm25((text, "en") for text in _TEXTS)
    expected = _slow([*text_terms("freight"), *text_terms("rose")], _TEXTS)
    assert index.scores("Why did the freights rose?") == pytest.approx(expected)
    assert expected[2] == 0.0


def test_each_text_is_read_in_its_language() -> None:
    """A question finds German plurals in German texts and English ones in English texts."""
    index = Bm25([("Die Kosten der Lieferungen stiegen.", "de"), ("Deliveries cost more.", "en")])
    assert np.argmax(index.scores("Lieferung")) == 0
    assert np.argmax(index.scores("delivery")) == 1


def test_nothing_to_search_has_no_scores() -> None:
    """No texts, or texts without words, are no fault."""
    assert index_scores([]) == []
    assert index_scores([("---", "")]) == [0.0]


def index_scores(texts: list[tuple[str, str]]) -> list[float]:
    return [float(one) for one in Bm25(texts).scores("freight")]
