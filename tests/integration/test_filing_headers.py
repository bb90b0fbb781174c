"""Headers of the segments of filings and contracts: metadata, within the budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import ChunkOptions, GivenParts, KnowledgeBase
from spanwise.models.providers.tokenizer import make_tokenizer

COVER = """\
UNITED STATES
SECURITIES AND EXCHANGE COMMISSION
Washington, D.C. 20549

FORM 10-K

ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934

For the fiscal year ended February 2, 2019

Harrow Mills, Inc.
(Exact name of registrant as specified in its charter)

"""
BODY = "In fiscal 2019 the capital spending of Harrow Mills on sluices was {} million dollars.\n\n"
REPORT = COVER + "".join(BODY.format(number) for number in range(60))
QUESTION = "How much was the capital spending on sluices?"
LINE = "fiscal 2019, year ended 2019-02-02"


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as made:
        made.add_text(REPORT, document_id="report.txt")
        yield made


def header(kb: KnowledgeBase) -> list[str]:
    """Return the lines of the header of the best segment; check that the budget counts them."""
    result = kb.search(QUESTION, budget_tokens=400)
    (used,) = make_tokenizer(str(kb.info().settings["tokenizer"])).count([result.context])
    assert used <= result.tokens <= 400
    excerpts = kb.excerpts(QUESTION)
    lines = result.segments[0].header.split("\n")
    assert excerpts.excerpts[0].header.split("\n") == lines[:2]
    return lines


def test_the_second_line_is_made_of_the_metadata(kb: KnowledgeBase) -> None:
    lines = header(kb)
    assert lines[:2] == ["Harrow Mills 10-K 2019", LINE]
    assert f"Harrow Mills 10-K 2019\n{LINE}\n" in kb.search(QUESTION).context
    assert kb.record("report.txt").summary == ""


def test_changes_of_the_metadata_show_in_the_header(kb: KnowledgeBase) -> None:
    kb.update_metadata(["report.txt"], {"period_end": "2019-02-28"})
    assert header(kb)[1] == "fiscal 2019, year ended 2019-02-28"
    long = "The Harrow Mills Of The Northern Tidal Rivers And Islands"
    kb.update_metadata(["report.txt"], {"company": long})
    assert header(kb)[1].startswith(long)


def test_a_written_summary_stays_in_the_header(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as kb:
        given = GivenParts(summary="A mill reports on its year.")
        kb.add_text(REPORT, document_id="report.txt", given=given)
        assert header(kb)[1] == "A mill reports on its year."


def test_a_rebuild_makes_the_same_header(kb: KnowledgeBase) -> None:
    before = header(kb)
    kb.rebuild(chunks=ChunkOptions(target=300, max=360))
    assert header(kb) == before


def test_an_answer_reads_the_line(kb: KnowledgeBase) -> None:
    assert LINE in kb.search(QUESTION, tokenizer="chars:4").context
