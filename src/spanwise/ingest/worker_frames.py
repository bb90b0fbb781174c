"""Frames between the owner of a store and its worker processes: requests and results.

A frame has a JSON header and a payload of texts and arrays (see `parsers.process.protocol`), so
neither side runs code that the other names. A result leaves out the text and the layout of the
document, because the owner has them.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.core.documents.chunk_table import ChunkTable
from spanwise.ingest.fields import FieldChanges
from spanwise.ingest.prepare import Draft
from spanwise.ingest.sidecar import SidecarRow
from spanwise.ingest.workers import KnownVectors, Prepared, PrepareRequest, WorkerSettings
from spanwise.stores.port import DocumentEntry
from spanwise.types import (
    Block,
    Document,
    DocumentRecord,
    FieldOrigins,
    Figure,
    Heading,
    MetadataValue,
    Page,
    Section,
)
from spanwise.types.plain import from_plain, to_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.parsers.process.protocol import Header

_INTEGERS = "q"


def encode_request(
    request: PrepareRequest, document: Document, *, known_packs: str | None = None
) -> tuple[Header, bytes]:
    """Return the frame of a request for a document; its payload is the text and the vectors.

    Args:
        request: The request.
        document: Its document.
        known_packs: Packs of the previous request; None for the first request. Equal packs are
            left out, because they are long.
    """
    known = request.known
    text = document.text.encode("utf-8", "surrogatepass")
    header: dict[str, object] = {
        "settings": _encoded_settings(request.settings),
        "document": _encode_document(document),
        "changes": _encode_changes(request.changes),
        "before": to_plain(request.before),
        "record": None if request.record is None else to_plain(request.record),
        "recipe": request.recipe,
        "packs": None if request.packs == known_packs else request.packs,
        "warnings": request.warnings,
        "text_bytes": len(text),
        "known": None if known is None else [known.vectors.dtype.str, known.texts],
    }
    if known is None:
        return header, text
    return header, text + np.ascontiguousarray(known.vectors).tobytes()


def decode_request(header: Header, payload: bytes, *, known_packs: str = "") -> PrepareRequest:
    """Return the request of a frame; for `known_packs` see `encode_request`."""
    size = header["text_bytes"]
    record, known = header["record"], None
    if header["known"] is not None:
        kind, texts = header["known"]
        vectors = np.frombuffer(payload, dtype=kind, offset=size).reshape(len(texts), -1)
        known = KnownVectors(texts=tuple(texts), vectors=vectors)
    return PrepareRequest(
        settings=_decoded_settings(header["settings"]),
        document=_decode_document(
            header["document"], payload[:size].decode("utf-8", "surrogatepass")
        ),
        changes=_decode_changes(header["changes"]),
        before=from_plain(FieldOrigins, header["before"]),
        record=None if record is None else from_plain(DocumentRecord, record),
        recipe=header["recipe"],
        packs=known_packs if header["packs"] is None else header["packs"],
        known=known,
        warnings=tuple(header["warnings"]),
    )


@lru_cache(maxsize=2)
def _encoded_settings(settings: WorkerSettings) -> str:
    return json.dumps(to_plain(settings))


@lru_cache(maxsize=2)
def _decoded_settings(text: str) -> WorkerSettings:
    return from_plain(WorkerSettings, json.loads(text))


def _encode_document(document: Document) -> Header:
    """Return the fields of a parsed document without its text."""
    return {
        "id": document.id,
        "title": document.title,
        "pages": [[page.start, page.end, page.label] for page in document.pages],
        "headings": [[item.start, item.end, item.level, item.title] for item in document.headings],
        "blocks": [[block.start, block.end, block.kind] for block in document.blocks],
        "figures": [figure.to_dict() for figure in document.figures],
        "metadata": document.metadata,
        "media_type": document.media_type,
        "source": document.source,
        "source_root": document.source_root,
        "content_hash": document.content_hash,
        "status": document.status,
        "warnings": document.warnings,
    }


def _decode_document(header: Header, text: str) -> Document:
    lists: dict[str, Any] = {
        "pages": tuple(Page(start=s, end=e, label=label) for s, e, label in header["pages"]),
        "headings": tuple(
            Heading(start=start, end=end, level=level, title=title)
            for start, end, level, title in header["headings"]
        ),
        "blocks": tuple(Block(start=s, end=e, kind=kind) for s, e, kind in header["blocks"]),
        "figures": tuple(from_plain(Figure, figure) for figure in header["figures"]),
        "metadata": _values(header["metadata"]),
        "warnings": tuple(header["warnings"]),
    }
    return Document(text=text, **{**header, **lists})


def _values(fields: Mapping[str, Any]) -> dict[str, MetadataValue]:
    """Return metadata fields of JSON data, in which a tuple has become a list."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }


def _encode_changes(changes: FieldChanges) -> Header:
    sidecar = changes.sidecar
    return {
        "sidecar": None if sidecar is None else [dict(sidecar.fields), sidecar.title],
        "given": None if changes.given is None else dict(changes.given),
        "edited": dict(changes.edited),
        "title": changes.title,
    }


def _decode_changes(header: Header) -> FieldChanges:
    sidecar, given = header["sidecar"], header["given"]
    return FieldChanges(
        sidecar=None if sidecar is None else SidecarRow(_values(sidecar[0]), sidecar[1]),
        given=None if given is None else _values(given),
        edited=_values(header["edited"]),
        title=header["title"],
    )


def encode_prepared(prepared: Prepared, *, known_packs: str | None = None) -> tuple[Header, bytes]:
    """Return the frame of a result; its payload is the arrays of the chunks.

    Args:
        prepared: The result.
        known_packs: Packs of the request; equal packs are left out. None to leave out none.
    """
    draft = prepared.draft
    if draft is None:
        return {"outcome": prepared.outcome}, b""
    entry = draft.entry
    if not isinstance(entry.chunks, ChunkTable):
        raise TypeError(f"the chunks of {entry.document.id!r} are no table")
    ends, sections, tokens, heads = entry.chunks.columns
    vectors = entry.vectors
    header = {
        "outcome": prepared.outcome,
        "title": entry.title,
        "summary": entry.summary,
        "title_words": entry.title_words,
        "sections": [_encode_section(section) for section in entry.sections],
        "chunks": len(ends),
        "table_heads": {str(index): head for index, head in heads.items()},
        "language": entry.language,
        "packs": None if entry.packs == known_packs else entry.packs,
        "recipe": entry.recipe,
        "warnings": draft.warnings,
        "kept_vectors": draft.kept_vectors,
        "document": _encode_fields(entry.document),
        "vectors": None if vectors is None else [vectors.dtype.str, list(vectors.shape)],
        "signals": list(entry.signals),
    }
    arrays: list[Any] = [array(_INTEGERS, column) for column in (ends, sections, tokens)]
    if vectors is not None:
        arrays.append(np.ascontiguousarray(vectors))
    arrays += [np.asarray(signal, dtype=np.float16) for signal in entry.signals.values()]
    return header, b"".join(column.tobytes() for column in arrays)


def decode_prepared(
    header: Header, payload: bytes, document: Document, *, known_packs: str = ""
) -> Prepared:
    """Return the result of a frame.

    Args:
        header: Header of the frame.
        payload: Payload of the frame.
        document: Document of the request.
        known_packs: Packs of the request.
    """
    if "title" not in header:
        return Prepared(outcome=header["outcome"])
    reader = _Arrays(payload)
    count = header["chunks"]
    ends, sections, tokens = (reader.integers(count) for _ in range(3))
    heads = {int(index): head for index, head in header["table_heads"].items()}
    vectors = None if header["vectors"] is None else reader.table(*header["vectors"])
    entry = DocumentEntry(
        document=_decode_fields(document, header["document"]),
        title=header["title"],
        summary=header["summary"],
        title_words=header["title_words"],
        sections=tuple(map(_decode_section, header["sections"])),
        chunks=ChunkTable(
            document.text, ends=ends, sections=sections, tokens=tokens, table_heads=heads
        ),
        vectors=vectors,
        language=header["language"],
        signals={name: reader.table("<f2", (count,)) for name in header["signals"]},
        packs=known_packs if header["packs"] is None else header["packs"],
        recipe=header["recipe"],
    )
    return Prepared(
        outcome=header["outcome"],
        draft=Draft(
            entry=entry,
            warnings=tuple(header["warnings"]),
            kept_vectors=header["kept_vectors"],
        ),
    )


class _Arrays:
    """Reads the arrays of a payload, one after the other."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._place = 0

    def integers(self, count: int) -> array[int]:
        """Return the next integers."""
        column = array(_INTEGERS)
        end = self._place + count * column.itemsize
        column.frombytes(memoryview(self._payload)[self._place : end])
        self._place = end
        return column

    def table(self, kind: str, shape: Sequence[int]) -> NDArray[Any]:
        """Return the next array of numbers."""
        count = int(np.prod(shape))
        table = np.frombuffer(self._payload, dtype=kind, count=count, offset=self._place)
        self._place += table.nbytes
        return table.reshape(shape)


def _encode_section(section: Section) -> list[Any]:
    return [
        section.start,
        section.end,
        section.title,
        section.path,
        section.header_tokens,
        section.summary,
        section.extracted_title,
    ]


def _decode_section(row: Sequence[Any]) -> Section:
    start, end, title, path, header_tokens, summary, extracted_title = row
    return Section(
        start=start,
        end=end,
        title=title,
        path=tuple(path),
        header_tokens=header_tokens,
        summary=summary,
        extracted_title=extracted_title,
    )


def _encode_fields(document: Document) -> Header:
    """Return the fields of a document that its preparation changes."""
    return {
        "title": document.title,
        "metadata": dict(document.metadata),
        "given_fields": document.given_fields,
        "origins": None if document.origins is None else to_plain(document.origins),
    }


def _decode_fields(document: Document, header: Header) -> Document:
    origins = header["origins"]
    return replace(
        document,
        title=header["title"],
        metadata=_values(header["metadata"]),
        given_fields=tuple(header["given_fields"]),
        origins=None if origins is None else from_plain(FieldOrigins, origins),
    )
