"""Documents are prepared by worker processes, with the results of an ingest without them."""

import os
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from spanwise import KnowledgeBase, ParseOptions
from spanwise.errors import OptionError
from spanwise.ingest import drafts, process_workers
from spanwise.ingest.fields import FieldChanges
from spanwise.ingest.process_workers import ProcessWorkers
from spanwise.ingest.workers import Prepared, PrepareRequest, WorkerSettings, prepare
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.stores.embedded import open_embedded
from spanwise.types import Document, FieldOrigins, IngestReport

SETTINGS = WorkerSettings(
    tokenizer="o200k_base",
    embedder="wordllama",
    sections=SectionOptions(),
    chunks=ChunkOptions(),
)
SENTENCE = "The turbine of plant {} was serviced in week {}, and its rotor was replaced. "


def text_of(number: int, *, sentences: int = 30) -> str:
    body = "".join(SENTENCE.format(number, week) for week in range(sentences))
    return f"# Plant {number}\n\n{body}\n\n## Costs\n\nThe rotor cost {number * 1_000} euros.\n"


def request_for(name: str, text: str) -> PrepareRequest:
    return PrepareRequest(
        settings=SETTINGS,
        document=Document(id=name, text=text, source=name),
        changes=FieldChanges(given={"team": "north"}),
        before=FieldOrigins(),
        record=None,
        recipe={},
        packs="",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with files of several formats, an archive and a file without text."""
    path = tmp_path / "reports"
    path.mkdir()
    for number in range(4):
        (path / f"plant{number}.md").write_text(text_of(number))
    (path / "empty.txt").write_text("   \n")
    with zipfile.ZipFile(path / "more.zip", "w") as archive:
        archive.writestr("plant9.txt", text_of(9))
    return path


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use workers for any amount of work."""
    monkeypatch.setattr(drafts, "_MIN_BYTES", 0)


def ingest(folder: Path, base: Path, *, workers: int) -> IngestReport:
    with KnowledgeBase(base, parse=ParseOptions(workers=workers)) as knowledge_base:
        return knowledge_base.sync(folder, metadata={"team": "north"})


def stored(base: Path) -> list[object]:
    """Return all that is stored of each document."""
    store = open_embedded(base, create=False)
    with closing(store):
        rows: list[object] = []
        for record in store.list_records():
            chunks, vectors = store.get_embedded(record.id) or ((), None)
            whole = store.get_whole(record.id)
            rows.append(
                (record, whole, tuple(chunks), None if vectors is None else vectors.tolist())
            )
        return rows


def counted(report: IngestReport) -> tuple[object, ...]:
    return (
        report.added,
        report.replaced,
        report.unchanged,
        [(failure.source, failure.code, failure.message) for failure in report.failed],
        report.chunks,
        report.kept_vectors,
        report.warnings,
    )


@pytest.mark.usefixtures("always")
def test_the_results_are_the_same_with_any_number_of_workers(folder: Path, tmp_path: Path) -> None:
    """First all documents are new; then one has changed."""
    bases = {workers: tmp_path / f"{workers}.kb" for workers in (1, 2)}
    reports = {workers: ingest(folder, base, workers=workers) for workers, base in bases.items()}
    assert counted(reports[1]) == counted(reports[2])
    assert len(reports[2].added) == 5
    (folder / "plant2.md").write_text(text_of(2) + "The rotor was sold.\n")
    again = {workers: ingest(folder, base, workers=workers) for workers, base in bases.items()}
    assert counted(again[1]) == counted(again[2])
    assert again[2].replaced == ("plant2.md",)
    assert again[2].kept_vectors > 0
    assert stored(bases[1]) == stored(bases[2])


def test_workers_return_what_their_function_returns() -> None:
    """In the order of the requests, also for a document without text."""
    requests = [request_for(f"{n}", text_of(n, sentences=5 * n + 1)) for n in range(9)]
    requests[4] = request_for("4", "   ")
    with closing(ProcessWorkers(2)) as workers:
        results = list(workers.map(requests))
    assert [result.outcome for result in results] == ["prepared"] * 4 + ["refused"] + [
        "prepared"
    ] * 4
    for result, request in zip(results, requests, strict=True):
        assert described(result) == described(prepare(request))


def described(prepared: Prepared) -> object:
    if prepared.draft is None:
        return prepared.outcome
    entry = prepared.draft.entry
    vectors = None if entry.vectors is None else entry.vectors.tobytes()
    fields = (entry.title, entry.summary, entry.title_words, entry.sections, entry.language)
    return entry.document, fields, tuple(entry.chunks), vectors, prepared.draft.kept_vectors


@pytest.fixture
def killing() -> Iterator[Callable[[ProcessWorkers], None]]:
    """Yield a function that kills all processes of some workers from then on."""
    done = threading.Event()

    def kill_all(workers: ProcessWorkers) -> None:
        def work() -> None:
            while not done.is_set():
                kill(workers)
                time.sleep(0.02)

        threading.Thread(target=work, daemon=True).start()

    yield kill_all
    done.set()


def kill(workers: ProcessWorkers) -> None:
    for process_id in filter(None, workers.process_ids):
        os.kill(process_id, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)


def test_a_killed_worker_is_replaced() -> None:
    """Its documents are prepared by another process."""
    requests = [request_for(f"{n}", text_of(n)) for n in range(8)]
    with closing(ProcessWorkers(1)) as workers:
        results = workers.map(requests)
        outcomes = [next(results).outcome]
        kill(workers)
        outcomes += [result.outcome for result in results]
    assert outcomes == ["prepared"] * 8


def test_a_document_that_kills_its_worker_twice_is_lost(
    killing: Callable[[ProcessWorkers], None],
) -> None:
    with closing(ProcessWorkers(1)) as workers:
        results = workers.map([request_for("small", text_of(1)), request_for("large", text_of(2))])
        assert next(results).outcome == "prepared"
        results.close()
        killing(workers)
        large = request_for("large", text_of(2, sentences=4_000))
        assert [result.outcome for result in workers.map([large])] == ["lost"]


@pytest.mark.parametrize("title", [b"bytes", {1, 2}])
def test_a_document_that_cannot_be_sent_is_left_to_the_owner(title: object) -> None:
    """The ingest does not wait for it forever, and the other documents are prepared."""
    request = request_for("1", text_of(1))
    assert request.document is not None
    odd = replace(request, document=replace(request.document, metadata={"title": title}))  # type: ignore[dict-item]
    requests = [request_for("0", text_of(0)), odd, request_for("2", text_of(2))]
    with closing(ProcessWorkers(1)) as workers:
        outcomes = [result.outcome for result in workers.map(requests)]
    assert outcomes == ["prepared", "refused", "prepared"]


def test_an_answer_that_cannot_be_read_does_not_stop_the_ingest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(header: object, payload: object, document: Document, *, known_packs: str) -> Prepared:
        if document.id == "1":
            raise KeyError("title")
        return Prepared(outcome="refused")

    monkeypatch.setattr(process_workers, "decode_prepared", read)
    with closing(ProcessWorkers(1)) as workers:
        requests = [request_for(f"{n}", text_of(n)) for n in range(3)]
        outcomes = [result.outcome for result in workers.map(requests)]
    assert outcomes == ["refused", "lost", "refused"]


def test_processes_that_never_start_leave_the_work_to_the_owner(
    killing: Callable[[ProcessWorkers], None],
) -> None:
    with closing(ProcessWorkers(1)) as workers:
        killing(workers)
        outcomes = [result.outcome for result in workers.map([request_for("a", text_of(1))] * 3)]
    assert outcomes == ["refused"] * 3


class _Losing:
    """Workers that lose one document, and leave the others to the owner."""

    def map(self, requests: Iterable[PrepareRequest]) -> Generator[Prepared]:
        for request in requests:
            document = request.document
            is_lost = document is not None and document.id == "plant1.md"
            yield Prepared(outcome="lost" if is_lost else "refused")

    def close(self) -> None:
        pass


@pytest.mark.usefixtures("always")
def test_a_lost_document_is_reported_and_the_others_are_added(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "open_workers", lambda *_: _Losing())
    report = ingest(folder, tmp_path / "a.kb", workers=2)
    failures = {Path(failure.source).name: failure.code for failure in report.failed}
    assert failures == {"plant1.md": "crashed", "empty.txt": "no_text"}
    assert len(report.added) == 4


def test_closed_workers_leave_no_process() -> None:
    """Also in the middle of a run."""
    workers = ProcessWorkers(1)
    results = workers.map([request_for(f"{n}", text_of(n, sentences=300)) for n in range(9)])
    next(results)
    ids = workers.process_ids
    results.close()
    workers.close()
    assert all(ids)
    for process_id in ids:
        with pytest.raises(OSError, match=r".*"):
            os.kill(process_id, 0)


@pytest.mark.usefixtures("always")
def test_an_ingest_without_its_index_process_loses_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.stores.flush_process.FlushProcess.start", lambda _: False)
    base = tmp_path / "a.kb"
    ingest(folder, base, workers=2)
    with KnowledgeBase(base) as knowledge_base:
        assert knowledge_base.search("cost of the rotor of plant 9").segments
        assert not knowledge_base.check().findings


def test_workers_are_a_number_or_an_address(folder: Path, tmp_path: Path) -> None:
    for wrong in (-1, True, "eight", 1.5):
        with pytest.raises(OptionError, match="workers"):
            ParseOptions(workers=wrong)  # type: ignore[arg-type]
    options = ParseOptions(workers="ray://head:10001")
    with (
        KnowledgeBase(tmp_path / "a.kb", parse=options) as base,
        pytest.raises(OptionError, match="Ray"),
    ):
        base.add(folder)
