"""What one ingest is to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.records import make_record

from spanwise.ingest.job import IngestJob
from spanwise.types import GivenParts


def test_what_needs_an_engine_is_outdated_once_there_is_one() -> None:
    record = make_record("scan.pdf", root="/in")
    scan = replace(record, status="needs_ocr")
    assert not IngestJob().is_outdated(scan, reads_pictures=False)
    assert IngestJob().is_outdated(scan, reads_pictures=True)
    assert not IngestJob().is_outdated(record, reads_pictures=True)


@pytest.mark.parametrize(("given", "expected"), [("scan.pdf", True), ("other.pdf", False)])
def test_a_document_for_which_parts_are_given_is_outdated(given: str, expected: bool) -> None:
    job = IngestJob(given={given: GivenParts(title="Scanned")})
    assert job.is_outdated(make_record("scan.pdf", root="/in"), reads_pictures=False) is expected
