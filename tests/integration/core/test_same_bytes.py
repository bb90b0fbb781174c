"""Every process cuts alike."""

import subprocess
import sys

PROGRAM = """
from pydoc_data.topics import topics
from spanwise.packs.known_kinds import split_sections
from spanwise.core.documents.chunks import split_chunks
from spanwise.core.documents.summary import summarise
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.types import Document

text = "".join(topics[name] for name in sorted(topics))
sections = split_sections(Document(id="d", text=text), options=SectionOptions())
print(summarise(text), sections, split_chunks(text, sections, options=ChunkOptions()))
"""


def test_every_process_cuts_alike() -> None:
    """Sections, titles and chunks do not depend on the order of sets."""
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1
    assert len(next(iter(found))) > 100_000
