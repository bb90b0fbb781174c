"""What promises to stay on this machine reaches no network, by Python or by native code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.closed_network import ClosedNetwork, close_network
from tests.pictures import scanned_pdf
from tests.small_documents import small_documents

from spanwise.models.providers.local_model import load

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
    ["remove", "page.html"],
    ["completion", "bash"],
]
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
    assert failed == [], done.stderr
    assert closed.attempts() == []
    assert list((tmp_path / "home").rglob("*")) == []
    if find_spec("rapidocr"):
        assert "scan.pdf: page 1 of 1 read by OCR (rapidocr)" in done.stderr


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
