"""Rebuild of a knowledge base: a new state is prepared next to the current one, and replaces it.

The new state is a separate store in the subfolder `rebuild/new`. Its documents have numbers that
are reserved in `truth.db`, so that no number is ever used twice. The table `origin` of its database
records from which version of each document it was prepared.

`switch` copies the rows to `truth.db` in one transaction. A search sees the state before or after
it. Conversations and cached model outputs stay. The index parts are moved, because they contain
the same document numbers; if the process is killed before the manifest names them, they are built
again.

A killed process leaves the subfolder, and the next rebuild with the same settings continues there.
Only one process rebuilds at a time: it holds the lock of the subfolder.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING

from spanwise.errors import FormatError, StoreBusyError, StoreError
from spanwise.stores import database
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.flush import flush_lock
from spanwise.stores.folder import DATABASE_NAME, INDEX_NAME, share_index_file
from spanwise.stores.index import REVISION
from spanwise.stores.manifest import Manifest, read_manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from spanwise.stores.port import DocumentEntry
    from spanwise.types.output_cache import CachedOutput

REBUILD_NAME = "rebuild"
"""Name of the subfolder with the lock and the unfinished new state."""

_STATE_NAME = "new"
_MIN_RESERVED = 10_000
_TABLES = (
    "document",
    "section",
    "page",
    "heading",
    "block",
    "figure",
    "chunk",
    "signal",
    "vector",
)


@contextmanager
def open_rebuild(
    store: EmbeddedStore, path: Path, settings: Mapping[str, str]
) -> Iterator[EmbeddedRebuild]:
    """Open the new state of a knowledge base; continue an unfinished one with the same settings.

    Args:
        store: Store of the knowledge base.
        path: Folder of the knowledge base.
        settings: All settings of the new state.

    Raises:
        StoreBusyError: If another process is rebuilding.
    """
    with _locked(path):
        staged = _open_staged(store, path, settings)
        try:
            yield EmbeddedRebuild(store, staged, path)
        finally:
            staged.close()


def discard_rebuild(store: EmbeddedStore, path: Path) -> bool:
    """Delete an unfinished new state, and return whether there was one.

    Raises:
        StoreBusyError: If another process is rebuilding.
    """
    if not (path / REBUILD_NAME / _STATE_NAME).exists():
        return False
    with _locked(path):
        _discard(store, path)
    return True


def remove_switched(store: EmbeddedStore, path: Path) -> None:
    """Delete a new state that is already in use, because a process was killed after the switch."""
    state = path / REBUILD_NAME / _STATE_NAME
    if not state.exists():
        return
    _check_folders(path)
    with flush_lock(path / REBUILD_NAME) as is_locked:
        if is_locked and _recorded_revision(state) == store.ensure_settings({}).get(REVISION):
            shutil.rmtree(state, ignore_errors=True)


def _recorded_revision(state: Path) -> str:
    """Return the revision of a new state; empty if it was not completely created."""
    try:
        with closing(_open_source(state / DATABASE_NAME)) as source:
            return database.read_settings(source).get(REVISION, "")
    except (sqlite3.Error, FormatError):
        return ""


def _check_folders(path: Path) -> None:
    """Raise an error if a folder of the rebuild is a link, because files are deleted there.

    Raises:
        FormatError: If it is a link.
    """
    for folder in (path / REBUILD_NAME, path / REBUILD_NAME / _STATE_NAME):
        if folder.is_symlink():
            raise FormatError(f"{folder} is a link; delete the link, and rebuild again")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    _check_folders(path)
    with flush_lock(path / REBUILD_NAME) as is_locked:
        if not is_locked:
            raise StoreBusyError(
                f"another process is rebuilding {path}; wait for it, or stop it and run the same "
                "command again"
            )
        yield


def _discard(store: EmbeddedStore, path: Path) -> None:
    """Delete the new state, but keep its cached model outputs: they may have cost money."""
    state = path / REBUILD_NAME / _STATE_NAME
    with (
        suppress(sqlite3.Error, StoreError),
        closing(_open_source(state / DATABASE_NAME)) as source,
        store._writing() as connection,
    ):
        _copy_outputs(source, connection)
    shutil.rmtree(state, ignore_errors=True)


def _open_staged(store: EmbeddedStore, path: Path, settings: Mapping[str, str]) -> EmbeddedStore:
    """Return the store of an unfinished new state with these settings, or of an empty one."""
    state = path / REBUILD_NAME / _STATE_NAME
    if state.exists():
        with suppress(FormatError):
            staged = open_embedded(state, create=False, durability="fast")
            with ExitStack() as stack:
                stack.callback(staged.close)
                if _fits(staged, settings):
                    stack.pop_all()
                    return staged
        _discard(store, path)
    last = _reserve_numbers(store)
    staged = open_embedded(state, durability="fast")
    with ExitStack() as stack:
        stack.callback(staged.close)
        staged.ensure_settings(settings)
        with staged._writing(durable=False) as connection:
            connection.execute("insert into sqlite_sequence values ('document', ?)", (last,))
            connection.execute("create table origin (id text primary key, version text not null)")
        stack.pop_all()
    return staged


def _fits(staged: EmbeddedStore, settings: Mapping[str, str]) -> bool:
    """Return whether a new state was completely created, with these settings.

    The revision differs if the new state was switched to, and its process was killed afterwards.
    """
    with staged._reading() as connection:
        tables = "select count(*) from sqlite_schema where name = 'origin'"
        (is_ready,) = connection.execute(tables).fetchone()
    recorded = staged.ensure_settings({})
    return bool(is_ready) and _compared(recorded) == _compared(settings)


def _compared(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name != "packs"}


def _reserve_numbers(store: EmbeddedStore) -> int:
    """Reserve document numbers for the new state, and return the last number before them."""
    with store._writing() as connection:
        (documents,) = connection.execute("select count(*) from document").fetchone()
        row = connection.execute(
            "select seq from sqlite_sequence where name = 'document'"
        ).fetchone()
        last = 0 if row is None else int(row[0])
        connection.execute("delete from sqlite_sequence where name = 'document'")
        end = last + 2 * documents + _MIN_RESERVED
        connection.execute("insert into sqlite_sequence values ('document', ?)", (end,))
    return last


class EmbeddedRebuild:
    """New state of an embedded store; implements `StoreRebuild`."""

    def __init__(self, store: EmbeddedStore, staged: EmbeddedStore, path: Path) -> None:
        """Create the object; use `open_rebuild` instead.

        Args:
            store: Store of the knowledge base.
            staged: Store of the new state.
            path: Folder of the knowledge base.
        """
        self._store = store
        self._staged = staged
        self._path = path
        self._held: sqlite3.Connection | None = None
        self._parts: tuple[str, ...] = ()
        self._is_switched = False

    def outdated(self) -> list[tuple[str, str]]:
        """Return id and version of the documents to prepare, see `StoreRebuild.outdated`."""
        with self._store._reading() as connection:
            wanted = _versions(connection)
            packs = database.read_packs(connection)
        with self._staged._reading() as connection:
            prepared = _origins(connection)
            prepared_packs = database.read_packs(connection)
            ids = [str(row[0]) for row in connection.execute("select id from document")]
        if prepared_packs != packs:
            prepared = {}
            with self._staged._writing(durable=False) as connection:
                connection.execute("delete from origin")
                database.change_settings(connection, {"packs": packs})
        for document_id in ids:
            if document_id not in wanted:
                self._forget_origin(document_id)
                self._staged.delete_document(document_id)
        return [item for item in wanted.items() if prepared.get(item[0]) != item[1]]

    def version(self, document_id: str) -> str:
        """Return the current version of a document; empty if it does not exist."""
        with self._store._reading() as connection:
            return _versions(connection, document_id).get(document_id, "")

    def put(self, entry: DocumentEntry, *, version: str) -> None:
        """Store a prepared document in the new state, see `StoreRebuild.put`."""
        # A kill between these transactions leaves no origin, and the document is prepared again.
        self._forget_origin(entry.document.id)
        self._staged.put_document(entry, replace=True)
        with self._staged._writing(durable=False) as connection:
            connection.execute("insert into origin values (?, ?)", (entry.document.id, version))

    def _forget_origin(self, document_id: str) -> None:
        with self._staged._writing(durable=False) as connection:
            connection.execute("delete from origin where id = ?", (document_id,))

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached model outputs of some keys, by key."""
        return self._store.get_outputs(keys) | self._staged.get_outputs(keys)

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache model outputs in the new state; writers of the store may be blocked meanwhile."""
        self._staged.put_outputs(outputs)

    def remove_output(self, key: str) -> None:
        """Remove the output of a key from the new state, but not from the current state."""
        self._staged.remove_output(key)

    @contextmanager
    def hold_writers(self) -> Iterator[None]:
        """Block other writers during the block, see `StoreRebuild.hold_writers`."""
        index = self._store._index
        with index.locked():
            with self._store._writing() as connection:
                self._held = connection
                try:
                    yield
                finally:
                    self._held = None
            if self._is_switched:
                self._use_parts(index.folder)

    def switch(self) -> None:
        """Replace the current state by the new one, see `StoreRebuild.switch`."""
        if self._held is None:
            raise StoreError("the state can be switched only inside of `hold_writers`; call it so")
        self._staged.close()
        self._staged.release()  # Windows moves no file that is mapped
        with closing(_open_source(self._state / DATABASE_NAME)) as source:
            if _versions(self._held) != _origins(source):
                raise StoreError(
                    f"the new state of {self._path} lacks documents; prepare those of `outdated`"
                )
            _replace_rows(source, self._held)
            _copy_outputs(source, self._held)
        self._parts = self._move_parts(self._store._index.folder)
        self._is_switched = True

    @property
    def _state(self) -> Path:
        return self._path / REBUILD_NAME / _STATE_NAME

    def _move_parts(self, folder: Path) -> tuple[str, ...]:
        """Move the index parts of the new state to the index folder, and return their names."""
        source, moved = self._state / INDEX_NAME, []
        for name in read_manifest(source).parts:
            with suppress(OSError):  # its documents are indexed again
                (source / name).replace(folder / name)
                share_index_file(folder / name)
                moved.append(name)
        return tuple(moved)

    def _use_parts(self, folder: Path) -> None:
        """Name the moved parts in the manifest, and delete the remains of the new state."""
        with self._store._reading() as connection:
            seq, stamp = connection.execute(
                "select seq, hex(stamp) from change order by seq desc limit 1"
            ).fetchone() or (0, "")
        if seq:
            write_manifest(folder, Manifest(seq=seq, stamp=stamp, parts=self._parts))
        shutil.rmtree(self._state, ignore_errors=True)


def _versions(connection: sqlite3.Connection, document_id: str | None = None) -> dict[str, str]:
    """Return the version of each document by id, oldest first.

    It changes with the number, which a replacement changes, and with any data of the document.
    """
    scope, values = ("", ()) if document_id is None else (" where id = ?", (document_id,))
    rows = connection.execute(
        f"select id, number, checksum from document{scope} order by number",  # noqa: S608
        values,
    )
    return {name: f"{number} {checksum}" for name, number, checksum in rows}


def _origins(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the version from which each document of a new state was prepared, by id."""
    rows = connection.execute(
        "select origin.id, version from origin join document on document.id = origin.id"
    )
    return {str(name): str(version) for name, version in rows}


def _open_source(path: Path) -> sqlite3.Connection:
    """Open the database of the new state for reading."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)


def _replace_rows(source: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    """Replace all documents and the settings inside a write transaction.

    Raises:
        StoreError: If a document number of the new state was used before.
    """
    first, last = source.execute("select min(number), max(number) from document").fetchone()
    used = "select count(*) from change where document between ? and ?"
    if first is not None and connection.execute(used, (first, last)).fetchone()[0]:
        raise StoreError(
            "too many documents changed during the rebuild; discard it, and rebuild again"
        )
    record = "insert into change (stamp, document, gone) select randomblob(8), number, ?"
    connection.execute(f"{record} from document order by number", (True,))
    for table in _TABLES:
        # Table and column names cannot be SQL parameters; all come from this program.
        connection.execute(f"delete from {table}")  # noqa: S608
        columns = [row[1] for row in source.execute(f"pragma table_info({table})")]
        connection.executemany(
            f"insert into {table} ({', '.join(columns)})"  # noqa: S608
            f" values ({', '.join('?' * len(columns))})",
            source.execute(f"select {', '.join(columns)} from {table}"),  # noqa: S608
        )
    connection.execute(f"{record} from document order by number", (False,))
    database.change_settings(connection, database.read_settings(source))


def _copy_outputs(source: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    """Copy the cached model outputs that the target lacks, inside a write transaction."""
    connection.executemany(
        "insert or ignore into output values (?, ?, ?, ?, ?, ?)",
        source.execute("select key, task, model, output, created, checksum from output"),
    )
