"""Sidecar files: metadata and titles of the files in a folder, in a CSV or JSON Lines file.

Rules:
    A sidecar file is named `spanwise.metadata.csv` or `spanwise.metadata.jsonl`. It describes files
    in its folder and below. It is never a document itself.
    Each row names a file by `path`, relative to the folder of the sidecar file, with "/" as the
    separator. `title` is the title of the document; all other columns or keys are fields. An empty
    cell and null set no value. A row for a container also applies to its members.
    A field of a sidecar file in a subfolder has precedence over one of a folder above it.
    A document named by a bad row, and all documents below an unreadable sidecar file, keep the
    fields of the last run, because the mistake may be a typing error.
    Sidecar files are untrusted: paths must not leave the folder, and sizes are limited.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from spanwise.core.documents.summary import clip
from spanwise.core.text.field_values import parse_value
from spanwise.core.text.file_names import name_to_id
from spanwise.errors import DocumentError, shown
from spanwise.ingest.folder_walk import SIDECAR_NAMES
from spanwise.ingest.locations import fetch_error
from spanwise.ingest.sources import Source, containers_of
from spanwise.stores.entries import metadata_problem
from spanwise.types import MetadataValue

_MAX_BYTES = 64_000_000
_MAX_FIELDS = 200
_MAX_NAME_CHARS = 200
_MAX_VALUE_CHARS = 10_000
_MAX_PATH_CHARS = 1_000
_MAX_TITLE_CHARS = 200
_MAX_WARNINGS = 10  # maximum of each kind for each file
_DELIMITERS = (",", ";", "\t")


class SidecarRow(NamedTuple):
    """Fields and title of one document."""

    fields: Mapping[str, MetadataValue]
    title: str
    """Title of the document; empty for none."""


@dataclass(slots=True, kw_only=True)
class _Described:
    """Documents of one source root that sidecar files describe."""

    rows: dict[str, SidecarRow] = field(default_factory=dict)
    """Rows by document id."""
    bad: set[str] = field(default_factory=set)
    """Ids of documents that a bad row names."""
    unreadable: set[str] = field(default_factory=set)
    """Prefixes of the ids of documents below an unreadable sidecar file."""

    def row(self, document_id: str) -> SidecarRow | None:
        """Return the row of a document, which may be empty; None to keep the stored fields."""
        names = (*containers_of(document_id), document_id)
        if not self.bad.isdisjoint(names) or document_id.startswith(tuple(self.unreadable)):
            return None
        merged = SidecarRow({}, "")
        for name in names:
            row = self.rows.get(name, SidecarRow({}, ""))
            merged = SidecarRow({**merged.fields, **row.fields}, row.title or merged.title)
        return merged

    def add(self, document_id: str, row: SidecarRow) -> None:
        """Add a row, which has precedence over rows of folders above."""
        before = self.rows.get(document_id, SidecarRow({}, ""))
        fields = {**before.fields, **row.fields}
        self.rows[document_id] = SidecarRow(fields, row.title or before.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecars:
    """Content of the sidecar files of some sources."""

    described: Mapping[tuple[str, str], _Described] = field(default_factory=dict)
    """Described documents by source root and prefix."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about bad rows and missing files."""
    errors: tuple[DocumentError, ...] = ()
    """Errors of unreadable sidecar files."""

    def row(self, source: Source) -> SidecarRow | None:
        """Return the row of a source, which may be empty; None to keep the stored fields."""
        described = self.described.get((source.root, source.prefix))
        return None if described is None else described.row(source.document_id)


def read_sidecars(
    sources: Sequence[Source | DocumentError], *, follow_links: bool = False
) -> Sidecars:
    """Read the sidecar files of folders and files.

    For a file that is named by itself, only the sidecar files in its own folder are read. Files in
    object storage, URLs and streams have none.

    Args:
        sources: Files, and other sources.
        follow_links: Whether sidecar files that are links to files outside of their folder are
            read. Otherwise documents keep the fields of the last run, and a warning is returned.
    """
    by_folder: dict[tuple[str, Path, str], list[Source]] = defaultdict(list)
    for source in sources:
        if isinstance(source, Source) and source.path is not None and not source.is_member:
            relative = source.document_id.removeprefix(source.prefix)
            depth = relative.count("/") if source.from_folder else 0
            folder = source.path.parents[depth]
            by_folder[source.root, folder, source.prefix].append(source)
    described: dict[tuple[str, str], _Described] = {}
    warnings: list[str] = []
    errors: list[DocumentError] = []
    for (root, folder, prefix), files in by_folder.items():
        reader = _FolderReader(folder, files, prefix=prefix, follow_links=follow_links)
        described[root, prefix] = reader.read()
        warnings += reader.warnings
        errors += reader.errors
    return Sidecars(
        described=described,
        warnings=tuple(dict.fromkeys(warnings)),
        errors=tuple({str(error): error for error in errors}.values()),
    )


class _BadRowError(Exception):
    """A row that cannot be used; the message gives the reason."""


class _Raw(NamedTuple):
    """Row of a sidecar file before validation."""

    line: int
    values: Mapping[str, object]
    problem: str
    """Reason why the row cannot be used; empty for none."""


class _FolderReader:
    """Reads the sidecar files of one source root."""

    def __init__(
        self, folder: Path, files: Sequence[Source], *, prefix: str, follow_links: bool
    ) -> None:
        self.folder = folder
        self.follow_links = follow_links
        self.prefix = prefix
        """Prefix of the ids of all files, see `Source.prefix`."""
        self.is_whole = any(source.from_folder for source in files)
        """Whether a folder was named, and not a file in it."""
        self.ids = {source.document_id for source in files}
        self.described = _Described()
        self.warnings: list[str] = []
        self.errors: list[DocumentError] = []

    def read(self) -> _Described:
        """Return the described documents; the outer sidecar files are read first."""
        for prefix in self._prefixes():
            for name in SIDECAR_NAMES:
                path = self.folder / prefix / name
                try:
                    exists = path.is_file()
                except OSError:  # reported by the folder walk
                    exists = False
                if exists and not self.follow_links and _leads_out(path, self.folder):
                    self.warnings.append(
                        f"{name_to_id(str(path))}: it is not read, because it is a link to a file "
                        "outside of the folder; copy the file, or follow links "
                        "(follow_links=True, --follow-links)"
                    )
                    self.described.unreadable.add(self.prefix + prefix)
                elif exists:
                    self._read_file(path, prefix)
        return self.described

    def _prefixes(self) -> list[str]:
        """Return the folders of the files relative to the root, outer ones first."""
        folders = {""}
        for document_id in self.ids if self.is_whole else ():
            parents = PurePosixPath(document_id.removeprefix(self.prefix)).parents
            folders.update(f"{parent}/" for parent in parents if str(parent) != ".")
        return sorted(folders, key=lambda folder: (folder.count("/"), folder))

    def _read_file(self, path: Path, prefix: str) -> None:
        location = name_to_id(str(path))
        notes = _Notes(location, self.warnings)
        lines: dict[str, int] = {}
        try:
            for raw in _read_rows(path, location):
                self._read_row(raw, prefix, lines, notes)
        except DocumentError as error:
            self.errors.append(error)
            self.described.unreadable.add(self.prefix + prefix)
        notes.finish()

    def _read_row(self, raw: _Raw, prefix: str, lines: dict[str, int], notes: _Notes) -> None:
        """Read a row.

        Args:
            raw: The row.
            prefix: Folder of its sidecar file.
            lines: First line of each document in this file.
            notes: Warnings about this file.
        """
        document_id = ""
        try:
            document_id = f"{self.prefix}{prefix}{_checked_path(raw)}"
            first = lines.setdefault(document_id, raw.line)
            row = _checked_row(raw, first=first)
        except _BadRowError as error:
            notes.add("bad row", raw.line, str(error))
            if lines.get(document_id) == raw.line:  # otherwise an earlier row counts
                self.described.bad.add(document_id)
            return
        self.described.add(document_id, row)
        if self.is_whole and not self._exists(document_id):
            missing = f"there is no file {shown(document_id)} in {self.folder}"
            notes.add("row without a file", raw.line, missing)

    def _exists(self, document_id: str) -> bool:
        if document_id in self.ids:
            return True
        outermost = (*containers_of(document_id), document_id)[0]
        try:
            return (
                outermost in self.ids
                or (self.folder / outermost.removeprefix(self.prefix)).exists()
            )
        except (OSError, ValueError):
            return False


def _leads_out(path: Path, folder: Path) -> bool:
    """Return whether a file is a symbolic link to a file outside of a folder."""
    if not path.is_symlink():
        return False
    try:
        return not path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a loop of links
        return True


class _Notes:
    """Warnings about rows of one sidecar file, a limited number of each kind."""

    def __init__(self, location: str, warnings: list[str]) -> None:
        self._location = location
        self._warnings = warnings
        self._counts: dict[str, int] = defaultdict(int)

    def add(self, kind: str, line: int, message: str) -> None:
        """Add a warning about a line."""
        self._counts[kind] += 1
        if self._counts[kind] <= _MAX_WARNINGS:
            self._warnings.append(f"{self._location}, line {line}: {kind}: {message}")

    def finish(self) -> None:
        """Add the number of suppressed warnings of each kind."""
        for kind, count in self._counts.items():
            if count > _MAX_WARNINGS:
                more = count - _MAX_WARNINGS
                self._warnings.append(f"{self._location}: {more} more of this kind: {kind}")


def _read_rows(path: Path, location: str) -> Iterator[_Raw]:
    """Yield the rows of a sidecar file.

    Raises:
        DocumentError: If it cannot be read, is too large, or has no valid header.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        cause = f"{error.strerror or error}; check its permissions"
        raise fetch_error(location, "unreadable", f"cannot be read: {cause}") from error
    if len(data) > _MAX_BYTES:
        cause = f"it has more than {_MAX_BYTES} bytes; divide it among subfolders"
        raise fetch_error(location, "too_large", cause)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cause = f"it is not UTF-8 at byte {error.start}; save it as UTF-8"
        raise fetch_error(location, "corrupt", cause) from error
    if path.suffix == ".csv":
        yield from _csv_rows(text, location)
    else:
        yield from _json_rows(text)


def _csv_rows(text: str, location: str) -> Iterator[_Raw]:
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    names: list[str] = []
    line = 1
    try:
        for cells in reader:
            if not names and any(cells):
                names = _checked_header(cells, location)
            elif any(cell.strip() for cell in cells):
                yield _csv_row(cells, names, line)
            line = reader.line_num + 1
    except csv.Error as error:
        cause = f"line {line} cannot be read: {error}; check its quotation marks"
        raise fetch_error(location, "corrupt", cause) from error


def _checked_header(cells: Sequence[str], location: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    if "path" not in names:
        cause = f"its header has no column `path`: {shown(', '.join(names))}"
    elif len(set(names)) < len(names):
        cause = f"its header names a column twice: {shown(', '.join(names))}"
    elif "" in names:
        cause = f"column {names.index('') + 1} has no name"
    else:
        return names
    raise fetch_error(location, "corrupt", f"{cause}; correct the first line")


def _csv_row(cells: Sequence[str], names: Sequence[str], line: int) -> _Raw:
    texts = {name: cell.strip() for name, cell in zip(names, cells, strict=False)}
    values: dict[str, object] = {
        name: text if name in ("path", "title") else parse_value(text)
        for name, text in texts.items()
        if text
    }
    problem = ""
    if len(cells) != len(names):
        problem = f"it has {len(cells)} cells, and the header {len(names)}"
    return _Raw(line, values, problem)


def _json_rows(text: str) -> Iterator[_Raw]:
    for line, row in enumerate(text.split("\n"), start=1):
        if not row.strip():
            continue
        try:
            values = json.loads(row)
        except (ValueError, RecursionError) as error:
            yield _Raw(line, {}, f"it is not valid JSON: {error}")
            continue
        if isinstance(values, dict):
            yield _Raw(line, {name: v for name, v in values.items() if v is not None}, "")
        else:
            yield _Raw(line, {}, "it is not a JSON object")


def _checked_path(raw: _Raw) -> str:
    """Return the path of a row as the end of a document id.

    Raises:
        _BadRowError: If it is missing, absolute, too long, or leaves the folder.
    """
    value = raw.values.get("path")
    if not isinstance(value, str) or not value.strip():
        raise _BadRowError(raw.problem or "it has no `path`")
    path = PurePosixPath(value)
    if len(value) > _MAX_PATH_CHARS or "\x00" in value:
        raise _BadRowError(f"its path {shown(value)} is too long or has a zero byte")
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise _BadRowError(
            f"its path {shown(value)} leaves the folder; give one relative to the sidecar file"
        )
    return name_to_id(str(path))


def _checked_row(raw: _Raw, *, first: int) -> SidecarRow:
    """Return the fields and the title of a row.

    Args:
        raw: The row.
        first: First line with the path of the row.

    Raises:
        _BadRowError: If a name or value cannot be stored, there are too many, or the path is that
            of an earlier row.
    """
    if first != raw.line:
        raise _BadRowError(f"its path is also that of line {first}; remove one of them")
    values = dict(raw.values)
    values.pop("path", None)
    title = values.pop("title", "")
    if raw.problem:
        raise _BadRowError(raw.problem)
    if not isinstance(title, str):
        raise _BadRowError(f"its title is {shown(title)}; give a text")
    if len(values) > _MAX_FIELDS:
        raise _BadRowError(f"it has {len(values)} fields; at most {_MAX_FIELDS} are allowed")
    fields = {name: _checked_value(name, value) for name, value in values.items()}
    try:
        "".join((title, *fields, *map(str, fields.values()))).encode()
    except UnicodeEncodeError as error:
        raise _BadRowError("a text contains a lone surrogate; replace it") from error
    return SidecarRow(fields, clip(title, max_chars=_MAX_TITLE_CHARS) if title.strip() else "")


def _checked_value(name: str, value: Any) -> MetadataValue:
    if not name or len(name) > _MAX_NAME_CHARS:
        raise _BadRowError(
            f"a field is named {shown(name)}; give 1 to {_MAX_NAME_CHARS} characters"
        )
    checked: MetadataValue = tuple(value) if isinstance(value, list) else value
    try:
        problem = metadata_problem({name: checked})
    except TypeError as error:  # a value that cannot be hashed
        problem = str(error)
    if problem:
        raise _BadRowError(
            f"the field {shown(name)} is {shown(value)}; give a text, a finite number or a boolean"
        )
    if len(str(checked)) > _MAX_VALUE_CHARS:
        raise _BadRowError(
            f"the field {shown(name)} has {len(str(checked))} characters; at most "
            f"{_MAX_VALUE_CHARS} are allowed"
        )
    return checked
