"""Words of a text that match words of a question, to mark them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.core.text.terms import text_terms, words
from spanwise.types.plain import PlainForm

if TYPE_CHECKING:
    from spanwise.search.explanation.explanation import QuestionWord


@dataclass(frozen=True, slots=True, kw_only=True)
class WordForm(PlainForm):
    """Word of a text that counts as a word of the question."""

    word: str
    """Word of the question."""
    similarity: float | None
    """Similarity of the two words; None for the same word, or another form of it."""


def word_forms(
    texts: Iterable[str], question: Sequence[QuestionWord], *, languages: Sequence[str]
) -> Mapping[str, WordForm]:
    """Return the words of some texts that match words of a question, in lower case.

    A word that has a term in common with a word of the question is the same word. Otherwise it may
    have a term in common with a similar word. For scripts without spaces, the forms are pairs of
    letters.

    Args:
        texts: Texts in which words are marked.
        question: Words of the question, with similar words.
        languages: Languages in which words are stemmed.
    """
    matches = _matches(question, languages)
    found: dict[str, WordForm] = {}
    for word in sorted({word for text in texts for word in words(text)}):
        terms = sorted(term for term in _terms(word, languages) if term in matches)
        if terms:
            found[word.lower()] = min((matches[term] for term in terms), key=_distance)
        for term in terms:  # pairs of letters of scripts without spaces
            if not term.isascii() and term in word:
                found.setdefault(term, matches[term])
    return found


def _matches(question: Sequence[QuestionWord], languages: Sequence[str]) -> dict[str, WordForm]:
    """Return the word of the question for each term; the most similar one for similar words."""
    matches: dict[str, WordForm] = {}
    for one in question:
        for term in one.terms:
            matches[term] = WordForm(word=one.word, similarity=None)
    for similar in sorted(
        (match for one in question for match in one.similar), key=lambda match: -match.similarity
    ):
        form = WordForm(word=similar.question_word, similarity=round(similar.similarity, 2))
        for term in _terms(similar.word, languages):
            matches.setdefault(term, form)
    return matches


def _terms(word: str, languages: Sequence[str]) -> set[str]:
    return {term for language in languages or ("",) for term in text_terms(word, language=language)}


def _distance(form: WordForm) -> float:
    return 0.0 if form.similarity is None else 1 - form.similarity
