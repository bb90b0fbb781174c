"""A folder and the documents that came from it: what is there, and what is gone.

Rules
    A document is gone only where that is certain: its folder was folder_errors into, and it is not there,
    or the patterns leave it out. What cannot be read or listed now keeps its document, and is
    reported.
    A folder that is missing, or of which nothing is taken, removes nothing: it may be a disk that
    is not mounted, or a pattern with a slip.
    Documents of another source root are never removed.
    A member of a container is gone where the container is, or was opened, and it is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from spanwise.core.text.file_names import name_to_id, names_of_id
from spanwise.errors import DocumentError, FetchError, OptionError
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.sources import (
    Source,
    check_address,
    containers_of,
    files_of,
    is_address,
    is_url,
    root_of,
)

if TYPE_CHECKING:
    from spanwise.ingest.job import IngestJob
    from spanwise.ingest.pipeline import Ingestor
    from spanwise.types import DocumentRecord, IngestReport


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedFolder:
    """A folder as it is now."""

    path: Path | None
    """None for a prefix of an object storage, whose listing is all there is."""
    root: str
    """As the documents from it record it."""
    sources: tuple[Source | DocumentError, ...]
    """Its files, and what cannot be read, ordered by id."""
    taken: frozenset[str]
    """Ids of the files."""
    unread: frozenset[str]
    """Ids of what cannot be read; a folder stands for all that is below it."""
    patterns: PathPatterns = field(default_factory=PathPatterns)
    """What of it the patterns take."""

    def compare_records(
        self, records: Iterable[DocumentRecord], *, allow_empty: bool
    ) -> FolderComparison:
        """Return the documents that are gone from the folder, and what keeps others in doubt.

        Args:
            records: What is stored, in order; documents of other roots are left alone.
            allow_empty: Whether all of its documents may be gone.

        Raises:
            OptionError: If nothing of the folder is taken, documents came from it, and
                `allow_empty` is False.
        """
        ours = [record for record in records if record.source_root == self.root]
        expected = [record for record in ours if self._is_taken(record.id)]
        missing = [record for record in ours if not self._may_be_there(record.id)]
        if missing and not self._takes_any() and not allow_empty:
            raise nothing_taken(self.root, len(missing))
        folder_errors: dict[str, DocumentError | None] = {}
        deleted = [record for record in missing if self._is_certain(record.id, folder_errors)]
        errors = [error for error in folder_errors.values() if error is not None]
        return FolderComparison(
            deleted=tuple(deleted), expected=tuple(expected), errors=tuple(errors)
        )

    def _takes_any(self) -> bool:
        return any(isinstance(one, Source) and not one.members_only for one in self.sources)

    def _is_taken(self, document_id: str) -> bool:
        """Return whether a file, or that of the container it is in, is there."""
        return not self.taken.isdisjoint((*containers_of(document_id), document_id))

    def _may_be_there(self, document_id: str) -> bool:
        """Return whether a file is there, or may be there unseen, itself or in a container."""
        above = map(str, PurePosixPath(document_id).parents)
        names = (*containers_of(document_id), document_id, *above)
        return self._is_taken(document_id) or not self.unread.isdisjoint(names)

    def _is_certain(self, document_id: str, folder_errors: dict[str, DocumentError | None]) -> bool:
        """Return whether each folder above a missing file can be folder_errors into, or is not there.

        The walk says nothing of a link that leads nowhere where the patterns would not take a
        file of its name; but a link to a folder on a disk that is not mounted is one of those.
        """
        if self.path is None:
            return True
        for name in names_of_id(document_id):
            for above in reversed(PurePosixPath(name).parents[:-1]):
                folder = str(above)
                if folder not in folder_errors:
                    folder_errors[folder] = _unreachable(self.path / folder)
                if folder_errors[folder] is not None:
                    return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderComparison:
    """What became of the documents that came from a folder."""

    deleted: tuple[DocumentRecord, ...] = ()
    """Those that are gone."""
    expected: tuple[DocumentRecord, ...] = ()
    """Those whose file is there, or that of the container they were in: it has to be opened."""
    errors: tuple[DocumentError, ...] = ()
    """What keeps the others in doubt."""


def nothing_taken(root: str, documents: int) -> OptionError:
    """Return the error of a sync that would remove so many documents and find none."""
    return OptionError(
        f"nothing in {root} is taken, and {documents} documents that came from it would be "
        "removed; check that the disk is mounted and what is included and excluded, or allow an "
        "empty folder (allow_empty=True, --allow-empty)"
    )


def _unreachable(folder: Path) -> DocumentError | None:
    """Return what keeps a folder from being folder_errors into; None where it is open, or not there."""
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        return _unread(folder, error) if folder.is_symlink() else None
    except OSError as error:
        return _unread(folder, error)
    return None


def _unread(path: Path, error: OSError) -> FetchError:
    name = name_to_id(str(path))
    return FetchError(
        f"{name}: cannot be read: {error.strerror or error}; its documents stay as they are: "
        "check path and permissions, and that its disk is mounted",
        source=name,
        code="unreadable",
    )


def scan_folder(
    folder: str | Path, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> SyncedFolder:
    """Return a folder, or a prefix of an object storage, as it is now.

    Raises:
        OptionError: If it is no path, a URL or a file, or a pattern cannot be read.
        FetchError: If there is no such folder, or it cannot be listed.
    """
    if isinstance(folder, str) and is_address(folder) and not is_url(folder):
        return _scan_prefix(folder, PathPatterns.of(include, exclude))
    if not isinstance(folder, str | Path) or not str(folder).strip() or is_url(str(folder)):
        raise OptionError(f"folder is {folder!r}; name one folder")
    path = Path(folder)
    try:
        path.stat()
        is_folder = path.is_dir()
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise FetchError(
            f"{name_to_id(str(folder))}: {reason}; nothing was changed: check the path, and that "
            "its disk is mounted",
            source=name_to_id(str(folder)),
            code="unreadable",
        ) from error
    if not is_folder:
        raise OptionError(f"{folder} is no folder; `add` takes a single file")
    found = list(files_of(path, include=include, exclude=exclude))
    for document_id, source in found:
        if isinstance(source, DocumentError) and not document_id:
            raise source
    return SyncedFolder(
        path=path,
        root=root_of(path),
        sources=tuple(source for _, source in found),
        taken=frozenset(name for name, source in found if isinstance(source, Source)),
        unread=frozenset(name for name, source in found if isinstance(source, DocumentError)),
        patterns=PathPatterns.of(include, exclude),
    )


def _scan_prefix(address: str, patterns: PathPatterns) -> SyncedFolder:
    from spanwise.ingest.object_storage import objects_of

    check_address(address)
    found = objects_of(address, patterns=patterns, may_be_empty=True)
    root = address.rstrip("/")
    if any(source.document_id == root for _, source in found):
        raise OptionError(f"{root} is no prefix with objects below it; `add` takes a single one")
    return SyncedFolder(
        path=None,
        root=root,
        sources=tuple(source for _, source in found),
        taken=frozenset(name for name, _ in found),
        unread=frozenset(),
        patterns=patterns,
    )


def sync_folder(
    folder: SyncedFolder, *, ingestor: Ingestor, job: IngestJob, allow_empty: bool, dry_run: bool
) -> IngestReport:
    """Add, replace and remove, so that the documents that came from a folder equal it.

    Args:
        folder: The folder.
        ingestor: What takes the documents in.
        job: How; its sources and what is gone are those of the folder.
        allow_empty: Whether all documents of the folder may be gone.
        dry_run: Whether nothing is changed, and the report says what would be.

    Raises:
        OptionError: As `SyncedFolder.compare_records`.
        StoreError: If the store fails; what was done before stays.
    """
    records = {record.id: record for record in ingestor.store.list_records()}
    comparison = folder.compare_records(records.values(), allow_empty=allow_empty)
    job = replace(
        job,
        sources=(*folder.sources, *comparison.errors),
        deleted=comparison.deleted,
        expected=comparison.expected,
        patterns=folder.patterns,
        allow_empty=allow_empty,
    )
    if dry_run:
        return ingestor.estimate(job, records=records)
    return ingestor.run(job, records=records)
