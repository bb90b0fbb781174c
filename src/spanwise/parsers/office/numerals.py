"""Numerals of lists: "3", "c", "iii"."""

from __future__ import annotations

from typing import Literal

Numeral = Literal["decimal", "lowerLetter", "upperLetter", "lowerRoman", "upperRoman"]

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


def write_number(number: int, kind: Numeral) -> str:
    """Return a number as a numeral; decimal if it is out of the range of letters."""
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
