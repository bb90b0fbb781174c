"""Rules of the job stores: a SQLite file, and PostgreSQL with several servers and tenants."""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from spanwise.server.job_file import JobFile
from spanwise.server.jobs import JobStore, NewJob, Outcome, QueueFullError
from spanwise.server.postgres_jobs import PostgresJobs
from spanwise.stores.postgres import schema
from spanwise.stores.postgres.address import parse_address
from spanwise.stores.postgres.connections import PostgresConnections

Open = Callable[[], JobStore]
"""Opens the same jobs as another process would."""


@pytest.fixture(params=["file", "postgresql"])
def open_jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    if request.param == "file":
        yield lambda: JobFile(tmp_path / "state" / "jobs.db")
        return
    address = f"{request.getfixturevalue('postgres_url')}?schema=jobs_{secrets.token_hex(4)}"
    with ExitStack() as stack:

        def open_postgres() -> PostgresJobs:
            connections = PostgresConnections(parse_address(address))
            stack.callback(connections.close)
            schema.prepare(connections, create=True)
            return PostgresJobs(connections)

        yield open_postgres


@pytest.fixture
def jobs(open_jobs: Open) -> JobStore:
    return open_jobs()


def new(name: str, *, files: tuple[str, ...] = ("pier.md",), url: str = "") -> NewJob:
    names = (url.partition("?")[0],) if url else files
    return NewJob(id=name, names=names, url=url, replace=True)


def end(jobs: JobStore, state: str = "done", *, owner: str = "runner") -> str:
    """Run the next job to an end, and return its id."""
    job = jobs.claim(owner, lease_seconds=60)
    assert job is not None
    assert jobs.finish(job.id, owner, Outcome(state=state), progress=None)  # type: ignore[arg-type]
    return job.id


def state_of(jobs: JobStore, job_id: str) -> str:
    job = jobs.get(job_id)
    assert job is not None
    return job.state


def test_a_new_store_has_no_jobs(jobs: JobStore) -> None:
    assert not jobs.is_used()
    assert jobs.waiting() == 0
    assert jobs.get("none") is None
    assert jobs.find(state=None, offset=0, limit=10) == ([], 0)
    assert jobs.claim("runner", lease_seconds=60) is None
    jobs.abandon("runner")
    jobs.delete_finished(keep_seconds=0)
    assert jobs.counts().jobs == {}
    assert not jobs.has_files("none")


def test_jobs_run_in_order_and_one_at_a_time(open_jobs: Open) -> None:
    first, second = open_jobs(), open_jobs()
    for name in ("one", "two"):
        first.add(
            NewJob(id=name, names=["é.md"], replace=False, options={"metadata": {"a": "\x00"}}),
            max_waiting=5,
        )
    assert first.is_used()
    claimed = second.claim("second", lease_seconds=60)
    assert claimed is not None
    assert (claimed.id, claimed.names, claimed.replace) == ("one", ("é.md",), False)
    assert claimed.options == {"metadata": {"a": "\x00"}}
    assert first.claim("first", lease_seconds=60) is None
    job = first.get("one")
    assert job is not None
    assert (job.state, job.kind, job.documents) == ("running", "upload", ("é.md",))
    assert job.created_at <= (job.started_at or "")
    assert second.finish(
        "one", "second", Outcome(state="done", report={"added": ["é"]}), progress={"n": 1}
    )
    assert not second.finish("one", "second", Outcome(state="failed"), progress=None)
    job = first.get("one")
    assert job is not None
    assert (job.state, job.report, job.progress) == ("done", {"added": ["é"]}, {"n": 1})
    assert end(first) == "two"


def test_jobs_are_listed_newest_first(jobs: JobStore) -> None:
    for name in ("one", "two", "three"):
        jobs.add(new(name), max_waiting=5)
    end(jobs)
    listed, total = jobs.find(state=None, offset=0, limit=2)
    assert ([job.id for job in listed], total) == (["three", "two"], 3)
    listed, total = jobs.find(state="queued", offset=1, limit=2)
    assert ([job.id for job in listed], total) == (["two"], 2)


def test_a_full_queue_takes_no_job(jobs: JobStore) -> None:
    jobs.add(new("one"), max_waiting=2)
    jobs.add(new("two"), max_waiting=2)
    with pytest.raises(QueueFullError):
        jobs.add(new("three"), max_waiting=2)
    jobs.cancel("one")
    with pytest.raises(QueueFullError):
        jobs.resume("one", max_waiting=1)
    assert jobs.get("three") is None
    assert state_of(jobs, "one") == "cancelled"
    assert jobs.waiting() == 1


def test_an_expired_lease_is_taken_over(open_jobs: Open) -> None:
    first, second = open_jobs(), open_jobs()
    first.add(new("one"), max_waiting=5)
    first.add(new("two"), max_waiting=5)
    assert first.claim("first", lease_seconds=0.05) is not None
    time.sleep(0.1)
    taken = second.claim("second", lease_seconds=60)
    assert taken is not None
    assert taken.id == "one", "it comes before jobs that wait"
    assert first.claim("third", lease_seconds=60) is None
    assert not first.renew("one", "first", lease_seconds=60, progress=None)
    first.release("one", "first")
    assert not first.finish("one", "first", Outcome(state="failed"), progress=None)
    assert second.renew("one", "second", lease_seconds=60, progress={"documents_done": 1})
    assert second.finish("one", "second", Outcome(state="done"), progress=None)
    job = first.get("one")
    assert job is not None
    assert (job.state, job.progress) == ("done", {"documents_done": 1})


def test_a_dead_owner_and_a_released_job_are_replaced_at_once(jobs: JobStore) -> None:
    jobs.add(new("one"), max_waiting=5)
    assert jobs.claim("first", lease_seconds=60) is not None
    jobs.abandon("other")
    assert jobs.claim("second", lease_seconds=60) is None
    jobs.abandon("first")
    assert jobs.claim("second", lease_seconds=60) is not None
    jobs.release("one", "second")
    assert state_of(jobs, "one") == "queued"
    assert jobs.claim("third", lease_seconds=60) is not None


def test_a_job_that_kills_its_process_fails(jobs: JobStore) -> None:
    jobs.add(new("one"), max_waiting=5)
    for _ in range(3):
        assert jobs.claim("runner", lease_seconds=60) is not None
        jobs.abandon("runner")
    assert jobs.claim("runner", lease_seconds=60) is None
    job = jobs.get("one")
    assert job is not None
    assert job.error is not None
    assert (job.state, job.error["code"], job.resumable) == ("failed", "interrupted", True)
    assert jobs.counts().totals["jobs_failed"] == 1


def test_queued_and_running_jobs_are_cancelled(open_jobs: Open) -> None:
    runner, other = open_jobs(), open_jobs()
    for name in ("one", "two", "three"):
        other.add(new(name), max_waiting=5)
    assert runner.claim("runner", lease_seconds=60) is not None
    other.cancel("one")
    other.cancel("two")
    assert not runner.renew("one", "runner", lease_seconds=60, progress=None)
    runner.release("one", "runner")
    assert state_of(other, "one") == state_of(other, "two") == "cancelled"
    claimed = runner.claim("runner", lease_seconds=60)
    assert claimed is not None
    other.cancel("three")
    runner.abandon("runner")
    assert runner.claim("runner", lease_seconds=60) is None
    assert state_of(other, "three") == "cancelled", "its owner has died"
    assert other.counts().totals["jobs_cancelled"] == 3
    job = other.get("three")
    assert job is not None
    assert job.resumable
    other.cancel("three", discard=True)
    assert not other.resume("three", max_waiting=5)


def test_a_resumed_job_waits_at_the_end(jobs: JobStore) -> None:
    jobs.add(new("one"), max_waiting=5)
    end(jobs, "failed")
    jobs.add(new("two"), max_waiting=5)
    assert jobs.resume("one", max_waiting=5)
    assert not jobs.resume("two", max_waiting=5), "it has not ended"
    assert not jobs.resume("none", max_waiting=5)
    assert [end(jobs), end(jobs)] == ["two", "one"]
    assert not jobs.resume("one", max_waiting=5), "it is done"


def test_a_signed_url_is_deleted_at_the_end(jobs: JobStore) -> None:
    signed, plain = "https://example.org/a?token=secret", "https://example.org/b"
    for name, url in (("signed", signed), ("plain", plain)):
        jobs.add(new(name, url=url), max_waiting=5)
        claimed = jobs.claim("runner", lease_seconds=60)
        assert claimed is not None
        assert claimed.url == url
        assert jobs.finish(name, "runner", Outcome(state="failed"), progress=None)
    assert not jobs.resume("signed", max_waiting=5)
    assert jobs.resume("plain", max_waiting=5)


def test_finished_jobs_are_deleted(jobs: JobStore) -> None:
    for name in ("old", "waiting"):
        jobs.add(new(name), max_waiting=5)
    end(jobs)
    jobs.delete_finished(keep_seconds=60)
    assert state_of(jobs, "old") == "done"
    time.sleep(0.02)
    jobs.delete_finished(keep_seconds=0.01)
    assert jobs.get("old") is None
    assert state_of(jobs, "waiting") == "queued"
    assert jobs.has_files("old"), "documents may come from its files"
    assert jobs.counts().totals["jobs_done"] == 1


def test_uploaded_files_are_found_by_name(jobs: JobStore) -> None:
    jobs.add(new("one", files=("a.md", "b.md")), max_waiting=5)
    jobs.add(new("two", files=("b.md",)), max_waiting=5)
    jobs.add(new("url", url="https://example.org/b.md"), max_waiting=5)
    assert jobs.other_uploads(["b.md", "c.md"], job_id="two") == ["one"]
    assert not jobs.has_files("url")
    jobs.forget_uploads(["a.md", "b.md"], job_id="one")
    assert not jobs.has_files("one")
    assert jobs.has_files("two")
    jobs.cancel("one")
    assert not jobs.resume("one", max_waiting=5), "its files are gone"


def test_totals_count_each_change_once(jobs: JobStore) -> None:
    jobs.add(new("one"), max_waiting=5)
    jobs.add(new("two"), max_waiting=5)
    assert jobs.counts().jobs == {"queued": 2}
    assert jobs.claim("runner", lease_seconds=60) is not None
    documents = {"added": 2, "failed": 1}
    assert jobs.renew("one", "runner", lease_seconds=60, progress=None, documents=documents)
    assert jobs.finish(
        "one", "runner", Outcome(state="done"), progress=None, documents={"added": 1}
    )
    jobs.count("restarts")
    counts = jobs.counts()
    assert counts.jobs == {"queued": 1}
    assert counts.oldest_wait_seconds > 0
    waited = counts.totals.pop("wait_seconds")
    assert waited > 0
    assert counts.totals == {
        "documents_added": 3, "documents_failed": 1, "jobs_done": 1, "restarts": 1, "waits": 1,
    }  # fmt: skip


def test_several_runners_run_each_job_once(open_jobs: Open) -> None:
    names = [f"job-{number}" for number in range(12)]
    ended: Counter[str] = Counter()
    running, overlaps = threading.Lock(), []

    def run(owner: str) -> None:
        jobs = open_jobs()
        while sum(ended.values()) != len(names):
            claimed = jobs.claim(owner, lease_seconds=60)
            if claimed is None:
                time.sleep(0.005)
                continue
            if not running.acquire(blocking=False):
                overlaps.append(claimed.id)
                continue
            ended[claimed.id] += 1
            running.release()
            jobs.finish(claimed.id, owner, Outcome(state="done"), progress=None)

    first = open_jobs()
    threads = [threading.Thread(target=run, args=(f"runner-{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for name in names:
        first.add(new(name), max_waiting=100)
    for thread in threads:
        thread.join(30)
    assert overlaps == []
    assert ended == Counter(names)
    assert first.counts().totals["jobs_done"] == len(names)


def test_tenants_have_jobs_of_their_own(postgres_url: str) -> None:
    """A role that may see all rows runs no job of a tenant either."""
    name, role = f"jobs_{secrets.token_hex(4)}", f"role_{secrets.token_hex(4)}"
    host = postgres_url.partition("@")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"create role {role} login")
        connection.execute(f"grant create on database {connection.info.dbname} to {role}")
        connection.execute("create extension if not exists vector")
    with ExitStack() as stack:
        opened = {}
        for tenant in ("", "acme", "other"):
            user = role if tenant else "postgres"
            parsed = parse_address(f"postgresql://{user}@{host}?schema={name}&tenant={tenant}")
            opened[tenant] = PostgresJobs(PostgresConnections(parsed))
            stack.callback(opened[tenant].connections.close)
        schema.prepare(opened["acme"].connections, create=True)
        for tenant, jobs in opened.items():
            jobs.add(new(f"job-of-{tenant}"), max_waiting=1)
        for tenant, jobs in opened.items():
            listed, total = jobs.find(state=None, offset=0, limit=10)
            assert ([job.id for job in listed], total) == ([f"job-of-{tenant}"], 1)
            assert jobs.other_uploads(["pier.md"], job_id="none") == [f"job-of-{tenant}"]
            claimed = jobs.claim("runner", lease_seconds=60)
            assert claimed is not None, "each tenant runs a job at a time"
            assert claimed.id == f"job-of-{tenant}"
        assert opened["acme"].get("job-of-other") is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of file sizes")
def test_a_reserve_that_could_not_be_written_is_written_again(tmp_path: Path) -> None:
    import resource

    jobs = JobFile(tmp_path / "jobs.db")
    jobs.add(new("one"), max_waiting=5)

    def reserved_bytes() -> int:
        files = [path for path in tmp_path.iterdir() if not path.name.startswith("jobs.db")]
        return sum(path.stat().st_size for path in files)

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        jobs.keep_reserve()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert reserved_bytes() == 0
    jobs.keep_reserve()
    assert reserved_bytes() > 100_000
