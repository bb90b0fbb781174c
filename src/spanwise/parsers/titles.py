"""Whether the title property of a file is a title."""

from __future__ import annotations

import re

__all__ = ["read_author", "read_title"]

_FILE_NAME = re.compile(r".*\.(?:docx?|rtf|pdf|xlsx?|pptx?|html?|txt|indd|qxd|pmd|fm|tex|dvi|p65)")
_NO_TITLE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel|office)\b.*|untitled.*|powerpoint presentation|"
    r"(?:document|presentation|slide|book|sheet|dokument)\s*\d*|word document|no title|title|"
    r"default|unknown|[\W\d_]*)"
)
_NO_AUTHOR = frozenset({"anonymous", "unknown", "author", "user", "admin", "administrator"})


def read_title(written: str) -> str:
    """Return the title property of a file where it looks like a title; empty otherwise.

    Programs fill it with file names ("Microsoft Word - x.doc"), numbers and "untitled".
    """
    title = " ".join(written.split())
    plain = title.lower()
    if not 3 <= len(title) <= 300 or _NO_TITLE.fullmatch(plain) or _FILE_NAME.fullmatch(plain):
        return ""
    return title


def read_author(written: str) -> str:
    """Return the author property of a file where it names somebody; empty otherwise."""
    author = " ".join(written.split())
    return "" if author.lower() in _NO_AUTHOR else author
