"""LangChain's own standard tests of retrievers and tools, with a real knowledge base.

The plugin of anyio runs the asynchronous tests, with asyncio only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from tests.examples import EXAMPLES

from spanwise import KnowledgeBase
from spanwise.integrations.langchain import SpanwiseRetriever, spanwise_tools

QUESTION = "Who is the managing director?"
CALLS: dict[str, dict[str, Any]] = {
    "search": {"question": QUESTION, "token_budget": 500},
    "list_documents": {},
    "outline": {"document_id": "annual-report-2023.md"},
    "read": {"document_id": "annual-report-2023.md", "section": 3},
}
"""Arguments of an example call of each tool."""

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def reports() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as base:
        base.add(EXAMPLES / "reports")
        yield base


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _use(self, reports: KnowledgeBase) -> None:
        self.kb = reports

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return SpanwiseRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"knowledge_base": self.kb, "budget_tokens": 2_000}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


class _EachTool:
    @pytest.fixture(autouse=True, params=list(CALLS))
    def _use(self, request: pytest.FixtureRequest, reports: KnowledgeBase) -> None:
        self.name = request.param
        self.tools = {tool.name: tool for tool in spanwise_tools(reports)}

    @property
    def tool_constructor(self) -> BaseTool:
        return self.tools[self.name]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return CALLS[self.name]


class TestTools(_EachTool, ToolsIntegrationTests):
    """Tools, called by a model and by a program."""


class TestToolSchemas(_EachTool, ToolsUnitTests):
    """Names and arguments of the tools."""


def test_the_standard_tests_cover_every_tool(reports: KnowledgeBase) -> None:
    assert {tool.name for tool in spanwise_tools(reports)} == set(CALLS)
