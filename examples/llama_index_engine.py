"""Use Spanwise in LlamaIndex: as retriever, as tool, and to join the nodes of another retriever.

It needs no API key: a mock model repeats its prompt. To use a real one, replace it, for example by
`OpenAI(model="gpt-5-mini")` of `llama-index-llms-openai`.

    pip install 'spanwise[llama-index]'
    python examples/llama_index_engine.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import BaseNode, Document, NodeWithScore, QueryBundle
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.tools import QueryEngineTool

from spanwise import KnowledgeBase
from spanwise.integrations.llama_index import SegmentPostprocessor, SpanwiseRetriever

REPORTS = Path(__file__).resolve().parent / "reports"
QUESTION = "Why did the gross margin fall in 2023?"


class WordRetriever(BaseRetriever):
    """Retriever of your own index; here it counts the words of the question in each node."""

    def __init__(self, nodes: list[BaseNode]) -> None:
        super().__init__()
        self._nodes = nodes

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        words = set(query_bundle.query_str.lower().split())
        scored = [
            NodeWithScore(node=node, score=len(words & set(node.get_content().lower().split())))
            for node in self._nodes
        ]
        return sorted(scored, key=lambda one: -(one.score or 0))[:20]


def show(title: str, nodes: list[NodeWithScore]) -> None:
    """Print the score, the length and the beginning of nodes."""
    print(f"\n{title}")
    for scored in nodes:
        text = " ".join(scored.node.get_content().split())
        print(f"  {scored.score or 0:.2f}  {len(text):4} characters  {text[:70]}")


def main(folder: Path) -> list[NodeWithScore]:
    """Print the nodes of both ways, and return the segments of the second one."""
    with KnowledgeBase(folder / "reports.kb") as kb:
        kb.add(REPORTS)
        retriever = SpanwiseRetriever(kb, budget_tokens=250)
        engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
        response = engine.query(QUESTION)
        show("Sources of the query engine:", response.source_nodes)

        tool = QueryEngineTool.from_defaults(
            engine, name="reports", description="Answers questions about the annual reports."
        )
        output = tool.call(QUESTION)  # as an agent calls it
        print(f"\nOutput of the tool {tool.metadata.name}: {len(output.content)} characters")

    documents = [
        Document(text=path.read_text(encoding="utf-8"), id_=path.name)
        for path in sorted(REPORTS.glob("*.md"))
    ]
    nodes = TokenTextSplitter(chunk_size=80, chunk_overlap=10).get_nodes_from_documents(documents)
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    found = WordRetriever(nodes).retrieve(QUESTION)
    show("Nodes of another retriever:", found[:5])
    joiner = SegmentPostprocessor(budget_tokens=250, docstore=docstore)
    segments = joiner.postprocess_nodes(found, query_str=QUESTION)
    show("Segments of these nodes:", segments)
    return segments


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ".demo"))
