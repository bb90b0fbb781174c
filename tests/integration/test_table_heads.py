"""A part of a long table is searched with what stands above it: its statement, its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reports import REPORT

from spanwise import Document, KnowledgeBase
from spanwise.core.ranking.scan import ScanQuery
from spanwise.knowledge_base.internals import add_parsed, store_of
from spanwise.types import Block, Heading

HEAD = "Statement of Vessels\n(in thousands)\n | Arrivals | Departures"
ROWS = "\n".join(f"Harbour number {number} | {9 * number} | {7 * number}" for number in range(90))
TABLE = f"{HEAD}\n{ROWS}"
NOTES = "\n".join(f"Nothing happened in month {number}; the clerks slept." for number in range(60))


class Recorder:
    """Remembers what it embeds."""

    name, version, dimension = "recorder", "1", 2

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same vector for each text."""
        self.texts += texts
        return np.ones((len(texts), 2), dtype=np.float32)


def report(table: str = TABLE) -> Document:
    return Document(
        id="report.pdf",
        text=f"{table}\n\n{NOTES}",
        title="Report",
        headings=(Heading(start=0, end=20, level=1, title="Statement of Vessels"),),
        blocks=(Block(start=0, end=len(table), kind="table"),),
    )


@pytest.fixture(params=["memory", "disk"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return ":memory:" if request.param == "memory" else str(tmp_path_factory.mktemp("kb") / "a.kb")


def test_every_part_of_a_table_is_searched_with_the_heads_of_its_columns(path: str) -> None:
    """A word of the first lines is found in all parts, and the title in the whole section."""
    with KnowledgeBase(path, embedder=None) as base:
        add_parsed(base, report())
        chunks = store_of(base).get_chunks("report.pdf")
        parts = [chunk for chunk in chunks if "Harbour" in chunk.text]
        assert len(parts) > 3
        assert sum("Departures" in chunk.text for chunk in chunks) == 1
        for _ in range(2):
            with store_of(base).snapshot() as snapshot:
                scan = snapshot.scan(ScanQuery(terms=("departur", "vessel"), vector=None))
            assert scan.term_chunks.tolist() == [len(parts), len(chunks)]
            base.compact()


def test_heads_are_embedded_with_the_rows_and_known_again(path: str) -> None:
    """A table that comes again is not embedded again; one with another head is."""
    recorder = Recorder()
    with KnowledgeBase(path, embedder=recorder) as base:
        add_parsed(base, report())
        assert any(text.startswith("Statement of Vessels\n") for text in recorder.texts)
        recorder.texts.clear()
        add_parsed(base, replace(report(), metadata={"year": 2022}))
        assert not [text for text in recorder.texts if "Harbour" in text]
        add_parsed(base, report(TABLE.replace("Arrivals", "Landings")))
        assert [text for text in recorder.texts if "Harbour number 77 |" in text]


def test_a_document_that_a_pack_knows_needs_no_heads() -> None:
    """Its landmarks tell of each chunk what statement it stands in."""
    text = REPORT.rstrip("\n")
    document = Document(
        id="alder.txt", text=text, blocks=(Block(start=0, end=len(text), kind="table"),)
    )
    heads = {}
    for packs in ((), None):
        with KnowledgeBase(":memory:", embedder=None, packs=packs) as base:
            add_parsed(base, document)
            heads[packs] = {chunk.table_head for chunk in store_of(base).get_chunks("alder.txt")}
    assert heads[None] == {""}
    assert heads[()] - {""}
