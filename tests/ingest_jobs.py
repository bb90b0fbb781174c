"""Ingest jobs of an application: uploads, and waiting for their end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.integration.test_server import call

from spanwise import KnowledgeBase
from spanwise.server.app import app_of

__all__ = [
    "FINAL",
    "KB",
    "PIER",
    "Held",
    "MakeApp",
    "assert_files",
    "files_of",
    "finished",
    "making_apps",
    "upload",
    "wait_until",
]  # fmt: skip

KB = "/v1/knowledge-bases/notes"
PIER = b"# Pier\n\nThe pier is 30 m long."
FINAL = {"done", "failed", "cancelled"}


MakeApp = Callable[..., FastAPI]


@contextmanager
def making_apps(base: KnowledgeBase) -> Iterator[MakeApp]:
    """Yield a function that makes applications, and stop their queues at the end."""
    apps: list[FastAPI] = []

    def make(**arguments: Any) -> FastAPI:
        apps.append(app_of({"notes": base}, **arguments))
        return apps[-1]

    yield make
    for app in apps:
        app.state.service.queues["notes"].stop()


def upload(app: FastAPI, *files: tuple[str, bytes], query: str = "", **more: Any) -> httpx.Response:
    parts = [("file", file) for file in files]
    return call(app, "POST", f"{KB}/documents{query}", files=parts, **more)


def finished(app: FastAPI, response: httpx.Response) -> dict[str, Any]:
    """Return the job of a response once it has ended."""
    assert response.status_code == 202, response.text
    place = response.headers["location"]
    assert place == f"{KB}/jobs/{response.json()['id']}"
    job: dict[str, Any] = wait_until(
        lambda: call(app, "GET", place).json(), lambda job: job["state"] in FINAL
    )
    return job


def wait_until(get: Callable[[], Any], passes: Callable[[Any], object]) -> Any:
    for _ in range(600):
        found = get()
        if passes(found):
            return found
        time.sleep(0.02)
    pytest.fail(f"it did not happen: {found}")


def files_of(base: KnowledgeBase) -> set[str]:
    """Return the ids of the uploaded files on disk."""
    folder = Path(base.info().path).with_name("notes.kb.server") / "uploads"
    files = (path for path in folder.rglob("*") if path.is_file())
    return {"/".join(path.relative_to(folder).parts[1:]) for path in files}


def assert_files(base: KnowledgeBase, expected: set[str]) -> None:
    """Check the uploaded files on disk; the server tidies them just after a job has ended."""
    wait_until(lambda: files_of(base), lambda files: files == expected)


class Held:
    """Holds the documents of a knowledge base back until they are released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.released = threading.Event(), threading.Event()
        self.ended: list[str] = []
        add = KnowledgeBase.add

        def held(base: KnowledgeBase, *sources: Any, **arguments: Any) -> Any:
            from spanwise.threads import sleep_unless_cancelled

            self.begun.set()
            try:
                while not self.released.is_set():
                    sleep_unless_cancelled(0.02)
                return add(base, *sources, **arguments)
            finally:
                self.ended.append(str(sources[0]))

        monkeypatch.setattr(KnowledgeBase, "add", held)
