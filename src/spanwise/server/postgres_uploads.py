"""Uploaded files of a knowledge base in PostgreSQL, which every server of it can read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from spanwise.errors import StoreError
from spanwise.ingest.local_files import TemporarySpace
from spanwise.ingest.sources import MEMBER_MARK, CopiedFolder
from spanwise.server.problems import Problem
from spanwise.server.uploads import ABANDONED_SECONDS, upload_id
from spanwise.stores.disk import private_opener
from spanwise.stores.postgres.uploads import ROOT_PREFIX, PostgresUploads

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PostgresUploadPlace:
    """Uploaded files in the database, see `UploadPlace`."""

    uploads: PostgresUploads

    def target(self, job_id: str) -> PostgresTarget:
        """See `UploadPlace.target`."""
        return PostgresTarget(self.uploads, job_id)

    def root(self, job_id: str) -> str:
        """See `UploadPlace.root`."""
        return f"{ROOT_PREFIX}{job_id}"

    def job_of(self, root: str) -> str:
        """See `UploadPlace.job_of`."""
        return root.removeprefix(ROOT_PREFIX) if root.startswith(ROOT_PREFIX) else ""

    @contextmanager
    def files(self, job_id: str) -> Iterator[CopiedFolder]:
        """See `UploadPlace.files`."""
        with TemporarySpace() as space, space.folder() as folder:
            for name, number in self.uploads.files(job_id).items():
                path = folder / _checked(name)
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with open(path, "xb", opener=private_opener) as file:
                    file.writelines(self.uploads.read(number))
            yield CopiedFolder(folder, self.root(job_id))

    def hidden(self, job_id: str) -> Mapping[str, str]:
        """See `UploadPlace.hidden`."""
        temporary = tempfile.gettempdir()
        return {
            f"{self.root(job_id)}/": "",
            f"{temporary}{os.sep}spanwise-ingest-": "",
            f"{temporary}: ": "",
        }

    def job_ids(self) -> list[str]:
        """See `UploadPlace.job_ids`."""
        return self.uploads.job_ids()

    def is_abandoned(self, job_id: str) -> bool:
        """See `UploadPlace.is_abandoned`."""
        return self.uploads.is_abandoned(job_id, seconds=ABANDONED_SECONDS)

    def remove(self, job_id: str) -> None:
        """See `UploadPlace.remove`."""
        self.uploads.remove(job_id)

    def remove_unused(self, job_id: str, used_ids: Collection[str]) -> list[str]:
        """See `UploadPlace.remove_unused`."""
        used = {document_id.partition(MEMBER_MARK)[0] for document_id in used_ids}
        return self.uploads.remove(job_id, keeps=used)


def _checked(name: str) -> PurePosixPath:
    """Return the path of a stored file in the folder of its job.

    Raises:
        StoreError: If the name could be outside of the folder.
    """
    try:
        return PurePosixPath(upload_id(name))
    except Problem as problem:
        raise StoreError(
            f"the table `upload` has a file with the name {name[:200]!r}, which no server has "
            "received; delete this row"
        ) from problem


@dataclass(slots=True)
class PostgresTarget:
    """Files of one job in the database, see `UploadTarget`."""

    uploads: PostgresUploads
    job_id: str
    _names: set[str] = field(default_factory=set)
    _folders: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """See `UploadTarget.begin`."""

    def open(self, name: str) -> PostgresFile | None:
        """See `UploadTarget.open`."""
        folders = {str(folder) for folder in PurePosixPath(name).parents} - {"."}
        if name in self._names | self._folders or folders & self._names:
            return None
        self._names.add(name)
        self._folders |= folders
        return PostgresFile(self.uploads, self.uploads.create(self.job_id, name))

    def finish(self) -> None:
        """See `UploadTarget.finish`."""

    def discard(self) -> None:
        """See `UploadTarget.discard`."""
        self.uploads.remove(self.job_id, only_new=True)


@dataclass(slots=True)
class PostgresFile:
    """File in the database that is being received, see `UploadedFile`."""

    uploads: PostgresUploads
    number: int
    _waiting: bytearray = field(default_factory=bytearray)
    _blocks: int = 0

    def write(self, data: bytes) -> None:
        """See `UploadedFile.write`."""
        self._waiting += data
        while len(self._waiting) >= _BLOCK_BYTES:
            self._append(_BLOCK_BYTES)

    def close(self) -> None:
        """See `UploadedFile.close`."""
        if self._waiting:
            self._append(len(self._waiting))

    def _append(self, size: int) -> None:
        self.uploads.append(self.number, self._blocks, bytes(self._waiting[:size]))
        del self._waiting[:size]
        self._blocks += 1
