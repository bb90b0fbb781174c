"""A small source cannot expand without bounds, and one that does costs itself alone."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.archives import build_mail, build_mailbox, build_tar
from tests.integration.commands import environment
from tests.office_documents import build_odf
from tests.unit.parsers.process.test_worker import ask

from spanwise import KnowledgeBase
from spanwise.options import ParseOptions
from spanwise.packs.known_kinds import plain_summary
from spanwise.parsers.process import worker
from spanwise.parsers.process.isolation import ParserPool
from spanwise.types import IngestReport

ZEROS = bytes(1_000_000)


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP file that is compressed."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def take_in(folder: Path, data: bytes, name: str, **limits: int) -> IngestReport:
    path = folder / name
    path.write_bytes(data)
    with KnowledgeBase(":memory:", embedder=None, parse=ParseOptions(**limits)) as base:  # type: ignore[arg-type]
        return base.add(path)


def causes(report: IngestReport) -> list[tuple[str, str]]:
    return [(failure.source.rpartition("/")[2], failure.code) for failure in report.failed]


def said(report: IngestReport) -> str:
    return " ".join([*(failure.message for failure in report.failed), *report.warnings])


@pytest.fixture
def most_temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Return a list that grows with the bytes in the temporary folder as members are read."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    sizes: list[int] = []
    original = ParserPool.unpack

    def measured(self: ParserPool, *arguments: object, **options: object) -> object:
        found = original(self, *arguments, **options)  # type: ignore[arg-type]
        sizes.append(sum(one.stat().st_size for one in place.rglob("*") if one.is_file()))
        return found

    monkeypatch.setattr(ParserPool, "unpack", measured)
    return sizes


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.gz", "nested.zip"])
def test_temporary_files_are_bounded_by_the_size_of_the_source(
    name: str, tmp_path: Path, most_temporary: list[int]
) -> None:
    """Whatever it is packed in: 60 MB from some 60 kB stop at 20 MB."""
    members = {f"{number}.bin": ZEROS for number in range(60)}
    inner = packed({f"{number}.bin": ZEROS for number in range(15)})
    data = {
        "a.zip": lambda: packed(members),
        "a.tar.gz": lambda: gzip.compress(build_tar(members)),
        "a.gz": lambda: gzip.compress(b"word " * 12_000_000),
        "nested.zip": lambda: packed({f"{number}.zip": inner for number in range(4)}),
    }[name]()
    report = take_in(tmp_path, data, name)
    assert "max_expansion=100" in said(report)
    assert {code for _, code in causes(report)} == {"too_large"}
    assert max(most_temporary) < 25_000_000
    assert sum(most_temporary) < 60_000_000


def test_what_came_before_the_limit_is_taken(tmp_path: Path) -> None:
    data = packed({"a.txt": b"A note about tolls.", "z.bin": ZEROS * 40, "zz.txt": b"Later."})
    report = take_in(tmp_path, data, "a.zip")
    assert report.added == ("a.zip!/a.txt",)
    assert causes(report) == [("a.zip", "too_large")]


def test_ordinary_archives_are_taken_whole(tmp_path: Path) -> None:
    """Small ones that expand to less than 20 MB, and larger ones to a hundred times their size."""
    notes = {f"{number}.txt": b"A note about tolls. " * 500 for number in range(50)}
    report = take_in(tmp_path, packed(notes), "a.zip")
    assert (len(report.added), report.failed) == (50, ())
    large = {f"{number}.bin": ZEROS for number in range(22)}
    report = take_in(tmp_path, packed({**large, "a.txt": b"Note."}), "b.zip", max_expansion=2_000)
    assert (report.added, report.failed) == (("b.zip!/a.txt",), ())


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.mbox", "nested.zip"])
def test_the_text_of_all_documents_is_bounded(name: str, tmp_path: Path) -> None:
    """Counted over nested containers; the documents that are read ahead may go beyond it."""
    notes = {f"{number:02}.txt": b"A note about tolls. " * 5 for number in range(60)}
    mails = [build_mail("A mail about tolls. " * 5, Subject=str(number)) for number in range(60)]
    data = {
        "a.zip": packed(notes),
        "a.tar": build_tar(notes),
        "a.mbox": build_mailbox(mails),
        "nested.zip": packed({f"{number}.zip": packed(notes) for number in range(3)}),
    }[name]
    report = take_in(tmp_path, data, name, max_total_text_bytes=1_000)
    assert 8 <= len(report.added) <= 20
    assert {code for _, code in causes(report)} == {"too_large"}
    assert "max_total_text_bytes=1000" in said(report)
    assert len(report.failed) <= 8


def test_a_sheet_that_repeats_its_rows_is_bounded(tmp_path: Path) -> None:
    """Less than 2 kB would be a text of 100 MB."""
    cell = f'<table:table-cell office:value-type="string"><text:p>{"word " * 200}</text:p>'
    row = f'<table:table-row table:number-rows-repeated="100000">{cell}</table:table-cell>'
    body = f'<table:table table:name="a">{row}</table:table-row></table:table>'
    data = packed(
        {
            info.filename: zipfile.ZipFile(io.BytesIO(build_odf("spreadsheet", body))).read(info)
            for info in zipfile.ZipFile(io.BytesIO(build_odf("spreadsheet", body))).infolist()
        }
    )
    assert len(data) < 2_000
    report = take_in(tmp_path, data, "a.ods")
    assert report.chars <= 20_000_000
    assert report.partial == ("a.ods",) or causes(report) == [("a.ods", "too_large")]


def test_a_text_over_the_limit_names_limit_value_and_option(tmp_path: Path) -> None:
    report = take_in(tmp_path, b"A note about tolls.", "a.txt", max_text_bytes=10)
    assert causes(report) == [("a.txt", "too_large")]
    assert all(part in said(report) for part in ("19 bytes", "max_text_bytes=10"))


def mail_of_parts(count: int) -> bytes:
    head = 'From: a@b.org\r\nContent-Type: multipart/mixed; boundary="B"\r\n\r\nSee below.\r\n'
    part = "--B\r\nContent-Type: text/plain\r\nContent-Disposition: attachment\r\n\r\nPart {}.\r\n"
    return (head + "".join(map(part.format, range(count))) + "--B--\r\n").encode()


def test_a_mail_of_many_attachments_ends_with_a_stated_outcome(tmp_path: Path) -> None:
    report = take_in(tmp_path, mail_of_parts(5_000), "a.eml", max_attachments=20)
    assert len(report.added) == 21
    assert causes(report) == [("a.eml", "too_large")]
    assert "max_attachments=20" in said(report)


def test_a_layout_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each heading takes more memory in the calling process than the text that it stands for."""
    monkeypatch.setattr(worker, "_MAX_LAYOUT", 10)
    found, _ = ask(b"# A\n\nText.\n\n" * 11, "a.md")
    assert found["error"]["code"] == "too_large"
    assert "error" not in ask(b"# A\n\nText.\n\n" * 10, "a.md")[0]


def test_memory_that_runs_out_costs_one_document(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether it is prepared or fetched."""

    whole = plain_summary

    def greedy(text: str, *others: Any) -> str:
        if "huge" in text:
            raise MemoryError
        return whole(text, *others)

    def fetch(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("spanwise.ingest.prepare.plain_summary", greedy)
    monkeypatch.setattr("spanwise.ingest.fetch.Fetcher.fetch", fetch)
    for name, text in (("a.txt", "A note."), ("b.txt", "A huge note."), ("c.txt", "A note.")):
        (tmp_path / name).write_text(text)
    with KnowledgeBase(":memory:", embedder=None) as base:
        report = base.add("https://example.org/a", tmp_path)
    assert report.added == ("a.txt", "c.txt")
    assert causes(report) == [("a", "too_large"), ("b.txt", "too_large")]


LIMITED = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
from spanwise import KnowledgeBase
with KnowledgeBase(":memory:", embedder=None) as knowledge_base:
    report = knowledge_base.add(*sys.argv[1:])
# Not `ru_maxrss`: a process inherits that of the process that started it.
status = Path("/proc/self/status").read_text()
most = int(status.split("VmHWM:")[1].split()[0]) // 1024
print(report.added, [failure.code for failure in report.failed])
sys.exit(f"{most} MB" if most > 500 else 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_the_calling_process_stays_small_at_the_default_limits(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"word " * 10_000_000))
    (tmp_path / "b.txt").write_bytes(b"word " * 21_000_000)
    (tmp_path / "c.txt").write_bytes(b"A note about tolls.")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "a.gz", "b.txt", "c.txt"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("('c.txt',) ['too_large', 'too_large']\n", "")
