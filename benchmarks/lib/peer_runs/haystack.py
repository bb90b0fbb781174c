"""Haystack: hybrid retrieval.

    pip install haystack-ai

The pipeline of its documentation: BM25 and vectors, joined by reciprocal rank fusion. Splits of 200
words, the default. The title is embedded with each split (`meta_fields_to_embed`), but BM25 does
not read it. 30 splits are asked for, where the default of 10 does not fill 4,000 tokens.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from benchmarks.lib.datasets import Dataset, Query
from benchmarks.lib.peer_runs.task import Range, Search, answer
from benchmarks.lib.peer_runs.vectors import embed

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Document
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore

_SPLITS = 30


def hybrid(dataset: Dataset) -> Search:
    """Add the documents as splits, and return the search."""
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    documents = [
        Document(content=one.text(), meta={"document": one.id, "title": one.title})
        for one in dataset.documents
    ]
    splits = DocumentSplitter().run(documents=documents)["documents"]
    vectors = embed([f"{one.meta['title']}\n{one.content}" for one in splits])
    embedded = zip(splits, vectors, strict=True)
    store.write_documents([replace(split, embedding=vector) for split, vector in embedded])
    words = InMemoryBM25Retriever(store, top_k=_SPLITS)
    near = InMemoryEmbeddingRetriever(store, top_k=_SPLITS)
    join = DocumentJoiner(join_mode="reciprocal_rank_fusion")

    def search(query: Query, _: int) -> list[Range]:
        scope: Any = None
        if query.scope:
            scope = {"field": "meta.document", "operator": "in", "value": list(query.scope)}
        found = join.run(
            [
                words.run(query=query.text, filters=scope)["documents"],
                near.run(query_embedding=embed([query.text])[0], filters=scope)["documents"],
            ]
        )["documents"]
        return [_range(one) for one in found]

    return search


def _range(split: Any) -> Range:
    start = split.meta["split_idx_start"]
    return split.meta["document"], start, start + len(split.content)


if __name__ == "__main__":
    answer({"Haystack, hybrid": hybrid}, package="haystack-ai")
