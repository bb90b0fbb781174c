"""Ingest on a real Ray cluster of two nodes on this machine; nodes and the driver are killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.archives import build_tar
from tests.integration.commands import environment
from tests.ray_embedders import POISON, HashEmbedder
from tests.servers.ray import RayCluster, ray_cluster

from spanwise import IngestReport, KnowledgeBase, ParseOptions
from spanwise.errors import OptionError
from spanwise.ingest import ray_tasks
from spanwise.ingest.fields import FieldChanges
from spanwise.ingest.ray_workers import RayWorkers
from spanwise.ingest.workers import PrepareRequest, WorkerSettings
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.types import Document, FieldOrigins, IngestProgress

pytest.importorskip("ray", reason="Ray has no wheel for this platform")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="several Ray nodes on a machine need Linux"
    ),
]
COUNT = 12
WORDS = "margin contract river engine lease notice filing quarter pier tariff".split()
PROGRAM = """
import sys
from spanwise import KnowledgeBase, ParseOptions

with KnowledgeBase(sys.argv[1], parse=ParseOptions(workers=sys.argv[3])) as kb:
    kb.add(sys.argv[2], on_document=lambda progress: print(progress.documents_done, flush=True))
"""


@pytest.fixture(scope="module", name="cluster")
def start_cluster() -> Iterator[RayCluster]:
    with ray_cluster(2) as cluster:
        yield cluster


@pytest.fixture(scope="module", autouse=True)
def keep_connection(cluster: RayCluster) -> Iterator[None]:
    """Connect once, so that the worker processes of the nodes are started once."""
    with closing(RayWorkers(cluster.address, options=ParseOptions())):
        yield


def write_documents(folder: Path, *, count: int, paragraphs: int = 60) -> Path:
    chance = random.Random(5)
    folder.mkdir()
    for number in range(count):
        text = "\n\n".join(
            " ".join(chance.choices(WORDS, k=60)).capitalize() + "." for _ in range(paragraphs)
        )
        (folder / f"{number:02}.txt").write_text(f"Report {number}\n\n{text}\n", encoding="utf-8")
    return folder


def added(
    folder: Path,
    path: Path,
    workers: int | str,
    on_document: Callable[[IngestProgress], None] | None = None,
    embedder: HashEmbedder | None = None,
) -> IngestReport:
    parse = ParseOptions(workers=workers)
    with KnowledgeBase(path, parse=parse, embedder=embedder or "auto") as kb:
        return kb.add(folder, on_document=on_document)


def content(path: Path, embedder: HashEmbedder | None = None) -> dict[str, bytes]:
    """Return the files of an export with vectors."""
    target = Path(tempfile.mkdtemp(dir=path.parent)) / "export"
    with KnowledgeBase(path, embedder=embedder or "auto") as kb:
        kb.export_to(target)
    return {file.name: file.read_bytes() for file in target.iterdir()}


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Documents, and what a knowledge base contains after one process has added them."""

    folder: Path
    content: dict[str, bytes]


@pytest.fixture(scope="module", name="reference")
def make_reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    place = tmp_path_factory.mktemp("reference")
    folder = write_documents(place / "documents", count=COUNT, paragraphs=120)
    added(folder, place / "one.kb", 1)
    return Reference(folder=folder, content=content(place / "one.kb"))


def request_for(document_id: str, text: str) -> PrepareRequest:
    return PrepareRequest(
        settings=WorkerSettings(
            tokenizer="chars:4", embedder="none", sections=SectionOptions(), chunks=ChunkOptions()
        ),
        document=Document(id=document_id, text=text),
        changes=FieldChanges(),
        before=FieldOrigins(),
        record=None,
        recipe={},
        packs="",
    )


def test_a_cluster_adds_what_one_process_adds(cluster: RayCluster, tmp_path: Path) -> None:
    """Documents, chunks and vectors are equal, and so are the failures; archives are opened."""
    folder = write_documents(tmp_path / "documents", count=6)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "more.tar").write_bytes(build_tar({"inside.md": b"# Part\n\nThe pier is long."}))
    one = added(folder, tmp_path / "one.kb", 1)
    several = added(folder, tmp_path / "several.kb", cluster.address)
    assert several.added == one.added
    assert [(failure.code, failure.message) for failure in several.failed] == [
        (failure.code, failure.message) for failure in one.failed
    ]
    assert content(tmp_path / "several.kb") == content(tmp_path / "one.kb")
    (folder / "00.txt").write_text("Report\n\nThe lease ends. " * 30, encoding="utf-8")
    again = added(folder, tmp_path / "several.kb", cluster.address)
    added(folder, tmp_path / "one.kb", 1)
    assert again.replaced == ("00.txt",)
    assert content(tmp_path / "several.kb") == content(tmp_path / "one.kb")


def test_a_node_is_killed_in_the_middle(
    cluster: RayCluster, reference: Reference, tmp_path: Path
) -> None:
    """The tasks that it had are repeated by the other node, and nothing is lost."""
    node = cluster.nodes[1]

    def kill(progress: IngestProgress) -> None:
        if progress.documents_done == 3:
            cluster.kill_node(node)

    report = added(reference.folder, tmp_path / "several.kb", cluster.address, kill)
    assert (len(report.added), report.failed) == (COUNT, ())
    assert content(tmp_path / "several.kb") == reference.content
    cluster.add_node("--num-gpus", "1")


def test_a_killed_driver_repeats_nothing_that_it_acknowledged(
    cluster: RayCluster, reference: Reference, tmp_path: Path
) -> None:
    """The next run skips what the killed one reported, and adds the rest."""
    folder, path = reference.folder, tmp_path / "several.kb"
    command = [sys.executable, "-c", PROGRAM, str(path), str(folder), cluster.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as driver:
        assert driver.stdout is not None
        reported = [driver.stdout.readline() for _ in range(3)]
        driver.send_signal(signal.SIGKILL)
    assert reported[2] == b"3\n"
    report = added(folder, path, cluster.address)
    assert len(report.unchanged) >= 3
    assert len(report.unchanged) + len(report.added) == COUNT
    assert content(path) == reference.content


def test_a_local_embedder_runs_in_actors(cluster: RayCluster, tmp_path: Path) -> None:
    """Vectors are equal to those of one process. A document that ends its actor fails alone."""
    folder = write_documents(tmp_path / "documents", count=6, paragraphs=20)
    embedder = HashEmbedder()
    added(folder, tmp_path / "one.kb", 1, embedder=embedder)
    report = added(folder, tmp_path / "several.kb", cluster.address, embedder=embedder)
    assert len(report.added) == 6
    assert content(tmp_path / "several.kb", embedder) == content(tmp_path / "one.kb", embedder)
    (folder / "poison.txt").write_text(f"The {POISON} is near.", encoding="utf-8")
    report = added(folder, tmp_path / "several.kb", cluster.address, embedder=embedder)
    assert [(Path(failure.source).name, failure.code) for failure in report.failed] == [
        ("poison.txt", "crashed")
    ]


def test_requests_wait_for_the_store(cluster: RayCluster) -> None:
    """No more documents are prepared than the consumer can take soon."""
    taken = 0

    def requests() -> Iterator[PrepareRequest]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield request_for(f"{number}", "The pier is long. " * 20)

    with closing(RayWorkers(cluster.address, options=ParseOptions())) as workers:
        results = workers.map(requests())
        assert next(results).outcome == "prepared"
        assert taken <= workers.ahead + 1
        results.close()


def test_a_node_must_have_the_same_version(
    cluster: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_tasks, "version", lambda _: "0.0.0")
    with pytest.raises(OptionError, match=r"install spanwise==0\.0\.0"):
        RayWorkers(cluster.address, options=ParseOptions())
