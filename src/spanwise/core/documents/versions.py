"""Content hash and version of a document's text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

VERSION_CHARS = 12
"""Number of hex digits of the hash that form a version."""


def text_hash(texts: Iterable[str]) -> str:
    """Return the SHA-256 of the joined texts, in hex."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8"))
    return digest.hexdigest()


def text_version(text: str) -> str:
    """Return the version of a document with this text."""
    return text_hash([text])[:VERSION_CHARS]
