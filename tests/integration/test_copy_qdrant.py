"""Knowledge bases in Qdrant: opened by address, and copied from a folder and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.test_copy_killed import results
from tests.servers.qdrant_edge import EdgeClient, edge_client
from tests.servers.qdrant_rest import rest_server

from spanwise import KnowledgeBase
from spanwise.errors import FormatError, OptionError, StoreError
from spanwise.knowledge_base.internals import store_of
from spanwise.testing.store_entries import make_output
from spanwise.testing.store_records import make_turn

_REPORTS = Path(__file__).parents[2] / "examples" / "reports"
_QUESTION = "Why did the gross margin fall in 2023?"


@pytest.fixture
def engine() -> Iterator[EdgeClient]:
    """Return an engine without collections."""
    with edge_client() as client:
        yield client


@pytest.fixture
def address(engine: EdgeClient) -> Iterator[str]:
    """Return the address of a knowledge base that does not exist, on a running server."""
    with rest_server(engine) as server:
        yield f"qdrant://127.0.0.1:{server.port}/reports"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a knowledge base of a report."""
    path = tmp_path / "reports.kb"
    with KnowledgeBase(path) as base:
        base.add(sorted(_REPORTS.iterdir())[0], metadata={"team": "law"})
        base.add_text("Gross margin fell.", document_id="gone", metadata={"former": 1})
        base.remove("gone")
        base.add_text("The gross margin of the newest text.", document_id="a first id")
        store_of(base).put_outputs([make_output("key", "output \ud800")])
        store_of(base).append_turn("thread", make_turn("Who?"))
    return path


def test_results_are_equal_in_a_folder_in_qdrant_and_back(
    folder: Path, address: str, tmp_path: Path
) -> None:
    with KnowledgeBase(folder, create=False) as base:
        first = base.copy_to(address, verify="all")
        assert first.copied == first.documents == first.verified
        base.add_text("The margin rose again.", document_id="later")
        assert base.copy_to(address).copied == 1
        found, wanted = base.search(_QUESTION).segments, results(store_of(base))
        warnings = base.search(_QUESTION, where="former = 1").warnings
        assert warnings
    with KnowledgeBase(address, create=False) as base:
        assert base.search(_QUESTION).segments == found
        assert base.search(_QUESTION, where="former = 1").warnings == warnings
        assert results(store_of(base)) == wanted
        assert base.check().sound
        base.copy_to(tmp_path / "back.kb", verify="all")
    with KnowledgeBase(tmp_path / "back.kb", create=False) as base:
        assert base.search(_QUESTION).segments == found
        assert results(store_of(base)) == wanted


def test_a_knowledge_base_is_made_at_an_address(address: str) -> None:
    with pytest.raises(FormatError, match="no knowledge base"):
        KnowledgeBase(address, create=False)
    with KnowledgeBase(address, embedder=None) as base:
        base.add_text("The margin fell.", document_id="a")
    with KnowledgeBase(address, create=False) as base:
        assert [segment.document_id for segment in base.search("margin").segments] == ["a"]
        assert base.info().documents == 1
        with pytest.raises(OptionError, match="itself"):
            base.copy_to(address)
        with pytest.raises(StoreError, match="spanwise copy"):
            base.rebuild()
