"""Numerals: labels of list items, and superscript digits.

A superscript is written as "m²" or "10⁶", because plain digits would be other numbers.
"""

from __future__ import annotations

import re
from typing import Literal

Numeral = Literal["decimal", "lowerLetter", "upperLetter", "lowerRoman", "upperRoman"]

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_DIGITS = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_NUMBER = re.compile("\\s*[+\u2212-]?[0-9]+\\s*")


def write_number(number: int, kind: Numeral) -> str:
    """Return a number as a numeral ("3", "c", "iii"); decimal if it is out of range."""
    result = str(number)
    if kind in {"lowerLetter", "upperLetter"} and 1 <= number <= 780:
        repeats, letter = divmod(number - 1, 26)
        result = "abcdefghijklmnopqrstuvwxyz"[letter] * (repeats + 1)  # Word: y, z, aa, bb
    elif kind in {"lowerRoman", "upperRoman"} and 1 <= number < 4000:
        result = ""
        for value, sign in _ROMAN:
            result += sign * (number // value)
            number %= value
    return result.upper() if kind.startswith("upper") else result


def superscript(text: str) -> str:
    """Return a raised text with superscript digits; unchanged if it is not a number."""
    return text.translate(_DIGITS) if _NUMBER.fullmatch(text) else text
