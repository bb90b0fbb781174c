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
from spanwise.integrations.searches import segment_fields
from spanwise.knowledge_base.internals import add_parsed, store_of
from spanwise.models.providers.tokenizer import make_tokenizer
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


@pytest.mark.parametrize("budget", [30, 60, 80, 150, 400])
@pytest.mark.parametrize("tokenizer", ["o200k_base", "chars:4"])
def test_a_segment_inside_a_table_shows_its_head(path: str, budget: int, tokenizer: str) -> None:
    """The header of the context ends with the head, and all of it fits into the budget."""
    with KnowledgeBase(path, embedder=None, tokenizer=tokenizer) as base:
        add_parsed(base, report(TABLE.replace("Harbour number 77 |", "Zanzibar |")))
        result = base.search("How many ships arrived in Zanzibar?", budget_tokens=budget)
        (segment,) = (one for one in result.segments if "Zanzibar" in one.text)
        assert segment.start > len(HEAD)
        assert result.tokens <= budget
        assert make_tokenizer(tokenizer).count([result.context])[0] <= result.tokens
        if segment.header:
            columns = HEAD.removeprefix("Statement of Vessels\n")
            assert segment.table_head == columns
            assert segment.header.endswith(f"\nStatement of Vessels\n{columns}")
            assert f"{columns}\n\n{segment.text[:9]}" in result.context
        whole = base.search("statement of vessels: arrivals and departures", budget_tokens=9_000)
        assert {one.table_head for one in whole.segments if one.start == 0} <= {""}
        clerks = base.search("What of the clerks in month 33?", budget_tokens=budget)
        assert not any(one.table_head for one in clerks.segments if one.start > len(TABLE))


def test_the_head_of_a_long_table_is_found_far_above(path: str) -> None:
    """Also behind other text."""
    rows = "\n".join(
        f"Harbour number {number} | {number} | {7 * number}" for number in range(2_000)
    )
    table = f"{HEAD}\n{rows}".replace("Harbour number 1900 |", "Zanzibar |")
    document = Document(
        id="long.pdf",
        text=f"{NOTES}\n\n{table}\n\n{NOTES}",
        blocks=(Block(start=len(NOTES) + 2, end=len(NOTES) + 2 + len(table), kind="table"),),
    )
    with KnowledgeBase(path, embedder=None) as base:
        add_parsed(base, document)
        result = base.search("How many ships arrived in Zanzibar?", budget_tokens=400)
        (segment,) = (one for one in result.segments if "Zanzibar" in one.text)
        assert segment.first_chunk > 100
        assert segment.table_head == HEAD


def test_the_head_is_known_without_headers(path: str) -> None:
    """A program that shows segments in its own way needs it too; it costs no tokens then."""
    with KnowledgeBase(path, embedder=None) as base:
        add_parsed(base, report(TABLE.replace("Harbour number 77 |", "Zanzibar |")))
        question = "How many ships arrived in Zanzibar?"
        found = base.search(question, budget_tokens=300, headers=False)
        (segment,) = (one for one in found.segments if "Zanzibar" in one.text)
        assert (segment.header, segment.table_head) == ("", HEAD.partition("\n")[2])
        assert HEAD.partition("\n")[2] not in found.context
        assert segment_fields(segment, found, more={})["table_head"] == segment.table_head


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
