"""Topics of questions that ask for documents, according to packs.

Rules:
    A phrase matches if the question has all of its words, in any order and inflection.
    Of all matching phrases, those with most words determine the topics. Among several topics, the
    one with the most similar description is used.
    If no phrase matches, the topic with the most similar description is used, if the cosine of its
    vector and that of the question is at least `_MIN_SIMILARITY`.
    The topics of a pack do not apply if the question names documents of another kind.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.vectors import unit_rows
from spanwise.core.text.terms import text_terms
from spanwise.packs.pack_file import phrase_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from spanwise.packs.pack_file import Pack, Topic

    Embed = Callable[[Sequence[str]], NDArray[np.float32]]

_MIN_SIMILARITY = 0.3


def topic_phrases(
    packs: Sequence[Pack], question: str, *, noun: str, embed: Embed | None
) -> tuple[str, ...]:
    """Return the phrases that documents use for the topic of a question, without repetitions.

    Args:
        packs: Packs of the knowledge base.
        question: Question, or the part of it that documents must match.
        noun: Plural noun of the documents in the question; "" if it names no kind of document.
        embed: Function that embeds texts; None to compare words alone.
    """
    phrases: dict[str, None] = {}
    for pack in packs:
        if not noun or noun in pack.nouns:
            topic = _topic(pack, question, embed)
            phrases.update(dict.fromkeys(() if topic is None else topic.says))
    return tuple(phrases)


def _topic(pack: Pack, question: str, embed: Embed | None) -> Topic | None:
    words = matched_words(pack, text_terms(question, language=pack.language))
    most = max(words, default=0)
    matching = [topic for topic, count in zip(pack.topics, words, strict=True) if count == most]
    if most and (len(matching) == 1 or embed is None):
        return matching[0]
    described = [(text, topic) for topic in matching for text in topic.about]
    if embed is None or not described:
        return matching[0] if most else None
    vectors = unit_rows(embed([question, *(text for text, _ in described)])).astype(np.float64)
    similarities = vectors[1:] @ vectors[0]
    best = int(np.argmax(similarities))
    is_similar = most or similarities[best] >= _MIN_SIMILARITY
    return described[best][1] if is_similar else None


def matched_words(pack: Pack, terms: Iterable[str]) -> list[int]:
    """Return the number of words of the longest phrase of each topic that a question contains.

    Args:
        pack: Pack of the topics.
        terms: Terms of the question.
    """
    asked = frozenset(terms)
    return [
        max((len(phrase) for phrase in phrases if phrase <= asked), default=0)
        for phrases in _asking_phrases(pack)
    ]


@lru_cache(maxsize=64)
def _asking_phrases(pack: Pack) -> tuple[tuple[frozenset[str], ...], ...]:
    """Return the terms of the phrases of questions of each topic."""
    return tuple(
        tuple(frozenset(phrase_terms(text, language=pack.language)) for text in topic.asks)
        for topic in pack.topics
    )
