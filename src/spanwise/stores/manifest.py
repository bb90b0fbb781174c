"""Manifest of an index folder: a small file that lists the parts in use, replaced atomically.

The manifest contains the sequence number of the last change that its parts include, and the random
stamp of this change. If the change has another stamp in `truth.db`, the database was replaced, for
example by a backup, and the parts are rebuilt. They are also rebuilt if their terms were computed
by other rules or another version of the stemmers, or if the version of the word vectors differs.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from spanwise.core.text.terms import terms_version
from spanwise.models.word_vectors import word_vectors_version
from spanwise.stores.disk import replace_file
from spanwise.stores.folder import DATABASE_NAME

MANIFEST_NAME = "manifest.json"
MANIFEST_FORMAT = 6
_FILE_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")


class Manifest(NamedTuple):
    """Index parts in use, ascending by the numbers of their documents."""

    seq: int = 0
    stamp: str = ""
    """Stamp of the change with this number, in hexadecimal; empty if there is no manifest."""
    parts: tuple[str, ...] = ()
    """File names of the parts in the same folder."""


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an index folder; an empty manifest if it is missing or unusable."""
    try:
        fields = _read_fields(folder)
        body = fields["body"]
        if not _is_current(fields):
            return Manifest()
        names = tuple(body["parts"])
        if not all(_FILE_NAME.fullmatch(name) for name in names):  # a path would leave the folder
            return Manifest()
        return Manifest(seq=body["seq"], stamp=body["stamp"], parts=names)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Manifest()


def manifest_exists(folder: Path) -> bool:
    """Return whether an index folder has a manifest, readable or not."""
    return (folder / MANIFEST_NAME).exists()


def is_outdated(folder: Path) -> bool:
    """Return whether the manifest is intact, but of another format or version.

    The version is that of the terms or of the word vectors. Such a manifest is treated as empty; it
    is not reported as damage.
    """
    try:
        return not _is_current(_read_fields(folder))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _read_fields(folder: Path) -> dict[str, Any]:
    """Return the fields of the manifest, if it is intact.

    Raises:
        OSError, ValueError, KeyError, TypeError, RecursionError: If it is missing or damaged.
    """
    fields: dict[str, Any] = json.loads((folder / MANIFEST_NAME).read_bytes())
    if fields["crc"] != _checksum(fields["body"]):
        raise ValueError("the manifest is damaged")
    return fields


def _is_current(fields: dict[str, Any]) -> bool:
    # Terms and word vectors of a query would not match those computed by other rules.
    body = fields["body"]
    return bool(
        fields["format"] == MANIFEST_FORMAT
        and body["terms"] == terms_version()
        and body["word_vectors"] == word_vectors_version()
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest; it is durable when this returns.

    Raises:
        OSError: If it cannot be written; the old manifest stays.
    """
    body = {
        "seq": manifest.seq,
        "stamp": manifest.stamp,
        "terms": terms_version(),
        "word_vectors": word_vectors_version(),
        "parts": list(manifest.parts),
    }
    fields = {"format": MANIFEST_FORMAT, "crc": _checksum(body), "body": body}
    data = json.dumps(fields, indent=1).encode("utf-8")
    replace_file(folder / MANIFEST_NAME, data, like=folder.parent / DATABASE_NAME)


def drop_parts(folder: Path, names: Collection[str]) -> None:
    """Remove parts from the manifest; the next flush writes their documents again.

    The caller must hold the lock of the index.

    Raises:
        OSError: If the manifest cannot be written.
    """
    manifest = read_manifest(folder)
    remaining = tuple(name for name in manifest.parts if name not in names)
    if not remaining:
        (folder / MANIFEST_NAME).unlink(missing_ok=True)
    elif remaining != manifest.parts:
        write_manifest(folder, Manifest(seq=manifest.seq, stamp=manifest.stamp, parts=remaining))


def _checksum(body: object) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode("utf-8"))
