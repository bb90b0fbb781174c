"""Small documents for tests of stores."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spanwise.core.text.terms import text_terms
from spanwise.stores.port import DocumentEntry
from spanwise.types import Chunk, Document, Page, Scalar, Section

DIMENSION = 16
SETTINGS = {"dimension": str(DIMENSION), "reference_terms": "12.5"}
"""Settings of a store of these documents."""

_SECTION_CHUNKS = 2
_VOCABULARY = (
    "revenue margin Segment lease covenant the of and auditors FY2018 1,577.0 dividend goodwill "
    "naïve Straße 収益 growth quarterly impairment shareholders"
).split()


def text_vector(text: str, *, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Return a vector of a text, (dimension,). Texts with common terms have similar vectors.

    It is not normalised; zeros for a text without terms.
    """
    total = np.zeros(dimension, dtype=np.float32)
    for term in text_terms(text):
        digest = hashlib.blake2b(term.encode(), digest_size=dimension).digest()
        total += np.frombuffer(digest, dtype=np.int8)
    return total


def make_entry(
    document_id: str,
    paragraphs: Sequence[str],
    *,
    title: str = "",
    metadata: Mapping[str, Scalar] | None = None,
    source_root: str = "",
    dimension: int = DIMENSION,
) -> DocumentEntry:
    """Return a document with a chunk for each paragraph, two chunks per section and one page.

    Args:
        document_id: Id of the document.
        paragraphs: Texts of the chunks, none of them empty.
        title: Title and title words.
        metadata: Metadata fields.
        source_root: Source root.
        dimension: Dimension of the vectors; 0 for none.
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
                path=(title, f"Part {number}"),
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
    """Return words of the vocabulary that depend on the number; common words are more frequent."""
    digest = hashlib.sha256(f"paragraph {number}".encode()).digest()
    length = 4 + digest[0] % 20
    places = [digest[1 + i] * digest[-1 - i] * len(_VOCABULARY) >> 16 for i in range(length)]
    return " ".join(_VOCABULARY[place] for place in places) + f" {number}.\n\n"


def make_corpus(*, dimension: int = DIMENSION) -> list[DocumentEntry]:
    """Return about twenty documents in the order of their insertion.

    They include twins (equal texts whose ids are not in the order of insertion), titles with terms
    of the texts and one with other terms, metadata of all types, and a chunk without terms.
    """
    entries: list[DocumentEntry] = []
    for number in range(16):
        metadata: dict[str, Scalar] = {"year": 2010 + number % 5, "kind": "ABC"[number % 3]}
        if number % 2:
            metadata["draft"] = number % 4 == 1
        if number % 3 == 0:
            metadata["score"] = number / 4
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
