"""Which language a text is written in: by its script, its function words and its letters.

Rules:
    A few places of a text are read, so that the cost does not grow with it.
    The script decides where it is that of one language. Else each language is worth the weights
    of its function words and letters in the text; both weigh more the fewer languages have them,
    and a word counts three times at most: in code one name comes again and again.
    A language that is not clearly ahead, or has few of its words there, is not named: the text
    is then treated as English, as texts of code and tables of numbers are.
No model and no data but lists of our own: small, offline, the same in every process.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log

from spanwise.core.text.language_traits import FUNCTION_WORDS, LETTERS
from spanwise.core.text.terms import words
from spanwise.types import Scalar

_PLACES, _PLACE_CHARS = 4, 1_500
_MAX_COUNT = 3
_LETTER_WEIGHT = 0.6
_LEAD = 1.03  # a language is worth this many times the next one
_LEAST_SCORE = 3.5
_LEAST_PER_WORD = 0.25  # prose has .4 and more
_KANA_SHARE = 0.1
_SHORT_WORDS = 60

_IDEOGRAPHS = re.compile("[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_KANA = re.compile("[\u3041-\u30ff]")
_SCRIPTS = (
    ("Latn", re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"), 1),
    ("Hani", _IDEOGRAPHS, 3),
    ("Hang", re.compile("[\u1100-\u11ff\uac00-\ud7af]"), 2),
    ("Thai", re.compile("[\u0e01-\u0e4f]"), 1),
    ("Grek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), 1),
    ("Armn", re.compile("[\u0531-\u0587]"), 1),
    ("Taml", re.compile("[\u0b80-\u0bff]"), 1),
    ("Hebr", re.compile("[\u05d0-\u05f2]"), 1),
    ("Deva", re.compile("[\u0900-\u097f]"), 1),
    ("Arab", re.compile("[\u0620-\u06d3]"), 1),
    ("Cyrl", re.compile("[\u0400-\u04ff]"), 1),
)
"""Scripts, their letters, and how many letters of an alphabet one of these stands for."""
_OF_SCRIPT = {
    "Hang": ("ko",),
    "Thai": ("th",),
    "Grek": ("el",),
    "Armn": ("hy",),
    "Taml": ("ta",),
    "Hebr": ("he", "yi"),
    "Deva": ("hi", "mr", "ne"),
    "Arab": ("ar", "fa", "ur"),
    "Cyrl": ("bg", "kk", "mk", "ru", "sr", "uk"),
}
_OTHER_SCRIPTS = {language for found in _OF_SCRIPT.values() for language in found} - {"sr"}
_LATIN = tuple(sorted(FUNCTION_WORDS.keys() - _OTHER_SCRIPTS))

_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9-_]*)?")
_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "eng": "en", "deu": "de",
         "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt", "rus": "ru",
         "zho": "zh", "chi": "zh", "jpn": "ja", "kor": "ko", "ara": "ar", "hin": "hi"}  # fmt: skip
"""Other codes of languages that are known by two letters."""


def _owners(held: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return the languages that have each word or letter."""
    owners: dict[str, list[str]] = defaultdict(list)
    for language in sorted(held):
        for item in dict.fromkeys(held[language]):
            owners[item].append(language)
    return {item: tuple(languages) for item, languages in owners.items()}


_WORD_OWNERS = _owners(FUNCTION_WORDS)
_LETTER_OWNERS = _owners(LETTERS)


def _weight(owners: Sequence[str]) -> float:
    return log((len(FUNCTION_WORDS) + 1) / len(owners))


def read_language(tag: str) -> str:
    """Return the code of a language that people write as "de", "de-DE" or "deu"; "" for no code."""
    found = _TAG.fullmatch(tag.strip())
    if found is None:
        return ""
    code = found.group(1).lower()
    return _SAME.get(code, code)


def detect_language(text: str) -> str:
    """Return the language of a text (ISO 639-1), "" where it is not clear.

    Args:
        text: Of any length; the first, the last and two other places of it are read.
    """
    sample = unicodedata.normalize("NFC", _sample(text)).lower()
    script = _main_script(sample)
    if script == "Hani":
        kana, ideographs = len(_KANA.findall(sample)), len(_IDEOGRAPHS.findall(sample))
        return "ja" if kana > _KANA_SHARE * ideographs else "zh"
    languages = _OF_SCRIPT.get(script, _LATIN) if script else ()
    return languages[0] if len(languages) == 1 else _clear_language(sample, languages)


def document_language(text: str, *, metadata: Mapping[str, Scalar]) -> str:
    """Return the language of a document: what its metadata field `language` says, or its text.

    Args:
        text: Its text, or parts of it.
        metadata: Its fields; who knows better than the text says it there, as "de" or "de-DE".
    """
    given = metadata.get("language")
    return (read_language(given) if isinstance(given, str) else "") or detect_language(text)


def _sample(text: str) -> str:
    if len(text) <= _PLACES * _PLACE_CHARS:
        return text
    step = (len(text) - _PLACE_CHARS) // (_PLACES - 1)
    return "\n".join(text[at * step : at * step + _PLACE_CHARS] for at in range(_PLACES))


def _main_script(sample: str) -> str:
    """Return the script that most of a sample is written in, "" without letters."""
    if sample.isascii():
        return "Latn" if any(character.isalpha() for character in sample) else ""
    counts = {name: len(letters.findall(sample)) * weight for name, letters, weight in _SCRIPTS}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else ""


class _Scores:
    """What each of some languages is worth in some words."""

    def __init__(self, found: Sequence[str], languages: Collection[str]) -> None:
        self.capped: dict[str, float] = dict.fromkeys(languages, 0.0)
        self.whole: dict[str, float] = dict.fromkeys(languages, 0.0)
        self.distinct: Counter[str] = Counter()
        for word, count in Counter(found).items():
            owners = _WORD_OWNERS.get(word, ())
            self._add(owners, count, _weight(owners) if owners else 0.0)
            self.distinct.update(owners)
            if not word.isascii():
                for letter in sorted(set(word)):
                    holders = _LETTER_OWNERS.get(letter, ())
                    if holders:
                        self._add(holders, count, _LETTER_WEIGHT * _weight(holders))

    def _add(self, owners: Sequence[str], count: int, weight: float) -> None:
        for language in owners:
            if language in self.capped:
                self.capped[language] += min(count, _MAX_COUNT) * weight
                self.whole[language] += count * weight


def _clear_language(sample: str, languages: Sequence[str]) -> str:
    """Return the language that is clearly ahead of others, or ""."""
    found = [word for word in words(sample) if not word[0].isdigit()]
    if not found or not languages:
        return ""
    scores = _Scores(found, languages)
    best, second = sorted(languages, key=lambda language: -scores.capped[language])[:2]
    least = 5 if len(found) > _SHORT_WORDS else 2
    is_clear = (
        scores.capped[best] >= max(_LEAST_SCORE, _LEAD * scores.capped[second])
        and scores.whole[best] >= _LEAST_PER_WORD * len(found)
        and scores.distinct[best] >= least
    )
    return best if is_clear else ""


def question_language(question: str, languages: Collection[str]) -> str:
    """Return which of some languages a question is asked in, "en" where nothing tells.

    Args:
        question: The question.
        languages: Those that a knowledge base holds; English is always among the choices.
    """
    choices = sorted({"en", *languages} & FUNCTION_WORDS.keys())
    if choices == ["en"]:
        return "en"
    scores = _Scores(words(question.lower()), choices)
    return max(choices, key=lambda language: (scores.capped[language], language == "en"))
