"""Where the setting of a tuning file leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.config import setting


def test_a_file_names_it_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings" / "spanwise.toml"
    path.parent.mkdir()
    path.write_text('[search]\ntuning = "tuned.toml"\n', encoding="utf-8")
    monkeypatch.setenv("SPANWISE_CONFIG", str(path))
    assert setting("search.tuning") == str(path.parent / "tuned.toml")


def test_an_empty_one_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "spanwise.toml"
    path.write_text('[search]\ntuning = ""\n', encoding="utf-8")
    monkeypatch.setenv("SPANWISE_CONFIG", str(path))
    assert setting("search.tuning") == ""
