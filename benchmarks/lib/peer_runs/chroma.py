"""Chroma: the nearest chunks.

    pip install chromadb

Chroma stores chunks that the caller cuts. They are those that its chunking study recommends without
a model: recursive, 200 tokens, no overlap. The title goes before each, as all others have it. The
index is the default one (HNSW) with cosines.
"""

from __future__ import annotations

from typing import Any

import chromadb

from benchmarks.lib.chroma_chunks import recursive
from benchmarks.lib.datasets import Dataset, Query
from benchmarks.lib.peer_runs.task import Range, Search, answer
from benchmarks.lib.peer_runs.vectors import embed

_TOKENS = 200
_CHUNKS = 60  # fill 4,000 tokens also if most are short
_BATCH = 2_000


def nearest_chunks(dataset: Dataset) -> Search:
    """Add the documents as chunks, and return the search."""
    client = chromadb.EphemeralClient()
    name = f"chunks-{dataset.name}".replace("_", "-")
    collection = client.create_collection(
        name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    for document in dataset.documents:
        text = document.text()
        chunks = recursive(text, _TOKENS)
        texts = [f"{document.title}\n{text[start:end]}" for start, end in chunks]
        places: list[Any] = [{"document": document.id, "start": s, "end": e} for s, e in chunks]
        for at in range(0, len(chunks), _BATCH):
            part = slice(at, at + _BATCH)
            collection.add(
                ids=[f"{document.id}:{place['start']}" for place in places[part]],
                embeddings=embed(texts[part]),
                documents=texts[part],
                metadatas=places[part],
            )

    def search(query: Query, _: int) -> list[Range]:
        where: Any = {"document": {"$in": list(query.scope)}} if query.scope else None
        found = collection.query(
            query_embeddings=embed([query.text]), n_results=_CHUNKS, where=where
        )
        (places,) = found["metadatas"] or [[]]
        return [(str(p["document"]), int(p["start"]), int(p["end"])) for p in places]

    return search


if __name__ == "__main__":
    answer({"Chroma, chunks of 200 tokens": nearest_chunks}, package="chromadb")
