"""Synchronisation of a knowledge base with a folder or a prefix of object storage.

Rules:
    A document is deleted only if its file is certainly gone: the listing of its folder lacks it, or
        the patterns exclude it. Documents in a path that cannot be read are kept, and the path is
        reported.
    A missing folder, or one without any selected file, deletes nothing: a disk may not be mounted,
        or a pattern may be mistyped.
    Documents of another source root are never deleted.
    A member of a container is deleted if the container is deleted, or was opened without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from spanwise.core.text.file_names import name_to_id, names_of_id
from spanwise.errors import DocumentError, FetchError, OptionError
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.locations import fetch_error
from spanwise.ingest.sources import (
    Source,
    check_address,
    choose_prefix,
    containers_of,
    files_of,
    is_address,
    is_url,
    root_of,
    with_prefix,
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
    selected: frozenset[str]
    """Ids of the selected files, and of possible containers of selected members."""
    unreadable: frozenset[str]
    """Ids of unreadable paths; the id of a folder also covers the files below it."""
    patterns: PathPatterns = field(default_factory=PathPatterns)
    """Patterns that select files."""
    prefix: str = ""
    """Prefix of all ids, with a slash at its end; empty if there is none."""

    def compare_records(
        self, records: Iterable[DocumentRecord], *, allow_empty: bool
    ) -> FolderComparison:
        """Return the comparison of the stored documents of the folder with its files.

        Args:
            records: Stored records in order; records of other source roots are ignored.
            allow_empty: Whether all documents of the folder may be deleted.

        Raises:
            OptionError: If no file of the folder is selected, it has stored documents, and
                `allow_empty` is False.
        """
        ours = [record for record in records if record.source_root == self.root]
        expected = [record for record in ours if self._is_selected(record.id)]
        missing = [record for record in ours if not self._may_exist(record.id)]
        if missing and not self._has_selected() and not allow_empty:
            raise empty_folder_error(self.root, len(missing))
        folder_errors: dict[str, DocumentError | None] = {}
        deleted = [record for record in missing if self._is_gone(record.id, folder_errors)]
        errors = [error for error in folder_errors.values() if error is not None]
        return FolderComparison(
            deleted=tuple(deleted), expected=tuple(expected), errors=tuple(errors)
        )

    def _has_selected(self) -> bool:
        return any(isinstance(item, Source) and not item.members_only for item in self.sources)

    def _is_selected(self, document_id: str) -> bool:
        """Return whether a document's file, or its container, is selected."""
        return not self.selected.isdisjoint((*containers_of(document_id), document_id))

    def _may_exist(self, document_id: str) -> bool:
        """Return whether a document's file is selected, or may be in an unreadable path."""
        folders = map(str, PurePosixPath(document_id).parents)
        names = (*containers_of(document_id), document_id, *folders)
        return self._is_selected(document_id) or not self.unreadable.isdisjoint(names)

    def _is_gone(self, document_id: str, folder_errors: dict[str, DocumentError | None]) -> bool:
        """Return whether a missing file is certainly gone: no folder above it is inaccessible.

        The folders are checked here because the folder walk does not report every broken link. For
        example, a link to a folder on a disk that is not mounted is a broken link.

        Args:
            document_id: Id of the document.
            folder_errors: Errors of folders by path, None for an accessible or missing folder. The
                results of new checks are added.
        """
        if self.path is None:
            return True
        for name in names_of_id(document_id.removeprefix(self.prefix)):
            for parent in reversed(PurePosixPath(name).parents[:-1]):
                folder = str(parent)
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
    """Documents whose file or container exists; members are only known after it is opened."""
    errors: tuple[DocumentError, ...] = ()
    """Errors of inaccessible folders, whose missing documents are kept."""


def empty_folder_error(root: str, documents: int) -> OptionError:
    """Return the error of a sync that selects no file and would delete all documents."""
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
        return _unreadable_folder(folder, error) if folder.is_symlink() else None
    except OSError as error:
        return _unreadable_folder(folder, error)
    return None


def _unreadable_folder(path: Path, error: OSError) -> FetchError:
    return fetch_error(
        name_to_id(str(path)),
        "unreadable",
        f"cannot be read: {error.strerror or error}; its documents stay as they are: check path "
        "and permissions, and that its disk is mounted",
    )


def scan_folder(
    folder: str | Path,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    prefix: str | None = None,
    follow_links: bool = False,
    stored_ids: Callable[[str], Iterable[str]] = lambda _: (),
) -> SyncedFolder:
    """Return the current content of a folder, or of a prefix of object storage.

    Args:
        folder: Folder or address.
        include: Patterns of files to include.
        exclude: Patterns of files to exclude.
        prefix: Prefix of the ids; None for the default (`choose_prefix`).
        follow_links: Whether symbolic links that lead out of the folder are followed.
        stored_ids: Function that returns the ids of the stored documents from a source root.

    Raises:
        OptionError: If it is not a path, is a URL or a file, or a pattern or the prefix is invalid.
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
        cause = f"{reason}; nothing was changed: check the path, and that its disk is mounted"
        raise fetch_error(name_to_id(str(folder)), "unreadable", cause) from error
    if not is_folder:
        raise OptionError(f"{folder} is not a folder; `add` takes a single file")
    files = list(files_of(path, include=include, exclude=exclude, follow_links=follow_links))
    for document_id, source in files:
        if isinstance(source, DocumentError) and not document_id:
            raise source
    names = [name for name, source in files if isinstance(source, Source)]
    chosen = choose_prefix(prefix, names, root=root_of(path), stored=stored_ids(root_of(path)))
    files = list(with_prefix(files, chosen))
    return SyncedFolder(
        path=path,
        root=root_of(path),
        sources=tuple(source for _, source in files),
        selected=frozenset(name for name, source in files if isinstance(source, Source)),
        unreadable=frozenset(name for name, source in files if isinstance(source, DocumentError)),
        patterns=PathPatterns.of(include, exclude),
        prefix=chosen,
    )


def _scan_prefix(address: str, patterns: PathPatterns) -> SyncedFolder:
    from spanwise.ingest.object_storage import objects_of

    check_address(address)
    objects = objects_of(address, patterns=patterns, may_be_empty=True)
    root = address.rstrip("/")
    if any(source.document_id == root for _, source in objects):
        raise OptionError(f"{root} is not a prefix with objects below it; `add` takes a single one")
    return SyncedFolder(
        path=None,
        root=root,
        sources=tuple(source for _, source in objects),
        selected=frozenset(name for name, _ in objects),
        unreadable=frozenset(),
        patterns=patterns,
    )


def _restricted(
    folder: SyncedFolder, comparison: FolderComparison, *, only: Collection[str]
) -> tuple[SyncedFolder, FolderComparison]:
    """Return a folder and its comparison, limited to some of its files and without errors."""

    def of_files(records: Sequence[DocumentRecord]) -> tuple[DocumentRecord, ...]:
        files = [(*containers_of(record.id), record.id)[0] for record in records]
        return tuple(record for record, file in zip(records, files, strict=True) if file in only)

    sources = tuple(
        source
        for source in folder.sources
        if isinstance(source, Source) and source.document_id in only
    )
    return replace(folder, sources=sources), FolderComparison(
        deleted=of_files(comparison.deleted), expected=of_files(comparison.expected)
    )


def sync_folder(
    folder: SyncedFolder,
    *,
    ingestor: Ingestor,
    job: IngestJob,
    allow_empty: bool,
    dry_run: bool,
    only: Collection[str] | None = None,
) -> IngestReport:
    """Add, replace and delete documents so that the knowledge base matches a folder.

    Args:
        folder: Current content of the folder.
        ingestor: Ingestor of the knowledge base.
        job: Options; sources and documents to delete are replaced by the content of the folder.
        allow_empty: Whether all documents of the folder may be deleted.
        dry_run: Whether nothing is changed, and the report is an estimate.
        only: Ids of the files to process; None for all. Documents of other files stay as they are.

    Raises:
        OptionError: As `SyncedFolder.compare_records`.
        StoreError: If the store fails; changes made before stay.
    """
    records = {record.id: record for record in ingestor.store.list_records()}
    comparison = folder.compare_records(records.values(), allow_empty=allow_empty)
    if only is not None:
        folder, comparison = _restricted(folder, comparison, only=only)
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
