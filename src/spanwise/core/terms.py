"""Text to terms: what the keyword index counts and what a question is matched by.

Rules:
    A word is a run of letters and digits, or a number with its separators ("1,577.0").
    A word with parts ("FY2018", "DiffExecutor") gives itself and its parts.
    Words are lower-cased and stemmed (Snowball); runs of Chinese, Japanese, Korean or Thai give
    bigrams.
    The index keeps every term; a question drops its stop words unless nothing else is left.
"""

from __future__ import annotations

import re
from functools import lru_cache

import Stemmer

__all__ = ["content_words", "is_number_question", "text_terms", "word_terms", "words"]

_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\WA-Za-z\d_]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0e7f\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
_MAX_WORD_CHARS = 64  # longer runs are data, not words; their first characters identify them

_STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before
    being below between both but by can could did do does doing down during each few for from
    further had has have having he her here hers herself him himself his how i if in into is it its
    itself just me more most my myself no nor not now of off on once only or other our ours
    ourselves out over own s same she should so some such t than that the their theirs them
    themselves then there these they this those through to too under until up upon very was we were
    what when where which while who whom whose why will with would you your yours yourself
    yourselves""".split()
)
_NUMBER_QUESTION = re.compile(
    r"\b(how (much|many)|what (percent|percentage|amount|number|ratio|rate|proportion|share)"
    r"|percent|percentage|ratio|average|total|amount|margin|growth|change in|usd|\$|million|billion"
    r"|thousand)\b|[%$€£]",
    re.IGNORECASE,
)


def words(text: str) -> list[str]:
    """Return the words of a text in order, as written."""
    return _WORD.findall(text)


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer.Stemmer:
    stemmer = Stemmer.Stemmer("english")
    stemmer.maxCacheSize = 0  # `word_terms` caches whole words
    return stemmer


@lru_cache(maxsize=200_000)
def word_terms(word: str) -> tuple[str, ...]:
    """Return the terms of one word: its stem, and the stems of its parts where it has several."""
    word = word[:_MAX_WORD_CHARS]
    if _UNSPACED.search(word):
        return _unspaced_terms(word)
    lower = word.lower()
    if lower[0].isdigit() and not lower.isalnum():
        return (lower,)
    stems: list[str] = [_stemmer().stemWord(lower)]
    if not (word.islower() or word.isdigit() or (word.istitle() and word.isalpha())):
        parts = _PARTS.findall(word)
        if len(parts) > 1:
            stems += _stemmer().stemWords([part.lower() for part in parts])
    return tuple(stems)


def _unspaced_terms(word: str) -> tuple[str, ...]:
    """Return bigrams of the runs without spaces, and the terms of what stands between."""
    terms: list[str] = []
    last = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > last:
            terms += word_terms(word[last : run.start()])
        text = run.group()
        terms += [text] if len(text) == 1 else [text[i : i + 2] for i in range(len(text) - 1)]
        last = run.end()
    if last < len(word):
        terms += word_terms(word[last:])
    return tuple(terms)


def text_terms(text: str) -> list[str]:
    """Return all terms of a text in order, repetitions included."""
    terms: list[str] = []
    for word in _WORD.findall(text):
        terms += word_terms(word)
    return terms


def content_words(question: str) -> list[str]:
    """Return the words of a question that carry meaning: no stop words, or all if none is left."""
    found = words(question)
    return [word for word in found if word.lower() not in _STOP_WORDS] or found


def is_number_question(question: str) -> bool:
    """Return whether a question asks for a number."""
    return _NUMBER_QUESTION.search(question) is not None
