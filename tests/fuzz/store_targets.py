"""Targets of the file format: knowledge bases and exports that a stranger made.

The checksums of a file are no signatures, so an attacker computes them. The targets do the same:
they correct the checksums of a changed file, so that the changes reach the code behind them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.target import BETWEEN, JSON_VALUES, Target
from tests.rebuilds import HashEmbedder

from spanwise import KnowledgeBase
from spanwise.errors import FormatError, SpanwiseError
from spanwise.stores.embedded import open_embedded
from spanwise.stores.manifest import is_outdated, read_manifest
from spanwise.stores.part import check_part_file
from spanwise.stores.part_checksums import BLOCK_BYTES
from spanwise.stores.row_checksums import checksum, seal_document
from spanwise.testing.store_records import make_turn

__all__ = ["store_targets"]

_TEXT = (
    "# Pier\n\nThe pier is 30 m long.\n\n| Year | Dues |\n|---|---|\n| 1910 | 5 |\n\n"
    "## Dues\n\nFive.\n"
)
_QUESTION = "How long is the pier?"


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder with a sound, closed knowledge base and its export."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-")
    path = Path(folder.name, "sound.kb")
    with KnowledgeBase(path, embedder=HashEmbedder(), packs=()) as base:
        for name in ("dues.md", "pier.md", "tolls.md"):
            base.add_text(
                _TEXT + name,
                document_id=name,
                media_type="text/markdown",
                metadata={"year": 1910, "tags": ["a", "b"]},
            )
        base.export_to(Path(folder.name, "export"))
        base.compact()
    with closing(open_embedded(path)) as store:
        store.append_turn("t", make_turn("Who?"))
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    return folder


def _sound() -> Path:
    return Path(_folder().name, "sound.kb")


@contextmanager
def _copy() -> Iterator[Path]:
    """Yield a copy of the sound knowledge base."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        yield Path(shutil.copytree(_sound(), Path(folder, "a.kb")))


def _read(path: Path) -> None:
    """Read all of a knowledge base through its public methods; each may refuse."""
    with KnowledgeBase(path, create=False, embedder=HashEmbedder()) as base:
        readers: list[Callable[[], object]] = [
            lambda: base.search(_QUESTION).context,
            lambda: base.search("dues", where="year >= 1900 and tags contains 'a'"),
            lambda: base.excerpts(_QUESTION),
            base.list,
            lambda: base.get("pier.md"),
            lambda: base.sections("pier.md"),
            lambda: base.chunks("pier.md"),
            lambda: base.cite("pier.md", 0, 10),
            base.threads.list,
            lambda: base.threads.get("t"),
            base.info,
            base.check,
        ]
        for reader in readers:
            with suppress(SpanwiseError):
                reader()


def _part_path(folder: Path) -> Path:
    return max((folder / "index").glob("*.part"), key=lambda path: path.stat().st_size)


def _read_part(data: bytes) -> None:
    """Read a knowledge base with this index part."""
    sealed = _sealed_part(data)
    with _copy() as path:
        part = _part_path(path)
        part.write_bytes(sealed)
        with suppress(FormatError):
            check_part_file(part)
        _read(path)


def _sealed_part(data: bytes) -> bytes:
    """Return an index part with the right length and checksums, if its header can be read."""
    try:
        length = int.from_bytes(data[8:12], "little")
        header = json.loads(data[16 : 16 + length])
        first = min(int(array["offset"]) for array in header["arrays"].values())
        end = int(header["checksums"]["offset"])
        body = data[first:end]
        blocks = [body[at : at + BLOCK_BYTES] for at in range(0, len(body), BLOCK_BYTES)]
        table = np.array([zlib.crc32(block) for block in blocks], dtype="<u4").tobytes()
        header["checksums"]["crc"] = zlib.crc32(table)
        header["bytes"] = f"{end + len(table):016d}"
        written = json.dumps(header, separators=(",", ":")).encode().ljust(length)
        lead = data[:8] + len(written).to_bytes(4, "little")
        lead += zlib.crc32(written).to_bytes(4, "little") + written
        return lead + data[len(lead) : end] + table
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        header = data[16 : 16 + int.from_bytes(data[8:12], "little")]
        return data[:12] + zlib.crc32(header).to_bytes(4, "little") + data[16:]


def _read_manifest(data: bytes) -> None:
    """Read a knowledge base with this manifest."""
    sealed = data
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        fields = json.loads(data)
        fields["crc"] = zlib.crc32(json.dumps(fields["body"], sort_keys=True).encode())
        sealed = json.dumps(fields).encode()
    with _copy() as path:
        (path / "index" / "manifest.json").write_bytes(sealed)
        read_manifest(path / "index")
        is_outdated(path / "index")
        _read(path)


_ROWS = {
    "setting": "name = 'embedder'",
    "document": "number = 2",
    "section": "document = 2 and position = 0",
    "chunk": "key = (2 << 32) + 0",
    "vector": "document = 2",
    "heading": "document = 2",
    "block": "document = 2",
    "change": "document = 2",
    "former_field": "1",
    "thread": "number = 1",
    "turn": "position = 0",
}
"""Condition that selects one row of each table."""


@cache
def _columns() -> list[tuple[str, int, str]]:
    """Return table, position and name of all columns of the tables with rows."""
    with closing(sqlite3.connect(_sound() / "truth.db")) as connection:
        return [
            (table, position, name)
            for table, where in _ROWS.items()
            if connection.execute(f"select count(*) from {table} where {where}").fetchone()[0]
            for position, name, *_ in connection.execute(f"pragma table_info({table})")
        ]


def _read_row(data: bytes) -> None:
    """Read a knowledge base in which one value of the database is replaced.

    The first byte selects the column, the second the type of the value; the rest is the value.
    """
    if len(data) < 2:
        return
    table, position, _ = _columns()[data[0] % len(_columns())]
    value = _value(data[1], data[2:])
    with _copy() as path:
        with closing(sqlite3.connect(path / "truth.db")) as connection:
            try:
                with connection:
                    _replace(connection, table, position, value)
            except (sqlite3.Error, UnicodeEncodeError, SpanwiseError, OverflowError):
                return  # the database refuses the value
            except (TypeError, ValueError, AttributeError):
                pass  # the checksums cannot be corrected
        _read(path)


def _value(kind: int, data: bytes) -> object:
    match kind % 5:
        case 0:
            return int.from_bytes(data[:8], "little", signed=True)
        case 1:
            return data.decode("utf-8", "replace")
        case 2:
            return data
        case 3:
            return None
        case _:
            return float(int.from_bytes(data[:8], "little", signed=True)) / 7


def _replace(connection: sqlite3.Connection, table: str, position: int, value: object) -> None:
    connection.execute("pragma ignore_check_constraints = on")
    where = _ROWS[table]
    row: list[Any] = list(connection.execute(f"select * from {table} where {where}").fetchone())
    connection.execute(f"delete from {table} where {where}")
    row[position] = value
    has_checksum = any(name == "checksum" for owner, _, name in _columns() if owner == table)
    if has_checksum and position < len(row) - 1:
        row[-1] = checksum(row[:-1])
    connection.execute(f"insert into {table} values ({', '.join('?' * len(row))})", row)
    connection.commit()
    if table not in ("setting", "change", "former_field", "thread", "turn"):
        seal_document(connection, 2)


def _rows() -> list[bytes]:
    """Return an input for each column: the value that it has, or a text of JSON."""
    found = []
    with closing(sqlite3.connect(_sound() / "truth.db")) as connection:
        for number, (table, position, _) in enumerate(_columns()):
            row = connection.execute(f"select * from {table} where {_ROWS[table]}").fetchone()
            value = row[position]
            if isinstance(value, str):
                found.append(bytes([number, 1]) + value.encode())
            elif isinstance(value, bytes):
                found.append(bytes([number, 2]) + value)
            else:
                found.append(
                    bytes([number, 0]) + int(value or 0).to_bytes(8, "little", signed=True)
                )
    return found


_TABLES = ("export.json", "documents.jsonl", "sections.jsonl", "chunks.jsonl")


def _import(data: bytes) -> None:
    """Import an export, whose files are parts of the input."""
    parts = data.split(BETWEEN)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for name, part in zip(_TABLES, parts, strict=False):
            Path(folder, name).write_bytes(part)
        with KnowledgeBase(":memory:", embedder=HashEmbedder(), packs=()) as base:
            base.import_from(folder)
            base.search(_QUESTION)


def _exports() -> list[bytes]:
    folder = Path(_folder().name, "export")
    parts = [(folder / name).read_bytes() for name in _TABLES]
    description = json.loads(parts[0])
    description["settings"] = {"embedder": "tests:hash", "dimension": "24"}
    description["rows"]["documents"] = 1
    first = [part.split(b"\n")[0] + b"\n" for part in parts[1:]]
    return [BETWEEN.join([json.dumps(description).encode(), *first])]


def store_targets() -> list[Target]:
    """Return the targets."""
    values = (*JSON_VALUES, b"../x")
    return [
        Target(
            name="index-part",
            run=_read_part,
            seeds=lambda: [_part_path(_sound()).read_bytes()],
            tokens=(b'"offset":"', b'"shape":[', b'"type":"<u4"', b"\xff\xff\xff\x7f", *values),
        ),
        Target(
            name="manifest",
            run=_read_manifest,
            seeds=lambda: [(_sound() / "index" / "manifest.json").read_bytes()],
            tokens=values,
        ),
        Target(name="row", run=_read_row, seeds=_rows, tokens=values),
        Target(name="export", run=_import, seeds=_exports, tokens=values),
    ]
