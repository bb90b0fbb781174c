"""Validation of a title or sentence from a model, as a single line.

Rules:
    The result is one line without control characters, and without markup or quotation marks around
    the whole line ("C#" and 'A review of "Emma"' are unchanged).
    An empty or overlong line, a placeholder, a refusal, or a piece of the prompt is an error: a
    failed answer never becomes a title.
"""

from __future__ import annotations

import re

# The joiners U+200C and U+200D are not included: some scripts need them.
_CONTROLS = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_HEADING = re.compile(r"^#+ | #+$")
_PAIRS = (
    ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ('"', '"'), ("'", "'"),
    ("“", "”"), ("„", "“"), ("„", "”"), ("‘", "’"), ("‚", "‘"), ("«", "»"), ("»", "«"),
    ("「", "」"), ("『", "』"),
)  # fmt: skip
_LONE = ("**", "*", "`", '"', "“", "„", "«")
_PLACEHOLDER = re.compile(
    r"(?:n/?a|none|null|unknown|untitled|string|(?:the |document |section )?(?:title|summary)"
    r"|\.+|…|-+)[.:]?",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:i['’]m sorry|i am sorry|sorry, (?:but )?i\b|i apologi[sz]e|as an? (?:ai|language model)\b"
    r"|i(?:['’]m| am) (?:unable|not able|an ai)\b"
    r"|i (?:cannot|can['’]t|can not) (?:help|assist|provide|determine|access|generate|create|write"
    r"|comply|answer|summari[sz]e|fulfil|read|see|process)\b|please provide\b)",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"```|</?[a-z_]+\d*>|<\|")


def without_controls(text: str) -> str:
    """Return a text without invisible control characters."""
    return _CONTROLS.sub("", text)


def is_refusal(text: str) -> bool:
    """Return whether a text begins like a model's refusal to answer."""
    return _REFUSAL.match(text) is not None


def model_line(text: str, *, max_chars: int) -> str:
    """Return the text of a model as one valid line.

    Args:
        text: The text.
        max_chars: Maximum length in characters.

    Raises:
        ValueError: If the line is not usable. The message tells the model why.
    """
    words = " ".join(without_controls(text).split())
    line = _bare(words)
    if not any(character.isalnum() for character in line) or _PLACEHOLDER.fullmatch(line):
        raise ValueError("it is empty, or a placeholder")
    if is_refusal(line):
        raise ValueError("it is a refusal; say what can be said of the text that is given")
    if _PROMPT.search(words):
        raise ValueError("it holds tags or code fences; write plain words")
    if len(line) > max_chars:
        raise ValueError(f"it has {len(line):,} characters; write at most {max_chars}")
    return line


def _bare(line: str) -> str:
    """Return a line without surrounding or unbalanced leading markup and quotation marks."""
    previous = None
    while line != previous:
        previous = line
        line = _HEADING.sub("", line.strip())
        for opening, closing in _PAIRS:
            inner = line.removeprefix(opening).removesuffix(closing)
            is_around = line == f"{opening}{inner}{closing}"
            if is_around and opening not in inner and closing not in inner:
                line = inner
        for mark in _LONE:
            if line.startswith(mark) and mark not in line[1:]:
                line = line.removeprefix(mark)
    return line
