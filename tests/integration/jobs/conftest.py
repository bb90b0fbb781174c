"""A knowledge base with an ingest queue, and applications that serve it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ingest_jobs import MakeApp, making_apps

from spanwise import KnowledgeBase


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "notes.kb") as opened:
        yield opened


@pytest.fixture
def make_app(base: KnowledgeBase) -> Iterator[MakeApp]:
    with making_apps(base) as make:
        yield make
