"""When uploaded files are removed.

An uploaded file is kept while a document comes from it, because page images are drawn from it. The
files of a failed or cancelled job are kept while the job can be resumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.knowledge_base.internals import store_of

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.server.jobs import ClaimedJob, JobStore
    from spanwise.server.uploads import UploadPlace


@dataclass(frozen=True, slots=True)
class UploadRetention:
    """Removal of the uploaded files of one knowledge base."""

    jobs: JobStore
    base: KnowledgeBase
    place: UploadPlace

    def tidy(self, job_id: str) -> None:
        """Remove the files of a finished job that no document comes from, if it is not resumable.

        Raises:
            StoreError: If the jobs or the documents cannot be read.
        """
        job = self.jobs.get(job_id)
        if job is not None and (job.state in ("queued", "running") or job.resumable):
            return
        root = self.place.root(job_id)
        used = store_of(self.base).ids_from([root]).get(root, ())
        removed = self.place.remove_unused(job_id, used)
        if removed:
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
            self.place.remove(job.id)
            self.jobs.forget_uploads(job.names, job_id=job.id)
        for other in [job.id, *self.jobs.other_uploads(job.names, job_id=job.id)]:
            self.tidy(other)

    def tidy_all(self) -> None:
        """Remove the unneeded files of all jobs, and uploads that a killed process left behind.

        Raises:
            StoreError: If the jobs or the documents cannot be read.
        """
        for job_id in self.place.job_ids():
            if self.jobs.has_files(job_id):
                self.tidy(job_id)
            elif self.place.is_abandoned(job_id):
                self.place.remove(job_id)
