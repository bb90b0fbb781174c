"""Fences around text that is data: nothing in it can close its fence or open one.

What comes from documents, and what was made of them, is never an instruction to the model that
reads it.

Rules:
    A fence whose name a text writes gets a number that no text writes.
    A model reads more than the exact letters: capitals, spaces, entities, invisible characters,
    brackets and letters that look like others count as if they were the tag itself. A number too
    many does no harm.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

_BRACKETS = "<\u02c2\u1438\u2039\u2329\u276c\u276e\u27e8\u2991\u29fc\u3008"
_ENTITY = r"&(?:lt|#0*60|#x0*3c)\b"
_MAY_OPEN = re.compile(rf"[{_BRACKETS}\ufe64\uff1c]|{_ENTITY}", re.IGNORECASE)
_NOT_SEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u0300-\u036f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)


def fence_tag(texts: Sequence[str], *, name: str = "segment") -> str:
    """Return the name, or the first of "name_2", "name_3" ... that no text opens or closes.

    Args:
        texts: What stands inside the fences.
        name: Of the fence.
    """
    written = {number for text in texts for number in _numbers(text, name)}
    if not written:
        return name
    taken = {number[:length] for number in written for length in range(1, len(number) + 1)}
    number = 2
    while str(number) in taken:
        number += 1
    return f"{name}_{number}"


def fenced(text: str, *, name: str, beside: Sequence[str] = ()) -> str:
    """Return a text between an opening and a closing tag, each on a line of its own.

    Args:
        text: The data.
        name: Of the fence; it gets a number where the text holds it.
        beside: Other data of the same prompt, none of which opens or closes this fence either.
    """
    tag = fence_tag([text, *beside], name=name)
    return f"<{tag}>\n{text}\n</{tag}>"


def _numbers(text: str, name: str) -> Iterator[str]:
    """Yield the number behind each tag of a name that a text seems to write; "" for none."""
    if not _MAY_OPEN.search(text):
        return
    seen = text if text.isascii() else unicodedata.normalize("NFKD", text)
    for found in _tags(name).finditer(_NOT_SEEN.sub("", seen)):
        yield found[1] or ""


@cache
def _tags(name: str) -> re.Pattern[str]:
    """Return what a tag of a name may look like: a letter that is not ASCII is any letter."""
    letters = "".join(f"[{re.escape(letter)}\u0080-\U0010ffff]" for letter in name)
    opening = rf"(?:[{_BRACKETS}]|{_ENTITY};?)[\s/\\]*"
    return re.compile(rf"{opening}{letters}(?:_(\d{{1,9}}))?", re.IGNORECASE)
