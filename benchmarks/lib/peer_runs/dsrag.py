"""dsRAG: its chunks, its headers and its segments, with our embedder and its NoReranker.

    pip install dsrag==0.5.6

No language model: semantic sectioning, generated titles and summaries are off, and chunks have the
document's title in their header. Chunks of 800 characters (texts below 2,000 whole), the preset
"balanced", as documented. dsRAG advises to ignore absolute relevance where an embedder's
similarities mean little, so both are run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from dsrag.database.vector.db import VectorDB
from dsrag.embedding import Embedding
from dsrag.knowledge_base import KnowledgeBase
from dsrag.llm import LLM
from dsrag.reranker import NoReranker

from benchmarks.lib.datasets import Dataset, Query
from benchmarks.lib.peer_runs.places import Places
from benchmarks.lib.peer_runs.task import Build, Range, Search, answer
from benchmarks.lib.peer_runs.vectors import DIMENSION, ExactVectors, embed


class StaticEmbedding(Embedding):
    """Our static embedder with the interface of dsRAG."""

    def __init__(self) -> None:
        super().__init__(DIMENSION)

    def get_embeddings(self, text: list[str], input_type: str | None = None) -> list[list[float]]:
        """Return one vector per text; documents and queries are embedded in the same way."""
        del input_type
        return embed(text)


class NoModel(LLM):
    """Language model that must not be called."""

    def make_llm_call(self, chat_messages: list[dict[str, Any]]) -> str:
        """Raise an error."""
        raise NotImplementedError(chat_messages)


class ExactStore(VectorDB):
    """Vector store with exact search over chunks."""

    def __init__(self) -> None:
        self.vectors = ExactVectors()
        self._kept: dict[str, dict[str, Any]] = {}

    def add_vectors(self, vectors: Sequence[Any], metadata: Sequence[dict[str, Any]]) -> None:
        """Add embedded chunks."""
        keys = [str(len(self._kept) + at) for at in range(len(vectors))]
        self.vectors.add(keys, vectors, [one["doc_id"] for one in metadata])
        self._kept.update(zip(keys, metadata, strict=True))

    def search(
        self, query_vector: Any, top_k: int = 10, metadata_filter: Any = None
    ) -> list[dict[str, Any]]:
        """Return the nearest chunks, best first."""
        del metadata_filter
        return [
            {"doc_id": None, "vector": None, "metadata": self._kept[key], "similarity": cosine}
            for key, cosine in self.vectors.nearest(query_vector, top_k)
        ]

    def remove_document(self, doc_id: str) -> None:
        """Raise an error: documents are never removed."""
        raise NotImplementedError(doc_id)

    def delete(self) -> None:
        """Do nothing: all data is in memory."""


def pipeline(*, ignore_absolute_relevance: bool) -> Build:
    """Return a function that adds documents, with one of both interpretations of similarities."""

    def build(dataset: Dataset) -> Search:
        store = ExactStore()
        base = KnowledgeBase(
            "peer",
            storage_directory=tempfile.mkdtemp(),
            embedding_model=StaticEmbedding(),
            reranker=NoReranker(ignore_absolute_relevance=ignore_absolute_relevance),
            auto_context_model=NoModel(),
            vector_db=store,
            save_metadata_to_disk=False,
        )
        base._save = lambda: None
        names = {document.id: f"d{at}" for at, document in enumerate(dataset.documents)}
        chunks: dict[str, list[Range]] = {}
        for document in dataset.documents:
            name, text = names[document.id], document.text()
            base.add_document(
                name,  # an id of dsRAG holds no slash
                text=text,
                document_title=document.title,
                auto_context_config={"use_generated_title": False, "get_document_summary": False},
                semantic_sectioning_config={"use_semantic_sectioning": False},
                chunking_config={"chunk_size": 800, "min_length_for_chunking": 2_000},
            )
            chunks[name] = _chunk_ranges(base, name, document.id, text)

        def search(query: Query, _: int) -> list[Range]:
            store.vectors.scope = query.scope and tuple(names[one] for one in query.scope)
            found = []
            for segment in base.query([query.text]):
                inside = chunks[segment["doc_id"]][segment["chunk_start"] : segment["chunk_end"]]
                found.append((inside[0][0], inside[0][1], inside[-1][2]))
            return found

        return search

    return build


def _chunk_ranges(base: Any, name: str, document_id: str, text: str) -> list[Range]:
    """Return the character range of each chunk of a document, in order."""
    places = Places(text)
    ranges: list[Range] = []
    after = at = 0
    while (chunk := base.chunk_db.get_chunk_text(name, at)) is not None:
        found = places.find(chunk, after=after) or ((ranges[-1][2],) * 2 if ranges else (0, 0))
        ranges.append((document_id, *found))
        after = places.squeezed(found[1])
        at += 1
    return ranges


if __name__ == "__main__":
    answer(
        {
            "dsRAG": pipeline(ignore_absolute_relevance=False),
            "dsRAG, absolute relevance ignored": pipeline(ignore_absolute_relevance=True),
        },
        package="dsrag",
    )
