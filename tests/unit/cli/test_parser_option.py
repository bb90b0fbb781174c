"""`spanwise add --parser` selects the document parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.cli.failures import ExitCode
from spanwise.cli.main import main


@pytest.mark.parametrize("command", ["add", "sync"])
def test_unknown_parser_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is read, with those that are known."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("Some text.")
    arguments = [command, str(tmp_path / "files"), "--kb", str(tmp_path / "a.kb")]
    assert main([*arguments, "--parser", "missing"]) == ExitCode.USAGE
    assert "known: docling, spanwise, unstructured" in capsys.readouterr().err
