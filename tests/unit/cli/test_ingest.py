"""What `add` and `sync` say of what they did."""

from __future__ import annotations

import pytest

from spanwise.cli.ingest import draw_report
from spanwise.types import IngestReport


def drawn(report: IngestReport, capsys: pytest.CaptureFixture[str]) -> list[str]:
    draw_report(report, label="a.kb", nothing="nothing to do")
    return capsys.readouterr().out.splitlines()


def test_vectors_that_were_taken_over_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    report = IngestReport(
        replaced=("a",), chunks=1_000, embedded_chunks=3, kept_vectors=997, chars=4_000
    )
    assert drawn(report, capsys)[-1] == "3 chunks embedded, 997 with the text of an earlier one"


def test_nothing_is_said_of_vectors_where_none_was_taken_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = IngestReport(added=("a",), chunks=3, embedded_chunks=3, chars=40)
    assert drawn(report, capsys) == ["a.kb: 1 added", "3 chunks of 40 characters in 0 ms"]


def test_documents_that_are_not_whole_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    report = IngestReport(
        added=("a.pdf", "b.pdf", "c.pdf"), partial=("a.pdf", "b.pdf"), needs_ocr=("c.pdf",)
    )
    said = " ".join(drawn(report, capsys))
    assert "read in part: a.pdf, b.pdf; `spanwise show ID` says what is missing" in said
    assert "needs OCR: c.pdf;" in said
