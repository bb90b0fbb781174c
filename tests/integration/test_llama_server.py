"""The real language model that other tests ask: it answers, counts, and ends with them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.servers import llama as servers

ROOT = Path(__file__).resolve().parents[2]
FORM = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
LEAVES_A_SERVER = """
import os
from tests.servers.llama import llama
with llama() as server:
    print(server.url, flush=True)
    os._exit(9)  # as a kill would
"""


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).is_success
    except httpx.TransportError:
        return False


def test_it_answers_in_a_form_and_counts_what_it_read(llama_server: servers.LlamaServer) -> None:
    prompt = "Write a title for a page about whales."
    asked = {
        "messages": [{"role": "user", "content": prompt}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": FORM}},
        "max_tokens": 60,
        "temperature": 0,
    }
    reply = httpx.post(f"{llama_server.url}/v1/chat/completions", json=asked, timeout=60).json()
    assert reply["choices"][0]["message"]["content"].lstrip().startswith("{")
    written = llama_server.count_tokens(prompt)
    assert written < reply["usage"]["prompt_tokens"] < written + 40  # its template is added


@pytest.mark.usefixtures("llama_server")
def test_it_ends_with_the_program_that_started_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES_A_SERVER],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 9
    ended = time.monotonic() + 30
    while answers(done.stdout.strip()):
        assert time.monotonic() < ended


@pytest.mark.parametrize("required", [True, False])
def test_without_the_model_a_test_is_skipped_or_fails_where_it_is_required(
    required: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_PACKAGE", "no-such-package")
    monkeypatch.setenv(servers.REQUIRED, "1" if required else "")
    outcome = pytest.fail.Exception if required else pytest.skip.Exception
    with pytest.raises(outcome, match="no-such-package is not installed"), servers.llama():
        pass
