"""Knowledge bases in PostgreSQL: copied there and back, opened by address, and served."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from tests.integration.commands import command, environment, read_json, spanwise
from tests.integration.test_copy_killed import results
from tests.servers.process import running_server

from spanwise import KnowledgeBase, search
from spanwise.errors import FormatError, OptionError
from spanwise.knowledge_base.internals import store_of
from spanwise.stores.opening import open_store
from spanwise.testing.store_entries import make_output
from spanwise.testing.store_records import make_turn

_ROOT = Path(__file__).parents[2]
REPORTS = _ROOT / "examples" / "reports"
QUESTIONS = (
    "Why did the gross margin fall in 2023?",
    "What are the risks of the business?",
    "Who is the chief executive?",
)
SECRET = "hunter2-Zx"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the knowledge base `reports.kb`."""
    made = tmp_path_factory.mktemp("copies")
    with KnowledgeBase(made / "reports.kb") as base:
        base.add(REPORTS, metadata={"team": "law"})
        base.add_text("Gross margin fell.", document_id="gone", metadata={"former": 1})
        base.remove("gone")
        base.add_text("The gross margin of the newest text.", document_id="a first id")
        store = store_of(base)
        store.put_outputs([make_output("key", "output \ud800")])
        store.append_turn("thread", make_turn("Who?"))
    return made


@pytest.fixture
def address(postgres_url: str) -> str:
    """Return the address of a schema that does not exist yet, with a password."""
    login, _, place = postgres_url.partition("@")
    return f"{login}:{SECRET}@{place}?schema=copy_{uuid4().hex[:8]}"


def found(base: KnowledgeBase) -> list[object]:
    """Return the results of searches, exact to the last bit."""
    return [base.search(question, where="team exists").segments for question in QUESTIONS]


def test_results_are_equal_in_a_folder_in_postgresql_and_back(
    folder: Path, address: str, tmp_path: Path
) -> None:
    with KnowledgeBase(folder / "reports.kb", create=False) as base:
        first = base.copy_to(address, verify="all")
        assert first.copied == first.documents == first.verified
        assert base.copy_to(address).copied == 0
        expected, wanted = found(base), results(store_of(base))
    with KnowledgeBase(address, create=False) as base:
        assert found(base) == expected
        assert results(store_of(base)) == wanted
        assert base.check().sound
        base.copy_to(tmp_path / "back.kb", verify="all")
    with KnowledgeBase(tmp_path / "back.kb", create=False) as base:
        assert found(base) == expected
        assert results(store_of(base)) == wanted


def test_a_copy_to_postgresql_that_is_killed_is_continued(folder: Path, address: str) -> None:
    command = [sys.executable, "-m", "tests.crash.copy_child", str(folder / "reports.kb"), address]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    with KnowledgeBase(folder / "reports.kb", create=False) as base:
        report = base.copy_to(address, verify="all")
        assert report.copied <= report.documents - 2
        expected = results(store_of(base))
    with KnowledgeBase(address, create=False) as base:
        assert results(store_of(base)) == expected


def test_a_knowledge_base_is_made_at_an_address(address: str) -> None:
    with pytest.raises(FormatError):
        KnowledgeBase(address, create=False)
    with KnowledgeBase(address, embedder=None) as base:
        base.add_text("The margin fell.", document_id="a")
        assert base.info().settings["embedder"] == "none"
        assert SECRET not in f"{base!r} {base.info()!r}"
    with KnowledgeBase(address, create=False) as base:
        assert [segment.document_id for segment in base.search("margin").segments] == ["a"]
    first, second = KnowledgeBase(address), KnowledgeBase(address)
    with first, second, pytest.raises(OptionError, match="given twice"):
        search([first, second], "margin")


def test_a_folder_and_an_address_are_searched_together(folder: Path, address: str) -> None:
    with KnowledgeBase(folder / "reports.kb", create=False) as base:
        base.copy_to(address)
        with KnowledgeBase(address, create=False) as copied:
            result = search([base, copied], QUESTIONS[0])
    names = {segment.knowledge_base for segment in result.segments}
    assert names <= {"reports.kb", address.partition("schema=")[2]}
    assert result.segments


def test_commands_work_with_an_address_and_show_no_password(
    folder: Path, address: str, tmp_path: Path
) -> None:
    (tmp_path / "text.md").write_text("# A text\n\nThe margin of the text fell.\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.md").write_text("# Another text\n\nRent rose.\n")
    shown = ""
    for words in (
        ["copy", str(folder / "reports.kb"), address],
        ["add", str(tmp_path / "text.md"), "--dry-run"],
        ["add", str(tmp_path / "text.md")],
        ["add", str(tmp_path / "text.md"), "--json"],
        ["sync", str(tmp_path / "more")],
        ["search", "margin", "--json"],
        ["search", "margin", "--kb", str(folder / "reports.kb")],
        ["excerpts", "margin"],
        ["explain", "margin"],
        ["list"],
        ["show", "a first id"],
        ["set", "a first id", "year=2020"],
        ["info"],
        ["info", "--json"],
        ["eval", str(REPORTS.parent / "questions.jsonl")],
        ["threads", "list"],
        ["packs", "list"],
        ["doctor", "--json"],
        ["compact"],
        ["compact", "--json"],
        ["export", str(tmp_path / "exported")],
        ["remove", "a first id"],
        ["rebuild", "--dry-run"],
        ["rebuild", "--embedder", "none", "--json"],
    ):
        named = [] if words[0] == "copy" else ["--kb", address]
        done = spanwise(*words, *named, folder=tmp_path)
        assert done.returncode == 0, (words, done.stderr)
        shown += done.stdout + done.stderr
    failed = spanwise("backup", "copy.kb", "--kb", address, folder=tmp_path)
    assert failed.returncode == 1
    assert "spanwise copy" in failed.stderr
    questions = str(REPORTS.parent / "questions.jsonl")
    kept = spanwise("eval", questions, "--keep", "--kb", address, folder=tmp_path)
    assert (kept.returncode, kept.stdout) == (2, "")  # before anything is measured
    assert "--report" in kept.stderr
    assert SECRET not in shown + failed.stderr + kept.stderr
    exported = (tmp_path / "exported").rglob("*")
    assert not any(SECRET.encode() in path.read_bytes() for path in exported if path.is_file())


def test_copies_of_the_same_place_are_refused(address: str) -> None:
    base = KnowledgeBase(address, embedder=None)
    with base, pytest.raises(OptionError, match="itself"):
        base.copy_to(address.replace(f":{SECRET}", ""))


@pytest.fixture
def served(folder: Path, address: str, tmp_path: Path) -> Iterator[tuple[str, Path, int]]:
    """Yield the address of a server of two processes, its log, and the id of its process."""
    spanwise("copy", str(folder / "reports.kb"), address, folder=tmp_path)
    log = tmp_path / "log"
    with (
        log.open("wb") as output,
        running_server(
            command("serve", "--workers", "2"),
            folder=tmp_path,
            environment=environment({"SPANWISE_KB": address, "SPANWISE_DEEP": "off"}),
            output=output,
        ) as (url, process),
    ):
        yield url, log, process.pid


def test_a_server_shows_no_password(served: tuple[str, Path, int], address: str) -> None:
    url, log, process = served
    name = address.partition("schema=")[2]
    (listed,) = httpx.get(f"{url}/v1/knowledge-bases").json()["knowledge_bases"]
    assert listed["name"] == name
    base = f"{url}/v1/knowledge-bases/{name}"
    question = {"question": QUESTIONS[0], "budget_tokens": 300}
    answers = [
        httpx.get(f"{url}/v1/knowledge-bases"),
        httpx.post(f"{base}/search", json=question),
        httpx.post(f"{base}/search", json={"question": ""}),
        httpx.get(base),
        httpx.get(f"{base}/documents"),
        httpx.get(f"{base}/threads"),
        httpx.get(f"{base}/packs"),
        httpx.get(f"{base}/jobs"),
        httpx.get(f"{base}/evaluations"),
        httpx.get(f"{url}/metrics"),
        httpx.get(f"{url}/readyz"),
        httpx.get(f"{url}/"),
        httpx.get(f"{url}/v1/openapi.json"),
        httpx.get(f"{url}/v1/knowledge-bases/unknown/documents"),
    ]
    assert answers[1].json()["segments"]
    for answer in answers:
        assert answer.status_code < 500, answer.text
        assert SECRET not in answer.text + str(answer.headers)
    assert SECRET not in log.read_text()
    for line in Path("/proc").glob("[0-9]*/cmdline"):  # on Linux: of all processes
        try:
            parent = (line.parent / "stat").read_text().rpartition(")")[2].split()[1]
            assert parent != str(process) or SECRET.encode() not in line.read_bytes()
        except OSError:  # it has ended
            continue


def test_json_of_a_search_names_the_database(folder: Path, address: str, tmp_path: Path) -> None:
    with KnowledgeBase(folder / "reports.kb", create=False) as base:
        base.copy_to(address)
    document = read_json("search", "margin", "--kb", address, folder=tmp_path)
    assert SECRET not in str(document)
    store = open_store(KnowledgeBase(address, create=False)._path, create=False)
    assert SECRET not in repr(store)
    store.close()
