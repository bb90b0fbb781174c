"""Where the jobs and the uploaded files of a knowledge base are.

For a folder, they are in a folder next to it (`reports.kb.server`), so that the folder of the
knowledge base has its own files only. For PostgreSQL, they are tables of the knowledge base, so
that all servers share them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.config import StoreAddress, find_location
from spanwise.server.job_file import JobFile, job_file

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.server.jobs import JobStore
    from spanwise.server.uploads import UploadPlace


@dataclass(frozen=True, slots=True)
class QueueStorage:
    """Jobs and uploaded files of one knowledge base."""

    jobs: JobStore
    uploads: UploadPlace


def storage_of(base: KnowledgeBase) -> QueueStorage | None:
    """Return the place for the jobs of an open knowledge base; None if it can have none."""
    # Imported here, because the process that starts others only calls `jobs_of`.
    from spanwise.knowledge_base.internals import folder_of, store_of
    from spanwise.server.upload_folders import UploadFolders
    from spanwise.stores.port import SharedStore

    folder, store = folder_of(base), store_of(base)
    if folder is not None:
        file = job_file(folder)
        return QueueStorage(JobFile(file), UploadFolders(file.with_name("uploads")))
    if not isinstance(store, SharedStore):
        return None
    # Imported here, because psycopg may be missing.
    from spanwise.server.postgres_jobs import PostgresJobs
    from spanwise.server.postgres_uploads import PostgresUploadPlace
    from spanwise.stores.postgres.store import PostgresStore
    from spanwise.stores.postgres.uploads import PostgresUploads

    if not isinstance(store, PostgresStore):
        return None
    uploads = PostgresUploads(store.connections)
    return QueueStorage(PostgresJobs(store.connections), PostgresUploadPlace(uploads))


def jobs_of(locations: Iterable[str]) -> list[JobStore]:
    """Return the jobs of knowledge bases that are not open, without those that can have none.

    Args:
        locations: Folders and addresses of the knowledge bases.
    """
    found = map(_jobs_of, locations)
    return [jobs for jobs in found if jobs is not None]


def _jobs_of(text: str) -> JobStore | None:
    location = find_location(text)
    if not isinstance(location, StoreAddress):
        return JobFile(job_file(location))
    if location.kind != "postgresql":
        return None
    # Imported here, because psycopg may be missing.
    from spanwise.server.postgres_jobs import PostgresJobs
    from spanwise.stores.postgres.address import parse_address
    from spanwise.stores.postgres.connections import PostgresConnections

    return PostgresJobs(PostgresConnections(parse_address(location.reveal())))
