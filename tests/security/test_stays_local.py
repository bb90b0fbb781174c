"""What promises to stay on this machine reaches no network, by Python or by native code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from tests.closed_network import ClosedNetwork, close_network
from tests.pictures import scanned_pdf
from tests.security.test_terminal import leaves
from tests.servers.process import running_server
from tests.small_documents import small_documents

from spanwise.cli.program import cli
from spanwise.models.providers.local_model import load
from spanwise.parsers.pdf.ocr import RAPIDOCR_MODELS

CI_VARIABLES = (
    "TF_BUILD", "GITHUB_ACTIONS", "GITLAB_CI", "CIRCLECI", "TRAVIS", "JENKINS_URL", "BUILDKITE",
    "CODEBUILD_BUILD_ID", "TEAMCITY_VERSION", "APPVEYOR", "BITBUCKET_BUILD_NUMBER", "CI",
)  # fmt: skip
"""Under which libraries do not report."""
PAGE = """<html><head><link rel="stylesheet" href="http://tracker.example/a.css">
<script src="http://tracker.example/a.js"></script></head><body><h1>Dues</h1>
<p>The harbour dues rose.</p><img src="http://tracker.example/a.png"></body></html>"""
ENTITY = """<!DOCTYPE html [<!ENTITY x SYSTEM "http://tracker.example/x">]>
<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Dues of the port. &x;</p></body></html>"""
COMMANDS = [
    ["add", "in"],
    ["add", "in", "--dry-run"],
    ["sync", "in"],
    ["search", "harbour dues"],
    ["search", "harbour dues", "--page-images", "pages"],
    ["excerpts", "harbour dues"],
    ["explain", "harbour dues", "--html", "why.html"],
    ["list"],
    ["show", "page.html", "--sections"],
    ["page", "report.pdf", "1", "-o", "page.png"],
    ["locate", "cited.json"],
    ["packs", "list"],
    ["packs", "new", "own.toml"],
    ["packs", "check", "filings"],
    ["threads", "list"],
    ["questions", "check", "questions.jsonl"],
    ["eval", "questions.jsonl", "--report", "report.html"],
    ["info"],
    ["doctor", "--repair"],
    ["backup", "copy.kb"],
    ["config"],
    ["set", "report.txt", "port=Altby"],
    ["export", "exported"],
    ["import", "exported", "--kb", "imported.kb"],
    ["copy", "spanwise.kb", "copied.kb"],
    ["packs", "use", "own.toml"],
    ["packs", "remove", "own"],
    ["rebuild", "--chunks", "600"],
    ["threads", "show", "talk"],
    ["threads", "remove", "talk"],
    ["tune", "questions.jsonl", "--out", "tuned.toml"],
    ["keys", "add", "reader", "--file", "keys.json"],
    ["keys", "list", "--file", "keys.json"],
    ["keys", "remove", "reader", "--file", "keys.json"],
    ["remove", "page.html"],
    ["compact"],
    ["completion", "bash"],
]
FAIL_WITHOUT_DATA = ("threads", "tune")
"""Commands that need conversations, or more questions than there are here."""
NAME_A_RECIPIENT = {"ask", "questions make", "models get"}
"""Commands that need a model, or download one."""
WRITE_AT_HOME = {"config trust", "config untrust"}
"""Commands that change a list of the user, which is at home."""
SERVE = {"serve", "mcp"}
ON_A_SERVER = {"tenants grant", "tenants revoke", "tenants list"}
"""Commands for knowledge bases in PostgreSQL."""
AGENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
LIBRARY = """
import json
from spanwise import KnowledgeBase, parse, parse_filter
from spanwise.testing.models import ScriptedModel

def answer(request):
    quote = {"quote": "The harbour dues rose.", "source": 1}
    said = {"text": "They rose.", "quotes": [quote], "calculation": None}
    return json.dumps({"working": "", "answered": True, "statements": [said], "conflicts": [],
                       "assumed": "", "missing": ""})

with KnowledgeBase("a.kb") as base:
    base.add_text("The harbour dues rose.", document_id="a", metadata={"year": 2018})
    base.search("What rose?", where="year = 2018")
    base.excerpts("What rose?")
    base.explain("What rose?")
    reply = base.ask("What rose?", llm=ScriptedModel(answer), thread="talk", preset="balanced")
    base.compact()
    base.check()
    base.backup("b.kb")
with KnowledgeBase(":memory:") as base:
    base.add_text("The harbour dues rose.", document_id="a")
    base.search("What rose?")
"""
DRIVER = """
import json, sys
from spanwise import KnowledgeBase
from spanwise.cli.main import main

codes = []
for arguments in json.loads(sys.argv[1]):
    codes.append(main(arguments))
    if arguments == ["sync", "in"]:
        with KnowledgeBase("spanwise.kb") as base:
            cited = base.search("harbour dues").segments[0].citation.to_dict()
        with open("cited.json", "w") as file:
            json.dump([cited], file)
print(json.dumps(codes), file=sys.stderr)
"""


@pytest.fixture
def closed(tmp_path: Path) -> ClosedNetwork:
    """Return how a process is started without a network."""
    (tmp_path / "hook").mkdir()
    return close_network(tmp_path / "hook")


def run(closed: ClosedNetwork, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder without a network, at home in a folder of its own."""
    (folder / "home").mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name not in CI_VARIABLES}
    kept.pop("ORT_DISABLE_TELEMETRY", None)
    home = {"HOME": str(folder / "home"), "USERPROFILE": str(folder / "home")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**kept, **home, **closed.environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_closed_network_sees_who_tries(closed: ClosedNetwork, tmp_path: Path) -> None:
    tries = (
        "import ctypes, socket\n"
        "try: socket.getaddrinfo('python.example', 80)\n"
        "except OSError: pass\n"
        "if {native}: ctypes.CDLL(None).getaddrinfo(b'native.example', b'80', None, None)\n"
    )
    run(closed, tmp_path, "-c", tries.format(native=closed.is_native))
    expected = ["python socket.getaddrinfo 'python.example'"]
    expected += ["native getaddrinfo native.example"] * closed.is_native
    assert closed.attempts() == expected


def test_no_local_command_reaches_the_network(closed: ClosedNetwork, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, data in small_documents().items():
        (tmp_path / "in" / name).write_bytes(data)
    (tmp_path / "in" / "page.html").write_text(PAGE, "utf-8")
    (tmp_path / "in" / "entity.xhtml").write_text(ENTITY, "utf-8")
    (tmp_path / "in" / "scan.pdf").write_bytes(scanned_pdf(["The harbour dues rose in 2018."]))
    evidence = {"document_id": "page.html", "text": "The harbour dues rose"}
    asked = {"id": "q", "question": "What rose?", "evidence": [evidence]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked) + "\n", "utf-8")
    done = run(closed, tmp_path, "-c", DRIVER, json.dumps(COMMANDS))
    codes = json.loads(done.stderr.splitlines()[-1])
    failed = [words for words, code in zip(COMMANDS, codes, strict=True) if code not in (0, 4)]
    assert [words for words in failed if words[0] not in FAIL_WITHOUT_DATA] == [], done.stderr
    assert closed.attempts() == []
    assert list((tmp_path / "home").rglob("*")) == []
    if find_spec("rapidocr"):
        assert "scan.pdf: page 1 of 1 read by OCR (rapidocr)" in done.stderr


def test_every_command_is_run_without_a_network_or_has_a_reason() -> None:
    all_commands = set(leaves(cli))
    run_here = {" ".join(words[:count]) for words in COMMANDS for count in (1, 2)} & all_commands
    assert run_here | NAME_A_RECIPIENT | WRITE_AT_HOME | SERVE | ON_A_SERVER == all_commands
    assert not run_here & (NAME_A_RECIPIENT | SERVE)


def test_trust_in_addresses_looks_no_name_up(closed: ClosedNetwork, tmp_path: Path) -> None:
    for command in ("trust", "untrust"):
        words = ["-m", "spanwise", "config", command, "https://models.example/v1"]
        done = run(closed, tmp_path, *words)
        assert done.returncode == 0, done.stderr
    assert closed.attempts() == []


@pytest.mark.slow
def test_servers_reach_nobody(closed: ClosedNetwork, tmp_path: Path) -> None:
    """They answer, which needs no connection of their own."""
    (tmp_path / "note.md").write_text("# Dues\n\nThe harbour dues rose.\n", "utf-8")
    assert run(closed, tmp_path, "-m", "spanwise", "add", "note.md").returncode == 0
    environment = {**os.environ, **closed.environment, "HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "spanwise", "serve"]
    with running_server(command, folder=tmp_path, environment=environment) as (url, _):
        bases = httpx.get(f"{url}/v1/knowledge-bases").json()["knowledge_bases"]
        place = f"{url}/v1/knowledge-bases/{bases[0]['name']}"
        found = httpx.post(f"{place}/search", json={"question": "harbour dues"}, timeout=60)
        assert found.json()["segments"][0]["document_id"] == "note.md"
        assert httpx.get(url).status_code == 200
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": AGENT}
    done = subprocess.run(
        [sys.executable, "-m", "spanwise", "mcp"],
        cwd=tmp_path,
        env=environment,
        input=json.dumps(asked) + "\n",
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"], done.stderr
    assert closed.attempts() == []


def test_the_library_reaches_nobody(closed: ClosedNetwork, tmp_path: Path) -> None:
    """From documents to an answer, and what keeps a knowledge base in order."""
    done = run(closed, tmp_path, "-c", LIBRARY)
    assert done.returncode == 0, done.stderr
    assert closed.attempts() == []
    assert list((tmp_path / "home").rglob("*")) == []


@pytest.mark.slow
@pytest.mark.skipif(find_spec("rapidocr") is None, reason="needs rapidocr")
@pytest.mark.parametrize("fault", ["damaged", "missing"])
def test_a_model_of_ocr_that_cannot_be_used_is_not_downloaded(
    closed: ClosedNetwork, tmp_path: Path, fault: str
) -> None:
    package = find_spec("rapidocr")
    assert package is not None
    assert package.origin is not None
    copied = Path(shutil.copytree(Path(package.origin).parent, tmp_path / "hook" / "rapidocr"))
    model = copied / "models" / RAPIDOCR_MODELS["Cls"][0]
    model.unlink()
    if fault == "damaged":
        model.write_bytes(b"another model")
    (tmp_path / "scan.pdf").write_bytes(scanned_pdf(["The harbour dues rose in 2018."]))
    done = run(closed, tmp_path, "-m", "spanwise", "add", "scan.pdf")
    assert "none of its 1 pages has text" in done.stderr
    assert model.name in done.stderr
    assert closed.attempts() == []


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="needs ONNX Runtime")
def test_a_model_on_this_machine_is_loaded_without_telemetry(
    closed: ClosedNetwork, tmp_path: Path
) -> None:
    """ONNX Runtime makes up an id of the machine when it is imported with its telemetry on."""
    loads = (
        "from spanwise.models.providers.local_model import load\n"
        "load('fastembed:any', lambda model: __import__('onnxruntime'))\n"
    )
    done = run(closed, tmp_path, "-c", loads)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "home").rglob("*")) == []
    assert closed.attempts() == []


def test_a_local_model_finds_telemetry_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
        monkeypatch.setenv(name, "0")
    seen = load("fastembed:any", lambda _: dict(os.environ))
    assert seen["ORT_DISABLE_TELEMETRY"] == "1"
    assert seen["HF_HUB_DISABLE_TELEMETRY"] == "1"
    assert seen["DO_NOT_TRACK"] == "1"
