"""Texts as words, numbers and marks, with the place of each: the same however they are set.

Rules:
    White space says nothing. Quotation marks, dashes, ligatures and letters of other widths are
    the same as their plain forms; soft hyphens and characters without width are left out.
    A superscript is no digit of the number before it.
    Scripts without spaces give a token a letter.
    A hyphen at the end of a line may have cut a word: it is joined where the quote has it whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from dataclasses import dataclass

from spanwise.core.lines import LINE_BREAKS
from spanwise.core.terms import MARKS, UNSPACED

__all__ = ["ELLIPSIS", "Tokens", "is_unspaced", "is_word", "read_tokens"]

ELLIPSIS = "..."
"""The token of an ellipsis, of three points or more."""

_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"
_LETTER = rf"[^\W_{UNSPACED}]"  # or a digit
_WORD = rf"{_LETTER}(?:{_LETTER}|[{MARKS}{_INVISIBLE}])*"
_PART = rf"(?:['’]|\u00ad\s*(?={_LETTER}))(?:{_WORD})"
_TOKEN = re.compile(
    rf"(?:\d+(?:[.,'’]\d+)*(?:{_WORD})?|{_WORD})(?:{_PART})*"
    rf"|[{UNSPACED}][{MARKS}]*|\.{{3,}}|…|\S"
)
_DROPPED = re.compile(rf"[{_INVISIBLE}\s]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_PLAIN = {
    **dict.fromkeys(map(ord, "‘’‚‛′´`"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»‹›"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, in order."""

    surfaces: list[str]
    """In their plain form, letters as they are."""
    starts: list[int]
    ends: list[int]
    breaks: list[int]
    """Positions of hyphens that end a line between two parts of what may be one word."""

    def __len__(self) -> int:
        return len(self.surfaces)

    def touch(self, position: int) -> bool:
        """Return whether nothing stands between a token and the next one."""
        return self.ends[position] == self.starts[position + 1]

    def joined(self, words: Set[str]) -> Tokens:
        """Return the same with the parts of those words joined that a line cuts.

        Args:
            words: Words of the quote, letters of one case.
        """
        wanted = [
            at
            for at in self.breaks
            if (self.surfaces[at - 1] + self.surfaces[at + 1]).casefold() in words
        ]
        if not wanted:
            return self
        made = Tokens([], [], [], [])
        last = 0
        for at in wanted:
            made.surfaces.extend(self.surfaces[last : at - 1])
            made.starts.extend(self.starts[last:at])
            made.ends.extend(self.ends[last : at - 1])
            made.surfaces.append(self.surfaces[at - 1] + self.surfaces[at + 1])
            made.ends.append(self.ends[at + 1])
            last = at + 2
        made.surfaces.extend(self.surfaces[last:])
        made.starts.extend(self.starts[last:])
        made.ends.extend(self.ends[last:])
        return made


def is_word(surface: str) -> bool:
    """Return whether a token is a word or a number."""
    return surface[0].isalnum()


def is_unspaced(surface: str) -> bool:
    """Return whether a token is a letter of a script without spaces."""
    return not surface.isascii() and _UNSPACED.match(surface) is not None


def read_tokens(text: str) -> Tokens:
    """Return the tokens of a text."""
    tokens = Tokens([], [], [], [])
    for match in _TOKEN.finditer(text):
        surface = _plain(match.group())
        if surface:
            tokens.surfaces.append(surface)
            tokens.starts.append(match.start())
            tokens.ends.append(match.end())
    tokens.breaks.extend(at for at in range(1, len(tokens) - 1) if _is_break(tokens, at, text))
    return tokens


def _plain(written: str) -> str:
    """Return the plain form of a token; empty where nothing of it is seen."""
    if written.isascii():
        return ELLIPSIS if written.startswith(ELLIPSIS) else written
    if written == "…":
        return ELLIPSIS
    plain = _DROPPED.sub("", written).translate(_PLAIN)
    # A superscript, a fraction or a number in a circle would become digits.
    has_numeral = any(unicodedata.category(letter) == "No" for letter in plain)
    plain = unicodedata.normalize("NFC" if has_numeral else "NFKC", plain)
    return "".join(
        str(unicodedata.decimal(letter)) if letter.isdecimal() else letter for letter in plain
    )


def _is_break(tokens: Tokens, at: int, text: str) -> bool:
    """Return whether a token is a hyphen at the end of a line that may cut a word."""
    if tokens.surfaces[at] != "-" or not tokens.touch(at - 1):
        return False
    before, after = tokens.surfaces[at - 1], tokens.surfaces[at + 1]
    between = text[tokens.ends[at] : tokens.starts[at + 1]]
    return (
        before[-1].isalpha()
        and after[0].islower()
        and between.isspace()
        and any(character in LINE_BREAKS for character in between)
    )
