"""Terms of the keyword index: tokenisation, stemming and stop words by language.

Rules of words:
    A word is a run of letters and digits with their marks, or a number with its separators
    ("1,577.0").
    A compound word ("FY2018", "DiffExecutor") yields itself and its parts.
    Words are normalised (NFC), lower-cased and stemmed in the language of their document. Optional
    vowel signs of Arabic and Hebrew are removed, and the digits of all scripts are equal. Runs of
    Chinese, Japanese, Korean, Thai, Lao, Khmer or Burmese yield bigrams.
    The index contains every term; a question drops its stop words unless nothing else is left.
    Only terms are normalised, never texts, so offsets in a text are unchanged.

Rules of stems:
    A word is stemmed by Snowball in the language of its document. A word in Latin letters in a
    language with another script is stemmed as English, as is every word in a language without a
    stemmer or in an unknown language.
    A word whose stem would be empty is its own stem.
    In languages that are often typed without accents, accents are removed after stemming. They are
    kept where they make a different letter: in the Nordic languages ("å", "ä", "ö"), and in German,
    whose stemmer treats "ae" as "ä".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise

import Stemmer

from spanwise.core.text.language_traits import FUNCTION_WORDS

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Name of the Snowball stemmer of each language (ISO 639-1)."""

_NOT_LATIN = frozenset(("ar", "el", "fa", "hi", "hy", "ne", "ru", "ta", "yi"))
_WITHOUT_ACCENTS = frozenset(
    ("ca", "cs", "eo", "es", "eu", "fr", "ga", "hu", "it", "lt", "nl", "pl", "pt", "ro", "sr")
)
_NO_MARKS = str.maketrans({"ł": "l", "đ": "d", "œ": "oe"})  # letters without a decomposition
_NON_JOINER = "\u200c"
_TURKISH_SMALL = str.maketrans({"İ": "i", "I": "ı"})


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    stemmer = Stemmer.Stemmer(STEMMERS[language])
    stemmer.maxCacheSize = 0  # `_spaced_terms` caches whole words
    return stemmer


def stem_language(language: str) -> str:
    """Return the language whose stemmer is used for a language: itself, or "en"."""
    return language if language in STEMMERS else "en"


def stems_version() -> str:
    """Return the version of the stemmers; it changes when stems may change."""
    return str(Stemmer.version())


def stem(words: Sequence[str], *, language: str) -> list[str]:
    """Return the stems of words, in lower case.

    Args:
        words: Words in composed form (NFC), not empty, without white space.
        language: ISO 639-1 code; one without a stemmer, or "", is treated as English.
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
    if language == "fa":  # its stemmer uses the non-joiner
        return _joined(str(_stemmer("fa").stemWord(word)))
    word = _joined(word)
    if language == "tr":
        # The stemmer distinguishes the dotless "ı"; terms do not: "FIFA" equals "fifa".
        stemmed = str(_stemmer("tr").stemWord(word.translate(_TURKISH_SMALL).lower()))
        return stemmed.replace("ı", "i")
    stemmed = str(_stemmer(language).stemWord(word.lower()))
    if stemmed.isascii() or language not in _WITHOUT_ACCENTS:
        return stemmed
    decomposed = unicodedata.normalize("NFD", stemmed.translate(_NO_MARKS))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


_VERSION = 2  # version of the rules above; a change rebuilds indexes


_WITH_MARKS = (range(0x300, 0x3100), range(0xA66F, 0xAC00), range(0xFB00, 0xFE00))
"""Ranges of characters among which combining marks are; between them are letters alone."""


def _marks() -> str:
    """Return all combining marks of letters; those of symbols and emoji are not included.

    Consecutive marks are a range, "first-last".
    """
    runs: list[list[str]] = []
    for character in map(chr, chain.from_iterable(_WITH_MARKS)):
        is_mark = unicodedata.category(character) in ("Mn", "Mc")
        if is_mark and not "\u20d0" <= character <= "\u20ff":
            if runs and ord(character) == ord(runs[-1][-1]) + 1:
                runs[-1].append(character)
            else:
                runs.append([character])
    return "".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


_JOINERS = f"{_NON_JOINER}\u200d"  # control how letters of one word are drawn
MARKS = _marks()
"""Combining marks, for use inside a regex character class."""
_WORD = re.compile(rf"\d+(?:[.,]\d+)+|[^\W_]+(?:[{MARKS}{_JOINERS}]+[^\W_]*)*")
_WORD_CHARACTER = re.compile(rf"[^\W_]|[{MARKS}{_JOINERS}]")
_ASCII = frozenset(map(chr, range(128)))
_PARTS = re.compile(rf"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|(?:[^\WA-Za-z\d_]|[{MARKS}\u200c])+")
_CAPITALS = re.compile("[A-Z\u00c0-\u00d6\u00d8-\u00deĀ-Ž]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)+")
_COMPATIBLE = re.compile("[\ufb00-\ufb4f\ufb50-\ufdff\ufe70-\ufefc\uff00-\uffef]")
"""Compatibility forms: ligatures, positional Arabic letters, full-width and half-width letters."""
_NOT_TYPED = re.compile("[\u200d\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
                        "\u0610-\u061a\u0640\u064b-\u0652\u0670]")  # fmt: skip
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
"""Letters of scripts without spaces between words, for use inside a regex character class."""


@cache
def _unspaced() -> re.Pattern[str]:
    """Return the pattern of a run of letters of scripts without spaces."""
    return re.compile(f"[{UNSPACED}]+")


@cache
def _letter() -> re.Pattern[str]:
    """Return the pattern of a letter with its marks."""
    return re.compile(f"[^{MARKS}][{MARKS}]*|[{MARKS}]+")


@cache
def _literal() -> re.Pattern[str]:
    """Return the pattern of a letter of a script without spaces, or of a run of other letters."""
    return re.compile(f"[{UNSPACED}][{MARKS}{_JOINERS}]*|[^{UNSPACED}]+")


_PIECE_CHARS = 8
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


def terms_version() -> str:
    """Return the version of the terms; an index with another version is outdated."""
    return f"{_VERSION}/{stems_version()}"


def words(text: str) -> list[str]:
    """Return the words of a text in order, as written."""
    return _WORD.findall(text)


def has_ascii_words(text: str) -> bool:
    """Return whether all words of a text are ASCII; its punctuation may be other characters."""
    return text.isascii() or not any(map(_is_word_character, set(text) - _ASCII))


@lru_cache(maxsize=4_096)
def _is_word_character(character: str) -> bool:
    return _WORD_CHARACTER.match(character) is not None


def is_unspaced(text: str) -> bool:
    """Return whether a text contains a letter of a script without spaces between words."""
    return not text.isascii() and _unspaced().search(text) is not None


def literal_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each word of a text in a form for literal comparison, with its range `[start, end)`.

    Words that differ only in case, in optional vowel signs, or in the script of their digits have
    the same form. Each letter of a script without spaces is a word.
    """
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        if word.isascii():
            yield word.lower(), start, match.end()
            continue
        for piece in _literal().finditer(word):
            composed = _composed(piece.group()).casefold()
            folded = composed.replace("i\u0307", "i").replace("ı", "i").replace(_NON_JOINER, "")
            letters = _letter().findall(folded) if is_unspaced(folded) else [folded]
            for letter in filter(None, letters):
                yield letter, start + piece.start(), start + piece.end()


def word_pieces(text: str) -> Iterator[str]:
    """Yield the words of a text, none longer than the longest term.

    Runs of scripts without spaces are divided into pieces of 8 characters; long words are cut.
    """
    for word in words(text):
        if not is_unspaced(word):
            yield word[:_MAX_WORD_CHARS]
        else:
            yield from (word[at : at + _PIECE_CHARS] for at in range(0, len(word), _PIECE_CHARS))


def word_terms(word: str, *, language: str = "") -> tuple[str, ...]:
    """Return the terms of one word: its stem, and the stems of its parts if it is a compound.

    Args:
        word: A word returned by `words`.
        language: Language of the text or of the search (ISO 639-1); one without a stemmer, or "",
            is treated as English. It changes stems, never their number.
    """
    if not word.isascii():
        word = _composed(word)
        if is_unspaced(word):
            return _unspaced_terms(word.replace(_NON_JOINER, ""), language)
    return _spaced_terms(word[:_MAX_WORD_CHARS], language) if word else ()


def _composed(word: str) -> str:
    """Return a word in Unicode normal form, without optional marks, with ASCII digits."""
    if _COMPATIBLE.search(word):
        word = unicodedata.normalize("NFKC", word)
    word = _NOT_TYPED.sub("", unicodedata.normalize("NFC", word)).strip(_NON_JOINER)
    return "".join(
        str(unicodedata.decimal(letter)) if letter.isdecimal() else letter for letter in word
    )


@lru_cache(maxsize=200_000)
def _spaced_terms(word: str, language: str) -> tuple[str, ...]:
    if word[0].isdigit() and not word.isalnum() and _NUMBER.fullmatch(word):
        return (word,)
    return tuple(stem(_word_forms(word), language=language))


def _word_forms(word: str) -> list[str]:
    """Return a word of a script with spaces and, if it is a compound, its parts, as written."""
    if word.islower() or word.isdigit() or (word.istitle() and word.isalpha()):
        return [word]
    parts = [] if _CAPITALS.fullmatch(word) else _PARTS.findall(word)
    return [word, *parts] if len(parts) > 1 else [word]


def _unspaced_terms(word: str, language: str) -> tuple[str, ...]:
    """Return bigrams of the runs without spaces, and the terms of the text between them."""
    terms: list[str] = []
    last = 0
    for run in _unspaced().finditer(word):
        if run.start() > last:
            terms += _spaced_terms(word[last : run.start()][:_MAX_WORD_CHARS], language)
        letters = _letter().findall(run.group())
        terms += [first + second for first, second in pairwise(letters)] or letters
        last = run.end()
    if last < len(word):
        terms += _spaced_terms(word[last:][:_MAX_WORD_CHARS], language)
    return tuple(terms)


def text_terms(text: str, *, language: str = "") -> list[str]:
    """Return all terms of a text in order, with repetitions; `language` as for `word_terms`."""
    terms: list[str] = []
    for word in _WORD.findall(text):
        terms += word_terms(word, language=language)
    return terms


def term_words(text: str, *, language: str = "") -> list[tuple[str, str]]:
    """Return all terms of a text, each with its word, with repetitions.

    Args:
        text: Any text.
        language: Language of the text, as for `word_terms`.

    Returns:
        Pairs of a term and a word in lower case. The word is "" if it contains characters other
        than letters, or belongs to a script without spaces between words. Each part of a compound
        is also a word.
    """
    pairs: list[tuple[str, str]] = []
    for word in _WORD.findall(text):
        composed = word if word.isascii() else _composed(word)
        if not is_unspaced(composed):
            pairs += _spaced_words(composed, language)
            continue
        pieces = _unspaced().split(composed.replace(_NON_JOINER, ""))
        known = dict(pair for piece in pieces for pair in _spaced_words(piece, language))
        terms = word_terms(word, language=language)
        pairs += [(term, known.get(term, "")) for term in terms]
    return pairs


def _spaced_words(word: str, language: str) -> list[tuple[str, str]]:
    """Return the terms of a word of a script with spaces, each with its form in lower case."""
    if not word:
        return []
    word = word[:_MAX_WORD_CHARS]
    terms = _spaced_terms(word, language)
    if len(terms) == 1:
        lower = word.lower()
        return [(terms[0], lower if lower.isalpha() else "")]
    forms = [form.lower() for form in _word_forms(word)]
    return [(t, form if form.isalpha() else "") for t, form in zip(terms, forms, strict=True)]


def content_words(question: str, *, language: str = "en") -> list[str]:
    """Return the content words of a question: without stop words, or all words if none is left.

    Args:
        question: Text of the question.
        language: Language of the question.
    """
    stop_words = _STOP_WORDS if language == "en" else FUNCTION_WORDS.get(language, frozenset())
    all_words = words(question)
    return [word for word in all_words if word.lower() not in stop_words] or all_words
