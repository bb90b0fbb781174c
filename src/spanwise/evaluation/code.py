"""Whether the code is still the same that something was measured with."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["code_hash"]

_APART = ("cli", "server", "mcp", "integrations", "testing")
"""Packages that no layer below them may import: they show what is measured, and change nothing."""
_SUFFIXES = (".py", ".json", ".toml")
_HASH_DIGITS = 16


@cache
def code_hash() -> str:
    """Return a hash of the sources and data of this package that a search can depend on.

    The version alone does not tell two states of a checkout apart, nor two builds of it: whoever
    changes weights or code would be shown what was measured before.
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.suffix in _SUFFIXES and parts[0] not in _APART:
            digest.update(repr(parts).encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:_HASH_DIGITS]
