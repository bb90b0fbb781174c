"""Files are parsed in processes that can be killed, and every failure is an error with a cause."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.documents import (
    build_docx,
    build_pdf,
    build_zip,
    looping_pdf,
    paragraph,
)
from tests.processes import linux_only, parse, write

from spanwise.errors import DocumentError, FetchError, OptionError, ParseError
from spanwise.options import ParseOptions
from spanwise.parsers.process.isolation import ParserPool
from spanwise.types import Document

BOMB_DOCX = build_zip({"_rels/.rels": b"", "word/document.xml": bytes(60_000_000)})


@pytest.fixture(name="pool", scope="module")
def open_pool() -> Iterator[ParserPool]:
    with ParserPool(options=ParseOptions(timeout_seconds=60)) as pool:
        yield pool


def test_document_says_where_it_comes_from(pool: ParserPool, tmp_path: Path) -> None:
    """Id, source and root are the caller's; the hash is that of the bytes."""
    data = "Größe\r\n".encode()
    document = parse(pool, write(tmp_path, "a.txt", data))
    assert document == Document(
        id="id",
        text="Größe\r\n",
        media_type="text/plain",
        source="folder/a.txt",
        source_root="folder",
        content_hash=hashlib.sha256(data).hexdigest(),
    )


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.md", b"# Title\n\ntext", "text/markdown"),
        ("a.html", b"<h1>Title</h1><p>text", "text/html"),
        (
            "a.pdf",
            build_docx(
                paragraph("Title", properties='<w:outlineLvl w:val="0"/>') + paragraph("text")
            ),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("a.docx", build_pdf(["Title\ntext"]), "application/pdf"),
    ],
)
def test_every_format_crosses_the_process(
    pool: ParserPool, tmp_path: Path, name: str, data: bytes, media_type: str
) -> None:
    """Content decides, headings and text arrive."""
    document = parse(pool, write(tmp_path, name, data))
    assert document.media_type == media_type
    assert "Title" in document.text
    assert [heading.title for heading in document.headings] in (["Title"], [])


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("empty.pdf", b"", "empty"),
        ("white.txt", b" \n", "no_text"),
        ("binary.txt", bytes(range(256)) * 4, "binary"),
        ("cut.pdf", build_pdf(["text"])[:60], "corrupt"),
        ("locked.pdf", build_pdf(["text"], user_password="secret"), "encrypted"),
        ("blank.pdf", build_pdf([""]), "no_text"),
        ("book.djvu", b"AT&TFORM" + bytes(40), "unsupported"),
        ("cut.docx", build_docx(paragraph("text"))[:200], "corrupt"),
        ("bomb.docx", BOMB_DOCX, "too_large"),
    ],
)
def test_bad_file_is_an_error_with_a_cause(
    pool: ParserPool, tmp_path: Path, name: str, data: bytes, code: str
) -> None:
    """The message names the file as the caller does."""
    with pytest.raises(ParseError) as caught:
        parse(pool, write(tmp_path, name, data))
    assert caught.value.code == code
    assert caught.value.source == f"folder/{name}"
    assert str(caught.value).startswith(f"folder/{name}: ")


def test_what_cannot_be_opened_is_a_fetch_error(pool: ParserPool, tmp_path: Path) -> None:
    """A missing file, a folder, and a pipe nobody writes to."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing.txt", tmp_path, tmp_path / "pipe"):
        with pytest.raises(FetchError) as caught:
            parse(pool, path)
        assert caught.value.code == "unreadable"


def test_what_the_server_said_counts(pool: ParserPool, tmp_path: Path) -> None:
    """A URL without extension; media type and charset come from its headers."""
    document = pool.parse(
        write(tmp_path, "fetched", "<b>日本</b>".encode("euc-jp")),
        document_id="https://a.org/b",
        source="https://a.org/b",
        source_root="https://a.org/b",
        media_type="text/html",
        charset="euc-jp",
    )
    assert (document.text, document.media_type) == ("日本", "text/html")


@linux_only
def test_name_that_is_not_utf8_is_opened(pool: ParserPool, tmp_path: Path) -> None:
    """Line ends and bytes that are no UTF-8 included."""
    path = tmp_path / os.fsdecode(b"caf\xe9 \n.txt")
    path.write_text("text")
    assert parse(pool, path).text == "text"


@linux_only
def test_process_ends_with_its_parent(tmp_path: Path) -> None:
    """A program that is killed leaves no parser that hangs."""
    path = write(tmp_path, "loop.pdf", looping_pdf())
    script = write(tmp_path, "script.py", SCRIPT.encode())
    with subprocess.Popen([sys.executable, script, path], stdout=subprocess.PIPE) as program:
        deadline = time.monotonic() + 30
        below = Path(f"/proc/{program.pid}/task")
        found: list[str] = []
        while not found and time.monotonic() < deadline:
            time.sleep(0.1)
            for task in below.iterdir():
                found += (task / "children").read_text().split()
        time.sleep(1)
        program.kill()
    (child,) = found
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":  # of whoever inherited it
            break
        time.sleep(0.1)
    else:
        assert not Path(f"/proc/{child}").exists()


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/python"])
def test_python_that_is_not_there_is_an_error(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interpreter that was moved away, or is none; once it is back, all is well."""
    path = write(tmp_path, "a.md", b"text")
    with ParserPool(options=ParseOptions()) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", program)
            with pytest.raises(ParseError, match="does not start") as caught:
                parse(pool, path)
        assert parse(pool, path).text == "text"
    assert caught.value.code == "crashed"


@linux_only
def test_child_that_died_while_idle_is_replaced(tmp_path: Path) -> None:
    """Something outside may kill it; nobody notices."""
    path = write(tmp_path, "a.md", b"text")
    with ParserPool(options=ParseOptions()) as pool:
        before = set(children())
        parse(pool, path)
        for child in set(children()) - before:
            os.kill(int(child), signal.SIGKILL)
        assert parse(pool, path).text == "text"


@linux_only
def test_child_that_is_killed_at_work_is_an_error(tmp_path: Path) -> None:
    """The signal is named."""
    path = write(tmp_path, "loop.pdf", looping_pdf())
    before = set(children())

    def kill() -> None:
        while not (started := set(children()) - before):
            time.sleep(0.02)
        time.sleep(0.5)  # until it reads the file
        for child in started:
            os.kill(int(child), signal.SIGSEGV)

    with ParserPool(options=ParseOptions(timeout_seconds=60)) as pool:
        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(ParseError, match="SIGSEGV") as caught:
            parse(pool, path)
        killer.join()
    assert caught.value.code == "crashed"


@linux_only
def test_interrupted_parse_leaves_the_pool_usable(tmp_path: Path) -> None:
    """Ctrl-C ends the child with the document it was at; its answer meets no other request."""
    path = write(tmp_path, "loop.pdf", looping_pdf())
    with ParserPool(options=ParseOptions(timeout_seconds=30)) as pool:
        main = threading.main_thread().ident
        assert main is not None
        ctrl_c = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
        ctrl_c.start()
        with pytest.raises(KeyboardInterrupt):
            parse(pool, path)
        ctrl_c.join()
        assert parse(pool, write(tmp_path, "a.md", b"text")).text == "text"


def test_child_is_replaced_after_many_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its libraries leak ends with it."""
    monkeypatch.setattr("spanwise.parsers.process.child._DOCUMENTS_PER_CHILD", 2)
    path = write(tmp_path, "a.md", b"text")
    with ParserPool(options=ParseOptions()) as pool:
        assert [parse(pool, path).text for _ in range(5)] == ["text"] * 5


@pytest.mark.parametrize("seconds", [0, 0.5])
def test_pool_closed_at_work_does_not_wait(tmp_path: Path, seconds: float) -> None:
    """A parser that hangs must not keep an interrupted program: whoever waits for it is told."""
    path = write(tmp_path, "loop.pdf", looping_pdf())
    pool = ParserPool(options=ParseOptions(timeout_seconds=120))
    with ThreadPoolExecutor(1) as threads:
        parsed = threads.submit(parse, pool, path)
        while not parsed.running():
            time.sleep(0.01)
        time.sleep(seconds)
        started = time.monotonic()
        pool.close()
        with pytest.raises((ParseError, OptionError), match="closed"):
            parsed.result()
    assert time.monotonic() - started < 20


def test_threads_share_a_pool(tmp_path: Path) -> None:
    """More threads than workers: each gets its own answer."""
    paths = [write(tmp_path, f"{n}.md", f"text {n}".encode()) for n in range(40)]
    with (
        ParserPool(options=ParseOptions(), workers=2) as pool,
        ThreadPoolExecutor(8) as threads,
    ):
        documents = list(threads.map(lambda path: parse(pool, path), paths))
    assert [document.text for document in documents] == [f"text {n}" for n in range(40)]


def test_closed_pool_parses_nothing(tmp_path: Path) -> None:
    """And may be closed again."""
    pool = ParserPool(options=ParseOptions())
    assert parse(pool, write(tmp_path, "a.md", b"text")).text == "text"
    pool.close()
    pool.close()
    with pytest.raises(OptionError, match="closed"):
        parse(pool, tmp_path / "a.md")


def test_pool_needs_a_worker() -> None:
    """None would wait for ever."""
    with pytest.raises(OptionError, match="workers"):
        ParserPool(options=ParseOptions(), workers=0)


@linux_only
def test_no_process_is_left_behind(tmp_path: Path) -> None:
    """Closing ends the children."""
    before = children()
    with ParserPool(options=ParseOptions()) as pool:
        parse(pool, write(tmp_path, "a.md", b"text"))
        assert len(children()) == len(before) + 1
    assert children() == before


def children() -> list[str]:
    """Return the ids of the parsing processes of this one; other tests leave other children."""
    found = []
    for process in sorted(Path("/proc").glob("[0-9]*")):
        with contextlib.suppress(OSError):  # it ended meanwhile
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            program = (process / "cmdline").read_text()
            if parent == str(os.getpid()) and "spanwise.parsers.process.worker" in program:
                found.append(process.name)
    return found


SCRIPT = """
import sys
from pathlib import Path
from spanwise.options import ParseOptions
from spanwise.parsers.process.isolation import ParserPool
print("started")
with ParserPool(options=ParseOptions()) as pool:
    path = Path(sys.argv[1])
    print(pool.parse(path, document_id="a", source="a", source_root="a").text)
"""


def test_script_without_main_guard_runs_once(tmp_path: Path) -> None:
    """The child is a module of ours, not the user's script again; files beside it are not ours."""
    script = write(tmp_path, "script.py", SCRIPT.encode())
    write(tmp_path, "selectolax.py", b"raise ImportError('not the library')")
    path = write(tmp_path, "a.html", b"<html>text")
    done = subprocess.run(
        [sys.executable, script, path], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == ("started\ntext\n", "")


@linux_only
def test_short_texts_need_no_process(tmp_path: Path) -> None:
    """A short text in UTF-8 is read here; what may be anything else is read by a child."""
    before = children()
    with ParserPool(options=ParseOptions()) as pool:
        assert parse(pool, write(tmp_path, "a.txt", "Größe\f2\n".encode())).text == "Größe\f2\n"
        with pytest.raises(ParseError) as caught:
            parse(pool, write(tmp_path, "white.txt", b" \n"))
        assert (caught.value.code, children()) == ("no_text", before)
        for name, data in (
            ("a.html", b"<p>text"),
            ("a", b"<html>text"),
            ("a.pdf", build_pdf(["text"])),
            ("control.txt", b"text " * 40 + b"\x01"),
            ("latin.txt", b"gr\xf6\xdfer text"),
            ("long.txt", b"text " * 210_000),
        ):
            with ParserPool(options=ParseOptions()) as own:
                parse(own, write(tmp_path, name, data))
                assert len(children()) == len(before) + 1, name


@linux_only
def test_child_does_not_inherit_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the variables that start Python are passed on."""
    monkeypatch.setenv("SOME_API_KEY", "secret")
    before = set(children())
    with ParserPool(options=ParseOptions()) as pool:
        parse(pool, write(tmp_path, "a.md", b"text"))
        (child,) = set(children()) - before
        assert b"SOME_API_KEY" not in Path(f"/proc/{child}/environ").read_bytes()


def test_child_imports_only_the_parser_it_needs(tmp_path: Path) -> None:
    """Text needs neither pdfium nor an HTML parser."""
    code = (
        "import sys; import spanwise.parsers.process.worker; "
        "heavy = {'pypdfium2', 'selectolax', 'markdown_it', 'httpx', 'numpy', "
        "'charset_normalizer'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_damaged_pdfs_are_read_or_refused(tmp_path: Path) -> None:
    """Each damaged file ends in a document or an error with a cause."""
    whole = build_pdf(["First page of the report."] * 3, properties={"Title": "Report"})
    with ParserPool(options=ParseOptions(timeout_seconds=20)) as pool:
        for number in range(60):
            data = bytearray(whole)
            for turn in range(8):
                digest = hashlib.sha256(f"{number}-{turn}".encode()).digest()
                data[int.from_bytes(digest[:4], "big") % len(data)] = digest[4]
            path = write(tmp_path, "a.pdf", bytes(data))
            try:
                assert parse(pool, path).text
            except DocumentError as error:
                assert error.code in {"corrupt", "no_text", "timeout", "crashed"}  # noqa: PT017
