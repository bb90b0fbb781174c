from __future__ import annotations

from pathlib import Path

import pytest

from spanwise import config


@pytest.mark.parametrize(
    ("argument", "environment", "path"),
    [
        ("a.kb", "b.kb", "a.kb"),
        (None, "b.kb", "b.kb"),
        ("", "b.kb", "b.kb"),
        (None, "", "spanwise.kb"),
        (None, None, "spanwise.kb"),
    ],
)
def test_argument_counts_before_environment_before_default(
    monkeypatch: pytest.MonkeyPatch, argument: str | None, environment: str | None, path: str
) -> None:
    if environment is None:
        monkeypatch.delenv("SPANWISE_KB", raising=False)
    else:
        monkeypatch.setenv("SPANWISE_KB", environment)
    assert config.knowledge_base_path(argument) == Path(path)


@pytest.mark.parametrize(("value", "wanted"), [("1", True), ("0", False), ("", False)])
def test_traceback_is_asked_for_by_name(
    monkeypatch: pytest.MonkeyPatch, value: str, wanted: bool
) -> None:
    monkeypatch.setenv("SPANWISE_TRACEBACK", value)
    assert config.wants_traceback() is wanted
