"""Analysis of a question: its words, its search terms, and whether it asks for a number.

A word is searched in every language of the documents. Its stems in these languages are forms of one
term, so a word counts once, whatever languages a knowledge base contains. A country and its
adjective are forms of one term, too, and so are a known abbreviation and its words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.ranking.phrases import Phrase, read_phrases
from spanwise.core.text.abbreviations import abbreviated_words
from spanwise.core.text.countries import country_words
from spanwise.core.text.languages import question_language
from spanwise.core.text.terms import content_words, stem_language, word_terms, words
from spanwise.errors import QueryError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MAX_QUESTION_CHARS = 1_000_000
"""Maximum number of characters of a question and its additional queries together."""
_SURROGATE = re.compile("[\ud800-\udfff]")
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
"""Words that ask for a number, by language, in lower case, separated by spaces."""
_BY_LANGUAGE = {language: frozenset(text.split()) for language, text in _WORDS.items()}


def check_question(text: object) -> str:
    """Return the text of a question.

    Raises:
        QueryError: If it is not a text, is longer than `MAX_QUESTION_CHARS`, or contains a lone
            surrogate.
    """
    if not isinstance(text, str):
        raise QueryError(f"the question is {shown(text)}; give one text")
    check_question_length(len(text))
    if not text.isascii() and _SURROGATE.search(text):
        raise QueryError(
            f"the question {text[:80]!r} contains bytes that are not UTF-8; encode it as UTF-8"
        )
    return text


def check_question_length(chars: int) -> None:
    """Raise an error if a question and its queries have too many characters together.

    Raises:
        QueryError: If they have more than `MAX_QUESTION_CHARS`.
    """
    if chars > MAX_QUESTION_CHARS:
        raise QueryError(
            f"the question and its queries have {chars:,} characters; give at most "
            f"{MAX_QUESTION_CHARS:,}, and add a longer text as a document"
        )


def is_number_question(question: str, *, language: str = "en") -> bool:
    """Return whether a question asks for a number.

    Chunks with digits are then more likely to answer it.

    Args:
        question: Text of the question.
        language: Language of the question; one without a word list is treated as English.
    """
    if _UNSPACED.search(question):
        return True
    number_words = _BY_LANGUAGE.get(language)
    if number_words is None:
        return _ENGLISH.search(question) is not None
    return "%" in question or any(word in number_words for word in words(question.lower()))


_COMPARISON = re.compile(
    r"\b(compar\w*|versus|vs|over time|trends?|evolv\w*|evolution|stack up|across|historically"
    r"|year[- ]over[- ]year|fluctuat\w*|in these|prior (quarters?|years?|periods?)"
    r"|(these|all|both|several|each|different|multiple|various)"
    r" (documents?|reports?|filings?|compan(y|ies)|10-[qk]s|contracts?|agreements?|quarters"
    r"|years))\b",
    re.IGNORECASE,
)
_LEGAL_FORMS = ("", "inc", "corp", "co", "ltd", "llc")
_NAME_GAP = re.compile(r" |-|/|\.? ?& ?")
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_MAX_NAME_WORDS, _MAX_JOINED = 6, 24
MAX_TERMS = 64
"""Maximum number of search terms of one query; a longer query uses its most informative terms."""


class Correction(NamedTuple):
    """Correction of a misspelt word of a question."""

    word: str
    """Misspelt word as written."""
    found: str
    """Word of the documents that is searched instead, in lower case."""


@dataclass(frozen=True, slots=True)
class Question:
    """Words, terms and kind of one question."""

    text: str
    """Text to search for; for a very long question, its most informative words."""
    words: tuple[str, ...]
    """All words in order, in Unicode normal form C."""
    stems: tuple[str | None, ...]
    """First term of each word; None for function words."""
    terms: tuple[str, ...]
    """Distinct terms in order of first occurrence; the first form of each word."""
    asks_number: bool
    """Whether the question asks for a number."""
    compares: bool
    """Whether the question compares documents, or one thing over time."""
    other_forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Additional forms of each term in other languages; each form belongs to one term."""

    joined_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Terms of the words of each name of several words, by the joined form that a file name may
    have ("kentuckyutilitiesco")."""
    uses: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Number of occurrences of each term in the question."""
    language: str = "en"
    """Language whose stop words were removed."""
    original_text: str = ""
    """Text as the caller wrote it; empty if `text` is the same."""
    original_words: int = 0
    """Number of distinct words of a long question; 0 if the search uses all of them."""
    phrases: tuple[Phrase, ...] = ()
    """Quoted phrases that must occur."""
    corrections: tuple[Correction, ...] = ()
    """Corrections of misspelt words."""
    by_document: bool = False
    """Whether the search is for the best place of each document."""
    topic_phrases: tuple[str, ...] = ()
    """Phrases of a pack's topic. Their words are among the terms. Empty unless `by_document`."""
    unmatched: tuple[str, ...] = ()
    """Names that the question lists with a compared thing and that no title contains."""
    uncovered: tuple[str, ...] = ()
    """Dates at which a period ends that no document of the named thing covers."""
    thing: str = ""
    """Name of the compared thing that this query is about; empty for other queries."""

    @property
    def shown_text(self) -> str:
        """Return the question as the caller wrote it."""
        return self.original_text or self.text

    def term_words(self) -> tuple[str, ...]:
        """Return for each term the first word with it; "" if the term is only a part of words."""
        first: dict[str, str] = {}
        for word, stem in zip(self.words, self.stems, strict=True):
            if stem is not None:
                first.setdefault(stem, word)
        return tuple(first.get(term, "") for term in self.terms)

    def forms(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return all forms of the terms, and the index of the term of each form.

        The terms come first, in order. The indexes are empty if there are no other forms.
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
        """Return the question without the words of a title.

        Returns None if the title contains none or all of the content words of the question.
        """
        named = {stem for stem in self.stems if stem is not None and stem in title_terms}
        if not named or named.issuperset(stem for stem in self.stems if stem is not None):
            return None
        remaining = [w for w, s in zip(self.words, self.stems, strict=True) if s not in named]
        return " ".join(remaining)


def read_question(text: str, *, languages: Sequence[str] = ("",)) -> Question:
    """Return the analysis of a question; `terms` is empty for a text without words.

    Args:
        text: Text of the question.
        languages: Languages of the documents to search; "" for an unknown language.
    """
    stemmers_used = {stem_language(language) for language in languages or ("",)}
    stemmers = sorted(stemmers_used, key=lambda stemmer: (stemmer != "en", stemmer))
    composed = unicodedata.normalize("NFC", text)  # the form of the lists of function words
    language = question_language(composed, languages)
    word_list = tuple(words(composed))
    phrases = read_phrases(composed)
    content = _content(composed, language, phrases)
    term_of: dict[str, str] = {}
    uses: Counter[str] = Counter()
    stems: list[str | None] = []
    meanings = abbreviated_words(composed, word_list) if language == "en" else {}
    for place, word in enumerate(word_list):
        if place in meanings:
            word_forms = _meant_terms(word, meanings[place], stemmers, term_of)
        else:
            word_forms = _terms(word, stemmers, term_of) if word in content else []
        uses.update(word_forms)
        stems.append(word_forms[0] if word_forms else None)
    terms = tuple(uses)
    for word, stem in zip(word_list, stems, strict=True):
        same = country_words(word) if stem is not None and language == "en" else ()
        for other, name in product(same, stemmers):
            term_of.setdefault(word_terms(other, language=name)[0], stem or "")
    # Function words that are also forms of a content word count as uses of its term.
    others = (word for word in word_list if word not in content)
    uses.update(
        term_of[s] for w in others for s in word_terms(w, language=stemmers[0]) if s in term_of
    )
    forms: dict[str, list[str]] = {term: [] for term in terms}
    for form, term in term_of.items():
        if form != term:
            forms[term].append(form)
    return Question(
        text=text,
        words=word_list,
        stems=tuple(stems),
        terms=terms,
        asks_number=is_number_question(composed, language=language),
        compares=_COMPARISON.search(text) is not None,
        other_forms={term: tuple(other) for term, other in forms.items() if other},
        joined_names=_joined_names(composed, word_list, stems, stemmers, known=term_of),
        uses=uses,
        language=language,
        phrases=phrases,
    )


def _content(text: str, language: str, phrases: Sequence[Phrase]) -> frozenset[str]:
    """Return the content words of a question.

    The words of a phrase without content words, such as "to be or not to be", count as well.
    Otherwise no term would lead to its documents.
    """
    content = frozenset(content_words(text, language=language))
    for phrase in phrases:
        quoted = frozenset(words(phrase.text))
        if content.isdisjoint(quoted):
            content |= quoted
    return content


def _joined_names(
    text: str,
    word_list: Sequence[str],
    stems: Sequence[str | None],
    stemmers: Sequence[str],
    *,
    known: Mapping[str, str],
) -> dict[str, tuple[str, ...]]:
    """Return the terms of the words of names, by the joined name with and without a legal form.

    File names often have such a word for a company: "KENTUCKYUTILITIESCO" for Kentucky Utilities.
    """
    spans = [
        run[start:end]
        for run in name_runs(text, word_list, stems)
        for start, end in combinations(range(len(run) + 1), 2)
        if end - start > 1
    ]
    joined: dict[str, tuple[str, ...]] = {}
    for span in sorted(spans, key=len, reverse=True):
        whole = _NOT_ALPHANUMERIC.sub("", "".join(word for word, _ in span)).lower()
        for ending, stemmer in product(_LEGAL_FORMS, stemmers):
            for form in word_terms(whole + ending, language=stemmer)[:1]:
                if form not in known and len(joined) < _MAX_JOINED:
                    joined.setdefault(form, tuple(stem for _, stem in span))
    return joined


def name_runs(
    text: str, word_list: Sequence[str], stems: Sequence[str | None]
) -> list[list[tuple[str, str]]]:
    """Return the runs of capitalised content words, each word with its term.

    Args:
        text: Text in Unicode normal form C.
        word_list: Words of the text, in order.
        stems: First term of each word; None for function words.
    """
    runs: list[list[tuple[str, str]]] = [[]]
    end = 0
    for word, stem in zip(word_list, stems, strict=True):
        start = text.index(word, end)
        gap, end = text[end:start], start + len(word)
        if stem is None or not word[0].isupper():
            runs.append([])
            continue
        if not _NAME_GAP.fullmatch(gap):
            runs.append([])
        runs[-1].append((word, stem))
    return [run[:_MAX_NAME_WORDS] for run in runs if run]


def _terms(word: str, languages: Sequence[str], term_of: dict[str, str]) -> list[str]:
    """Return the terms of a word, and record its forms in `term_of`.

    If an earlier word has a form in common with this word, both have the same term.
    """
    terms = []
    for forms in zip(*(word_terms(word, language=name) for name in languages), strict=True):
        term = next((term_of[form] for form in forms if form in term_of), forms[0])
        for form in forms:
            term_of.setdefault(form, term)
        terms.append(term)
    return terms


def _meant_terms(
    word: str, meaning: Sequence[str], languages: Sequence[str], term_of: dict[str, str]
) -> list[str]:
    """Return the terms of the words that an abbreviation stands for.

    The abbreviation becomes another form of the first term, except a function word such as the
    second letter of "G&A".

    Args:
        word: The abbreviation, or one of its letters.
        meaning: Words that it stands for.
        languages: Languages of the documents.
        term_of: Known terms by form; the new forms are added.
    """
    terms = [term for meant in meaning for term in _terms(meant, languages, term_of)]
    if content_words(f"{word} {meaning[0]}")[0] == word:
        for language in languages:
            term_of.setdefault(word_terms(word, language=language)[0], terms[0])
    return terms


def informative_terms(
    question: Question, weights: NDArray[np.float64], *, limit: int = MAX_TERMS
) -> tuple[str, ...]:
    """Return the `limit` most informative terms of a long question, in order of occurrence.

    The score of a term is `weight * (1 + ln(count))`: it is higher for rare terms and for terms
    that the question repeats. Ties go to the earlier term. The best term of each quoted phrase
    comes first, because documents without it cannot contain the phrase.

    Args:
        question: The question.
        weights: Inverse frequency of each of its terms; 0 for a term that no chunk contains.
        limit: Maximum number of terms.
    """
    uses = np.array([question.uses[term] for term in question.terms])
    value = weights * (1 + np.log(uses))
    place = {term: at for at, term in enumerate(question.terms)}
    stem_of = dict(zip(question.words, question.stems, strict=True))
    for phrase in question.phrases:
        stems = {stem_of.get(word) for word in words(phrase.text)}
        places = [at for term, at in place.items() if term in stems]
        if places:
            value[max(places, key=value.__getitem__)] = np.inf
    best = np.sort(np.argsort(-value, kind="stable")[:limit])
    return tuple(question.terms[i] for i in best)
