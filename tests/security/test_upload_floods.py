"""Uploads with many small parts or deep folders, and names that headers cannot have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from tests.security.test_tenants import call
from tests.servers.applications import stop_queues

from spanwise import KnowledgeBase
from spanwise.server import uploads
from spanwise.server.app import app_of

KB = "/v1/knowledge-bases/shared"
DOCUMENT = ("file", ("a.md", b"# Pier\n\nThe pier is long."))


@pytest.fixture
def app(tmp_path: Path) -> Iterator[FastAPI]:
    with KnowledgeBase(tmp_path / "shared.kb") as base:
        app = app_of({"shared": base, "資料": base})
        yield app
        stop_queues(app)


def test_sidecar_files_count_as_files(
    app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_FILES", 5)
    rows = [("file", (f"{at}/spanwise.metadata.csv", b"path,title\n")) for at in range(5)]
    response = call(app, "", "POST", f"{KB}/documents", files=[DOCUMENT, *rows])
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert not list(tmp_path.rglob("spanwise.metadata.csv"))


def test_a_path_has_a_limited_depth(app: FastAPI) -> None:
    """Removing a folder opens each folder of the path, and a process has few open files."""
    deep = ("file", ("a/" * 100 + "a.md", b"# A"))
    response = call(app, "", "POST", f"{KB}/documents", files=[deep])
    assert (response.status_code, response.json()["code"]) == (422, "invalid_name")


def test_an_upload_to_a_knowledge_base_with_any_name_is_answered(app: FastAPI) -> None:
    response = call(app, "", "POST", "/v1/knowledge-bases/資料/documents", files=[DOCUMENT])
    assert response.status_code == 202
    assert call(app, "", "GET", response.headers["location"]).json()["id"] == response.json()["id"]
