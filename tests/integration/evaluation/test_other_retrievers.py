"""Retrievers of LangChain, LlamaIndex and Haystack, measured as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation import Dataset, Evidence, LabelledQuestion, adapt, evaluate
from spanwise.evaluation.dataset_ingest import texts
from spanwise.evaluation.retrieval import Retriever
from spanwise.evaluation.retrievers import Placer
from spanwise.evaluation.retrievers.baselines import PieceSize, pieces
from spanwise.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when haystack is first imported

_TEXTS = {
    "north.txt": "Freight by rail rose by a tenth. Nobody had planned for it.\n\nWages stayed.",
    "south.txt": "Rents near the harbour fell. The board was told in May.\n\nDiesel cost more.",
}
_QUESTION = "How much did freight by rail rise?"
_ANSWER = "Freight by rail rose by a tenth."


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", tokenizer="chars:4") as made:
        for document_id, text in _TEXTS.items():
            made.add_text(text, document_id=document_id)
        yield made


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    evidence = Evidence(document_id="north.txt", start=0, end=len(_ANSWER))
    question = LabelledQuestion(id="q1", text=_QUESTION, evidence=(evidence,))
    return Dataset(name="costs", questions=(question,))


def _parts() -> list[tuple[str, int, str]]:
    """Return the paragraphs, each with its document and where it begins."""
    return [
        (document_id, text.index(part), part)
        for document_id, text in _TEXTS.items()
        for part in text.split("\n\n")
    ]


def _langchain(*, offsets: bool) -> BaseRetriever:
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents(
        [
            Document(
                page_content=part,
                metadata={"source": f"/data/{name}", **({"start_index": at} if offsets else {})},
            )
            for name, at, part in _parts()
        ]
    )
    return store.as_retriever(search_kwargs={"k": 4})


def _llama_index() -> object:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import Document, NodeWithScore, QueryBundle

    splitter = SentenceSplitter(chunk_size=24, chunk_overlap=0, include_metadata=False)
    nodes = splitter.get_nodes_from_documents(
        [Document(text=text, id_=name) for name, text in _TEXTS.items()]
    )

    class Newest(BaseRetriever):
        """Returns all nodes, those with the most words of the question first."""

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            words = set(query_bundle.query_str.lower().split())
            scored = [
                NodeWithScore(node=node, score=len(words & set(node.get_content().lower().split())))
                for node in nodes
            ]
            return sorted(scored, key=lambda one: -(one.score or 0))

    return Newest()


def _haystack_store() -> Any:
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents(
        [Document(content=part, meta={"file_path": name}) for name, _, part in _parts()]
    )
    return store


def _haystack_component() -> Any:
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

    return InMemoryBM25Retriever(document_store=_haystack_store())


def _haystack_pipeline() -> object:
    from haystack import Pipeline
    from haystack.components.joiners import DocumentJoiner

    pipeline = Pipeline()
    pipeline.add_component("bm25", _haystack_component())
    pipeline.add_component("joined", DocumentJoiner())
    pipeline.connect("bm25", "joined")
    return pipeline


def _own() -> dict[str, object]:
    return {
        "langchain": _langchain(offsets=False),
        "langchain with offsets": _langchain(offsets=True),
        "llama-index": _llama_index(),
        "haystack": _haystack_component(),
        "haystack pipeline": _haystack_pipeline(),
    }


def test_retrievers_of_frameworks_are_measured_in_one_run(
    base: KnowledgeBase, dataset: Dataset
) -> None:
    """Each finds the evidence, placed by characters, beside a method of ours."""
    retrievers = [adapt(given, name) for name, given in _own().items()]
    found = evaluate(
        dataset, base, retrievers=[*retrievers, "exact+headers"], budgets=[1_000], tokenizer=None
    )
    assert [one.retriever for one in found.scores] == [*_own(), "exact+headers"]
    for one in found.scores:
        assert one.metrics["recall"] == 1.0, one.retriever
        assert one.warnings == () or one.retriever == "exact+headers"
        assert all(item.start is not None for item in one.found)


def test_what_frameworks_return_is_placed_where_it_stands(base: KnowledgeBase) -> None:
    """The text at each place is the text that was returned, white space around it aside."""
    placer = Placer(texts(base))
    for name, given in _own().items():
        retriever: Retriever = adapt(given, name)
        raw = retriever.retrieve(_QUESTION, budget_tokens=100, documents=None)
        placed = placer.place(raw, documents=None)
        assert raw.found
        for before, after in zip(raw.found, placed.found, strict=True):
            text = _TEXTS[after.document_id][after.start : after.end]
            assert text.strip() == (before.text or "").strip(), name


def test_small_pieces_are_those_of_langchain() -> None:
    """The baseline embeds what LangChain's guide embeds: as many pieces, at the same places."""
    splitters = pytest.importorskip("langchain_text_splitters")
    text = "\n\n".join(
        f"{number}. " + "Freight by rail rose by a tenth and nobody had planned for it. " * number
        for number in range(1, 12)
    )
    made = splitters.RecursiveCharacterTextSplitter(chunk_size=400, add_start_index=True)
    expected = [one.page_content for one in made.create_documents([text])]
    size = PieceSize(max_chars=400, overlap_chars=200)
    found = [text[start:end] for start, end in pieces(text, start=0, end=len(text), size=size)]
    assert [one.strip() for one in found] == expected


def test_a_retriever_is_called_by_its_class_where_it_has_no_name() -> None:
    """The table shows what was measured."""
    assert adapt(_langchain(offsets=False)).name == "VectorStoreRetriever"
    assert adapt(_haystack_component()).name == "InMemoryBM25Retriever"


def test_a_component_without_a_query_is_refused() -> None:
    """A retriever by embedding alone needs what makes the embedding."""
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever

    component = InMemoryEmbeddingRetriever(document_store=_haystack_store())
    with pytest.raises(OptionError, match="has no input 'query'; connect it in a pipeline"):
        adapt(component)


def test_a_pipeline_without_question_or_documents_is_refused() -> None:
    """A pipeline that retrieves nothing cannot be measured."""
    from haystack import Pipeline
    from haystack.components.builders import PromptBuilder

    writing = Pipeline()
    writing.add_component("prompt", PromptBuilder("Say {{question}}"))
    retriever = adapt(writing)
    with pytest.raises(OptionError, match="outputs no documents"):
        retriever.retrieve("why?", budget_tokens=1, documents=None)
    with pytest.raises(OptionError, match="an input named query, question, text"):
        adapt(Pipeline(), "empty").retrieve("why?", budget_tokens=1, documents=None)
