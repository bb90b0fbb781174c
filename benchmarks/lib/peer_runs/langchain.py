"""LangChain: parent documents.

    pip install langchain-classic langchain-text-splitters

Sizes are those of the documentation: parents of 2,000 characters, children of 400, both with the
splitter's default overlap of 200. The parents of the nearest 100 children are returned, each once,
where the default of 4 children would not fill a budget. LangChain embeds bare text; here the title
goes before it, as all others have it.
"""

from __future__ import annotations

from typing import Any

from langchain_classic.retrievers import ParentDocumentRetriever
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from benchmarks.lib.datasets import Dataset, Query
from benchmarks.lib.peer_runs.task import Range, Search, answer
from benchmarks.lib.peer_runs.vectors import ExactVectors, embed

_CHILDREN = 100


class ExactStore(VectorStore):
    """Vector store with exact search over child chunks."""

    def __init__(self) -> None:
        self.vectors = ExactVectors()
        self._kept: dict[str, Any] = {}

    def add_documents(self, documents: list[Any], **_: Any) -> list[str]:
        """Embed and add child chunks, each with the title of its document."""
        keys = [str(len(self._kept) + at) for at in range(len(documents))]
        texts = [f"{one.metadata['title']}\n{one.page_content}" for one in documents]
        self.vectors.add(keys, embed(texts), [one.metadata["document"] for one in documents])
        self._kept.update(zip(keys, documents, strict=True))
        return keys

    def similarity_search(self, query: str, k: int = 4, **_: Any) -> list[Any]:
        """Return the nearest child chunks, best first."""
        return [self._kept[key] for key, _ in self.vectors.nearest(embed([query])[0], k)]

    @classmethod
    def from_texts(cls, texts: list[str], embedding: Any, *_: Any, **__: Any) -> ExactStore:
        """Raise an error: child chunks need the metadata of their documents."""
        raise NotImplementedError((texts, embedding))


def parent_document(dataset: Dataset) -> Search:
    """Add the documents as parent and child chunks, and return the search."""
    store = ExactStore()
    retriever = ParentDocumentRetriever(
        vectorstore=store,
        docstore=InMemoryStore(),
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=400, add_start_index=True),
        parent_splitter=RecursiveCharacterTextSplitter(chunk_size=2_000, add_start_index=True),
        search_kwargs={"k": _CHILDREN},
    )
    for document in dataset.documents:
        known = {"document": document.id, "title": document.title}
        retriever.add_documents([Document(page_content=document.text(), metadata=known)])

    def search(query: Query, _: int) -> list[Range]:
        store.vectors.scope = query.scope
        return [
            (
                one.metadata["document"],
                one.metadata["start_index"],
                one.metadata["start_index"] + len(one.page_content),
            )
            for one in retriever.invoke(query.text)
        ]

    return search


if __name__ == "__main__":
    answer({"LangChain parent document": parent_document}, package="langchain-classic")
