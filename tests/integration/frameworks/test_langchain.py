"""The retriever and the tools for LangChain, used through LangChain."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError
from tests.documents import build_pdf
from tests.examples import EXAMPLES, load_example
from tests.servers.running import running

from spanwise import (
    AsyncKnowledgeBase,
    KnowledgeBase,
    RemoteKnowledgeBase,
    SearchOptions,
    SearchResult,
    connect,
)
from spanwise.errors import FilterError, OptionError
from spanwise.integrations.langchain import SpanwiseRetriever, spanwise_tools
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.server.app import app_of

REPORTS = EXAMPLES / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
METADATA: dict[str, Any] = {"company": "Harrow", "tags": ["paper", "annual"], "page": 9}


@pytest.fixture(scope="module")
def kb() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as base:
        base.add(REPORTS, metadata=METADATA)
        yield base


@pytest.fixture(scope="module")
def remote(kb: KnowledgeBase) -> Iterator[RemoteKnowledgeBase]:
    with running(app_of({"reports": kb})) as url, connect(url) as base:
        yield base


@pytest.fixture
def retriever(kb: KnowledgeBase) -> SpanwiseRetriever:
    return SpanwiseRetriever(knowledge_base=kb, budget_tokens=300)


def searched(kb: KnowledgeBase, **arguments: Any) -> SearchResult:
    return kb.search(QUESTION, **{"budget_tokens": 300, "headers": False, **arguments})


def test_documents_are_the_segments_of_the_search(
    kb: KnowledgeBase, retriever: SpanwiseRetriever
) -> None:
    expected = searched(kb).segments
    found = retriever.invoke(QUESTION)
    assert isinstance(retriever, BaseRetriever)
    assert [one.page_content for one in found] == [segment.text for segment in expected]
    first, segment = found[0], expected[0]
    assert first.metadata["document_id"] == segment.document_id
    assert first.metadata["title"] == segment.citation.title
    assert (first.metadata["start"], first.metadata["end"]) == (segment.start, segment.end)
    assert first.metadata["relevance"] == segment.relevance
    assert first.id == first.metadata["id"]
    text = kb.get(segment.document_id).text
    assert text[segment.start : segment.end] == first.page_content
    assert json.loads(json.dumps(first.metadata)) == first.metadata


def test_metadata_has_the_names_of_langchain_and_the_fields_of_the_document(
    kb: KnowledgeBase, retriever: SpanwiseRetriever, tmp_path: Path
) -> None:
    first, segment = retriever.invoke(QUESTION)[0].metadata, searched(kb).segments[0]
    assert first["source"] == segment.citation.source
    assert first["start_index"] == segment.start
    assert first["relevance_score"] == segment.relevance
    assert first["section_path"] == list(segment.citation.section_path)
    assert (first["company"], first["tags"]) == ("Harrow", ["paper", "annual"])
    assert (first["page"], first["metadata.page"]) == (None, 9)  # the name of LangChain wins
    (tmp_path / "scan.pdf").write_bytes(build_pdf(["The first page.", "Ansel mended the roof."]))
    with KnowledgeBase(":memory:") as notes:
        notes.add(tmp_path / "scan.pdf")
        (found,) = SpanwiseRetriever(knowledge_base=notes, k=1).invoke("Who mended the roof?")
    pages = found.metadata["pages"]
    assert (found.metadata["page"], found.metadata["page_label"]) == (pages[0] - 1, str(pages[0]))


def test_a_text_without_a_path_is_its_own_source() -> None:
    with KnowledgeBase(":memory:") as notes:
        notes.add_text("Ansel mended the roof in May.", document_id="note")
        (found,) = SpanwiseRetriever(knowledge_base=notes).invoke("Who mended the roof?")
    assert found.metadata["source"] == "note"


def test_k_keeps_the_most_relevant_segments_in_reading_order(kb: KnowledgeBase) -> None:
    question = "Who is the managing director?"
    every = SpanwiseRetriever(knowledge_base=kb).invoke(question)
    assert len(every) > 2
    expected = [one for one in every if one.metadata["rank"] < 2]
    assert SpanwiseRetriever(knowledge_base=kb, k=2).invoke(question) == expected
    assert asyncio.run(SpanwiseRetriever(knowledge_base=kb).ainvoke(question, k=2)) == expected
    with pytest.raises(OptionError, match="k is 0"):
        SpanwiseRetriever(knowledge_base=kb).invoke(QUESTION, k=0)


def test_a_knowledge_base_of_a_server_gives_the_same(
    kb: KnowledgeBase, remote: RemoteKnowledgeBase
) -> None:
    retriever = SpanwiseRetriever(knowledge_base=remote, budget_tokens=300)
    expected = SpanwiseRetriever(knowledge_base=kb, budget_tokens=300).invoke(QUESTION)
    found = asyncio.run(retriever.ainvoke(QUESTION))
    assert found == retriever.invoke(QUESTION)
    assert [one.page_content for one in found] == [one.page_content for one in expected]
    assert found[0].metadata["company"] == "Harrow"
    tools = {tool.name: tool for tool in spanwise_tools(remote)}
    local = {tool.name: tool for tool in spanwise_tools(kb)}
    report = {"document_id": "annual-report-2023.md"}
    for name, arguments in (("search", {"question": QUESTION}), ("outline", report)):
        assert tools[name].invoke(arguments) == local[name].invoke(arguments)
    assert "annual-report-2022.md" in asyncio.run(tools["list_documents"].ainvoke({}))
    none = tools["list_documents"].invoke({"where": 'company = "Nobody"'})
    assert "no document passes" in none


def test_an_asynchronous_search_does_not_block_the_event_loop() -> None:
    async def ticks_of(search: Any) -> int:
        ticks, task = 0, asyncio.ensure_future(search)
        while not task.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    class SlowBase:
        def search(self, question: str, **_: Any) -> SearchResult:
            time.sleep(0.2)
            return KnowledgeBase(":memory:").search(question)

    retriever = SpanwiseRetriever(knowledge_base=SlowBase())
    assert asyncio.run(ticks_of(retriever.ainvoke("Who?"))) > 3


def test_all_ways_to_call_it_return_the_same(retriever: SpanwiseRetriever) -> None:
    expected = retriever.invoke(QUESTION)
    assert asyncio.run(retriever.ainvoke(QUESTION)) == expected
    assert retriever.batch([QUESTION, QUESTION]) == [expected, expected]
    assert asyncio.run(retriever.abatch([QUESTION])) == [expected]
    assert list(retriever.stream(QUESTION)) == [expected]


def test_arguments_of_a_call_replace_those_of_the_retriever(
    kb: KnowledgeBase, retriever: SpanwiseRetriever
) -> None:
    expected = [one.text for one in searched(kb, budget_tokens=60).segments]
    calls = (
        retriever.invoke(QUESTION, budget_tokens=60),
        asyncio.run(retriever.ainvoke(QUESTION, budget_tokens=60)),
        retriever.bind(budget_tokens=60).invoke(QUESTION),
        retriever.configurable_fields(budget_tokens=ConfigurableField(id="budget"))
        .with_config(configurable={"budget": 60})
        .invoke(QUESTION),
    )
    assert [[one.page_content for one in call] for call in calls] == [expected] * len(calls)


def test_every_argument_of_search_is_accepted(kb: KnowledgeBase) -> None:
    retriever = SpanwiseRetriever(
        knowledge_base=kb,
        documents=["annual-report-2022.md"],
        preset="precise",
        headers=True,
        search_arguments={"deep": False},
    )
    result = kb.search(QUESTION, documents=["annual-report-2022.md"], preset="precise", deep=False)
    expected = [f"{segment.header}\n\n{segment.text}" for segment in result.segments]
    assert [one.page_content for one in retriever.invoke(QUESTION)] == expected


def test_options_given_whole_have_their_own_headers(kb: KnowledgeBase) -> None:
    options = SearchOptions(budget_tokens=300)
    found = SpanwiseRetriever(knowledge_base=kb, search_arguments={"options": options})
    expected = kb.search(QUESTION, options=options).segments
    texts = [f"{segment.header}\n\n{segment.text}" for segment in expected]
    assert [one.page_content for one in found.invoke(QUESTION)] == texts


@pytest.mark.parametrize("arguments", [{"budget": 5}, {"search_kwargs": {"k": 1}}])
def test_unknown_arguments_are_refused(kb: KnowledgeBase, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(arguments))):
        SpanwiseRetriever(knowledge_base=kb, **arguments)


def test_a_wrong_filter_is_an_error_of_the_library(retriever: SpanwiseRetriever) -> None:
    with pytest.raises(FilterError):
        retriever.invoke(QUESTION, where="year >=")


def test_an_asynchronous_knowledge_base_needs_asynchronous_calls() -> None:
    async def both() -> None:
        async with AsyncKnowledgeBase(KnowledgeBase(":memory:")) as base:
            await base.add_text("Margins fell because freight cost more.", document_id="note")
            retriever = SpanwiseRetriever(knowledge_base=base)
            (found,) = await retriever.ainvoke("Why did margins fall?")
            assert found.metadata["document_id"] == "note"
            with pytest.raises(OptionError, match="asynchronous"):
                retriever.invoke("Why did margins fall?")

    asyncio.run(both())


def test_several_knowledge_bases_are_searched_as_one(kb: KnowledgeBase) -> None:
    with KnowledgeBase(":memory:") as notes:
        notes.add_text("The roof was repaired by Ansel Brothers in May.", document_id="note")
        retriever = SpanwiseRetriever(knowledge_base=[kb, notes])
        found = retriever.invoke("Who repaired the roof?")
    assert found[0].metadata["document_id"] == "note"
    assert found[0].metadata["knowledge_base"]


@pytest.mark.parametrize("given", [None, "reports.kb", 7, []])
def test_what_cannot_be_searched_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="give an open KnowledgeBase"):
        SpanwiseRetriever(knowledge_base=given)


def test_warnings_of_a_search_are_logged(
    kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    SpanwiseRetriever(knowledge_base=kb, where='title = "Nobody"').invoke(QUESTION)
    assert "Nobody" in caplog.text


def test_a_chain_and_its_callbacks_see_the_documents(retriever: SpanwiseRetriever) -> None:
    seen: list[Any] = []

    class Recorder(BaseCallbackHandler):
        def on_retriever_end(self, documents: Any, **_: Any) -> None:
            seen.extend(documents)

    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    model = FakeListChatModel(responses=["Gas cost more."])
    chain = (
        {"context": retriever, "question": RunnablePassthrough()}
        | prompt
        | model
        | StrOutputParser()
    )
    config: Any = {"callbacks": [Recorder()]}
    assert chain.invoke(QUESTION, config=config) == "Gas cost more."
    assert seen == retriever.invoke(QUESTION)
    assert "".join(chain.stream(QUESTION)) == "Gas cost more."


def test_tools_search_and_read_documents(kb: KnowledgeBase) -> None:
    tools = {tool.name: tool for tool in spanwise_tools(kb)}
    assert set(tools) == {"search", "list_documents", "outline", "read"}
    report = "annual-report-2023.md"
    assert "Gross margin fell to 23.1 per cent" in tools["search"].invoke({"question": QUESTION})
    assert report in tools["list_documents"].invoke({})
    assert "[3] Gross margin" in tools["outline"].invoke({"document_id": report})
    read = asyncio.run(tools["read"].ainvoke({"document_id": report, "section": 3}))
    assert "Gross margin fell to 23.1 per cent" in read


@pytest.mark.parametrize("given", [None, "reports.kb", ["reports"], KnowledgeBase, {"a": None}, {}])
def test_tools_need_an_open_knowledge_base(given: Any) -> None:
    with pytest.raises(OptionError, match=r"knowledge.base"):
        spanwise_tools(given)


def test_tools_do_not_accept_an_asynchronous_knowledge_base() -> None:
    async def make_tools() -> None:
        async with AsyncKnowledgeBase(KnowledgeBase(":memory:")) as base:
            with pytest.raises(OptionError, match="AsyncKnowledgeBase"):
                spanwise_tools(base)  # type: ignore[arg-type]

    asyncio.run(make_tools())


def test_outputs_of_tools_keep_the_token_budget(kb: KnowledgeBase) -> None:
    short = {tool.name: tool for tool in spanwise_tools(kb, token_budget=120)}
    encoded = make_tokenizer("o200k_base")
    for name, arguments in (
        ("search", {"question": QUESTION}),
        ("read", {"document_id": "annual-report-2023.md"}),
    ):
        assert encoded.count([short[name].invoke(arguments)])[0] <= 120
        longer = short[name].invoke({**arguments, "token_budget": 400})
        assert 120 < encoded.count([longer])[0] <= 400
    with pytest.raises(OptionError, match="token_budget"):
        spanwise_tools(kb, token_budget=1)


def test_an_agent_sees_errors_and_descriptions_of_the_tools(kb: KnowledgeBase) -> None:
    tools = {tool.name: tool for tool in spanwise_tools({"reports": kb})}
    assert "list_documents" in tools["read"].invoke({"document_id": "unknown"})
    wrong = {"question": "margin", "documents": "handbook.md", "token_budget": "many"}
    assert tools["search"].invoke(wrong) == (
        "documents is 'handbook.md'; it must be a list; "
        "token_budget is 'many'; it must be a whole number"
    )
    assert tools["search"].invoke({}) == "question is missing"
    for tool in tools.values():
        function = convert_to_openai_tool(tool)["function"]
        assert function["description"]
        properties = function["parameters"]["properties"].values()
        assert all(one["description"] for one in properties)
    required = convert_to_openai_tool(tools["search"])["function"]["parameters"]["required"]
    assert required == ["question"]


def test_the_example_answers_from_the_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = load_example("langchain_chain")
    assert example.main(tmp_path)
    assert "Gross margin fell to 23.1 per cent" in capsys.readouterr().out
