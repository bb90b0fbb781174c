"""Whether a question asks for a number: text with digits is then more likely to answer it.

A question, read once: its words, the terms it searches by, and what kind of question it is.

A word is looked for in each language that the documents are written in: its stems there are forms
of one term, so that a word counts once, whatever languages a knowledge base holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.text.languages import question_language
from spanwise.core.text.terms import content_words, stem_language, word_terms, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_ENGLISH = re.compile(
    r"\b(how (much|many)|what (percent|percentage|amount|number|ratio|rate|proportion|share)"
    r"|percent|percentage|ratio|average|total|amount|margin|growth|change in|usd|\$|million|billion"
    r"|thousand)\b|[%$€£]",
    re.IGNORECASE,
)
_UNSPACED = re.compile(
    "多少|几|幾|百分|いくつ|いくら|何(?:人|年|個|回|歳|度|本|台|パーセント)|どのくらい|どれくらい|割合"
    "|몇|얼마|กี่|เท่าไ|เท่าใด|ร้อยละ"
)
_WORDS = {
    "ar": "كم عدد نسبة", "ca": "quant quanta quants quantes percentatge nombre",
    "cs": "kolik procent počet", "da": "mange meget procent antal",
    "de": "viel viele wieviel wieviele prozent anzahl",
    "el": "πόσο πόσα πόσοι πόσες ποσοστό αριθμός",
    "es": "cuánto cuánta cuántos cuántas porcentaje número", "et": "palju mitu protsenti arv",
    "fa": "چند چقدر درصد تعداد", "fi": "paljon paljonko monta montako prosenttia",
    "fr": "combien pourcentage nombre", "he": "כמה אחוז", "hi": "कितना कितने कितनी प्रतिशत संख्या",
    "hu": "mennyi hány százalék", "id": "berapa persen jumlah",
    "it": "quanto quanta quanti quante percentuale numero", "lt": "kiek procentų",
    "nl": "hoeveel procent percentage aantal", "no": "mange mye prosent antall",
    "pl": "ile ilu procent liczba",
    "pt": "quanto quanta quantos quantas porcentagem percentagem número",
    "ro": "cât câtă câți câte procent număr", "ru": "сколько процент процентов количество число",
    "sr": "колико процената број koliko procenata broj", "sv": "många mycket procent antal",
    "tr": "kaç yüzde sayısı", "uk": "скільки відсотків кількість",
}  # fmt: skip
"""Words that ask for a number, by language, in small letters."""
_BY_LANGUAGE = {language: frozenset(text.split()) for language, text in _WORDS.items()}


def is_number_question(question: str, *, language: str = "en") -> bool:
    """Return whether a question asks for a number.

    Args:
        question: The question.
        language: That it is asked in; one that is not known here is treated as English.
    """
    if _UNSPACED.search(question):
        return True
    asking = _BY_LANGUAGE.get(language)
    if asking is None:
        return _ENGLISH.search(question) is not None
    return "%" in question or any(word in asking for word in words(question.lower()))


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
    """What is searched for: as asked, or the most telling words of a very long question."""
    words: tuple[str, ...]
    """All words in order, composed (NFC)."""
    stems: tuple[str | None, ...]
    """The first term of each word that carries meaning, None for the others."""
    terms: tuple[str, ...]
    """Distinct terms in order of first occurrence; of a word with several forms, the first."""
    asks_number: bool
    compares: bool
    """Whether it asks the same of several documents: over time, or one against another."""
    other_forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Of terms whose words have other stems in other languages: those, each of one term alone."""

    uses: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How often the question holds each term."""
    language: str = "en"
    """Language whose stop words it was read with."""
    asked: str = ""
    """As asked; empty where `text` is that."""
    asked_words: int = 0
    """Number of distinct words of a very long question; 0 where `words` holds all of them."""

    @property
    def said(self) -> str:
        """Return the question as it was asked."""
        return self.asked or self.text

    def forms(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return all forms of the terms, and for each the place of its term among them.

        The terms come first, in order. Where there are no other forms, no places.
        """
        added = [
            (form, place)
            for place, term in enumerate(self.terms)
            for form in self.other_forms.get(term, ())
        ]
        if not added:
            return self.terms, ()
        forms = (*self.terms, *(form for form, _ in added))
        return forms, (*range(len(self.terms)), *(place for _, place in added))

    def without(self, title_terms: frozenset[str]) -> str | None:
        """Return the question without the words that a title holds.

        None where the title holds none of its words, or all that carry meaning.
        """
        named = {stem for stem in self.stems if stem is not None and stem in title_terms}
        if not named or named.issuperset(stem for stem in self.stems if stem is not None):
            return None
        kept = [w for w, s in zip(self.words, self.stems, strict=True) if s not in named]
        return " ".join(kept)


def read_question(text: str, *, languages: Sequence[str] = ("",)) -> Question:
    """Return a question with all its terms; `terms` is empty for a text without words.

    Args:
        text: The question.
        languages: Those of the documents that it is asked of; "" for one that is not known.
    """
    held = {stem_language(language) for language in languages or ("",)}
    stemmers = sorted(held, key=lambda stemmer: (stemmer != "en", stemmer))
    composed = unicodedata.normalize("NFC", text)  # as function words are
    language = question_language(composed, languages)
    found = tuple(words(composed))
    telling = frozenset(content_words(composed, language=language))
    known: dict[str, str] = {}  # the term that each form belongs to
    uses: Counter[str] = Counter()
    stems: list[str | None] = []
    for word in found:
        own = _terms(word, stemmers, known) if word in telling else []
        uses.update(own)
        stems.append(own[0] if own else None)
    terms = tuple(uses)
    others = (word for word in found if word not in telling)
    uses.update(known[s] for w in others for s in word_terms(w, language=stemmers[0]) if s in known)
    forms: dict[str, list[str]] = {term: [] for term in terms}
    for form, term in known.items():
        if form != term:
            forms[term].append(form)
    return Question(
        text=text,
        words=found,
        stems=tuple(stems),
        terms=terms,
        asks_number=is_number_question(composed, language=language),
        compares=_COMPARISON.search(text) is not None,
        other_forms={term: tuple(other) for term, other in forms.items() if other},
        uses=uses,
        language=language,
    )


def _terms(word: str, languages: Sequence[str], known: dict[str, str]) -> list[str]:
    """Return the terms of a word, and remember which forms belong to them.

    A form that an earlier word has brings the later word to its term.
    """
    terms = []
    for forms in zip(*(word_terms(word, language=name) for name in languages), strict=True):
        term = next((known[form] for form in forms if form in known), forms[0])
        for form in forms:
            known.setdefault(form, term)
        terms.append(term)
    return terms


def telling_terms(
    question: Question, weights: NDArray[np.float64], *, limit: int = MAX_TERMS
) -> tuple[str, ...]:
    """Return the `limit` terms that say most about a long question, in their order.

    A term says more the rarer it is in the knowledge base and the more often the question holds
    it: `weight * (1 + ln(count))`; ties go to the earlier term.

    Args:
        question: The question.
        weights: Weight of each of its terms; 0 for a term that nothing holds.
        limit: How many to return at most.
    """
    uses = np.array([question.uses[term] for term in question.terms])
    value = weights * (1 + np.log(uses))
    best = np.sort(np.argsort(-value, kind="stable")[:limit])
    return tuple(question.terms[i] for i in best)
