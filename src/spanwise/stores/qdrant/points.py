"""Points of a document: one in the collection of documents, one for each chunk, and its layout.

Collections of a knowledge base `reports`:
    `reports-documents`: one point per document id, with the current version of the document, and
        one point with the settings. Replacing this one point replaces the document.
    `reports-chunks`: one point per chunk and version, with its vector, its terms and its text.
    `reports-state`: layouts, signals, unfinished and outdated versions, conversations, outputs.
"""

from __future__ import annotations

import hashlib
import json
import uuid
import zlib
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.core.documents.headers import searched_header, searched_text
from spanwise.core.ranking.bm25 import IMPACT_STEP
from spanwise.core.ranking.vectors import unit_rows
from spanwise.errors import FormatError
from spanwise.filters import record_fields
from spanwise.stores.build import Vocabulary, build_part
from spanwise.stores.database import IndexedDocument
from spanwise.stores.entries import stored_record
from spanwise.stores.qdrant.fields import field_payload
from spanwise.stores.qdrant.rows import pack_rows
from spanwise.types import Chunk, Document, DocumentRecord, Section
from spanwise.types.plain import from_plain, to_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from qdrant_client import models

    from spanwise.stores.part import Part
    from spanwise.stores.port import DocumentEntry

DOCUMENTS, CHUNKS, STATE = "documents", "chunks", "state"
META_ID = str(uuid.UUID(int=1))
"""Id of the point with the settings."""
DENSE, TERMS, COUNTS, TITLES = "text", "terms", "counts", "titles"
"""Names of vectors: of chunks (embedding, terms), and of documents (chunks per term, titles)."""
SAMPLE_BUCKETS = 1 << 20
"""Number of buckets over which chunks are spread for samples."""
MAX_EARLIER = 32
"""Number of earlier changes that the point of a document names."""
_PIECE_CHARS = 4 << 20


def point_id(*parts: object) -> str:
    """Return the id of a point, determined by some values."""
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return str(uuid.UUID(bytes=hashlib.blake2b(text, digest_size=16).digest()))


def document_point_id(document_id: str) -> str:
    """Return the id of the point of a document."""
    return point_id("document", document_id)


def chunk_point_id(token: str, index: int) -> str:
    """Return the id of the point of a chunk of a version."""
    return str(uuid.UUID(int=(uuid.UUID(hex=token).int + index + 1) % (1 << 128)))


def pack_json(value: object) -> str:
    """Return a JSON value as compressed ASCII text."""
    return b64encode(zlib.compress(json.dumps(value).encode("ascii"), 6)).decode("ascii")


def unpack_json(text: str) -> Any:
    """Return the JSON value of a compressed text.

    Raises:
        FormatError: If the text is damaged.
    """
    try:
        return json.loads(zlib.decompress(b64decode(text)))
    except (ValueError, zlib.error) as error:
        raise FormatError(
            "a point of the knowledge base is damaged; restore its collections from a snapshot of "
            "Qdrant"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredVersion:
    """Current version of a document, as its point describes it."""

    point: str
    """Id of the point."""
    token: str
    """Identifies the version; 32 hexadecimal digits."""
    number: int
    """Handle: a tick that orders the versions of all documents."""
    changed: int
    """Tick of the last change of the point."""
    change: str = ""
    """Random name of the last change of the point."""
    earlier: tuple[str, ...] = ()
    """Names of the changes before it, latest first, at most `MAX_EARLIER`."""
    gone: bool
    """Whether the document was deleted."""
    chunks: int
    pieces: int
    """Number of points with the layout."""
    record: DocumentRecord
    title_words: str

    @property
    def changes(self) -> tuple[str, ...]:
        """Names of the last changes of the point, latest first, at most `MAX_EARLIER`."""
        return (self.change, *self.earlier)[:MAX_EARLIER]

    def chunk_ids(self, start: int, end: int) -> list[str]:
        """Return the ids of the points of the chunks `[start, end)`."""
        return [chunk_point_id(self.token, index) for index in range(start, end)]


VERSION_FIELDS = (
    "kind", "token", "number", "changed", "change", "earlier", "chunks", "pieces", "record",
    "title_words",
)  # fmt: skip
"""Payload fields of a document's point that `read_version` needs."""


def version_payload(version: StoredVersion) -> dict[str, Any]:
    """Return the payload of a document's point, without its words."""
    fields = record_fields(version.record)
    return {
        "kind": "gone" if version.gone else "document",
        "token": version.token,
        "number": version.number,
        "changed": version.changed,
        "change": version.change,
        "earlier": list(version.earlier),
        "chunks": version.chunks,
        "pieces": version.pieces,
        "record": json.dumps(to_plain(version.record)),
        "title_words": json.dumps(version.title_words),
        "language": version.record.language,
        **field_payload(fields),
    }


def read_version(point: str, payload: Mapping[str, Any]) -> StoredVersion:
    """Return the version that the point of a document describes.

    Raises:
        FormatError: If the payload is damaged.
    """
    try:
        return StoredVersion(
            point=point,
            token=payload["token"],
            number=int(payload["number"]),
            changed=int(payload["changed"]),
            change=payload.get("change", ""),
            earlier=tuple(payload.get("earlier", ())),
            gone=payload["kind"] == "gone",
            chunks=int(payload["chunks"]),
            pieces=int(payload["pieces"]),
            record=from_plain(DocumentRecord, json.loads(payload["record"])),
            title_words=json.loads(payload["title_words"]),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise FormatError(
            f"the point {point} of the collection of documents is damaged ({error}); restore the "
            "collection from a snapshot of Qdrant"
        ) from error


def live_documents() -> models.Filter:
    """Return the condition for the points of live documents."""
    from qdrant_client import models

    return models.Filter(
        must=[
            models.FieldCondition(key="kind", match=models.MatchValue(value="document")),
        ]
    )


def new_version(entry: DocumentEntry, *, token: str, number: int) -> StoredVersion:
    """Return the version that an entry becomes; the number of layout points is not known yet."""
    return StoredVersion(
        point=document_point_id(entry.document.id),
        token=token,
        number=number,
        changed=number,
        gone=False,
        chunks=len(entry.chunks),
        pieces=0,
        record=stored_record(entry),
        title_words=entry.title_words,
    )


def index_entry(
    entry: DocumentEntry, *, vocabulary: Vocabulary, dimension: int, reference_terms: float
) -> Part:
    """Return the index part of one document."""
    chunks = entry.chunks
    vectors = unit_rows(entry.vectors) if entry.vectors is not None else None
    document = IndexedDocument(
        number=1,
        language=entry.language,
        title_words=entry.title_words,
        texts=tuple(chunk.text for chunk in chunks),
        searched=tuple(
            searched_text(c.text, table_head=c.table_head, context=c.context) for c in chunks
        ),
        tokens=tuple(chunk.tokens for chunk in chunks),
        sections=tuple(chunk.section for chunk in chunks),
        headers=tuple(map(searched_header, entry.sections)),
        vectors=vectors,
    )
    return build_part(
        [document], vocabulary=vocabulary, dimension=dimension, reference_terms=reference_terms
    )


def document_point(version: StoredVersion, part: Part) -> models.PointStruct:
    """Return the point of a document."""
    from qdrant_client import models

    body = part.body
    indices = term_index(body.terms)
    counts = dict.fromkeys(indices.tolist(), 0.0)
    for index, count in zip(indices.tolist(), np.diff(body.ends).tolist(), strict=True):
        counts[index] += count
    titles = sorted(set(term_index(part.title_terms).tolist()))
    vectors: dict[str, Any] = {}
    if counts:
        vectors[COUNTS] = _sparse(counts)
    if titles:
        vectors[TITLES] = _sparse(dict.fromkeys(titles, 1.0))
    payload = version_payload(version)
    payload["words"] = pack_json(part.words.lines)
    return models.PointStruct(id=version.point, vector=vectors, payload=payload)


def _sparse(values: Mapping[int, float]) -> models.SparseVector:
    from qdrant_client import models

    ordered = sorted(values)
    return models.SparseVector(indices=ordered, values=[float(values[i]) for i in ordered])


def term_index(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the dimensions of terms in sparse vectors: 32 bits of their hashes."""
    return hashes & np.uint64(0xFFFFFFFF)


def title_index(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the dimensions of title terms in the sparse vectors of chunks: other 32 bits."""
    return hashes >> np.uint64(32)


def chunk_points(
    entry: DocumentEntry, version: StoredVersion, part: Part
) -> Iterator[models.PointStruct]:
    """Yield the points of the chunks of a document, in order."""
    from qdrant_client import models

    fields = field_payload(record_fields(version.record))
    titles = title_index(part.title_terms).tolist()
    vectors = unit_rows(entry.vectors).astype(np.float32) if entry.vectors is not None else None
    body = part.body
    order = np.argsort(body.rows, kind="stable")
    terms = np.repeat(term_index(body.terms), np.diff(body.ends))[order].tolist()
    impacts = body.impacts[order].tolist()
    ends = np.searchsorted(body.rows[order], np.arange(part.rows + 1)).tolist()
    for index, (chunk, row) in enumerate(zip(entry.chunks, pack_rows(part), strict=True)):
        values = dict.fromkeys(titles, 1.0 / IMPACT_STEP)
        first, last = ends[index], ends[index + 1]
        values.update(zip(terms[first:last], map(float, impacts[first:last]), strict=True))
        vector: dict[str, Any] = {TERMS: _sparse(values)} if values else {}
        if vectors is not None:
            vector[DENSE] = vectors[index].tolist()
        yield models.PointStruct(
            id=chunk_point_id(version.token, index),
            vector=vector,
            payload={
                "document": version.point,
                "token": version.token,
                "index": index,
                "sample": sample_bucket(version.point, index),
                "row": b64encode(row).decode("ascii"),
                "text": chunk.text,
                "place": json.dumps([getattr(chunk, name) for name in _PLACE]),
                "language": version.record.language,
                **fields,
            },
        )


def sample_bucket(point: str, index: int) -> int:
    """Return the bucket of a chunk, which is random but determined by its document and index."""
    digest = hashlib.blake2b(f"{point}/{index}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % SAMPLE_BUCKETS


_PLACE = ("start", "end", "section", "tokens", "table_head", "context")
CHUNK_FIELDS = ("index", "text", "place")


def read_chunk(payload: Mapping[str, Any]) -> Chunk:
    """Return the chunk of a point."""
    place = dict(zip(_PLACE, json.loads(payload["place"]), strict=True))
    return Chunk(index=int(payload["index"]), text=payload["text"], **place)


def read_row(payload: Mapping[str, Any]) -> bytes:
    """Return the packed row of a chunk's point."""
    return b64decode(payload["row"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Parts of a document besides its record and its chunks."""

    document: Document
    """Document without its text."""
    sections: tuple[Section, ...]


def layout_points(entry: DocumentEntry, token: str) -> list[models.PointStruct]:
    """Return the points with the layout of a document, in pieces of at most 4 MB."""
    from qdrant_client import models

    bare = replace(entry.document, text="", metadata={}, given_fields=(), origins=None)
    text = pack_json({"document": to_plain(bare), "sections": to_plain(entry.sections)})
    pieces = [text[i : i + _PIECE_CHARS] for i in range(0, len(text), _PIECE_CHARS)]
    return [
        models.PointStruct(
            id=layout_point_id(token, number),
            vector={},
            payload={"kind": "layout", "token": token, "data": piece},
        )
        for number, piece in enumerate(pieces)
    ]


def layout_point_id(token: str, number: int) -> str:
    """Return the id of a point with a piece of a layout."""
    return point_id("layout", token, number)


def read_layout(pieces: Sequence[str]) -> Layout:
    """Return the layout from the data of its points, in order."""
    fields = unpack_json("".join(pieces))
    return Layout(
        document=from_plain(Document, fields["document"]),
        sections=tuple(from_plain(Section, section) for section in fields["sections"]),
    )


def read_words(text: str) -> Collection[tuple[str, str]]:
    """Return the pairs of a term and a word of a document."""
    pairs = [line.partition("\t") for line in unpack_json(text)]
    return [(term, word) for term, _, word in pairs]
