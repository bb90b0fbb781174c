"""The command line as people and programs use it: processes, real files, pipes and terminals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.documents import build_zip
from tests.integration.commands import (
    command,
    environment,
    read_json,
    spanwise,
    spanwise_process,
)

from spanwise import KnowledgeBase

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
QUESTION = "Why did the gross margin fall in 2023?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `reports/` and a knowledge base of them, for tests that only read."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(REPORTS, folder / "reports")
    done = spanwise("add", "reports", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "spanwise.kb: 4 added" in done.stdout
    return folder


def test_add_twice_changes_nothing(home: Path) -> None:
    report = read_json("add", "reports", folder=home)
    assert (len(report["unchanged"]), report["added"], report["failed"]) == (4, [], [])


def test_a_document_that_fails_does_not_keep_the_others_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good.txt").write_text("Freight cost more than in the year before.")
    (tmp_path / "in" / "bad.bin").write_bytes(bytes(range(256)) * 40)
    report = read_json("add", "in", folder=tmp_path, code=3)
    assert report["added"] == ["good.txt"]
    (failure,) = report["failed"]
    assert failure["source"].endswith("bad.bin")
    assert failure["code"] == "binary"
    done = spanwise("add", "in", "--quiet", folder=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("failed (binary): ")
    assert done.stderr.count("\n") == 1


def test_a_missing_source_is_one_failure(home: Path) -> None:
    report = read_json("add", "reports", "nope", folder=home, code=3)
    assert [(one["source"], one["code"]) for one in report["failed"]] == [("nope", "unreadable")]
    assert len(report["unchanged"]) == 4


def test_a_folder_without_a_match_is_exit_code_4(home: Path) -> None:
    done = spanwise("add", "reports", "--include", "*.zip", folder=home)
    assert (done.returncode, done.stdout) == (4, "spanwise.kb: no document found\n")


def test_patterns_and_metadata_decide_what_goes_in(tmp_path: Path) -> None:
    shutil.copytree(REPORTS, tmp_path / "reports")
    report = read_json(
        "add", "reports", "--include", "*.md", "--exclude", "hand*", "--metadata", "kind=annual",
        "--metadata", "pages=12", folder=tmp_path,
    )  # fmt: skip
    assert report["added"] == ["annual-report-2022.md", "annual-report-2023.md"]
    listed = read_json("list", "--where", 'kind = "annual" and pages > 10', folder=tmp_path)
    assert [record["id"] for record in listed] == report["added"]
    assert listed[0]["metadata"]["pages"] == 12
    done = spanwise("list", "--where", "pages > 12", "--json", folder=tmp_path)
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert "no document passes the filter" in done.stderr


def test_search_draws_segments_inside_80_columns(home: Path) -> None:
    done = spanwise("search", QUESTION, "--budget", "700", folder=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1st  Harrow Mills: Annual report 2023" in done.stdout
    assert "Energy cost 3.2 million more" in done.stdout
    assert "of 700 tokens" in done.stdout.splitlines()[-1]
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout


def test_search_is_the_same_in_every_process(home: Path) -> None:
    first = spanwise("search", QUESTION, "--json", folder=home)
    second = spanwise_process(
        "search", QUESTION, "--json", folder=home, extra={"PYTHONHASHSEED": "7"}
    )
    assert first.stdout == second.stdout


def test_search_as_json_holds_segments_context_and_locations(home: Path) -> None:
    result = read_json("search", QUESTION, "--budget", "700", folder=home)
    assert result["question"] == QUESTION
    assert result["not_found"] is False
    assert 0 < result["tokens"] <= result["budget_tokens"] == 700
    best = min(result["segments"], key=lambda segment: segment["rank"])
    assert best["rank"] == 0
    assert best["document_id"] == best["citation"]["document_id"] == "annual-report-2023.md"
    assert best["text"] in result["context"]
    shown = read_json(
        "show", best["document_id"], "--start", best["start"], "--end", best["end"], folder=home
    )
    assert shown["text"] == best["text"]


def test_a_question_of_another_topic_is_exit_code_4_with_a_guess_apart(home: Path) -> None:
    question = "How many moons does Jupiter have?"
    done = spanwise("search", question, "--abstain", folder=home)
    assert (done.returncode, done.stderr) == (4, "")
    assert done.stdout.startswith("Nothing in the knowledge base answers this question.\n")
    result = read_json("search", question, "--abstain", folder=home, code=4)
    assert (result["not_found"], result["weak_evidence"], result["segments"]) == (True, True, [])
    assert 0 < result["evidence"] < 0.1
    assert result["best_guess"]["text"]


def test_weak_evidence_is_reported_above_the_segments(home: Path) -> None:
    question = "How many moons does Jupiter have?"
    done = spanwise("search", question, folder=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("weak evidence: ")
    assert "1st  " in done.stdout


def test_search_for_a_model_writes_the_context_alone(home: Path) -> None:
    context = read_json("search", QUESTION, folder=home)["context"]
    assert spanwise("search", QUESTION, "--context", folder=home).stdout == context + "\n"


def test_search_in_some_documents_only(home: Path) -> None:
    result = read_json("search", QUESTION, "-d", "annual-report-2022.md", folder=home)
    assert {one["document_id"] for one in result["segments"]} == {"annual-report-2022.md"}


def test_search_by_the_published_method_is_the_same_in_every_process(home: Path) -> None:
    arguments = ["--query", "energy cost", "--method", "greedy", "--preset", "dsrag-balanced"]
    first = spanwise("search", QUESTION, *arguments, "--json", folder=home)
    second = spanwise_process(
        "search", QUESTION, *arguments, "--json", folder=home, extra={"PYTHONHASHSEED": "7"}
    )
    assert first.stdout == second.stdout
    result = json.loads(first.stdout)
    assert result["queries"] == [QUESTION, "energy cost"]
    assert result["segments"]
    assert all(one["last_chunk"] - one["first_chunk"] <= 15 for one in result["segments"])


def test_nothing_found_is_exit_code_4(home: Path) -> None:
    """A filter that leaves no document leaves nothing to find; a program still gets a result."""
    arguments = ["search", QUESTION, "--where", "not (year exists) and year = 1900"]
    spanwise("add", "reports", "--metadata", "year=2023", folder=home)
    result = read_json(*arguments, folder=home, code=4)
    assert (result["not_found"], result["segments"]) == (True, [])
    done = spanwise(*arguments, folder=home)
    assert done.returncode == 4
    assert done.stdout.startswith("No document passes the filter")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["search", QUESTION, "-d", "nope.md"], 4, "document_not_found"),
        (["search", QUESTION, "--where", "colour = 1"], 2, "filter"),
        (["search", " "], 2, "query"),
        (["search", QUESTION, "--tokenizer", "nope"], 2, "option"),
        (["search", QUESTION, "--method", "greedy", "--preset", "precise"], 2, "option"),
        (["search", QUESTION, "--preset", "dsrag-balanced"], 2, "option"),
        (["list", "--where", "year >="], 2, "filter"),
        (["show", "nope.md"], 4, "document_not_found"),
        (["show", "handbook.md", "--start", "9", "--end", "4"], 2, "usage"),
        (["info", "--kb", "missing.kb"], 1, "format"),
    ],
)
def test_an_error_is_one_line_or_one_document(
    home: Path, arguments: list[str], exit_code: int, code: str
) -> None:
    assert read_json(*arguments, folder=home, code=exit_code)["error"]["code"] == code
    done = spanwise(*arguments, folder=home)
    assert (done.returncode, done.stdout) == (exit_code, "")
    assert done.stderr.startswith("spanwise: ")
    assert done.stderr.count("\n") == 1


def test_reading_creates_no_knowledge_base(tmp_path: Path) -> None:
    for arguments in (["search", "x"], ["list"], ["info"], ["show", "x"], ["remove", "x"]):
        assert spanwise(*arguments, folder=tmp_path).returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_the_knowledge_base_is_named_by_option_then_environment(home: Path, tmp_path: Path) -> None:
    path = str(home / "spanwise.kb")
    by_environment = spanwise("info", "--json", folder=tmp_path, extra={"SPANWISE_KB": path})
    by_option = spanwise(
        "info", "--kb", path, "--json", folder=tmp_path, extra={"SPANWISE_KB": "nope.kb"}
    )
    assert json.loads(by_environment.stdout)["documents"] == 4
    assert by_option.stdout == by_environment.stdout


def test_info_names_each_fact_once(home: Path) -> None:
    lines = spanwise("info", folder=home).stdout.splitlines()
    names = [line.split("  ")[0] for line in lines if not line.startswith(" ")]
    assert len(set(names)) == len(names) > 8
    assert "chunk options" in names
    assert not any("{" in line or "_version" in line for line in lines)


def test_show_lists_sections_and_chunks(home: Path) -> None:
    shown = read_json("show", "handbook.md", "--sections", "--chunks", folder=home)
    text = (REPORTS / "handbook.md").read_text(encoding="utf-8")
    assert shown["document"]["text"] == text
    assert "".join(chunk["text"] for chunk in shown["chunks"]) == text
    assert shown["sections"][0]["start"] == 0
    done = spanwise("show", "handbook.md", "--sections", "--chunks", folder=home)
    assert "Staff handbook > Safety" in done.stdout
    assert "chunk 0 · characters 0-" in done.stdout
    assert "Nobody enters the wet end" in spanwise("show", "handbook.md", folder=home).stdout


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("spanwise show annual-report-2", ["annual-report-2022.md", "annual-report-2023.md"]),
        ("spanwise search x -d han", ["handbook.md"]),
        ("spanwise remove --kb missing.kb han", []),
    ],
)
def test_a_shell_completes_the_ids_of_documents(
    home: Path, words: str, completed: list[str]
) -> None:
    asked = {
        "_SPANWISE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = spanwise(folder=home, extra=asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [f"plain,{document_id}" for document_id in completed]


def test_remove_takes_documents_out_and_names_those_it_did_not_find(tmp_path: Path) -> None:
    shutil.copytree(REPORTS, tmp_path / "reports")
    spanwise("add", "reports", folder=tmp_path)
    answer = read_json("remove", "handbook.md", "nope.md", folder=tmp_path, code=4)
    assert answer == {"removed": ["handbook.md"], "not_found": ["nope.md"]}
    assert read_json("info", folder=tmp_path)["documents"] == 3
    done = spanwise("remove", "supply-agreement.txt", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1 document removed\n")


def test_remove_takes_out_what_came_out_of_an_archive(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(build_zip({"b.txt": b"One.", "c.txt": b"Two."}))
    (tmp_path / "a.txt").write_text("Three.")
    spanwise("add", "a.zip", "a.txt", folder=tmp_path)
    done = spanwise("remove", "a.zip", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "2 documents removed\n")
    assert [one["id"] for one in read_json("list", folder=tmp_path)] == ["a.txt"]


def test_options_between_arguments_and_ids_with_a_dash(tmp_path: Path) -> None:
    (tmp_path / "-a.txt").write_text("One text about freight.")
    (tmp_path / "b.txt").write_text("Another text about pulp.")
    done = spanwise("add", "b.txt", "--kb", "x.kb", "--", "-a.txt", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [one["id"] for one in read_json("list", "--kb", "x.kb", folder=tmp_path)] == [
        "-a.txt",
        "b.txt",
    ]


def test_an_output_that_cannot_hold_a_text_gets_it_escaped(home: Path) -> None:
    done = spanwise_process(
        "search", QUESTION, folder=home,
        extra={"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "#" in done.stdout.splitlines()[0]


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_a_closed_output_is_not_an_error(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "spanwise", "show", "annual-report-2023.md", "--json"],
        cwd=home,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("show", "no-such-id")])
def test_an_output_on_a_full_disk_is_one_line(home: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            command(*arguments), cwd=home, env=environment(), stdout=full,
            stderr=subprocess.PIPE, encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == (4 if "no-such-id" in arguments else 1)
    assert done.stderr.startswith("spanwise: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs descriptors of POSIX")
@pytest.mark.parametrize("descriptor", [1, 2])
def test_an_output_that_is_closed_is_written_nowhere(home: Path, descriptor: int) -> None:
    """As under a scheduler; an error does not go to the other stream."""
    done = spanwise_process("list", folder=home, before=lambda: os.close(descriptor))
    assert done.returncode == 0
    assert done.stderr == ""
    done = spanwise_process("show", "no-such-id", folder=home, before=lambda: os.close(descriptor))
    assert (done.returncode, done.stdout) == (4, "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_ctrl_c_keeps_stored_documents(tmp_path: Path) -> None:
    """The whole foreground group gets the signal, as from a terminal; one line says what stays."""
    (tmp_path / "in").mkdir()
    for number in range(3000):
        text = f"Report {number}. " + "Freight cost more than in the year before. " * 40
        (tmp_path / "in" / f"{number:04}.txt").write_text(text)
    with subprocess.Popen(
        [sys.executable, "-m", "spanwise", "add", "in"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            done = spanwise("list", "--json", folder=tmp_path)
            if done.returncode == 0 and json.loads(done.stdout):
                break
        os.killpg(process.pid, signal.SIGINT)
        written, output = process.communicate(timeout=60)
    assert (process.returncode, written) == (130, "")
    assert output.count("\n") == 1
    kept = len(read_json("list", folder=tmp_path))
    assert 0 < kept < 3000
    stays = int(output.split("interrupted: ")[1].split(" document")[0].replace(",", ""))
    assert kept - 1 <= stays <= kept
    assert "run the same command again" in output


@pytest.mark.parametrize(
    "module", ["spanwise.cli.program", "click", "spanwise.cli.commands.maintenance"]
)
@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_before_the_command_is_loaded_is_one_line(
    module: str, as_json: bool, tmp_path: Path
) -> None:
    """The signal comes when this module is looked for; nothing of the command was done then."""
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from spanwise.cli.main import run\n"
        "run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "info", *(["--json"] if as_json else [])],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 130
    if as_json:
        assert (json.loads(done.stdout)["error"]["code"], done.stderr) == ("interrupted", "")
    else:
        assert (done.stdout, done.stderr) == ("", "spanwise: interrupted\n")


def on_terminal(*arguments: str, folder: Path, extra: Mapping[str, str] | None = None) -> str:
    """Run a command on a terminal of 80 columns of its own and return all that it wrote there."""
    import pty

    code = (
        "import os, pty, sys\n"
        "status = pty.spawn(sys.argv[1:])\n"
        "sys.exit(os.waitstatus_to_exitcode(status))\n"
    )
    assert pty is not None
    done = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-m", "spanwise", *arguments],
        cwd=folder,
        env=environment({"COLUMNS": "80", **(extra or {})}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=True,
    )
    return done.stdout.decode("utf-8").replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs terminals of POSIX")
def test_long_output_goes_through_the_pager_of_a_terminal(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "spanwise.kb") as kb:
        kb.add_text("A line of the log.\n" * 100, document_id="long.txt")
        kb.add_text("One line.", document_id="short.txt")
    pager = {"PAGER": "tr a-z A-Z", "LINES": "24"}
    assert "A LINE OF THE LOG." in on_terminal("show", "long.txt", folder=tmp_path, extra=pager)
    assert "One line." in on_terminal("show", "short.txt", folder=tmp_path, extra=pager)
    unpaged = on_terminal("show", "long.txt", "--no-pager", folder=tmp_path, extra=pager)
    assert "A line of the log." in unpaged
    missing = {"PAGER": "no-such-program", "LINES": "24"}
    assert "A line of the log." in on_terminal("show", "long.txt", folder=tmp_path, extra=missing)


def test_list_shows_the_first_documents(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "spanwise.kb") as kb:
        for name in ("a", "b", "c"):
            kb.add_text("Some text.", document_id=name)
    done = spanwise("list", "--limit", "2", folder=tmp_path)
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        "a",
        "b",
        "the first 2 of 3 documents",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="needs terminals of POSIX")
def test_a_terminal_gets_colours_and_a_bar(tmp_path: Path) -> None:
    shutil.copytree(REPORTS, tmp_path / "reports")
    drawn = on_terminal("add", "reports", folder=tmp_path)
    assert "4/4 documents" in drawn
    assert "chunks/s" in drawn
    assert "\x1b[2m" in on_terminal("list", folder=tmp_path)
    assert "\x1b" not in on_terminal("list", folder=tmp_path, extra={"NO_COLOR": "1"})
