"""Files that were uploaded to a server, in blocks of bytes.

Each block is written in a transaction of its own, so that an upload needs little memory and holds
no connection while it waits for its client. A file belongs to its job once the job is submitted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.errors import StoreError

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection, PostgresConnections
    from spanwise.types import DocumentRecord

ROOT_PREFIX = "upload:"
"""Beginning of the source root of uploaded documents; the id of the job follows."""


@dataclass(frozen=True, slots=True)
class PostgresUploads:
    """Uploaded files of one knowledge base."""

    connections: PostgresConnections

    def create(self, job_id: str, name: str) -> int:
        """Create an empty file, and return its number."""

        def create(connection: Connection) -> int:
            row = connection.execute(
                "insert into upload (job, name) values (%s, %s) returning number", (job_id, name)
            ).fetchone()
            assert row is not None  # noqa: S101 - an insert returns its row
            return int(row[0])

        return self.connections.write(create)

    def append(self, number: int, position: int, data: bytes) -> None:
        """Write a block of a file, durably.

        Args:
            number: Number of the file.
            position: Position of the block in the file, from 0.
            data: The bytes.
        """

        def append(connection: Connection) -> None:
            connection.execute(
                "insert into upload_block (upload, position, data) values (%s, %s, %s)",
                (number, position, data),
            )
            connection.execute(
                "update upload set written_at = clock_timestamp() where number = %s", (number,)
            )

        self.connections.write(append)

    def files(self, job_id: str) -> dict[str, int]:
        """Return the numbers of the files of a job, by name."""
        with self.connections.reading() as connection:
            rows = connection.execute(
                "select name, number from upload where job = %s order by number", (job_id,)
            ).fetchall()
        return dict(rows)

    def read_original(self, record: DocumentRecord) -> bytes | None:
        """Return the uploaded file of a document; None if there is none."""
        if not record.source_root.startswith(ROOT_PREFIX):
            return None
        number = self.files(record.source_root.removeprefix(ROOT_PREFIX)).get(record.id)
        return None if number is None else b"".join(self.read(number))

    def read(self, number: int) -> Iterator[bytes]:
        """Yield the blocks of a file in order; none if it does not exist.

        Raises:
            StoreError: If the file is removed meanwhile.
        """
        position = 0
        while True:
            with self.connections.reading() as connection:
                row = connection.execute(
                    "select data from upload left join upload_block"
                    " on upload = number and position = %s where number = %s",
                    (position, number),
                ).fetchone()
            if row is None and position:
                raise StoreError(
                    f"an uploaded file was removed from {self.connections.address} while it was "
                    "read; upload it again"
                )
            if row is None or row[0] is None:
                return
            yield bytes(row[0])
            position += 1

    def job_ids(self) -> list[str]:
        """Return the ids of the jobs with files, ascending."""
        with self.connections.reading() as connection:
            rows = connection.execute(
                "select distinct job from upload where is_own(tenant) order by job"
            ).fetchall()
        return [job_id for (job_id,) in rows]

    def is_abandoned(self, job_id: str, *, seconds: float) -> bool:
        """Return whether no file of a job was written for some time."""
        with self.connections.reading() as connection:
            row = connection.execute(
                "select max(written_at) < clock_timestamp() - make_interval(secs => %s) "
                "from upload where job = %s",
                (seconds, job_id),
            ).fetchone()
        return row is not None and bool(row[0])

    def remove(
        self, job_id: str, *, keeps: Collection[str] = (), only_new: bool = False
    ) -> list[str]:
        """Remove files of a job, and return their names.

        Args:
            job_id: Id of the job.
            keeps: Names of files to keep.
            only_new: Whether files of a submitted job are kept.
        """

        def remove(connection: Connection) -> list[str]:
            rows = connection.execute(
                "delete from upload where job = %s and name <> all(%s) "
                "and not (submitted and %s) returning name",
                (job_id, list(keeps), only_new),
            ).fetchall()
            return sorted(name for (name,) in rows)

        return self.connections.write(remove)
