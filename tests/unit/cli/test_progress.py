from __future__ import annotations

import re
import sys
import time
from dataclasses import replace

import pytest

from spanwise.cli.progress import IngestBar, copy_bar, step_bar, waiting
from spanwise.types import IngestProgress


def make_progress(outcome: str, documents_done: int) -> IngestProgress:
    return IngestProgress(
        documents_done=documents_done,
        documents_total=3,
        bytes_done=10 * documents_done,
        bytes_total=30,
        chunks=5,
        document_id="a.txt",
        outcome=outcome,  # type: ignore[arg-type]
    )


def test_failed_documents_are_not_counted_as_stored() -> None:
    with IngestBar(quiet=True) as bar:
        for number, outcome in enumerate(["added", "failed", "unchanged"], start=1):
            bar.on_document(make_progress(outcome, number))
    assert bar.stored == 2


def test_nothing_is_drawn_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with IngestBar(quiet=False) as bar:
        bar.on_document(make_progress("added", 1))
    written = capsys.readouterr()
    assert (written.out, written.err) == ("", "")


def test_a_terminal_gets_documents_and_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with IngestBar(quiet=False) as bar:
        bar.on_document(replace(make_progress("added", 1), bytes_total=10**12))
    written = capsys.readouterr()
    assert written.out == ""
    assert "1/3 documents" in written.err
    assert re.search(r"chunks/s, [\d ]+ min \d+ s left", written.err)


def test_before_the_first_document_the_bar_shows_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with IngestBar(quiet=False):
        pass
    written = capsys.readouterr().err
    assert "reading" in written
    assert "left" not in written


def test_a_wait_is_drawn_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A watched folder may not change for days."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    bar = IngestBar(quiet=False)
    bar.wait("watching docs")
    with bar:
        time.sleep(0.5)
        drawn = capsys.readouterr().err
        bar.on_document(make_progress("added", 1))
        assert "1/3 documents" in capsys.readouterr().err
    assert drawn.count("watching docs") == 1


def test_calls_of_models_are_drawn_between_documents(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with IngestBar(quiet=False) as bar:
        bar.on_step("search", seconds=0.1, counts={"chunks": 3})
        bar.on_step("model.title", seconds=0.1, counts={"calls": 1, "cached_calls": 0})
        bar.on_step("model.title", seconds=0.1, counts={"calls": 0, "cached_calls": 1})
    drawn = capsys.readouterr().err
    assert "reading, 1 model call" in drawn
    assert "2 model calls" not in drawn, "what was kept is no call"


def test_a_copy_is_drawn_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with copy_bar() as draw:
        assert draw is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with copy_bar() as draw:
        assert draw is not None
        draw(5_000_000, 20_000_000)
    written = capsys.readouterr()
    assert written.out == ""
    assert "25%" in written.err
    assert "5.0 MB of 20.0 MB" in written.err


def test_steps_are_drawn_on_a_terminal_alone_unless_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with step_bar(quiet=False) as draw:
        draw("searching", 1, 4)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with step_bar(quiet=True) as draw:
        draw("searching", 2, 4)
    assert capsys.readouterr().err == ""
    with step_bar(quiet=False) as draw:
        draw("exact\x1b[31m", 3_000, 4_000)
    written = capsys.readouterr()
    assert written.out == ""
    assert "75%" in written.err
    assert "3,000 of 4,000, exact" in written.err
    assert "\x1b[31m," not in written.err


def test_a_wait_is_shown_only_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with waiting("asking"):
        pass
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with waiting("asking"):
        pass
    written = capsys.readouterr()
    assert written.out == ""
    assert "asking" in written.err


def test_the_place_inside_a_large_document_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with IngestBar(quiet=False) as bar:
        bar.on_step("parse", seconds=0.1, counts={"page": 40, "pages": 1_300})
    assert "page 40 of 1,300" in capsys.readouterr().err
    with IngestBar(quiet=False) as bar:
        bar.on_step("embed", seconds=0.1, counts={"chunks": 2_000, "total": 10_000})
    assert "2,000 of 10,000 chunks embedded" in capsys.readouterr().err
