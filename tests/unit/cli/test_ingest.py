"""Reports of `add` and `sync`."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.cli.commands.add import draw_failures, draw_report
from spanwise.types import IngestFailure, IngestReport, Usage


def drawn(report: IngestReport, capsys: pytest.CaptureFixture[str]) -> list[str]:
    draw_report(report, path=Path("a.kb"), empty_message="nothing to do")
    return capsys.readouterr().out.splitlines()


def test_vectors_that_were_taken_over_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    report = IngestReport(
        replaced=("a",), chunks=1_000, embedded_chunks=3, kept_vectors=997, chars=4_000
    )
    assert (
        drawn(report, capsys)[-1] == "3 chunks embedded, 997 reused from chunks with the same text"
    )


def test_reused_vectors_are_reported_only_if_there_are_any(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = IngestReport(added=("a",), chunks=3, embedded_chunks=3, chars=40)
    assert drawn(report, capsys) == ["a.kb: 1 added", "3 chunks of 40 characters in 0 ms"]


def test_documents_that_are_not_whole_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    report = IngestReport(
        added=("a.pdf", "b.pdf", "c.pdf"), partial=("a.pdf", "b.pdf"), needs_ocr=("c.pdf",)
    )
    output = " ".join(drawn(report, capsys))
    assert "read in part: a.pdf, b.pdf; see `spanwise show ID`" in output
    assert "needs OCR: c.pdf;" in output


def test_usage_is_reported_and_in_a_dry_run_as_a_bound(
    capsys: pytest.CaptureFixture[str],
) -> None:
    usage = Usage(calls=2, input_tokens=3_000, output_tokens=90, cost=0.5, seconds=4.0)
    report = IngestReport(added=("a",), usage=usage)
    assert drawn(report, capsys)[-1] == (
        "2 model calls · 3,000 tokens in · 90 out · $0.5000 · 4.0 s of model time"
    )
    draw_report(report, path=Path("a.kb"), empty_message="", is_dry_run=True)
    assert capsys.readouterr().out.splitlines() == [
        "a.kb (dry run): 1 added",
        "at most: 2 model calls · 3,000 tokens in · 90 out · $0.5000",
    ]


def test_documents_beyond_the_cost_limit_share_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failures = [IngestFailure(source=one, code="cost_limit", message=one) for one in "abc"]
    draw_failures(IngestReport(failed=tuple(failures)))
    assert capsys.readouterr().err.splitlines() == [
        "failed (cost_limit): a",
        "failed (cost_limit): 2 more documents not added for the same reason",
    ]


def test_similar_warnings_are_grouped_with_all_sources(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = [
        f"{one}: its {part} is made without a model: no credit"
        for one in ("a", "b", "c")
        for part in ("title", "summary")
    ]
    told[1:1] = ["a: page 2 holds no text", "b: its title is made without a model: too long"]
    draw_failures(IngestReport(warnings=tuple(told)))
    assert capsys.readouterr().err.splitlines() == [
        "warning: a: its title is made without a model: no credit",
        "warning: a: its summary is made without a model: no credit",
        "warning: b: its title is made without a model: no credit",
        "warning: 3 more for the same reason: b, c",
        "warning: a: page 2 holds no text",
        "warning: b: its title is made without a model: too long",
    ]


def test_a_group_that_saves_no_line_is_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    told = [f"{one}: 1 of 1 sections have no summary: no credit" for one in "abcd"]
    draw_failures(IngestReport(warnings=tuple(told)))
    assert capsys.readouterr().err.splitlines() == [f"warning: {one}" for one in told]
