"""Uploaded files: their names, the interface of their storage, and the parser of requests.

Files are received and written in pieces. `UploadFolders` stores the files of a knowledge base in a
folder, `PostgresUploadPlace` those of a knowledge base in PostgreSQL.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Protocol

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from spanwise.core.text.file_names import id_problem
from spanwise.ingest.folder_walk import SIDECAR_NAMES, PathPatterns
from spanwise.ingest.sources import MEMBER_MARK
from spanwise.server.problems import Problem

if TYPE_CHECKING:
    from spanwise.ingest.sources import CopiedFolder

MAX_FILES = 1_000
"""Maximum number of files of one upload, with its sidecar files."""
ABANDONED_SECONDS = 3_600.0
"""Age after which an upload without a job is removed; a shorter pause ends the request."""
_MAX_NAME_BYTES = 255
_MAX_DEPTH = 64  # parts of a path; removing a tree keeps a file descriptor open for each level
_MAX_OPTIONS_BYTES = 1_000_000
_OPTIONS = b"options"
_RESERVED_NAMES = frozenset({"truth.db"})  # its folder would be a knowledge base
_PATTERNS = PathPatterns.of((), ())
_ESCAPES = {b"%22": b'"', b"%0D": b"\r", b"%0A": b"\n"}
"""Escapes in names of files by the standard of HTML forms; "%" itself is not escaped there."""
_WINDOWS_CHARS = frozenset('<>:"|?*')


class UploadedFile(Protocol):
    """File that is being received. Both methods raise a StoreError if it cannot be written."""

    def write(self, data: bytes, /) -> None:
        """Append the next piece."""
        ...

    def close(self) -> None:
        """Make the file durable."""
        ...


class UploadTarget(Protocol):
    """Place of the files of one job. Every method raises a StoreError if it cannot be written."""

    def begin(self) -> None:
        """Create the place."""
        ...

    def open(self, name: str) -> UploadedFile | None:
        """Return a new file; None if a file or a folder of another file has the name."""
        ...

    def finish(self) -> None:
        """Make all files durable."""
        ...

    def discard(self) -> None:
        """Remove all files, unless they belong to a job by now."""
        ...


class UploadPlace(Protocol):
    """Place of the uploaded files of one knowledge base, by the id of their job.

    Every method raises a StoreError if it cannot be read or written.
    """

    def target(self, job_id: str) -> UploadTarget:
        """Return the place for the files of a new job."""
        ...

    def root(self, job_id: str) -> str:
        """Return the source root of the documents of a job, the same on each machine."""
        ...

    def job_of(self, root: str) -> str:
        """Return the job of a source root; empty for other roots."""
        ...

    def files(self, job_id: str) -> AbstractContextManager[Path | CopiedFolder]:
        """Return a context manager for a folder that contains the files of a job."""
        ...

    def hidden(self, job_id: str) -> Mapping[str, str]:
        """Return replacements for paths of the server in messages about a job."""
        ...

    def job_ids(self) -> list[str]:
        """Return the ids of the jobs with files, ascending."""
        ...

    def is_abandoned(self, job_id: str) -> bool:
        """Return whether no file of a job was written for a long time."""
        ...

    def remove(self, job_id: str) -> None:
        """Remove the files of a job."""
        ...

    def remove_unused(self, job_id: str, used_ids: Collection[str]) -> list[str]:
        """Remove the files of a job that no document comes from, and return their ids.

        Args:
            job_id: Id of the job.
            used_ids: Ids of the stored documents that come from the files.
        """
        ...


def upload_id(name: str, *, prefix: str = "") -> str:
    """Return the document id of an uploaded file.

    Args:
        name: File name, or relative path with "/", that the client sends.
        prefix: Path before the name, such as "2023"; empty for none.

    Raises:
        Problem: If it is not a relative path of plain names.
    """
    path = f"{prefix.strip('/')}/{name}" if prefix.strip("/") else name
    reason = id_problem(path) or _path_problem(path)
    if reason:
        raise Problem(
            422,
            "invalid_name",
            f"the name of a file is {path[:200]!r}: {reason}; use names such as 'report.pdf', and "
            "a prefix such as '2023'",
        )
    return path


def _path_problem(path: str) -> str:
    """Return why a path cannot be the name of an uploaded file; empty if it can."""
    if "\\" in path or MEMBER_MARK in path:
        return f'"\\" and "{MEMBER_MARK}" are not allowed'
    parts = path.split("/")
    if problem := _parts_problem(parts):
        return problem
    file_name = parts[-1]
    reached = path.removesuffix(file_name) + "sidecar" if file_name in SIDECAR_NAMES else path
    if not _PATTERNS.reaches(reached) or file_name in _RESERVED_NAMES:
        return "hidden files and files with this name are not added"
    is_windows = os.name == "nt"
    if is_windows and (_WINDOWS_CHARS & set(path) or PureWindowsPath(path).is_reserved()):
        return "Windows does not allow it"
    return ""


def _parts_problem(parts: Sequence[str]) -> str:
    """Return why the parts of a path cannot be used; empty if they can."""
    if len(parts) > _MAX_DEPTH:
        return f"it has more than {_MAX_DEPTH} parts"
    if any(part in ("", ".", "..") or part != part.strip() for part in parts):
        return "a part of it is empty, dots, or begins or ends with a space"
    if any(len(part.encode()) > _MAX_NAME_BYTES for part in parts):
        return f"a part of it has more than {_MAX_NAME_BYTES} bytes"
    return ""


class UploadReceiver:
    """Receives the files of a multipart body; its methods block."""

    def __init__(
        self, target: UploadTarget, *, content_type: str, prefix: str, document_id: str = ""
    ) -> None:
        """Create the place of the files.

        Args:
            target: Place for the files.
            content_type: Content type of the request.
            prefix: Path before the names of the files; empty for none.
            document_id: Id of the only file, in place of its name; empty for its name.

        Raises:
            Problem: If the prefix or the id is invalid, or the content type has no boundary.
            StoreError: If the place cannot be created.
        """
        upload_id(document_id or "name", prefix=prefix)
        boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
        if not boundary:
            raise _invalid("its content type has no boundary")
        self.names: list[str] = []
        self.options = b""
        """Content of the part `options`; empty if there is none."""
        self._target = target
        self._prefix = prefix
        self._document_id = document_id
        self._files = 0
        self._is_options = False
        self._file: UploadedFile | None = None
        self._header = (b"", b"")
        self._disposition = b""
        self._is_complete = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._open_file,
                "on_part_data": self._on_data,
                "on_part_end": self._close_file,
                "on_end": self._on_end,
            },
        )
        target.begin()

    def write(self, data: bytes) -> None:
        """Receive the next piece of the body.

        Raises:
            Problem: If the body is invalid.
            StoreError: If a file cannot be written.
        """
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _invalid("it is no multipart body") from error

    def finish(self) -> None:
        """Make all files durable, after the last piece.

        Raises:
            Problem: If the body has ended early, or has no file.
        """
        if not self._is_complete:
            raise _invalid("it ends early")
        if not self.names:
            raise _invalid("it has no file; send files in parts with a file name")
        self._target.finish()

    def discard(self) -> None:
        """Remove the files that were received.

        Raises:
            StoreError: If they cannot be removed.
        """
        self._target.discard()

    def _begin_part(self) -> None:
        self._disposition = b""
        self._header = (b"", b"")

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0] + data[start:end], self._header[1])

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0], self._header[1] + data[start:end])

    def _on_header_end(self) -> None:
        name, value = self._header
        if name.lower() == b"content-disposition":
            self._disposition = value
        self._header = (b"", b"")

    def _open_file(self) -> None:
        fields = parse_options_header(self._disposition)[1]
        given = fields.get(b"filename")
        self._is_options = given is None and fields.get(b"name") == _OPTIONS
        if self._is_options:
            return
        if given is None:
            raise _invalid(
                "a part has no file name; give `prefix`, `document_id` and `replace` in the "
                "address, and other options as JSON in the part `options`"
            )
        if self._document_id and self.names:
            raise _invalid("there are several files; `document_id` is for a single one")
        self._files += 1
        if self._files > MAX_FILES:
            raise Problem(413, "too_large", f"an upload has at most {MAX_FILES:,} files")
        name = upload_id(self._document_id or _decoded(given), prefix=self._prefix)
        self._file = self._target.open(name)
        if self._file is None:
            raise _invalid(f"two files have the name {name[:200]!r}")
        if PurePosixPath(name).name not in SIDECAR_NAMES:  # it describes documents, and is none
            self.names.append(name)

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])
        elif self._is_options:
            if len(self.options) + end - start > _MAX_OPTIONS_BYTES:
                raise Problem(
                    413, "too_large", f"the options have more than {_MAX_OPTIONS_BYTES:,} bytes"
                )
            self.options += data[start:end]

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _on_end(self) -> None:
        self._is_complete = True


def _decoded(name: bytes) -> str:
    """Return the name of a file without the escapes of browsers and of HTTP clients."""
    for escape, char in _ESCAPES.items():
        name = name.replace(escape, char)
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(422, "invalid_name", "the name of a file is not in UTF-8") from error


def _invalid(reason: str) -> Problem:
    return Problem(422, "invalid_upload", f"the upload cannot be read: {reason}")
