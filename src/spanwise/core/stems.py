"""Stems of words by language: what a word and its inflected forms have in common.

Rules:
    A word is stemmed by Snowball in the language of its document; a word of Latin letters in a
    language that is not written in them is stemmed as English.
    A language without a stemmer, or not known, is treated as English.
    A word that is all ending to its stemmer is its own stem.
    Where people type without accents, these go after the stemmer has seen them. They stay where
    they make another letter: in the north ("å", "ä", "ö"), and in German, whose stemmer knows
    that "ae" is "ä".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

import Stemmer

__all__ = ["STEMMERS", "stem", "stem_language", "stems_version"]

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Snowball stemmer of each language (ISO 639-1)."""

_NOT_LATIN = frozenset(("ar", "el", "fa", "hi", "hy", "ne", "ru", "ta", "yi"))
_WITHOUT_ACCENTS = frozenset(
    ("ca", "cs", "eo", "es", "eu", "fr", "ga", "hu", "it", "lt", "nl", "pl", "pt", "ro", "sr")
)
_NO_MARKS = str.maketrans({"ł": "l", "đ": "d", "œ": "oe"})  # letters that do not come apart
_NON_JOINER = "\u200c"
_TURKISH_SMALL = str.maketrans({"İ": "i", "I": "ı"})


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    stemmer = Stemmer.Stemmer(STEMMERS[language])
    stemmer.maxCacheSize = 0  # `core.terms` caches whole words
    return stemmer


def stem_language(language: str) -> str:
    """Return the language whose stemmer a language takes: its own, or "en"."""
    return language if language in STEMMERS else "en"


def stems_version() -> str:
    """Return what changes when a stemmer may give other stems."""
    return str(Stemmer.version())


def stem(words: Sequence[str], *, language: str) -> list[str]:
    """Return the stem of each of some words, in small letters.

    Args:
        words: Composed (NFC), as written; not empty, no white space.
        language: ISO 639-1; one without a stemmer, or "", is treated as English.
    """
    language = stem_language(language)
    if language == "en":
        return list(_stemmer("en").stemWords([_joined(word.lower()) for word in words]))
    return [_foreign_stem(word, language) or word.lower() for word in words]


def _joined(word: str) -> str:
    return word if word.isascii() else word.replace(_NON_JOINER, "")


def _foreign_stem(word: str, language: str) -> str:
    if word.isascii() and language in _NOT_LATIN:
        language = "en"
    if language == "fa":  # its stemmer wants to see where words are joined
        return _joined(str(_stemmer("fa").stemWord(word)))
    word = _joined(word)
    if language == "tr":
        # The small dotless "ı" matters to the stemmer, but not after it: "FIFA" is "fifa".
        found = str(_stemmer("tr").stemWord(word.translate(_TURKISH_SMALL).lower()))
        return found.replace("ı", "i")
    found = str(_stemmer(language).stemWord(word.lower()))
    if found.isascii() or language not in _WITHOUT_ACCENTS:
        return found
    apart = unicodedata.normalize("NFD", found.translate(_NO_MARKS))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))
