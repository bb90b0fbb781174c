"""Test documents and queries for the checks of stores."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spanwise.core.ranking.scan import ScanQuery
from spanwise.core.text.terms import text_terms
from spanwise.stores.port import DocumentEntry
from spanwise.types import Block, Chunk, Document, MetadataValue, Page, Section
from spanwise.types.output_cache import CachedOutput

if TYPE_CHECKING:
    from spanwise.filters import Filter
    from spanwise.stores.port import Snapshot, Store


DIMENSION = 16
SETTINGS = {"dimension": str(DIMENSION), "reference_terms": "12.5"}
"""Settings of the stores under test."""

_SECTION_CHUNKS = 2
_VOCABULARY = (
    "revenue margin Segment lease covenant the of and auditors FY2018 1,577.0 dividend goodwill "
    "naïve Straße 収益 growth quarterly impairment shareholders"
).split()


def text_vector(text: str, *, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Return a vector for a text, (dimension,). Texts with common terms have similar vectors.

    The vector is not normalised. A text without terms has a zero vector.
    """
    total = np.zeros(dimension, dtype=np.float32)
    for term in text_terms(text):
        digest = hashlib.blake2b(term.encode(), digest_size=dimension).digest()
        total += np.frombuffer(digest, dtype=np.int8)
    return total


def make_output(key: str, output: str, *, model: str = "a:b") -> CachedOutput:
    """Return a cached model output of the task "title"."""
    return CachedOutput(key=key, output=output, task="title", model=model)


def make_entry(
    document_id: str,
    paragraphs: Sequence[str],
    *,
    title: str = "",
    metadata: Mapping[str, MetadataValue] | None = None,
    source_root: str = "",
    dimension: int = DIMENSION,
) -> DocumentEntry:
    """Return a document with one page, one chunk per paragraph and two chunks per section.

    Args:
        document_id: Id of the document.
        paragraphs: Texts of the chunks, not empty.
        title: Title, which is also used as the title words.
        metadata: Metadata fields.
        source_root: Source root.
        dimension: Dimension of the vectors; 0 for no vectors.
    """
    text = "".join(paragraphs)
    chunks: list[Chunk] = []
    for index, paragraph in enumerate(paragraphs):
        start = chunks[-1].end if chunks else 0
        chunks.append(
            Chunk(
                index=index,
                start=start,
                end=start + len(paragraph),
                section=index // _SECTION_CHUNKS,
                tokens=1 + len(paragraph) // 4,
                text=paragraph,
            )
        )
    runs = [
        chunks[first : first + _SECTION_CHUNKS] for first in range(0, len(chunks), _SECTION_CHUNKS)
    ]
    document = Document(
        id=document_id,
        text=text,
        title=title,
        pages=(Page(start=0, end=len(text)),),
        blocks=(Block(start=0, end=len(text), kind="table"),) if text else (),
        metadata=dict(metadata or {}),
        given_fields=tuple(sorted(metadata or {})),
        source=f"{source_root}/{document_id}",
        source_root=source_root,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
    )
    return DocumentEntry(
        document=document,
        title=title,
        summary=paragraphs[0][:40],
        title_words=title,
        sections=tuple(
            Section(
                start=run[0].start,
                end=run[-1].end,
                title=f"Part {number}",
                path=(f"Part {number}",),
                header_tokens=3 + number,
            )
            for number, run in enumerate(runs)
        ),
        chunks=tuple(chunks),
        vectors=_vectors(paragraphs, dimension=dimension),
    )


def _vectors(paragraphs: Sequence[str], *, dimension: int) -> NDArray[np.float32] | None:
    if not dimension:
        return None
    return np.stack([text_vector(paragraph, dimension=dimension) for paragraph in paragraphs])


def _paragraph(number: int) -> str:
    """Return a pseudo-random text of vocabulary words, determined by a number."""
    digest = hashlib.sha256(f"paragraph {number}".encode()).digest()
    length = 4 + digest[0] % 20
    places = [digest[1 + i] * digest[-1 - i] * len(_VOCABULARY) >> 16 for i in range(length)]
    return " ".join(_VOCABULARY[place] for place in places) + f" {number}.\n\n"


def make_corpus(*, dimension: int = DIMENSION) -> list[DocumentEntry]:
    """Return about twenty documents in insertion order.

    They include documents with equal texts, titles with and without terms of the texts, metadata of
    all types, and a chunk without terms.
    """
    entries: list[DocumentEntry] = []
    for number in range(16):
        metadata: dict[str, MetadataValue] = {"year": 2010 + number % 5, "kind": "ABC"[number % 3]}
        if number % 2:
            metadata["draft"] = number % 4 == 1
        if number % 3 == 0:
            metadata["score"] = number / 4
        if number % 4 < 3:
            metadata["tags"] = (("nda", "Élan"), ("MSA", 3, True), ())[number % 4]
            metadata["signed"] = ("2019", "2019-02-28", "2020-01-05T10:00:00Z")[number % 4]
        if number % 5 < 2:
            metadata["company"] = ("NIKE, Inc.", "Café Nero")[number % 5]
        entries.append(
            make_entry(
                f"report/{(number * 7) % 16:02}",
                [_paragraph(number * 10 + i) for i in range(1 + number % 7)],
                title=("", "Annual Report", "Lease dividend", "Zanzibar")[number % 4],
                metadata=metadata,
                source_root="reports",
                dimension=dimension,
            )
        )
    twin = ["Twin goodwill lease.\n", "— … —\n", "Twin margin of the lease 7.\n"]
    entries += [
        make_entry(document_id, twin, title="Twin", dimension=dimension)
        for document_id in ("twin/b", "twin/a", "twin/c")
    ]
    entries.append(make_entry("alone", ["Solitary"], dimension=dimension))
    return entries


def reference_terms() -> float:
    """Return the setting `reference_terms` of the stores under test."""
    return float(SETTINGS["reference_terms"])


def fill(store: Store, entries: Sequence[DocumentEntry]) -> None:
    """Store documents in order."""
    for entry in entries:
        store.put_document(entry)


def question_vector(text: str) -> NDArray[np.float32]:
    """Return the normalised vector of a text."""
    vector = text_vector(text, dimension=DIMENSION)
    length = np.linalg.norm(vector)
    return (vector / length).astype(np.float32) if length else vector


def question(text: str, *, vector: bool = True, hits: int = 400) -> ScanQuery:
    """Return the store query for the text of a question."""
    return ScanQuery(
        terms=tuple(dict.fromkeys(text_terms(text))),
        vector=question_vector(text) if vector else None,
        hits=hits,
    )


def check_whole(snapshot: Snapshot, query: ScanQuery) -> None:
    """Check that a search sees only complete documents; every chunk must contain every term."""
    scan = snapshot.scan(query)
    assert scan.term_chunks.tolist() == [scan.all_chunks], "every chunk holds the term"
    assert len(scan.handles) == scan.all_documents
    assert scan.document_chunks.sum() == scan.all_chunks
    assert scan.document_terms[:, 0].tolist() == scan.document_chunks.tolist()
    for handle, chunks in zip(scan.handles.tolist(), scan.document_chunks.tolist(), strict=True):
        record = snapshot.record(handle)
        assert record.chunks == chunks, "chunks of the record"
        found = snapshot.chunks(handle, 0, chunks + 1)
        assert [chunk.index for chunk in found] == list(range(chunks))
        assert sum(len(chunk.text) for chunk in found) == record.chars
        assert len({chunk.text.split()[2] for chunk in found}) == 1, "chunks of two turns"


def fingerprint(
    store: Store, query: ScanQuery, *, where: Filter | None = None
) -> tuple[object, ...]:
    """Return all results of a search as exact values, with document ids instead of handles."""
    with store.snapshot() as snapshot:
        scan = snapshot.scan(query, where=where)
        ids = tuple(snapshot.record(int(handle)).id for handle in scan.handles)
    return (
        (scan.chunks, scan.documents, scan.all_chunks, scan.all_documents, ids),
        (scan.keyword, scan.body, scan.vector),
        *(
            array.tobytes()
            for array in (
                scan.term_chunks,
                scan.title_documents,
                scan.document_chunks,
                scan.document_terms,
                scan.document_titles,
                scan.hit_documents,
                scan.hit_chunks,
                scan.hit_keywords,
                scan.hit_vectors,
            )
        ),
    )
