"""`spanwise excerpts` as people and programs run it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.commands import read_json, spanwise

QUESTION = "Why did the gross margin fall?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / "reports").mkdir()
    rest = " ".join(f"The weather of day {n} is described elsewhere." for n in range(200))
    for name in ("a", "b"):
        text = f"# Report {name}\n\n{rest}\n\nIn {name} the gross margin fell by {name}.\n\n{rest}"
        (folder / "reports" / f"{name}.md").write_text(text, encoding="utf-8")
    assert spanwise("add", "reports", folder=folder).returncode == 0
    return folder


def test_json_holds_what_the_types_hold_and_is_the_same_each_time(home: Path) -> None:
    words = ("excerpts", QUESTION, "--excerpts", "2", "--excerpt-tokens", "300")
    result = read_json(*words, folder=home)
    assert result == read_json(*words, folder=home)
    assert "seconds" not in result
    assert result["not_found"] is False
    assert all(excerpt["tokens"] <= 300 for excerpt in result["excerpts"])
    assert result["excerpts"][0]["spans"][0]["text"] in result["context"]
    context = spanwise(*words, "--context", folder=home).stdout
    assert context == result["context"] + "\n"


def test_people_see_titles_and_text(home: Path) -> None:
    done = spanwise("excerpts", QUESTION, "-d", "a.md", folder=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1st  Report a" in done.stdout
    assert "the gross margin fell" in done.stdout
