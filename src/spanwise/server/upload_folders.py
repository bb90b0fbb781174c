"""Folders of uploaded files, one for each job, and when their files are removed.

An uploaded file is kept while a document comes from it, because page images are drawn from it. The
files of a failed or cancelled job are kept while the job can be resumed.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.ingest.sources import root_of
from spanwise.knowledge_base.internals import store_of
from spanwise.server.uploads import is_abandoned, remove_unused

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.server.jobs import ClaimedJob, JobFile


@dataclass(frozen=True, slots=True)
class UploadFolders:
    """Folders of the uploaded files of one knowledge base."""

    jobs: JobFile
    base: KnowledgeBase
    path: Path
    """Folder that contains the folders of the jobs."""

    def of(self, job_id: str) -> Path:
        """Return the folder of a job."""
        return self.path / job_id

    def tidy(self, job_id: str) -> None:
        """Remove the files of a finished job that no document comes from, if it is not resumable.

        Raises:
            StoreError: If the jobs or the documents cannot be read.
        """
        folder, job = self.of(job_id), self.jobs.get(job_id)
        is_needed = job is not None and (job.state in ("queued", "running") or job.resumable)
        if is_needed or not folder.is_dir():
            return
        root = root_of(folder)
        used = store_of(self.base).ids_from([root]).get(root, ())
        with suppress(OSError):  # another process tidies, or the disk does not allow it
            removed = remove_unused(folder, used)
            self.jobs.forget_uploads(removed, job_id=job_id)

    def tidy_after(self, job: ClaimedJob, *, keep: bool) -> None:
        """Remove the files that a job does not need any more, and those that it has replaced.

        Args:
            job: Finished job.
            keep: Whether files are kept while a document comes from them.

        Raises:
            StoreError: If the jobs or the documents cannot be read.
        """
        found = self.jobs.get(job.id)
        if not keep and found is not None and not found.resumable:
            shutil.rmtree(self.of(job.id), ignore_errors=True)
            self.jobs.forget_uploads(job.names, job_id=job.id)
        for other in [job.id, *self.jobs.other_uploads(job.names, job_id=job.id)]:
            self.tidy(other)

    def tidy_all(self) -> None:
        """Remove the unneeded files of all jobs, and uploads that a killed process left behind.

        Raises:
            StoreError: If the jobs or the documents cannot be read.
        """
        if not self.path.is_dir():
            return
        for folder in sorted(self.path.iterdir()):
            if self.jobs.has_files(folder.name):
                self.tidy(folder.name)
            elif is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)
