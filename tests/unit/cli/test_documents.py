"""`spanwise show`."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise import GivenParts, KnowledgeBase
from spanwise.cli.failures import ExitCode
from spanwise.cli.main import main
from spanwise.types import Section


def test_what_document_and_sections_are_about_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "It sank in 1912."
    section = Section(
        start=0, end=len(text), title="End", path=("End",), summary="This section is about: 1912."
    )
    given = GivenParts(summary="This document is about: a ship.", sections=(section,))
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as knowledge_base:
        knowledge_base.add_text(text, document_id="ship", given=given)
    command = ["show", "ship", "--sections", "--kb", str(tmp_path / "a.kb")]
    assert main(command) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert "summary   This document is about: a ship." in lines
    assert lines[-2:] == ["           0-16  End", f"{'':17}This section is about: 1912."]
