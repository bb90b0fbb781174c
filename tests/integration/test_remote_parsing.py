"""An ingest whose files are parsed on other machines, here by the same tasks in this process."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from threading import Event
from typing import TypeVar

import fsspec
import pytest
from tests.archives import build_mail, build_tar
from tests.small_documents import small_documents

from spanwise import IngestReport, KnowledgeBase, ParseOptions
from spanwise.ingest import ray_tasks, ray_workers
from spanwise.ingest.local_files import LocalFile
from spanwise.ingest.ray_tasks import ParseRequest
from spanwise.ingest.sources import Source
from spanwise.ingest.workers import Prepared, PrepareRequest
from spanwise.options import ParseOptions as Options
from spanwise.parsers.containers import Limit
from spanwise.types import Document

_Value = TypeVar("_Value")
PREFIX = "memory://bucket/reports"


class TaskWorkers:
    """Runs the tasks of a cluster in this process. Arguments and results are pickled."""

    ahead = 2
    parsed: list[tuple[str, bool]]
    """Ids of the documents that were parsed, and whether their bytes were sent."""

    def __init__(self, address: str, *, options: Options, embedder: object) -> None:
        """Take the arguments of `RayWorkers`."""
        del address, embedder
        self.options = options
        type(self).parsed = []

    def parse(
        self,
        source: Source,
        file: LocalFile | None,
        *,
        text_limit: Limit,
        template: PrepareRequest | None,
        stopped: Event,
    ) -> Document:
        """Return a parsed document."""
        del stopped, template
        self.parsed.append((source.document_id, file is not None))
        request = ParseRequest(
            source=Source(**{**_fields(source), "path": None}),  # type: ignore[arg-type]
            data=None if file is None else file.path.read_bytes(),
            options=self.options,
            text_limit=text_limit,
        )
        result = _sent(ray_tasks.parse(_sent(request), None, None))
        if result.failure is not None:
            raise result.failure.error()
        assert result.document is not None
        return result.document

    def map(self, requests: Iterable[PrepareRequest]) -> Generator[Prepared]:
        """Yield the result of each request."""
        for request in requests:
            yield _sent(ray_tasks.prepare_embedded(_sent(request), None))

    def close(self) -> None:
        """Do nothing."""


def _fields(source: Source) -> dict[str, object]:
    return {name: getattr(source, name) for name in Source.__slots__}


def _sent(value: _Value) -> _Value:
    copy: _Value = pickle.loads(pickle.dumps(value))
    return copy


@pytest.fixture(autouse=True)
def use_tasks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ray_workers, "RayWorkers", TaskWorkers)
    yield
    ray_tasks.close_parsers()


@pytest.fixture(name="files")
def make_files() -> dict[str, bytes]:
    return {
        **{name: small_documents()[name] for name in ("report.docx", "report.html")},
        "broken.pdf": b"%PDF-1.7\nnothing",
        "mail.eml": build_mail(attachments={"inside.txt": b"The pier is 30 m long."}),
        "more.tar": build_tar({"deep/part.md": b"# Part\n\nThe pier is long."}),
    }


@pytest.fixture(name="prefix")
def fill_storage(files: dict[str, bytes]) -> Iterator[str]:
    store = fsspec.filesystem("memory")
    store.pipe({f"/bucket/reports/{name}": data for name, data in files.items()})
    yield PREFIX
    store.rm("/bucket", recursive=True)


def added(path: Path, source: str | Path, workers: int | str) -> IngestReport:
    with KnowledgeBase(path, parse=ParseOptions(workers=workers)) as kb:
        return kb.add(source)


def content(path: Path) -> dict[str, bytes]:
    with KnowledgeBase(path) as kb:
        kb.export_to(path.with_suffix(".export"))
    return {file.name: file.read_bytes() for file in path.with_suffix(".export").iterdir()}


def test_files_of_every_format_are_parsed_elsewhere(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    one = added(tmp_path / "one.kb", folder, 1)
    several = added(tmp_path / "several.kb", folder, "ray://auto")
    assert "report.docx" in several.added
    assert "more.tar!/deep/part.md" in several.added
    assert (several.added, several.failed) == (one.added, one.failed)
    assert content(tmp_path / "several.kb") == content(tmp_path / "one.kb")
    again = added(tmp_path / "several.kb", folder, "ray://auto")
    assert set(again.unchanged) == set(one.added)


def test_objects_are_read_by_the_other_machine(
    prefix: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    """Only files that contain documents are read by this machine too."""
    one = added(tmp_path / "one.kb", prefix, 1)
    several = added(tmp_path / "several.kb", prefix, "ray://auto")
    assert (several.added, several.failed) == (one.added, one.failed)
    assert content(tmp_path / "several.kb") == content(tmp_path / "one.kb")
    sent = [name for name, is_sent in TaskWorkers.parsed if is_sent]
    assert sorted(sent) == [
        "mail.eml",
        "mail.eml!/inside.txt",
        "more.tar",
        "more.tar!/deep/part.md",
    ]
