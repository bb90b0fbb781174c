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

from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.vectors import unit_rows
from spanwise.core.text.terms import text_terms
from spanwise.packs.pack_file import phrase_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    terms = frozenset(text_terms(question, language=pack.language))
    words = [_words(topic, terms, language=pack.language) for topic in pack.topics]
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


def _words(topic: Topic, terms: frozenset[str], *, language: str) -> int:
    """Return the number of words of the longest phrase that matches; 0 if none does."""
    phrases = (frozenset(phrase_terms(text, language=language)) for text in topic.asks)
    return max((len(phrase) for phrase in phrases if phrase <= terms), default=0)
