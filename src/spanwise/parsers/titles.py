"""Whether the title property of a file is a title."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

__all__ = ["file_title", "read_author", "read_title"]

_FILE_NAME = re.compile(r".*\.(?:docx?|rtf|pdf|xlsx?|pptx?|html?|txt|indd|qxd|pmd|fm|tex|dvi|p65)")
_NO_TITLE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel|office)\b.*|untitled.*|powerpoint presentation|"
    r"(?:document|presentation|slide|book|sheet|dokument)\s*\d*|word document|no title|title|"
    r"default|unknown|\(?(?:anonymous|unspecified)\)?|[\W\d_]*)"
)
_NO_AUTHOR = re.compile(
    r"\(?(?:anonymous|unspecified)\)?|unknown|author|user|admin|administrator|[a-z]{0,3}\d{4,}"
    r"|.*\b(?:edgar|kscope|donnelley|workiva|wdesk|toppan|merrill corp|microsoft office)\b.*"
)


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
    """Return the author property of a file where it names somebody; empty otherwise.

    Programs fill it with account numbers, and filing agents with their own names.
    """
    author = " ".join(written.split())
    return "" if _NO_AUTHOR.fullmatch(author.lower()) else author


def file_title(name: str) -> str:
    """Return the last part of a path or URL, for files whose first heading titles a part of it."""
    path = unquote(urlsplit(name).path) if "://" in name else name
    return PurePosixPath(path.rstrip("/")).name
