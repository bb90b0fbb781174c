"""haiku.rag: hybrid search over chunks, each expanded to the text around it.

    python3.12 -m venv ENV; ENV/bin/pip install haiku.rag-slim transformers "docling-core[chunking]"

Defaults: chunks of 256 tokens by Docling's hybrid chunker, vectors and words fused, expansion up to
5,000 characters, no reranker; five results do not fill a budget, so as many are asked for as do.
An expanded result alone is longer than a budget of 1,000 tokens, so the chunks as they were found
are measured too. The tokenizer of the chunker is downloaded from a hub: `--tokenizer FOLDER` names
one that is here. Texts become documents of Docling without its models, a paragraph a line, with the
title on top.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.labels import DocItemLabel
from haiku.rag.chunkers import get_chunker
from haiku.rag.client import HaikuRAG
from haiku.rag.config import AppConfig
from haiku.rag.embeddings import EmbedderWrapper

from benchmarks.lib.datasets import Dataset, Query, SourceDocument
from benchmarks.lib.peer_runs.places import Places
from benchmarks.lib.peer_runs.task import Range, Search, answer
from benchmarks.lib.peer_runs.vectors import DIMENSION, embed

_RESULTS = 40


class StaticEmbedder(EmbedderWrapper):
    """Our static embedder with the interface of haiku.rag."""

    def __init__(self) -> None:
        super().__init__(None, DIMENSION)

    async def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return embed([text])[0]

    async def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per chunk."""
        return embed(texts)


def as_docling(document: SourceDocument) -> tuple[Any, dict[str, tuple[int, int]]]:
    """Return a text as a Docling document, and the position of each of its items."""
    made = DoclingDocument(name=document.id)
    made.add_title(text=document.title)
    places: dict[str, tuple[int, int]] = {}
    start = 0
    for line in document.text().splitlines(keepends=True):
        if line.strip():
            item = made.add_text(label=DocItemLabel.TEXT, text=line.strip())
            places[item.self_ref] = (start, start + len(line))
        start += len(line)
    return made, places


def hybrid(dataset: Dataset, *, tokenizer: str, expand: bool) -> Search:
    """Add the documents, and return a search with or without expansion."""
    runner = asyncio.Runner()
    config = AppConfig()
    config.embeddings.model.vector_dim = DIMENSION
    config.processing.chunking_tokenizer = tokenizer or config.processing.chunking_tokenizer
    client = runner.run(_opened(config))
    items: dict[str, dict[str, tuple[int, int]]] = {}
    texts = {document.id: Places(document.text()) for document in dataset.documents}
    for document in dataset.documents:
        made, items[document.id] = as_docling(document)
        runner.run(_added(client, config, document, made))

    async def find(query: Query) -> list[Any]:
        names = ", ".join("'" + one.replace("'", "''") + "'" for one in query.scope or ())
        where = f"uri IN ({names})" if names else None
        found = await client.search(query.text, limit=_RESULTS, filter=where, include_images=False)
        return list(await client.expand_context(found) if expand else found)

    def search(query: Query, _: int) -> list[Range]:
        ranges: list[Range] = []
        for one in runner.run(find(query)):
            document = one.document_uri
            inside = [items[document].get(ref) for ref in one.doc_item_refs]
            held = [place for place in inside if place is not None]
            if held and expand:
                ranges.append((document, min(held)[0], max(held)[1]))
            elif held:
                after = texts[document].squeezed(min(held)[0])
                found = texts[document].find(one.content, after=after)
                ranges += [(document, *found)] if found else []
        return ranges

    return search


async def _opened(config: Any) -> Any:
    path = Path(tempfile.mkdtemp()) / "peer.lancedb"
    client = HaikuRAG(path, config=config, create=True, skip_validation=True)
    await client.__aenter__()
    client.store.embedder = client.chunk_repository.embedder = StaticEmbedder()
    return client


async def _added(client: Any, config: Any, document: SourceDocument, made: Any) -> None:
    chunks = await get_chunker(config).chunk(made)
    await client.import_document(made, chunks, uri=document.id, title=document.title)


if __name__ == "__main__":
    _parser = argparse.ArgumentParser(add_help=False)
    _parser.add_argument("--tokenizer", default="")
    _given, sys.argv[1:] = _parser.parse_known_args()
    _build = partial(hybrid, tokenizer=_given.tokenizer)
    answer(
        {
            "haiku.rag": partial(_build, expand=False),
            "haiku.rag, expanded": partial(_build, expand=True),
        },
        package="haiku.rag-slim",
    )
