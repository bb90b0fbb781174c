"""Extractive summary and title: the most representative sentence of a text, without a model.

Rules:
    Only the first characters are read, so the cost does not grow with the text.
    The score of a sentence is the mean weight of its words of four letters and more; frequent words
    weigh more. Early, complete and readable sentences are preferred.
    Table rows and lines of numbers are used only if there is no sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from math import log1p

from spanwise.core.text.break_points import CELLS, LINE, grade_of, place_of, text_ends
from spanwise.core.text.sentences import CLOSERS, STOPS
from spanwise.core.text.terms import MARKS

SUMMARISED_CHARS = 4_000
"""Number of characters that the extractive summary is made from."""
_SUMMARY_CHARS = 200
_TITLE_READ_CHARS = 400
_TITLE_CHARS = 80
_ELLIPSIS = "…"
_MARKUP = "#>*-+=|•·~` \t"

_HALF_SENTENCES = 10  # position at which the score of a sentence is halved
_CLIPPED_FACTOR = 0.6
_NO_STOP_FACTOR = 0.5
_ENOUGH_WORDS = 6
_MIN_WORDS_SHARE = 0.35  # minimum share of word characters; less is numbers, names or code
_DATA_FACTOR = 0.1

_NUMBER = r"[-+(]?[$€£¥]?[ ]?\(?\d[\d,.]*[ ]?[)%]{0,2}"
_CELL = rf"(?:{_NUMBER}|[—–])"
_FIGURES = re.compile(
    rf"(?<!\S)(?!\d{{1,2}},[ ](?:19|20)\d\d\b)"
    rf"(?:{_NUMBER}[ ]{_NUMBER}|—[ ]—|{_CELL}[ ]{_CELL}(?:[ ]{_CELL})*\Z)(?!\S)"
)
_LAST_FIGURE = re.compile(
    r"(?<!\S)(?:\$[ ]?\(?\d[\d,.]*\)?|\(\d[\d,.]*\)|\d{1,3}(?:,\d{3})+|\d[\d.]*[ ]?%|[—–])\Z"
)
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{MARKS}]){{3,}}")
_ASCII_WORD = re.compile("[a-z]{4,}")


def clip(text: str, *, max_chars: int) -> str:
    """Return a text in one line, cut at a word and marked with "…" if it is too long.

    Args:
        text: The text; each run of white space becomes one space.
        max_chars: Maximum length of the result, at least 1.
    """
    line = " ".join(text[: 4 * max_chars + 80].split())
    if len(line) <= max_chars:
        return line
    cut = line.rfind(" ", max_chars // 2, max_chars)
    return line[: cut if cut > 0 else max_chars - 1].rstrip(" ,;:") + _ELLIPSIS


def summarise(text: str, *, max_chars: int = _SUMMARY_CHARS) -> str:
    """Return the most representative sentence of the first part of a text.

    Args:
        text: Text of the document.
        max_chars: Maximum length of the result; a longer sentence is cut at a word.

    Returns:
        One line; empty for a text without a word. Ties go to the earlier sentence.
    """
    sentences = _sentences(text, start=0, stop=len(text), read_chars=SUMMARISED_CHARS)
    return _best_sentence(sentences, max_chars=max_chars, no_stop=_NO_STOP_FACTOR)


def is_extract(summary: str, text: str) -> bool:
    """Return whether a summary is a sentence of the text, as `summarise` returns it."""
    opening = " ".join(text[:SUMMARISED_CHARS].split())
    return " ".join(summary.split()).removesuffix(_ELLIPSIS) in opening


def extract_title(text: str, *, start: int, stop: int, rows: bool = False) -> str:
    """Return a line or sentence of `text[start:stop]` that can serve as its title.

    Args:
        text: Text of the document.
        start: Offset of the first character.
        stop: Offset after the last character.
        rows: Whether a row of a table can be a title, as in earlier versions.

    Returns:
        One line of at most 80 characters; empty for a range without a word, and for one that
        begins with nothing but rows of a table.
    """
    sentences = _sentences(text, start=start, stop=stop, read_chars=_TITLE_READ_CHARS)
    return _best_sentence(sentences, max_chars=_TITLE_CHARS, no_stop=1.0, rows=rows)


def is_row(line: str) -> bool:
    """Return whether a line belongs to a table: a row of figures, or units ("(in millions)").

    A row has two adjacent figures, or ends with one. A year or a plain number at the end is not
    enough ("fiscal 2018", "Note 14").
    """
    is_units = _IN_PARENTHESES.fullmatch(line) is not None
    return is_units or bool(_FIGURES.search(line) or _LAST_FIGURE.search(line))


def _sentences(text: str, *, start: int, stop: int, read_chars: int) -> list[str]:
    """Return the first sentences and unbroken lines of a range, each in one line without markup."""
    limit = min(stop, start + read_chars)
    ends = [end for end in text_ends(text, start=start, stop=limit) if grade_of(end) != LINE]
    places = [place_of(end) for end in ends]
    if limit == stop or not places:
        places.append(limit)  # otherwise the last one is incomplete and dropped
    lines = [" ".join(text[a:b].split()).strip(_MARKUP) for a, b in pairwise([start, *places])]
    return [line for line in lines if line]


def _has_cells(line: str) -> bool:
    return ("\t" in line or "|" in line) and CELLS.search(line) is not None


def _best_sentence(
    sentences: Sequence[str], *, max_chars: int, no_stop: float, rows: bool = True
) -> str:
    words = [
        (_ASCII_WORD if sentence.isascii() else _WORD).findall(sentence.lower())
        for sentence in sentences
    ]
    uses = Counter(chain.from_iterable(words))
    weights = {word: log1p(count) for word, count in uses.items()}
    best = ""
    best_score = -1.0
    for index, (sentence, sentence_words) in enumerate(zip(sentences, words, strict=True)):
        score = sum([weights[word] for word in dict.fromkeys(sentence_words)]) / max(
            len(sentence_words), _ENOUGH_WORDS
        )
        score *= _HALF_SENTENCES / (_HALF_SENTENCES + index)
        if score <= best_score:  # the factors below only lower it
            continue
        if sentence.rstrip(CLOSERS)[-1:] not in STOPS:
            score *= no_stop
        if len(sentence) > max_chars:
            score *= _CLIPPED_FACTOR
        is_prose = sum(map(len, sentence_words)) >= _MIN_WORDS_SHARE * len(sentence)
        if not is_prose or _has_cells(sentence):
            score *= _DATA_FACTOR
        if score > best_score and (rows or not is_row(clip(sentence, max_chars=max_chars))):
            best, best_score = sentence, score
    return clip(best, max_chars=max_chars)
