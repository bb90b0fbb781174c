"""What takes too long, too much memory or too much room is stopped, and the next file is parsed."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from tests.archives import build_tar
from tests.documents import bomb_pdf, build_pdf, looping_pdf, many_pages_pdf
from tests.processes import linux_only, parse, write

from spanwise.errors import FetchError, ParseError
from spanwise.options import ParseOptions
from spanwise.parsers.containers import Limit, UnpackBudget
from spanwise.parsers.process.isolation import ParserPool


def test_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    """Before it is read."""
    path = write(tmp_path, "a.txt", b"12345")
    with (
        ParserPool(options=ParseOptions(max_file_bytes=4)) as pool,
        pytest.raises(FetchError) as caught,
    ):
        parse(pool, path)
    assert caught.value.code == "too_large"


def test_parser_that_hangs_is_stopped(tmp_path: Path) -> None:
    """A drawing that contains itself keeps pdfium busy for ever; the next file is parsed."""
    path = write(tmp_path, "loop.pdf", looping_pdf())
    with ParserPool(options=ParseOptions(timeout_seconds=1.5)) as pool:
        start = time.monotonic()
        with pytest.raises(ParseError, match=r"folder/loop.pdf.*timeout_seconds=1.5") as caught:
            parse(pool, path)
        assert time.monotonic() - start < 10
        assert parse(pool, write(tmp_path, "a.md", b"next")).text == "next"
    assert caught.value.code == "timeout"


def test_page_that_hangs_is_left_out(tmp_path: Path) -> None:
    """The other pages are read, and the document says that it is not whole."""
    path = write(tmp_path, "loop.pdf", looping_pdf(["First page.", "", "Third page."]))
    with ParserPool(options=ParseOptions(base_seconds=2, ocr="off")) as pool:
        document = parse(pool, path)
    assert document.text == "First page.\nThird page."
    assert document.status == "partial"
    assert document.warnings == ("page 2 of 3 left out: the parser failed on them",)


def test_pages_that_hang_end_the_attempts(tmp_path: Path) -> None:
    """Few are left out: the whole must not take the time of all."""
    path = write(tmp_path, "loop.pdf", looping_pdf(["", "", "", "", "", "Text."]))
    with (
        ParserPool(options=ParseOptions(base_seconds=1.5)) as pool,
        pytest.raises(ParseError, match=r"parsing page 4 took longer than 1.7 ") as caught,
    ):
        parse(pool, path)
    assert caught.value.code == "timeout"


def test_time_grows_with_the_pages(tmp_path: Path) -> None:
    """More pages than any could be read in the time for one."""
    text = "\n".join(["The harbour office counts ships, cargo and weather."] * 40)
    path = write(tmp_path, "long.pdf", build_pdf([text] * 400))
    with ParserPool(options=ParseOptions(base_seconds=1.5)) as pool:
        assert len(parse(pool, path).pages) == 400


def test_text_that_is_too_much_is_refused(tmp_path: Path) -> None:
    """Of a small file too; the process goes on with the next one."""
    path = write(tmp_path, "a.pdf", build_pdf(["Many words in a small file. " * 40]))
    with ParserPool(options=ParseOptions(max_text_bytes=1_000)) as pool:
        with pytest.raises(ParseError, match="max_text_bytes") as caught:
            parse(pool, path)
        assert parse(pool, write(tmp_path, "a.md", b"next")).text == "next"
    assert caught.value.code == "too_large"


def test_a_hundred_thousand_pages_are_refused_at_once(tmp_path: Path) -> None:
    """Before any of them is read."""
    path = write(tmp_path, "long.pdf", many_pages_pdf(100_000))
    with ParserPool(options=ParseOptions()) as pool:
        start = time.monotonic()
        with pytest.raises(ParseError, match="100000 pages") as caught:
            parse(pool, path)
    assert caught.value.code == "too_large"
    assert time.monotonic() - start < 20


@linux_only
def test_parser_that_eats_memory_is_stopped(tmp_path: Path) -> None:
    """Text that does not fit into the memory it may have; the next file is parsed."""
    path = write(tmp_path, "large.txt", "wide 😀 text ".encode() * 20_000_000)
    with ParserPool(options=ParseOptions(max_memory_bytes=600_000_000)) as pool:
        with pytest.raises(ParseError, match="max_memory_bytes=600000000") as caught:
            parse(pool, path)
        assert parse(pool, write(tmp_path, "a.md", b"next")).text == "next"
    assert caught.value.code == "crashed"


@linux_only
def test_a_name_that_eats_memory_ends_the_archive(tmp_path: Path) -> None:
    """What came before is taken."""
    long_name = tarfile.TarInfo("././@LongLink")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 600_000_000
    with gzip.open(tmp_path / "a.tgz", "wb", compresslevel=1) as stream:
        stream.write(build_tar({"a.txt": b"text"})[:1024])
        stream.write(long_name.tobuf(tarfile.GNU_FORMAT))
        for _ in range(600):
            stream.write(bytes(1_000_000))
    into = tmp_path / "into"
    into.mkdir()
    with ParserPool(options=ParseOptions(max_memory_bytes=400_000_000)) as pool:
        unpacked = pool.unpack(
            tmp_path / "a.tgz",
            source="a.tgz",
            budget=UnpackBudget(
                into=into,
                members=Limit(most=9, option="max_members"),
                unpacked=Limit(most=1_000, option="max_container_bytes"),
            ),
        )
    assert [member.name for member in unpacked.members] == ["a.txt"]
    assert unpacked.stopped is not None
    assert unpacked.stopped.code == "corrupt"


@linux_only
def test_pdf_bomb_is_stopped(tmp_path: Path) -> None:
    """A page of two hundred million bytes of operators dies inside pdfium, not in this process."""
    path = write(tmp_path, "bomb.pdf", bomb_pdf(200_000_000))
    with ParserPool(options=ParseOptions(max_memory_bytes=400_000_000, timeout_seconds=60)) as pool:
        with pytest.raises(ParseError) as caught:
            parse(pool, path)
        assert parse(pool, write(tmp_path, "a.md", b"next")).text == "next"
    assert caught.value.code == "crashed"


def test_process_that_cannot_start_says_so(tmp_path: Path) -> None:
    """Too little memory for Python itself; what it holds already is not enough for this text."""
    path = write(tmp_path, "a.txt", b"text " * 2_000_000)
    with (
        ParserPool(options=ParseOptions(max_memory_bytes=1_000_000)) as pool,
        pytest.raises(ParseError) as caught,
    ):
        parse(pool, path)
    assert caught.value.code == "crashed"


def test_a_limit_that_no_machine_has_is_none(tmp_path: Path) -> None:
    """More bytes than a number of the system holds."""
    with ParserPool(options=ParseOptions(max_memory_bytes=10**30)) as pool:
        assert parse(pool, write(tmp_path, "a.md", b"text")).text == "text"


@pytest.mark.slow
def test_two_hundred_megabytes_of_text(tmp_path: Path) -> None:
    """In reasonable time, and with less than five times its size in this process."""
    line = "A line of plain text, as long as lines are, with a number in it: 12345.\r\n"
    data = (line * (200_000_000 // len(line))).encode()
    path = write(tmp_path, "large.txt", data)
    size = len(data)
    del data
    # Not `getrusage` of itself: it begins with what its parent, this process, took at most.
    script = (
        "import re, resource, sys; from pathlib import Path; "
        "from spanwise.options import ParseOptions; "
        "from spanwise.parsers.process.isolation import ParserPool; "
        "pool = ParserPool(options=ParseOptions(max_text_bytes=300_000_000)); "
        "text = pool.parse(Path(sys.argv[1]), document_id='a', source='a', source_root='a').text; "
        "pool.close(); "
        "status = Path('/proc/self/status'); "
        "most = int(re.search(r'VmHWM:\\s*(\\d+)', status.read_text()).group(1)) "
        "if status.exists() else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "print(len(text), most * 1024, "
        "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )
    chars, parent, child = map(int, done.stdout.split())
    assert chars == size
    assert parent < 5 * size
    assert child < 5 * size
    assert time.monotonic() - start < 60


SLEEPING_TESSERACT = """#!{python}
import os, pathlib, time
pathlib.Path({note!r}).write_text(str(os.getpid()))
time.sleep(120)
"""


@linux_only
def test_what_a_parser_has_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tesseract is a process of its own; it is not left behind when the time is up."""
    program, note = tmp_path / "bin" / "tesseract", tmp_path / "pid"
    program.parent.mkdir()
    program.write_text(SLEEPING_TESSERACT.format(python=sys.executable, note=str(note)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    path = write(tmp_path, "scan.pdf", build_pdf([""], picture_pages=[0]))
    options = ParseOptions(ocr="tesseract", timeout_seconds=4)
    with ParserPool(options=options) as pool, pytest.raises(ParseError) as caught:
        parse(pool, path)
    assert caught.value.code == "timeout"
    ended = Path("/proc", note.read_text(), "stat")
    deadline = time.monotonic() + 10
    while ended.exists() and " Z " not in ended.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not ended.exists() or " Z " in ended.read_text()
