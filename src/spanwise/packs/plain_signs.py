"""Typographic dashes and quotation marks, and their replacement by the signs of ASCII."""

from __future__ import annotations

from collections.abc import Mapping

DASHES: Mapping[str, str] = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
"""Dashes, and the hyphen that replaces them."""

DASHES_AND_QUOTES: Mapping[str, str] = {
    **DASHES,
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2018\u2019", "'"),
}
"""Dashes and quotation marks, and the sign that replaces each."""


def with_plain_signs(text: str, signs: Mapping[str, str]) -> str:
    """Return a text with signs replaced. This is faster than `str.translate`.

    Args:
        text: The text.
        signs: Sign that replaces each character; not one of the replaced characters.
    """
    for written, sign in signs.items():
        text = text.replace(written, sign)
    return text
