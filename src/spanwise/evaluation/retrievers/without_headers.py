"""Copy of a knowledge base with the same chunks and without headers.

Rules:
    The copy has no titles, title words, summaries, section paths, table heads and chunk contexts. A
    search without headers is thus measured with the same code as one with them.
    Vectors are copied if they were computed from the text of a chunk alone. A contextual embedder
    is called again; a copy in a folder is paid for once.
    A copy in a folder is updated: unchanged documents are not copied again, except by another
    version of the code.
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
from spanwise.evaluation.fingerprint import code_hash
from spanwise.ingest.prepare import chunk_signals
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.models.embed_caller import is_contextual, make_embed_caller
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.search.chunk_weights import shipped_model
from spanwise.stores.port import DocumentEntry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Embedder
    from spanwise.stores.port import Store
    from spanwise.types import Chunk, DocumentRecord, Section


_COPIED = "copied"
"""Metadata field with the version of the copied document."""


def copy_without_headers(
    base: KnowledgeBase, folder: Path | None, *, ledger: Ledger | None = None
) -> KnowledgeBase:
    """Return an open knowledge base with only the text of the documents.

    Args:
        base: Knowledge base that is copied. It is not changed.
        folder: Folder of the copy; None to keep it in memory.
        ledger: Ledger that counts the calls of the embedder and holds the cost limit.

    Raises:
        ModelError: If an embedder that has to be called again fails.
        StoreError: If the copy cannot be written.
    """
    searcher = searcher_of(base, shipped_model())
    settings = dict(searcher.store.ensure_settings({}))
    made_of = [str(Path(base.info().path).absolute()), sorted(settings.items())]
    name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:12]
    copy = KnowledgeBase(
        ":memory:" if folder is None else folder / f"without-headers-{name}.kb",
        embedder=searcher.embedder,
        tokenizer=settings["tokenizer"],
        sections=SectionOptions(**json.loads(settings["sections"])),
        chunks=ChunkOptions(**json.loads(settings["chunks"])),
        durability="fast",
    )
    try:
        is_contextual_one = searcher.embedder is not None and is_contextual(searcher.embedder)
        store = store_of(copy)
        if store.ensure_settings({}).get("packs", "") != settings.get("packs", ""):
            store.record_packs(settings.get("packs", ""), lambda _: {})  # nothing is stored yet
        _Copier(
            base=base,
            source=searcher.store,
            target=store,
            packs=settings.get("packs", ""),
            embedder=make_embed_caller(searcher.embedder, "document", cache=store, ledger=ledger),
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
    """Recorded packs of the knowledge base."""
    embedder: Embedder | None
    embeds_headers: bool
    """Whether the vectors of the source include headers."""

    def bring_up_to_date(self, copy: KnowledgeBase) -> None:
        """Copy missing and changed documents, and delete removed ones."""
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
        """Return the vectors of the texts of chunks without headers, (chunks, dimension)."""
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
    """Return a hash of all that is copied of a document, and of the code."""
    parts = [code_hash(), record.version, [chunk.end for chunk in chunks]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _untitled(section: Section) -> Section:
    return replace(section, title="", path=(), summary="", header_tokens=0)
