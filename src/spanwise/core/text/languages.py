"""Language detection by script, function words and letters.

Rules:
    Only a few samples of a text are read, so the cost does not grow with its length.
    If only one language uses the script, it is the result. Otherwise the score of a language is the
    sum of the weights of its function words and letters in the text. A word or letter of fewer
    languages has a greater weight. Each word counts at most three times, because code repeats
    names.
    There is no result if no language is clearly ahead, or if the text has few of its words. The
    text is then treated as English, like code and tables of numbers.

It needs no model and no data except the lists of `core.text.language_traits`: small, offline and
deterministic.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from math import log
from string import ascii_letters

from spanwise.core.text.language_traits import FUNCTION_WORDS, LETTERS
from spanwise.core.text.terms import words
from spanwise.types import MetadataValue

_PLACES, _PLACE_CHARS = 4, 1_500
_MAX_COUNT = 3
_LETTER_WEIGHT = 0.6
_LEAD = 1.03  # minimum ratio of the best score to the second
_MIN_SCORE = 3.5
_MIN_PER_WORD = 0.25  # prose has .4 and more
_KANA_SHARE = 0.1
_SHORT_WORDS = 60

_IDEOGRAPHS = "\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_KANA = re.compile("[\u3041-\u30ff]")
_SCRIPTS = (
    ("Latn", "\u00c0-\u024f\u1e00-\u1eff", 1),
    ("Hani", _IDEOGRAPHS, 3),
    ("Hang", "\u1100-\u11ff\uac00-\ud7af", 2),
    ("Thai", "\u0e01-\u0e4f", 1),
    ("Grek", "\u0370-\u03ff\u1f00-\u1fff", 1),
    ("Armn", "\u0531-\u0587", 1),
    ("Taml", "\u0b80-\u0bff", 1),
    ("Hebr", "\u05d0-\u05f2", 1),
    ("Deva", "\u0900-\u097f", 1),
    ("Arab", "\u0620-\u06d3", 1),
    ("Cyrl", "\u0400-\u04ff", 1),
)
"""Name of each script, its letters outside ASCII for a regex character class, and weight of a
letter relative to Latin."""
_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_ASCII_LETTERS = ascii_letters.encode()
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
_OTHER_SCRIPTS = {code for codes in _OF_SCRIPT.values() for code in codes} - {"sr"}
_LATIN = tuple(sorted(FUNCTION_WORDS.keys() - _OTHER_SCRIPTS))

_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9-_]*)?")
_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "eng": "en", "deu": "de",
         "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt", "rus": "ru",
         "zho": "zh", "chi": "zh", "jpn": "ja", "kor": "ko", "ara": "ar", "hin": "hi"}  # fmt: skip
"""Two-letter code for each alternative code of a language."""


def _owners(by_language: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return the languages that have each word or letter."""
    owners: dict[str, list[str]] = defaultdict(list)
    for language in sorted(by_language):
        for item in dict.fromkeys(by_language[language]):
            owners[item].append(language)
    return {item: tuple(languages) for item, languages in owners.items()}


@cache
def _word_owners() -> dict[str, tuple[str, ...]]:
    return _owners(FUNCTION_WORDS)


@cache
def _letter_owners() -> dict[str, tuple[str, ...]]:
    return _owners(LETTERS)


@cache
def _letters(script: str) -> re.Pattern[str]:
    """Return the pattern of the letters of a script. A question in ASCII needs none."""
    return re.compile(f"[{next(letters for name, letters, _ in _SCRIPTS if name == script)}]")


def _weight(owners: Sequence[str]) -> float:
    return log((len(FUNCTION_WORDS) + 1) / len(owners))


def read_language(tag: str) -> str:
    """Return the code of a language tag such as "de", "de-DE" or "deu"; "" for an invalid tag."""
    match = _TAG.fullmatch(tag.strip())
    if match is None:
        return ""
    code = match.group(1).lower()
    return _SAME.get(code, code)


def detect_language(text: str) -> str:
    """Return the language of a text (ISO 639-1); "" if it is not clear.

    Args:
        text: Text of any length; four samples of 1,500 characters are read.
    """
    sample = unicodedata.normalize("NFC", _sample(text)).lower()
    script = _main_script(sample)
    if script == "Hani":
        kana, ideographs = len(_KANA.findall(sample)), len(_letters("Hani").findall(sample))
        return "ja" if kana > _KANA_SHARE * ideographs else "zh"
    languages = _OF_SCRIPT.get(script, _LATIN) if script else ()
    return languages[0] if len(languages) == 1 else _clear_language(sample, languages)


def document_language(text: str, *, metadata: Mapping[str, MetadataValue] | None = None) -> str:
    """Return the language of a document from its metadata field `language`, or from its text.

    Args:
        text: Text of the document, or parts of it.
        metadata: Metadata fields; `language` overrides detection, as "de" or "de-DE".

    Returns:
        ISO 639-1 code such as "de"; empty if the language is unknown.
    """
    tag = (metadata or {}).get("language")
    return (read_language(tag) if isinstance(tag, str) else "") or detect_language(text)


def _sample(text: str) -> str:
    if len(text) <= _PLACES * _PLACE_CHARS:
        return text
    step = (len(text) - _PLACE_CHARS) // (_PLACES - 1)
    return "\n".join(text[at * step : at * step + _PLACE_CHARS] for at in range(_PLACES))


def _main_script(sample: str) -> str:
    """Return the script of most letters of a sample; "" if there are no letters."""
    if sample.isascii():
        return "Latn" if any(character.isalpha() for character in sample) else ""
    encoded = sample.encode("ascii", "ignore")
    latin = len(encoded) - len(encoded.translate(None, _ASCII_LETTERS))
    others = "".join(_NOT_ASCII.findall(sample))
    counts = {name: len(_letters(name).findall(others)) * weight for name, _, weight in _SCRIPTS}
    counts["Latn"] += latin
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else ""


class _Scores:
    """Score of each language for a list of words."""

    def __init__(self, text_words: Sequence[str], languages: Collection[str]) -> None:
        self.capped: dict[str, float] = dict.fromkeys(languages, 0.0)
        self.whole: dict[str, float] = dict.fromkeys(languages, 0.0)
        self.distinct: dict[str, int] = defaultdict(int)
        word_owners, letter_owners = _word_owners(), _letter_owners()
        for word, count in Counter(text_words).items():
            owners = word_owners.get(word, ())
            if owners:
                self._add(owners, count, _weight(owners))
                for language in owners:
                    self.distinct[language] += 1
            if not word.isascii():
                for letter in sorted(set(word)):
                    holders = letter_owners.get(letter, ())
                    if holders:
                        self._add(holders, count, _LETTER_WEIGHT * _weight(holders))

    def _add(self, owners: Sequence[str], count: int, weight: float) -> None:
        capped, whole = min(count, _MAX_COUNT) * weight, count * weight
        for language in owners:
            if language in self.capped:
                self.capped[language] += capped
                self.whole[language] += whole


def _clear_language(sample: str, languages: Sequence[str]) -> str:
    """Return the language that is clearly ahead of the others, or ""."""
    text_words = [word for word in words(sample) if not word[0].isdigit()]
    if not text_words or not languages:
        return ""
    scores = _Scores(text_words, languages)
    best, second = sorted(languages, key=lambda language: -scores.capped[language])[:2]
    least = 5 if len(text_words) > _SHORT_WORDS else 2
    is_clear = (
        scores.capped[best] >= max(_MIN_SCORE, _LEAD * scores.capped[second])
        and scores.whole[best] >= _MIN_PER_WORD * len(text_words)
        and scores.distinct[best] >= least
    )
    return best if is_clear else ""


def question_language(question: str, languages: Collection[str]) -> str:
    """Return the language of a question; "en" if it is not clear.

    Args:
        question: Text of the question.
        languages: Languages of the knowledge base; English is always among the choices.
    """
    choices = sorted({"en", *languages} & FUNCTION_WORDS.keys())
    if choices == ["en"]:
        return "en"
    scores = _Scores(words(question.lower()), choices)
    return max(choices, key=lambda language: (scores.capped[language], language == "en"))
