"""What a store keeps of each chunk beside its terms and its vector."""

from __future__ import annotations

import re

__all__ = ["digit_share"]

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_STEPS = 255


def digit_share(text: str) -> float:
    """Return the share of digits (`str.isdigit`) among the characters, 0 for an empty text.

    Rounded to multiples of 1/255, so that a store can keep it in one byte.
    """
    if not text:
        return 0.0
    digits = sum(map(text.count, "0123456789"))  # a tenth of the time of asking each character
    if not text.isascii():
        digits += sum(map(str.isdigit, "".join(_NOT_ASCII.findall(text))))
    return round(digits / len(text) * _STEPS) / _STEPS
