"""Memory that a large text needs in addition to the text itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.commands import environment

_ADDING = """
import random
from pathlib import Path
from spanwise import KnowledgeBase

def most_mb():  # not `ru_maxrss`: a process inherits that of the process that started it
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1_024

words = [f"w{number:x}" for number in range(20_000)]
draws = random.Random(1)
sentences = [" ".join(draws.choices(words, k=14)) + ". " for _ in range(1_000)]
with KnowledgeBase("a.kb", embedder=None, tokenizer="chars:4") as base:
    base.add_text("".join(sentences[:100]), document_id="small")
    text = "".join(draws.choices(sentences, k=60_000))
    before = most_mb()
    base.add_text(text, document_id="large")
    print(len(text) / 1e6, most_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_adding_a_text_takes_little_more_memory_than_the_text(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ADDING],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    chars_mb, growth_mb = map(float, done.stdout.split())
    assert chars_mb > 4.5
    assert growth_mb < 14  # 18 with an object and a text for each chunk
