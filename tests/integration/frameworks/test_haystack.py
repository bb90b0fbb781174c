"""The retriever component for Haystack, used through Haystack."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.examples import EXAMPLES, load_example
from tests.servers.running import running

from spanwise import KnowledgeBase, RerankOptions, SearchOptions, SegmentOptions, field
from spanwise.errors import FilterError, FormatError, OptionError
from spanwise.server.app import app_of
from spanwise.server.keys import add_key, read_ring

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when haystack is first imported

from haystack import Pipeline
from haystack.utils import Secret

from spanwise.integrations.haystack import SpanwiseRetriever

REPORTS = EXAMPLES / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
MODULE = "spanwise.integrations.haystack"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("haystack") / "reports.kb"
    with KnowledgeBase(made) as base:
        base.add(REPORTS, metadata={"company": "Harrow", "tags": ["paper", "annual"]})
    return made


@pytest.fixture
def kb(path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(path) as base:
        yield base


def contents(outputs: Any) -> list[str]:
    return [document.content for document in outputs["documents"]]


def test_documents_are_the_segments_of_the_search(kb: KnowledgeBase) -> None:
    result = kb.search(QUESTION, budget_tokens=300, headers=False)
    outputs = SpanwiseRetriever(kb, budget_tokens=300).run(QUESTION)
    assert contents(outputs) == [segment.text for segment in result.segments]
    assert outputs["context"] == result.context
    assert outputs["warnings"] == list(result.warnings)
    document, segment = outputs["documents"][0], result.segments[0]
    assert document.score == segment.relevance
    assert document.meta["document_id"] == segment.document_id
    assert document.meta["start"] == document.meta["split_idx_start"] == segment.start
    assert document.meta["source_id"] == segment.document_id
    assert document.meta["file_path"] == segment.citation.source
    assert document.meta["page_number"] is None
    assert (document.meta["company"], document.meta["tags"]) == ("Harrow", ["paper", "annual"])
    assert json.loads(json.dumps(document.meta)) == document.meta


def test_arguments_of_a_run_replace_those_of_the_component(kb: KnowledgeBase) -> None:
    component = SpanwiseRetriever(kb, where={"company": "Nobody"})
    assert component.run(QUESTION)["documents"] == []
    assert component.run(QUESTION)["warnings"]
    only = component.run(
        QUESTION, where='company = "Harrow"', documents=["annual-report-2022.md"], budget_tokens=90
    )
    assert {one.meta["document_id"] for one in only["documents"]} == {"annual-report-2022.md"}


def test_a_pipeline_is_saved_by_the_path_of_its_knowledge_base(path: Path) -> None:
    pipeline = Pipeline()
    with KnowledgeBase(path) as base:
        component = SpanwiseRetriever(
            base, budget_tokens=300, where=field("company") == "Harrow", headers=True
        )
        pipeline.add_component("retriever", component)
        saved = pipeline.dumps()
        expected = contents(component.run(QUESTION))
    loaded = Pipeline.loads(saved, allowed_modules=[MODULE])
    assert loaded.dumps() == saved
    outputs = loaded.run({"retriever": {"query": QUESTION}})["retriever"]
    assert contents(outputs) == expected
    opened: Any = loaded.get_component("retriever")
    opened.close()
    again = loaded.run({"retriever": {"query": QUESTION}})["retriever"]
    assert contents(again) == expected
    opened.close()


def test_options_of_a_search_are_saved(path: Path) -> None:
    arguments = {
        "options": SearchOptions(budget_tokens=300, segments=SegmentOptions(token_price=0.5)),
        "rerank_options": RerankOptions(chunks=5),
        "more_queries": ["freight"],
    }
    pipeline = Pipeline()
    component = SpanwiseRetriever(path, search_arguments=arguments)
    pipeline.add_component("retriever", component)
    text = pipeline.dumps()
    assert Pipeline.loads(text, allowed_modules=[MODULE]).dumps() == text
    loaded = SpanwiseRetriever.from_dict(component.to_dict())
    assert loaded.search_arguments == arguments
    assert contents(loaded.run(QUESTION)) == contents(component.run(QUESTION))
    loaded.close()
    component.close()


def test_a_pipeline_with_a_server_is_saved_without_its_key(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys.json"
    key = add_key(keys, "website", role="read")
    monkeypatch.setenv("SPANWISE_TEST_KEY", key)
    with running(app_of({"reports": kb}, keys=read_ring(keys))) as url:
        pipeline = Pipeline()
        component = SpanwiseRetriever(
            url, name="reports", key=Secret.from_env_var("SPANWISE_TEST_KEY"), budget_tokens=300
        )
        pipeline.add_component("retriever", component)
        saved = pipeline.dumps()
        assert key not in saved
        loaded = Pipeline.loads(saved, allowed_modules=[MODULE])
        outputs = loaded.run({"retriever": {"query": QUESTION}})["retriever"]
        opened: Any = loaded.get_component("retriever")
        assert contents(asyncio.run(opened.run_async(QUESTION))) == contents(outputs)
        opened.close()
    assert contents(outputs) == contents(SpanwiseRetriever(kb, budget_tokens=300).run(QUESTION))


def test_it_runs_in_an_asynchronous_pipeline(kb: KnowledgeBase) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", SpanwiseRetriever(kb, budget_tokens=300))
    outputs = asyncio.run(pipeline.run_async({"retriever": {"query": QUESTION}}))
    expected = SpanwiseRetriever(kb, budget_tokens=300).run(QUESTION)
    assert contents(outputs["retriever"]) == contents(expected)


def test_a_knowledge_base_without_a_folder_cannot_be_saved() -> None:
    with KnowledgeBase(":memory:") as base, pytest.raises(OptionError, match="folder"):
        SpanwiseRetriever(base).to_dict()


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    component = SpanwiseRetriever(tmp_path / "missing.kb")
    with pytest.raises(FormatError):
        component.warm_up()
    assert not (tmp_path / "missing.kb").exists()


def test_invalid_arguments_are_refused_at_once(kb: KnowledgeBase) -> None:
    with pytest.raises(FilterError):
        SpanwiseRetriever(kb, where="year >=")
    with pytest.raises(OptionError, match="knowledge_base"):
        SpanwiseRetriever(7)  # type: ignore[arg-type]


def test_the_example_builds_a_prompt_from_the_reports(tmp_path: Path) -> None:
    prompt = load_example("haystack_pipeline").main(tmp_path)
    assert "Gross margin fell to 23.1 per cent" in prompt
