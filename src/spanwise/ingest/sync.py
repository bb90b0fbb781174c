"""Synchronisation of a knowledge base with a folder or a prefix of object storage.

Rules:
    A document is deleted only if its absence is certain: its folder was listed without it, or the
        patterns exclude it. A path that cannot be read or listed keeps its documents, and is
        reported.
    A missing folder, or one without any selected file, deletes nothing: a disk may not be mounted,
        or a pattern may be mistyped.
    Documents of another source root are never deleted.
    A member of a container is deleted if the container is deleted, or was opened and lacks the
    member.
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
    """Current content of a folder."""

    path: Path | None
    """Path of the folder; None for an object storage prefix, whose listing is complete."""
    root: str
    """Source root recorded with its documents."""
    sources: tuple[Source | DocumentError, ...]
    """Files of the folder, and errors for unreadable paths, ordered by id."""
    taken: frozenset[str]
    """Ids of the selected files."""
    unread: frozenset[str]
    """Ids of unreadable paths; a folder includes everything below it."""
    patterns: PathPatterns = field(default_factory=PathPatterns)
    """Patterns that select files."""

    def compare_records(
        self, records: Iterable[DocumentRecord], *, allow_empty: bool
    ) -> FolderComparison:
        """Compare the stored documents of the folder with its files.

        Args:
            records: Stored records, in order; documents of other roots are ignored.
            allow_empty: Whether all documents of the folder may be deleted.

        Raises:
            OptionError: If no file of the folder is selected, it has stored documents, and
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
        return any(isinstance(item, Source) and not item.members_only for item in self.sources)

    def _is_taken(self, document_id: str) -> bool:
        """Return whether a document's file, or its container, is selected."""
        return not self.taken.isdisjoint((*containers_of(document_id), document_id))

    def _may_be_there(self, document_id: str) -> bool:
        """Return whether a document's file may exist, possibly in an unreadable path."""
        above = map(str, PurePosixPath(document_id).parents)
        names = (*containers_of(document_id), document_id, *above)
        return self._is_taken(document_id) or not self.unread.isdisjoint(names)

    def _is_certain(self, document_id: str, folder_errors: dict[str, DocumentError | None]) -> bool:
        """Return whether each folder above a missing file can be accessed or does not exist.

        The folder walk does not report a broken link unless the patterns select a file of its name.
        A link to a folder on an unmounted disk is such a link.
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
    """Stored documents of a folder compared with its files."""

    deleted: tuple[DocumentRecord, ...] = ()
    """Documents whose files no longer exist."""
    expected: tuple[DocumentRecord, ...] = ()
    """Documents whose file or container exists; containers have to be opened to decide."""
    errors: tuple[DocumentError, ...] = ()
    """Errors because of which other documents are kept."""


def nothing_taken(root: str, documents: int) -> OptionError:
    """Return the error of a sync that finds no file and would delete all documents."""
    return OptionError(
        f"no file in {root} is selected, and {documents} documents that came from it would be "
        "removed; check that the disk is mounted and what is included and excluded, or allow an "
        "empty folder (allow_empty=True, --allow-empty)"
    )


def _unreachable(folder: Path) -> DocumentError | None:
    """Return the error that prevents access to a folder; None if it is accessible or missing."""
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
    """Return the current content of a folder, or of a prefix of object storage.

    Raises:
        OptionError: If it is not a path, is a URL or a file, or a pattern is invalid.
        FetchError: If the folder does not exist, or cannot be listed.
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
        raise OptionError(f"{folder} is not a folder; `add` takes a single file")
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
        raise OptionError(f"{root} is not a prefix with objects below it; `add` takes a single one")
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
    """Add, replace and delete documents until those of a folder equal its files.

    Args:
        folder: Current content of the folder.
        ingestor: Ingestor of the knowledge base.
        job: Options; its sources, deleted and expected documents are set from the folder.
        allow_empty: Whether all documents of the folder may be deleted.
        dry_run: Whether nothing is changed, and the report is an estimate.

    Raises:
        OptionError: As `SyncedFolder.compare_records`.
        StoreError: If the store fails; changes made before stay.
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
