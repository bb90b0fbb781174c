"""A knowledge base with the same chunks of the same documents, and nothing that heads them.

Rules:
    It has no titles, title words, summaries, section paths and heads of tables; words that a model
    wrote for its chunks are left out too. So what a search reaches without headers is measured by
    the very code that searches with them.
    Vectors are taken over where they were made of the text of a chunk alone. An embedder that
    reads chunks under their headers is asked again; what it costs, it costs once where the copy is
    kept in a folder.
    A copy that is kept is brought up to date: what is there already and unchanged is not copied.
    What other code copied is copied again: words and signals are made of the text anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.vectors import unit_rows
from spanwise.evaluation.settings import code_hash
from spanwise.ingest.prepare import chunk_signals
from spanwise.knowledge_base import KnowledgeBase
from spanwise.models.embed_caller import is_contextual, make_embed_caller
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.search.chunk_weights import shipped_model
from spanwise.stores.port import DocumentEntry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.models.ports import Embedder
    from spanwise.stores.port import Store
    from spanwise.types import Chunk, DocumentRecord, Section


_COPIED = "copied"
"""Metadata field that says what a document was copied from."""


def copy_without_headers(base: KnowledgeBase, folder: Path | None) -> KnowledgeBase:
    """Return a knowledge base that knows nothing of its documents but their text, open.

    Args:
        base: What is copied. It is not changed.
        folder: Where the copy is kept; None for one in memory.

    Raises:
        ModelError: If an embedder that has to be asked again fails.
        StoreError: If the copy cannot be written.
    """
    searcher = base.searcher(shipped_model())
    settings = dict(searcher.store.ensure_settings({}))
    made_of = [str(Path(base.info().path).absolute()), sorted(settings.items())]
    name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:12]
    copy = KnowledgeBase(
        ":memory:" if folder is None else folder / f"without-headers-{name}.kb",
        embedder=searcher.embedder,
        tokenizer=settings["tokenizer"],
        sections=SectionOptions(**json.loads(settings["sections"])),
        chunks=ChunkOptions(**json.loads(settings["chunks"])),
    )
    try:
        is_contextual_one = searcher.embedder is not None and is_contextual(searcher.embedder)
        store = copy.searcher(shipped_model()).store
        if store.ensure_settings({}).get("packs", "") != settings.get("packs", ""):
            store.record_packs(settings.get("packs", ""), lambda _: {})  # nothing is stored yet
        _Copier(
            base=base,
            source=searcher.store,
            target=store,
            packs=settings.get("packs", ""),
            embedder=make_embed_caller(searcher.embedder, "document", cache=store),
            embeds_headers=is_contextual_one,
        ).bring_up_to_date(copy)
    except BaseException:
        copy.close()
        raise
    return copy


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copier:
    """Copies documents of one knowledge base to another."""

    base: KnowledgeBase
    source: Store
    target: Store
    packs: str
    """As recorded."""
    embedder: Embedder | None
    embeds_headers: bool
    """Whether the vectors of the source were made of headers too."""

    def bring_up_to_date(self, copy: KnowledgeBase) -> None:
        """Copy what is missing or has changed, and delete what is gone."""
        kept = {record.id: record.metadata[_COPIED] for record in copy.list()}
        records = {record.id: record for record in self.base.list()}
        copy.delete(*(kept.keys() - records.keys()))
        for record in records.values():
            chunks = self.base.chunks(record.id)
            version = _version(record, chunks)
            if kept.get(record.id) != version:
                self.target.put_document(self._entry(record, chunks, version), replace=True)
        copy.optimise()

    def _entry(
        self, record: DocumentRecord, chunks: Sequence[Chunk], version: str
    ) -> DocumentEntry:
        document = self.base.get(record.id)
        bare = tuple(replace(chunk, table_head="", context="") for chunk in chunks)
        return DocumentEntry(
            document=replace(
                document, title="", headings=(), source="", metadata={_COPIED: version}
            ),
            title="",
            summary="",
            title_words="",
            sections=tuple(_untitled(section) for section in self.base.sections(record.id)),
            chunks=bare,
            vectors=self._vectors(record, chunks),
            language=record.language,
            signals=chunk_signals(bare, packs=self.packs),
            packs=self.packs,
        )

    def _vectors(
        self, record: DocumentRecord, chunks: Sequence[Chunk]
    ) -> NDArray[np.float16] | None:
        """Return the vectors of the texts of chunks alone, (chunks, dimension)."""
        embedded = self.source.get_embedded(record.id)
        if self.embedder is None or embedded is None:
            return None
        vectors = embedded[1].astype(np.float16)
        headed = [
            at
            for at, chunk in enumerate(chunks)
            if self.embeds_headers or chunk.table_head or chunk.context
        ]
        if headed:
            vectors[headed] = unit_rows(self.embedder.embed([chunks[at].text for at in headed]))
        return vectors


def _version(record: DocumentRecord, chunks: Sequence[Chunk]) -> str:
    """Return a hash of all that is copied of a document, and of what copies it."""
    parts = [code_hash(), record.version, [chunk.end for chunk in chunks]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _untitled(section: Section) -> Section:
    return replace(section, title="", path=(), summary="", header_tokens=0)
