"""The retriever and the node postprocessor for LlamaIndex, used through LlamaIndex."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import (
    Document,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from pydantic import ValidationError
from tests.examples import EXAMPLES, load_example
from tests.servers.running import running

from spanwise import AsyncKnowledgeBase, KnowledgeBase, SearchOptions, connect
from spanwise.errors import OptionError
from spanwise.integrations.llama_index import SegmentPostprocessor, SpanwiseRetriever
from spanwise.server.app import app_of

REPORTS = EXAMPLES / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
PARTS = [f"Part {number} of the report about freight." for number in range(10)]


@pytest.fixture(scope="module")
def kb() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as base:
        base.add(REPORTS, metadata={"company": "Harrow", "tags": ["paper", "annual"]})
        yield base


def contents(nodes: list[NodeWithScore]) -> list[str]:
    return [scored.node.get_content(MetadataMode.NONE) for scored in nodes]


def scored(nodes: list[Any], scores: dict[int, float | None]) -> list[NodeWithScore]:
    return [NodeWithScore(node=nodes[at], score=score) for at, score in scores.items()]


def linked_nodes(*, offsets: bool = True) -> list[TextNode]:
    """Return the parts of one document as nodes with links, as a splitter makes them."""
    nodes = [
        TextNode(id_=f"n{at}", text=text, metadata={"at": at, "name": "report"})
        for at, text in enumerate(PARTS)
    ]
    for at, node in enumerate(nodes):
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="report")
        if at:
            node.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=f"n{at - 1}")
        if at + 1 < len(nodes):
            node.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=f"n{at + 1}")
        if offsets:
            node.start_char_idx, node.end_char_idx = at * 40, at * 40 + 39
    return nodes


def test_nodes_are_the_segments_of_the_search(kb: KnowledgeBase) -> None:
    result = kb.search(QUESTION, budget_tokens=300, headers=False)
    found = SpanwiseRetriever(kb, budget_tokens=300).retrieve(QUESTION)
    assert contents(found) == [segment.text for segment in result.segments]
    assert [one.score for one in found] == [segment.relevance for segment in result.segments]
    node, segment = found[0].node, result.segments[0]
    assert isinstance(node, TextNode)
    assert node.ref_doc_id == segment.document_id
    assert (node.start_char_idx, node.end_char_idx) == (segment.start, segment.end)
    shown = node.get_content(MetadataMode.LLM)
    assert shown.partition("\n")[0] == f"citation: {segment.citation}"
    assert "company: " not in shown
    fields = node.metadata
    assert (fields["company"], fields["tags"]) == ("Harrow", ["paper", "annual"])
    assert fields["file_path"] == segment.citation.source
    assert fields["file_name"] == segment.document_id
    assert json.loads(json.dumps(fields)) == fields
    assert node.get_content(MetadataMode.EMBED) == segment.text


def test_a_knowledge_base_of_a_server_gives_the_same(kb: KnowledgeBase) -> None:
    expected = contents(SpanwiseRetriever(kb, budget_tokens=300).retrieve(QUESTION))
    with running(app_of({"reports": kb})) as url, connect(url) as remote:
        retriever = SpanwiseRetriever(remote, budget_tokens=300)
        assert contents(retriever.retrieve(QUESTION)) == expected
        assert contents(asyncio.run(retriever.aretrieve(QUESTION))) == expected


def test_options_given_whole_have_their_own_headers(kb: KnowledgeBase) -> None:
    options = SearchOptions(budget_tokens=300)
    found = SpanwiseRetriever(kb, search_arguments={"options": options}).retrieve(QUESTION)
    expected = kb.search(QUESTION, options=options).segments
    assert contents(found) == [f"{segment.header}\n\n{segment.text}" for segment in expected]


def test_unknown_arguments_of_the_postprocessor_are_refused() -> None:
    with pytest.raises(ValidationError, match="budget"):
        SegmentPostprocessor(budget=5)  # type: ignore[call-arg]


def test_it_retrieves_asynchronously_too(kb: KnowledgeBase) -> None:
    retriever = SpanwiseRetriever(kb, budget_tokens=300, search_arguments={"deep": False})
    found = asyncio.run(retriever.aretrieve(QUESTION))
    assert contents(found) == contents(retriever.retrieve(QUESTION))


def test_an_asynchronous_knowledge_base_needs_asynchronous_calls() -> None:
    async def both() -> None:
        async with AsyncKnowledgeBase(KnowledgeBase(":memory:")) as base:
            await base.add_text("Margins fell because freight cost more.", document_id="note")
            retriever = SpanwiseRetriever(base)
            assert len(await retriever.aretrieve("Why did margins fall?")) == 1
            with pytest.raises(OptionError, match="asynchronous"):
                retriever.retrieve("Why did margins fall?")

    asyncio.run(both())


def test_a_query_engine_gives_the_segments_to_its_model(kb: KnowledgeBase) -> None:
    retriever = SpanwiseRetriever(kb, budget_tokens=300)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    response = engine.query(QUESTION)
    assert contents(response.source_nodes) == contents(retriever.retrieve(QUESTION))
    assert "Gross margin fell to 23.1 per cent" in str(response)  # the mock repeats its prompt


@pytest.mark.parametrize("offsets", [True, False])
def test_consecutive_nodes_become_one(offsets: bool) -> None:
    nodes = linked_nodes(offsets=offsets)
    (found,) = SegmentPostprocessor().postprocess_nodes(scored(nodes, {4: 0.7, 3: 0.9, 5: 0.8}))
    assert contents([found]) == ["\n\n".join(PARTS[3:6])]
    assert found.score == 0.9
    assert found.node.ref_doc_id == "report"
    assert found.node.metadata == {"name": "report"}
    previous, following = found.node.prev_node, found.node.next_node
    assert previous is not None
    assert following is not None
    assert (previous.node_id, following.node_id) == ("n2", "n6")
    if offsets:
        assert isinstance(found.node, TextNode)
        assert (found.node.start_char_idx, found.node.end_char_idx) == (120, 239)


def test_nodes_with_unknown_text_between_them_are_not_joined() -> None:
    found = SegmentPostprocessor().postprocess_nodes(scored(linked_nodes(), {2: 0.9, 4: 0.8}))
    assert contents(found) == [PARTS[2], PARTS[4]]


def test_the_docstore_fills_the_gap() -> None:
    nodes, store = linked_nodes(), SimpleDocumentStore()
    store.add_documents(nodes)
    joiner = SegmentPostprocessor(docstore=store)
    (found,) = joiner.postprocess_nodes(scored(nodes, {2: 0.9, 4: 0.8}))
    assert "\n\n".join(PARTS[2:5]) in contents([found])[0]


def test_without_scores_the_order_of_the_nodes_counts() -> None:
    found = SegmentPostprocessor(budget_tokens=12).postprocess_nodes(
        scored(linked_nodes(), {6: None, 1: None})
    )
    assert contents(found) == [PARTS[6]]


def test_nodes_without_document_links_or_offsets_stay_separate() -> None:
    nodes = [TextNode(id_=f"n{at}", text=text) for at, text in enumerate(PARTS)]
    found = SegmentPostprocessor().postprocess_nodes(scored(nodes, {3: 0.9, 4: 0.8}))
    assert contents(found) == [PARTS[3], PARTS[4]]
    assert [one.node.node_id for one in found] == ["n3", "n4"]


def test_overlaps_of_a_splitter_occur_once() -> None:
    text = (REPORTS / "annual-report-2023.md").read_text(encoding="utf-8")
    nodes = TokenTextSplitter(chunk_size=60, chunk_overlap=15).get_nodes_from_documents(
        [Document(text=text, id_="report")]
    )
    given = [NodeWithScore(node=node, score=0.5) for node in nodes]
    (found,) = SegmentPostprocessor(preset="comprehensive").postprocess_nodes(given)
    joined = " ".join(contents([found])[0].split())
    assert joined.count("Gross margin fell to 23.1 per cent") == 1


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.integers(0, 9), st.none() | st.floats(-2, 2)), st.integers(12, 200))
def test_segments_keep_the_budget_and_consist_of_the_nodes(
    scores: dict[int, float | None], budget: int
) -> None:
    joiner = SegmentPostprocessor(budget_tokens=budget, tokenizer="chars:4")
    found = joiner.postprocess_nodes(scored(linked_nodes(), scores))
    parts = [part for text in contents(found) for part in text.split("\n\n")]
    assert len(parts) == len(set(parts))
    assert set(parts) <= {PARTS[at] for at in scores}
    assert sum(-(-len(part) // 4) for part in parts) <= budget


def test_no_nodes_give_no_segments() -> None:
    assert SegmentPostprocessor().postprocess_nodes([]) == []


def test_the_postprocessor_works_in_a_query_engine_and_as_data(kb: KnowledgeBase) -> None:
    joiner = SegmentPostprocessor(budget_tokens=2_000)
    engine = RetrieverQueryEngine.from_args(
        SpanwiseRetriever(kb), llm=MockLLM(), node_postprocessors=[joiner]
    )
    assert asyncio.run(engine.aquery(QUESTION)).source_nodes
    restored = SegmentPostprocessor.from_dict(joiner.to_dict())
    assert restored.budget_tokens == 2_000


def test_the_example_joins_the_nodes_of_another_retriever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segments = load_example("llama_index_engine").main(tmp_path)
    assert any("The gas contract of the Harrow mill" in text for text in contents(segments))
    assert "Output of the tool reports" in capsys.readouterr().out
