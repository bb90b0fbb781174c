"""How texts are told apart: by hash, and by the version that people see."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

VERSION_CHARS = 12
"""Hex digits of a hash that make a version: few enough to read, and no two texts share them."""


def text_hash(texts: Iterable[str]) -> str:
    """Return the SHA-256 of some texts joined, hex."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8"))
    return digest.hexdigest()


def text_version(text: str) -> str:
    """Return the version of a document with this text."""
    return text_hash([text])[:VERSION_CHARS]
