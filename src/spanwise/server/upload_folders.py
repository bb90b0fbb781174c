"""Uploaded files of a knowledge base in a folder: one folder for each job, next to it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from spanwise.errors import StoreError, StoreFullError
from spanwise.ingest.sources import MEMBER_MARK, root_of
from spanwise.server.uploads import ABANDONED_SECONDS
from spanwise.stores.disk import force_to_disk, is_disk_full, private_opener, sync_folder


@dataclass(frozen=True, slots=True)
class UploadFolders:
    """Folders of the uploaded files of one knowledge base, see `UploadPlace`."""

    path: Path
    """Folder that contains the folders of the jobs."""

    def target(self, job_id: str) -> FolderTarget:
        """See `UploadPlace.target`."""
        return FolderTarget(self.path / job_id)

    def root(self, job_id: str) -> str:
        """See `UploadPlace.root`."""
        return root_of(self.path / job_id)

    def job_of(self, root: str) -> str:
        """See `UploadPlace.job_of`."""
        folder = Path(root)
        return folder.name if folder.parent == Path(root_of(self.path)) else ""

    @contextmanager
    def files(self, job_id: str) -> Iterator[Path]:
        """See `UploadPlace.files`."""
        yield self.path / job_id

    def hidden(self, job_id: str) -> Mapping[str, str]:
        """See `UploadPlace.hidden`."""
        folder = self.path / job_id
        state, root, temporary = self.path.parent, self.root(job_id), tempfile.gettempdir()
        return {
            f"{root}{os.sep}": "",
            f"{root}/": "",
            f"{folder}{os.sep}": "",
            root_of(state): "the folder of the server",
            str(state): "the folder of the server",
            f"{temporary}{os.sep}spanwise-ingest-": "",
            f"{temporary}: ": "",
        }

    def job_ids(self) -> list[str]:
        """See `UploadPlace.job_ids`."""
        return sorted(folder.name for folder in self.path.iterdir()) if self.path.is_dir() else []

    def is_abandoned(self, job_id: str) -> bool:
        """See `UploadPlace.is_abandoned`."""
        folder = self.path / job_id
        try:
            newest = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
        except OSError:
            return False
        return newest < time.time() - ABANDONED_SECONDS

    def remove(self, job_id: str) -> None:
        """See `UploadPlace.remove`."""
        shutil.rmtree(self.path / job_id, ignore_errors=True)

    def remove_unused(self, job_id: str, used_ids: Collection[str]) -> list[str]:
        """See `UploadPlace.remove_unused`."""
        folder = self.path / job_id
        used = {document_id.partition(MEMBER_MARK)[0] for document_id in used_ids}
        removed: list[str] = []
        with suppress(OSError):  # another process tidies, or the disk does not allow it
            for path in sorted(folder.rglob("*"), reverse=True):  # files before their folders
                name = path.relative_to(folder).as_posix()
                if path.is_dir() and not path.is_symlink():
                    _remove_if_empty(path)
                elif name not in used:
                    path.unlink(missing_ok=True)
                    removed.append(name)
            _remove_if_empty(folder)
        return removed


@dataclass(slots=True)
class FolderTarget:
    """Folder of the files of one job, at the paths of their ids, see `UploadTarget`."""

    folder: Path
    """New folder."""
    _open: list[BinaryIO] = field(default_factory=list)
    _folders: set[Path] = field(default_factory=set)

    def begin(self) -> None:
        """See `UploadTarget.begin`."""
        with _translated(self.folder):
            for path in (self.folder.parent.parent, self.folder.parent):
                path.mkdir(mode=0o700, exist_ok=True)
            self.folder.mkdir(mode=0o700)

    def open(self, name: str) -> FolderFile | None:
        """See `UploadTarget.open`."""
        path = self.folder / PurePosixPath(name)
        with _translated(self.folder):
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                file = open(path, "xb", opener=private_opener)  # noqa: SIM115 - closed by its user
            except (FileExistsError, NotADirectoryError):
                return None
        self._open.append(file)
        depth = len(path.parent.relative_to(self.folder).parts)
        self._folders |= {path.parent, *path.parent.parents[:depth]}
        return FolderFile(file, self.folder)

    def finish(self) -> None:
        """See `UploadTarget.finish`."""
        for folder in sorted(self._folders):
            sync_folder(folder)
        sync_folder(self.folder.parent)

    def discard(self) -> None:
        """See `UploadTarget.discard`."""
        for file in self._open:
            with suppress(OSError):
                file.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class FolderFile:
    """File on disk that is being received, see `UploadedFile`."""

    file: BinaryIO
    folder: Path
    """Folder of the job."""

    def write(self, data: bytes) -> None:
        """See `UploadedFile.write`."""
        with _translated(self.folder):
            self.file.write(data)

    def close(self) -> None:
        """See `UploadedFile.close`."""
        with _translated(self.folder):
            self.file.flush()
            force_to_disk(self.file.fileno())
            self.file.close()


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise errors of the file system as errors of the library."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error, path):
            raise StoreFullError(f"{path}: the disk is full: {error}") from error
        raise StoreError(f"{path} cannot be written: {error}") from error


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # not empty
        folder.rmdir()
