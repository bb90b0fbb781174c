"""LlamaIndex: auto-merging and sentence-window retrieval.

    pip install llama-index-core

Defaults of the library: hierarchy of 2,048, 512 and 128 tokens with 20 tokens of overlap, a parent
in place of its children where more than half of them are found; windows of three sentences to
either side. Its notebooks retrieve a dozen leaves and two sentences, which does not fill a budget:
here it is a dozen leaves for each 1,000 tokens, and as many windows as a budget holds. Titles are
metadata, which LlamaIndex puts before the text that it embeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    SentenceWindowNodeParser,
    get_leaf_nodes,
)
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.retrievers import AutoMergingRetriever, VectorIndexRetriever
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from pydantic import PrivateAttr

from benchmarks.lib.datasets import Dataset, Query
from benchmarks.lib.peer_runs.places import Places
from benchmarks.lib.peer_runs.task import Range, Search, answer
from benchmarks.lib.peer_runs.vectors import ExactVectors, embed

_LEAVES_PER_1000_TOKENS = 12
_WINDOWS = 100
_WINDOW = "window"


class StaticEmbedding(BaseEmbedding):
    """Our static embedder with the interface of LlamaIndex."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return embed([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return embed([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)


class ExactStore(BasePydanticVectorStore):
    """Vector store with exact search over nodes; the nodes stay in the index."""

    stores_text: bool = False
    _vectors: ExactVectors = PrivateAttr(default_factory=ExactVectors)

    @property
    def client(self) -> ExactVectors:
        """Return the search object."""
        return self._vectors

    def add(self, nodes: Sequence[Any], **_: Any) -> list[str]:
        """Add embedded nodes."""
        ids = [node.node_id for node in nodes]
        vectors = [node.get_embedding() for node in nodes]
        self._vectors.add(ids, vectors, [node.metadata["document"] for node in nodes])
        return ids

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Raise an error: documents are never removed."""
        raise NotImplementedError(ref_doc_id)

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Return the nearest nodes."""
        found = self._vectors.nearest(query.query_embedding or [], query.similarity_top_k)
        return VectorStoreQueryResult(
            ids=[key for key, _ in found], similarities=[score for _, score in found]
        )


def _documents(dataset: Dataset) -> list[Any]:
    hidden = ["document"]  # which tells us where a node comes from, and the embedder nothing
    return [
        Document(
            text=document.text(),
            metadata={"document": document.id, "title": document.title},
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )
        for document in dataset.documents
    ]


def _node_ranges(dataset: Dataset, nodes: Sequence[Any]) -> dict[str, Range]:
    """Return the character ranges of nodes; nodes of one size are in text order."""
    places = {document.id: Places(document.text()) for document in dataset.documents}
    ranges: dict[str, Range] = {}
    last: dict[tuple[str, str], int] = {}
    for node in nodes:
        document = node.metadata["document"]
        parent = node.parent_node.node_id if node.parent_node else ""
        after = last.get((document, parent))
        if after is None:
            after = places[document].squeezed(ranges[parent][1]) if parent in ranges else 0
        found = places[document].find(node.text, after=after)
        if found is not None:
            ranges[node.node_id] = (document, *found)
            last[document, parent] = places[document].squeezed(found[0]) + 1
    return ranges


def auto_merging(dataset: Dataset) -> Search:
    """Add the documents as a hierarchy of nodes, and return a search over its leaves."""
    nodes = HierarchicalNodeParser.from_defaults().get_nodes_from_documents(_documents(dataset))
    ranges = _node_ranges(dataset, nodes)
    store = ExactStore()
    context = StorageContext.from_defaults(vector_store=store)
    context.docstore.add_documents(nodes)
    leaves = [node for node in get_leaf_nodes(nodes) if node.node_id in ranges]
    index = VectorStoreIndex(leaves, storage_context=context, embed_model=StaticEmbedding())

    def search(query: Query, budget: int) -> list[Range]:
        store.client.scope = query.scope
        leaves = VectorIndexRetriever(
            index, similarity_top_k=_LEAVES_PER_1000_TOKENS * budget // 1_000
        )
        found = AutoMergingRetriever(leaves, context, verbose=False).retrieve(query.text)
        return [ranges[one.node.node_id] for one in found if one.node.node_id in ranges]

    return search


def sentence_window(dataset: Dataset) -> Search:
    """Add the documents sentence by sentence, and return a search with sentence windows."""
    parser = SentenceWindowNodeParser.from_defaults(window_metadata_key=_WINDOW)
    nodes = parser.get_nodes_from_documents(_documents(dataset))
    sentences = _node_ranges(dataset, nodes)
    places = {document.id: Places(document.text()) for document in dataset.documents}
    store = ExactStore()
    index = VectorStoreIndex(
        [node for node in nodes if node.node_id in sentences],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=StaticEmbedding(),
    )
    replace = MetadataReplacementPostProcessor(target_metadata_key=_WINDOW)
    retriever = index.as_retriever(similarity_top_k=_WINDOWS)

    def search(query: Query, _: int) -> list[Range]:
        store.client.scope = query.scope
        ranges = []
        for one in replace.postprocess_nodes(retriever.retrieve(query.text)):
            document, start, _end = sentences[one.node.node_id]
            window = one.node.get_content()
            # A window begins at most its own length before its sentence.
            after = places[document].squeezed(start) - len("".join(window.split()))
            found = places[document].find(window, after=after)
            ranges += [(document, *found)] if found else []
        return ranges

    return search


if __name__ == "__main__":
    answer(
        {"LlamaIndex auto-merging": auto_merging, "LlamaIndex sentence window": sentence_window},
        package="llama-index-core",
    )
