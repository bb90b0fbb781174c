"""Keys of the server: role, knowledge bases and filter of each key.

Keys are random texts of 256 bits. The file contains their SHA-256 hashes only. A slow hash is not
needed, because such keys cannot be guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from spanwise.errors import OptionError
from spanwise.filters import Filter, parse_filter
from spanwise.stores.disk import replace_file

Role = Literal["read", "write", "admin"]
"""Rights of a key: read; also change documents; also read metrics."""
ROLES: tuple[Role, ...] = get_args(Role)

_PREFIX = "spanwise_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Rights of one key; the key itself is not stored."""

    name: str
    role: Role
    hash: str
    """SHA-256 of the key in hexadecimal."""
    knowledge_bases: tuple[str, ...] = ()
    """Names of the knowledge bases that the key allows; empty for all."""
    where: str = ""
    """Filter that every request is restricted to, in text form; empty for none."""

    @property
    def filter(self) -> Filter | None:
        """Filter of the key; None for none."""
        return parse_filter(self.where) if self.where else None

    def allows(self, role: Role) -> bool:
        """Return whether the key has the rights of a role."""
        return ROLES.index(self.role) >= ROLES.index(role)


class KeyRing:
    """Keys of a server."""

    def __init__(self, keys: Sequence[Key]) -> None:
        """Create a ring; without keys, every request is refused."""
        self._keys = tuple(keys)

    def find(self, token: str) -> Key | None:
        """Return the key with this text; None if there is none.

        All keys are compared in constant time, so the duration reveals nothing about them.
        """
        digest = _hash(token)
        matches = [key for key in self._keys if hmac.compare_digest(key.hash, digest)]
        return matches[0] if matches else None


def read_ring(path: Path) -> KeyRing:
    """Return the keys of a server.

    Raises:
        OptionError: If the file is missing or damaged, a filter is invalid, or there are no keys.
    """
    keys = read_keys(path)
    if not keys:
        raise OptionError(f"{path} contains no keys; add one with `spanwise keys add NAME`")
    return KeyRing(keys)


def read_keys(path: Path) -> tuple[Key, ...]:
    """Return the keys of a file.

    Raises:
        OptionError: If the file is missing or damaged, or a filter is invalid.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["keys"]
        keys = tuple(
            Key(**{**row, "knowledge_bases": tuple(row["knowledge_bases"])}) for row in rows
        )
    except FileNotFoundError as error:
        raise OptionError(
            f"the key file {path} does not exist; create it with `spanwise keys add NAME`"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OptionError(f"{path} is not a valid key file: {error}") from error
    for key in keys:
        if key.role not in ROLES or not _HASH.fullmatch(key.hash):
            raise OptionError(
                f"the key {key.name!r} in {path} is damaged; remove it and add it again"
            )
        key.filter  # noqa: B018 - raises an error if it is invalid
    return keys


def add_key(
    path: Path,
    name: str,
    *,
    role: Role,
    knowledge_bases: Sequence[str] = (),
    where: str = "",
) -> str:
    """Add a key to a file, which is created if it is missing; return the text of the key.

    Raises:
        OptionError: If the name is invalid or exists, or the filter is invalid.
    """
    if not _NAME.fullmatch(name):
        raise OptionError(
            f"the name of a key is {name[:80]!r}; use 1 to 64 letters, digits, dots, hyphens and "
            "underscores"
        )
    keys = read_keys(path) if path.exists() else ()
    if any(key.name == name for key in keys):
        raise OptionError(f"the key {name!r} exists already; remove it first, or use another name")
    token = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    key = Key(
        name=name,
        role=role,
        hash=_hash(token),
        knowledge_bases=tuple(knowledge_bases),
        where="" if not where else str(parse_filter(where)),
    )
    _write_keys(path, [*keys, key])
    return token


def remove_key(path: Path, name: str) -> None:
    """Remove a key from a file.

    Raises:
        OptionError: If there is no such key.
    """
    keys = read_keys(path)
    left = [key for key in keys if key.name != name]
    if len(left) == len(keys):
        names = ", ".join(key.name for key in keys) or "none"
        raise OptionError(f"there is no key {name!r} in {path}; there are {names}")
    _write_keys(path, left)


def _write_keys(path: Path, keys: Sequence[Key]) -> None:
    """Replace the file atomically; only its owner may read it."""
    text = json.dumps({"format": _FORMAT, "keys": [asdict(key) for key in keys]}, indent=2)
    try:
        replace_file(path, f"{text}\n".encode())
    except OSError as error:
        raise OptionError(f"the key file {path} cannot be written: {error}") from error


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
