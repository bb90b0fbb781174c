"""One task in five libraries: documents in, a question, and the context for a model in 300 tokens.

Each function is the shortest usual program of its library, with chunks of about 800 characters and
the same static vectors, which need no key and no download. Libraries that are not installed are
left out.

    pip install 'spanwise[langchain,llama-index,haystack]' langchain-text-splitters chromadb
    python examples/comparison.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

REPORTS = Path(__file__).resolve().parent / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
EVIDENCE = ("Energy cost 3.2 million more", "Pulp cost 1.1 million more", "Freight from Ostrava")
BUDGET_TOKENS = 300
CHUNK_CHARS = 800
MANY = 20  # results that are asked for: more than the budget has room for


@dataclass(frozen=True)
class Piece:
    """Text that a library returned."""

    text: str
    place: str
    """What the library says about the place of the text."""


def texts() -> dict[str, str]:
    """Return the documents by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(REPORTS.iterdir())}


def vectors(given: list[str]) -> list[list[float]]:
    """Return a static vector for each text."""
    from spanwise.models.providers.wordllama import WordLlama

    rows: list[list[float]] = WordLlama().embed(given).tolist()
    return rows


def fitting(pieces: list[Piece]) -> list[Piece]:
    """Return the first pieces until the budget is full, at four characters a token."""
    left, kept = BUDGET_TOKENS * 4, []
    for piece in pieces:
        if left > 0:
            kept.append(replace(piece, text=piece.text[:left]))
        left -= len(piece.text)
    return kept


def with_spanwise() -> list[Piece]:
    """Search a knowledge base; the budget is an argument."""
    from spanwise import KnowledgeBase

    with KnowledgeBase(":memory:") as kb:
        kb.add(REPORTS)
        result = kb.search(QUESTION, budget_tokens=BUDGET_TOKENS, headers=False)
    return [Piece(segment.text, str(segment.citation)) for segment in result.segments]


def with_langchain() -> list[Piece]:
    """Split recursively, and search a vector store."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class Static(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return vectors(texts)

        def embed_query(self, text: str) -> list[float]:
            return vectors([text])[0]

    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARS, add_start_index=True)
    documents = [Document(text, metadata={"source": name}) for name, text in texts().items()]
    store = InMemoryVectorStore.from_documents(splitter.split_documents(documents), Static())
    found = store.similarity_search(QUESTION, k=MANY)
    return fitting(
        [
            Piece(
                one.page_content,
                f"{one.metadata['source']}, from character {one.metadata['start_index']}",
            )
            for one in found
        ]
    )


def with_llama_index() -> list[Piece]:
    """Split by tokens, and search a vector index."""
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import TokenTextSplitter

    class Static(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return vectors([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return vectors([text])[0]

    index = VectorStoreIndex.from_documents(
        [Document(text=text, metadata={"file_name": name}) for name, text in texts().items()],
        transformations=[TokenTextSplitter(chunk_size=CHUNK_CHARS // 4, chunk_overlap=20)],
        embed_model=Static(),
    )
    found: list[Any] = index.as_retriever(similarity_top_k=MANY).retrieve(QUESTION)
    return fitting(
        [
            Piece(
                one.node.text,
                f"{one.node.metadata['file_name']}, characters "
                f"{one.node.start_char_idx}-{one.node.end_char_idx}",
            )
            for one in found
        ]
    )


def with_haystack() -> list[Piece]:
    """Split by words, and join the results of BM25 and vectors."""
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.preprocessors import DocumentSplitter
    from haystack.components.retrievers.in_memory import (
        InMemoryBM25Retriever,
        InMemoryEmbeddingRetriever,
    )
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    documents = [Document(content=text, meta={"name": name}) for name, text in texts().items()]
    splits = DocumentSplitter(split_length=CHUNK_CHARS // 6).run(documents)["documents"]
    embedded = zip(splits, vectors([split.content or "" for split in splits]), strict=True)
    store.write_documents([replace(split, embedding=vector) for split, vector in embedded])
    words = InMemoryBM25Retriever(store, top_k=MANY).run(QUESTION)["documents"]
    near = InMemoryEmbeddingRetriever(store, top_k=MANY).run(vectors([QUESTION])[0])["documents"]
    found = DocumentJoiner(join_mode="reciprocal_rank_fusion").run([words, near])["documents"]
    return fitting(
        [
            Piece(one.content, f"{one.meta['name']}, from character {one.meta['split_idx_start']}")
            for one in found
        ]
    )


def with_chroma() -> list[Piece]:
    """Cut fixed chunks, and query a collection; the caller stores the places."""
    import chromadb

    starts = [(n, at) for n, text in texts().items() for at in range(0, len(text), CHUNK_CHARS)]
    chunks = [texts()[name][at : at + CHUNK_CHARS] for name, at in starts]
    collection = chromadb.EphemeralClient().create_collection("reports", embedding_function=None)
    collection.add(
        ids=[f"{name}:{at}" for name, at in starts], documents=chunks, embeddings=vectors(chunks)
    )
    found = collection.query(query_embeddings=vectors([QUESTION]), n_results=MANY)
    (found_texts,), (places,) = found["documents"] or [[]], found["ids"]
    return fitting([Piece(*one) for one in zip(found_texts, places, strict=True)])


LIBRARIES: dict[str, tuple[str, Callable[[], list[Piece]]]] = {
    "Spanwise": ("spanwise", with_spanwise),
    "LangChain": ("langchain_text_splitters", with_langchain),
    "LlamaIndex": ("llama_index", with_llama_index),
    "Haystack": ("haystack", with_haystack),
    "Chroma": ("chromadb", with_chroma),
}
"""Imported package and function of each library."""


def main() -> dict[str, list[Piece]]:
    """Print what each installed library returns, and return it."""
    returned = {}
    for name, (package, function) in LIBRARIES.items():
        if find_spec(package) is None:
            print(f"{name}: not installed\n")
            continue
        returned[name] = pieces = function()
        context = "\n".join(piece.text for piece in pieces)
        causes = sum(cause in context for cause in EVIDENCE)
        print(f"{name}: {len(pieces)} texts, {len(context) // 4} tokens, {causes} of 3 causes")
        for piece in pieces:
            text = " ".join(piece.text.split())
            print(f"    {piece.place}\n        {text[:40]} ... {text[-40:]}")
        print()
    return returned


if __name__ == "__main__":
    main()
