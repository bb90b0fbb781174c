"""Content hash and version of a document's text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

_BLOCK_CHARS = 1 << 20  # bounds the memory of the encoded text
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
    return text_hash(text_blocks(text))[:VERSION_CHARS]


def text_blocks(text: str) -> Iterator[str]:
    """Yield the text in blocks, to bound the memory of `text_hash`."""
    return (text[at : at + _BLOCK_CHARS] for at in range(0, len(text), _BLOCK_CHARS))
