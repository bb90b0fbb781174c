"""Fences around untrusted text; nothing in the text can open or close them (prompt injection).

Text of documents, and text derived from it, is never an instruction to a model.

Rules:
    If a text contains the name of the fence, the fence gets a number that no text contains.
    A model may accept a tag that is spelled slightly differently. Differences of case, spaces,
    entities, invisible characters, and similar-looking brackets and letters are therefore ignored.
    An unnecessary number is harmless.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

_BRACKETS = "<\u02c2\u1438\u2039\u2329\u276c\u276e\u27e8\u2991\u29fc\u3008"
_ENTITY_NAME = r"(?:lt|#0*60|#x0*3c)\b"
_ENTITY = f"&{_ENTITY_NAME}"
# A pattern that begins with a set of characters is searched twice as fast as an alternation.
_MAY_OPEN = re.compile(rf"[{_BRACKETS}\ufe64\uff1c&](?:(?<!&)|(?i:{_ENTITY_NAME}))")
_FIRST_TAG = re.compile(r"\s*<(\w+)", re.ASCII)
_NOT_SEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u0300-\u036f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)


def fence_tag(texts: Sequence[str], *, name: str = "segment") -> str:
    """Return the name, or the first of "name_2", "name_3" ... that no text opens or closes.

    Args:
        texts: Texts inside the fences.
        name: Name of the fence.
    """
    suspects = [text for text in texts if _MAY_OPEN.search(text)]
    numbers = {number for text in suspects for number in _numbers(text, name)}
    if not numbers:
        return name
    used_prefixes = {number[:length] for number in numbers for length in range(1, len(number) + 1)}
    number = 2
    while str(number) in used_prefixes:
        number += 1
    return f"{name}_{number}"


def first_tag(prompt: str, *, default: str) -> str:
    """Return the name of the tag at the beginning of a fenced text, or the default."""
    opening = _FIRST_TAG.match(prompt)
    return opening[1] if opening else default


def fenced(text: str, *, name: str, other_texts: Sequence[str] = ()) -> str:
    """Return a text between an opening and a closing tag, each on a separate line.

    Args:
        text: Untrusted text.
        name: Name of the fence; it gets a number if the text contains it.
        other_texts: Other untrusted text of the same prompt, which must not contain the tag either.
    """
    tag = fence_tag([text, *other_texts], name=name)
    return f"<{tag}>\n{text}\n</{tag}>"


def _numbers(text: str, name: str) -> Iterator[str]:
    """Yield the number of each tag with this name in a text; "" for a tag without a number."""
    normalized = text if text.isascii() else unicodedata.normalize("NFKD", text)
    for match in _tags(name).finditer(_NOT_SEEN.sub("", normalized)):
        yield match[1] or ""


@cache
def _tags(name: str) -> re.Pattern[str]:
    """Return a pattern for tags with a name; any non-ASCII character may replace a letter."""
    # One set `[s\u0080-\U0010ffff]` matches the same, but takes 20 ms to compile.
    letters = "".join(
        f"(?-i:[{re.escape(letter.lower() + letter.upper())}]|[^\\x00-\\x7f])" for letter in name
    )
    opening = rf"(?:[{_BRACKETS}]|{_ENTITY};?)[\s/\\]*"
    return re.compile(rf"{opening}{letters}(?:_(\d{{1,9}}))?", re.IGNORECASE)
