"""Checks that all stores share: of the data to write, of copies, and of arguments of searches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar, get_args

import numpy as np

from spanwise import filters
from spanwise.core.documents.chunk_table import ChunkTable, chunk_rows
from spanwise.core.documents.versions import text_version
from spanwise.errors import (
    ConflictError,
    DocumentNotFoundError,
    FilterError,
    OptionError,
    unknown_document,
)
from spanwise.filters import FieldKind
from spanwise.types import DocumentRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.filters import Filter
    from spanwise.stores.port import DocumentEntry, DocumentUpdate
    from spanwise.types import (
        Block,
        Document,
        Heading,
        MetadataValue,
        Section,
        Turn,
    )


_Described = TypeVar("_Described", "Document", DocumentRecord)
_BLOCK_ROWS = 4_096
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIXED_SETTINGS = ("dimension", "reference_terms")


def check_changeable(settings: Mapping[str, str]) -> None:
    """Check that settings may be changed after they were recorded.

    Raises:
        OptionError: If stored vectors or scores may depend on one of the settings, or if the
            setting "packs" is among them.
    """
    for name in _FIXED_SETTINGS:
        if name in settings:
            raise OptionError(
                f"the setting {name!r} cannot be changed to {settings[name]!r}: the stored data "
                "depend on it; add the documents to a new knowledge base"
            )
    if "packs" in settings:
        raise OptionError(
            "the setting 'packs' is changed with the signals of all documents; use record_packs"
        )


def check_packs(entry: DocumentEntry, *, recorded: str) -> None:
    """Check that the signals of an entry were computed with the recorded packs.

    Raises:
        ConflictError: If the packs were changed while the document was prepared.
    """
    if entry.packs != recorded:
        raise ConflictError(
            f"the packs of the knowledge base were changed while {entry.document.id!r} was read; "
            "add it again",
            source=entry.document.id,
            code="conflict",
        )


def root_text(source_root: str) -> str:
    """Return a source root for messages; a document without one was added by a program."""
    return {"": "a program", "-": "a stream"}.get(source_root, repr(source_root))


def check_origin(document_id: str, recorded_root: str, source_root: str) -> None:
    """Raise an error if a document would replace one from another source root.

    Raises:
        ConflictError: If the source roots differ.
    """
    if recorded_root != source_root:
        raise ConflictError(
            f"the id {document_id!r} belongs to a document from {root_text(recorded_root)}; "
            f"this one comes from {root_text(source_root)}; give it another id, or replace "
            "the stored one (replace=True, --replace)",
            source=document_id,
            code="conflict",
        )


def check_query_vectors(vectors: NDArray[np.float32], *, dimension: int) -> None:
    """Raise an error if the vectors of a question do not fit the stored ones.

    Args:
        vectors: Query vectors, (m, dimension).
        dimension: Dimension of the vectors of the knowledge base, 0 for none.

    Raises:
        OptionError: If they have another shape.
    """
    if vectors.ndim != 2 or vectors.shape[1] != dimension or not dimension:
        raise OptionError(
            f"vectors of shape {vectors.shape} do not match: the knowledge base has "
            f"dimension {dimension}; embed the question as the documents were"
        )


def check_known(
    where: Filter,
    fields: Mapping[str, frozenset[FieldKind]],
    *,
    former: Callable[[], frozenset[str]],
) -> None:
    """Check that a filter fits the fields that documents have or had.

    Args:
        where: Filter to check.
        fields: Kinds of the values of each field over all documents.
        former: Function that returns the names of fields that documents had. It is called only if
            the filter does not fit the other fields.

    Raises:
        FilterError: If no document has or had a field of the filter, or a field has no value of the
            kind that it is compared with.
    """
    try:
        filters.check_filter(where, fields)
    except FilterError:
        every_kind = frozenset[FieldKind](get_args(FieldKind))
        filters.check_filter(where, {**dict.fromkeys(former(), every_kind), **fields})


def known_handles(documents: Sequence[str], handles: Sequence[int | None]) -> list[int]:
    """Return the handles of documents.

    Args:
        documents: Ids of the documents.
        handles: Handle of each document; None if it does not exist.

    Raises:
        DocumentNotFoundError: If a document does not exist.
    """
    known = []
    for document_id, handle in zip(documents, handles, strict=True):
        if handle is None:
            raise unknown_document(document_id)
        known.append(handle)
    return known


def unknown_handle(handle: int) -> DocumentNotFoundError:
    """Return the error for a handle that a snapshot does not have."""
    return DocumentNotFoundError(
        f"no document with the handle {handle!r}; take handles of a scan of this snapshot"
    )


def check_turn(thread_id: str, turn: Turn) -> None:
    """Check that a turn of a conversation can be written.

    Raises:
        OptionError: If the id, question or time contains a lone surrogate.
    """
    for text in (thread_id, turn.question, turn.asked_at):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise OptionError(
                f"the turn cannot be stored: {text!r} has a lone surrogate at character "
                f"{error.start}; replace it"
            ) from error


def check_entry(entry: DocumentEntry, *, dimension: int) -> None:
    """Check that the parts of an entry are consistent.

    Args:
        entry: Document with its sections, chunks and vectors.
        dimension: Dimension of the vectors of the knowledge base, 0 for none.

    Raises:
        OptionError: If the chunks do not add up to the text, the sections do not partition it, a
            chunk is not inside its section, pages, headings, metadata or characters are invalid, or
            the vectors are not finite or have another shape.
    """
    problem = (
        _document_problem(entry.document)
        or _section_problem(entry)
        or ("" if _is_partitioned(entry) else _chunk_problem(entry))
        or _vector_problem(entry, dimension=dimension)
        or _signal_problem(entry)
    )
    if problem:
        raise OptionError(f"the document {entry.document.id!r} cannot be stored: {problem}")


def _document_problem(document: Document) -> str:
    if not document.id or not document.text:
        return "it has no id or no text; give both"
    surrogate = None if document.text.isascii() else _SURROGATE.search(document.text)
    if surrogate is not None:
        return f"its text has a lone surrogate at character {surrogate.start()}; replace it"
    for page in document.pages:
        if not 0 <= page.start <= page.end <= len(document.text):
            return f"{page!r} is outside of its {len(document.text)} characters"
    parts: list[Heading | Block] = [*document.headings, *document.blocks]
    for part in parts:
        if not 0 <= part.start < part.end <= len(document.text):
            return f"{part!r} is empty, or outside of its {len(document.text)} characters"
    places = [0, *(place for f in document.figures for place in (f.start, f.end))]
    if [*places, len(document.text)] != sorted([*places, len(document.text)]):
        return "its figures are not in order, or outside of its characters"
    return metadata_problem(document.metadata)


def metadata_problem(metadata: Mapping[str, MetadataValue]) -> str:
    """Return why metadata cannot be stored and filtered; empty if it can."""
    for name, value in metadata.items():
        try:
            _ = filters.field(name).is_in(value if isinstance(value, tuple) else (value,))
        except FilterError:
            return (
                f"its metadata has {name!r}: {value!r}; give texts, finite numbers, booleans or "
                "tuples of them"
            )
    return ""


def stored_record(entry: DocumentEntry) -> DocumentRecord:
    """Return the record under which an entry is stored."""
    document = entry.document
    return DocumentRecord(
        id=document.id,
        title=entry.title,
        summary=entry.summary,
        metadata=dict(document.metadata),
        media_type=document.media_type,
        source=document.source,
        source_root=document.source_root,
        content_hash=document.content_hash,
        chars=len(document.text),
        chunks=len(entry.chunks),
        tokens=sum(chunk.tokens for chunk in entry.chunks),
        pages=len(document.pages),
        given_fields=document.given_fields,
        origins=document.origins,
        language=entry.language,
        status=document.status,
        version=text_version(document.text),
        recipe=entry.recipe,
    )


def detached(stored: _Described) -> _Described:
    """Return a copy whose metadata and origins a caller can change without changing the store."""
    origins = stored.origins
    if origins is not None:
        origins = replace(
            origins,
            file=dict(origins.file),
            sidecar=dict(origins.sidecar),
            given=dict(origins.given),
            edited=dict(origins.edited),
        )
    return replace(stored, metadata=dict(stored.metadata), origins=origins)


def ids_by_root(records: Sequence[DocumentRecord], roots: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids of the records from some source roots, in their order, by source root."""
    ids: dict[str, list[str]] = {}
    for record in records:
        if record.source_root in roots:
            ids.setdefault(record.source_root, []).append(record.id)
    return ids


def check_update(document_id: str, update: DocumentUpdate) -> None:
    """Check that the new metadata and title of a document can be stored.

    Raises:
        OptionError: If a value is of another type, or a text contains a lone surrogate.
    """
    problem = metadata_problem(update.metadata)
    for text in (update.title, *update.metadata, *map(str, update.metadata.values())):
        try:
            text.encode()
        except UnicodeEncodeError:
            problem = f"{text!r} contains a lone surrogate; replace it"
    if problem:
        raise OptionError(f"the document {document_id!r} cannot be changed: {problem}")


def check_sections(document_id: str, update: DocumentUpdate, sections: Sequence[Section]) -> None:
    """Check that an update has a number of header tokens for each section.

    Raises:
        OptionError: If it has more or fewer.
    """
    if update.searched is None or len(update.searched.header_tokens) == len(sections):
        return
    raise OptionError(
        f"the document {document_id!r} cannot be changed: it has {len(sections)} sections, and "
        f"header tokens are given for {len(update.searched.header_tokens)}"
    )


def _section_problem(entry: DocumentEntry) -> str:
    place = 0
    for section in entry.sections:
        if section.start != place or section.end <= place:
            return f"{section!r} does not start at {place} or is empty; sections partition the text"
        place = section.end
    if place != len(entry.document.text):
        return f"its sections end at {place}, its text at {len(entry.document.text)}"
    return ""


def _is_partitioned(entry: DocumentEntry) -> bool:
    """Return whether the chunks are a table that satisfies all checks of `_chunk_problem`."""
    table = entry.chunks
    if not isinstance(table, ChunkTable):
        return False
    ends, owners, tokens = (np.asarray(column) for column in table.columns[:3])
    if not len(ends) or not table.is_of(entry.document.text) or owners.min() < 0:
        return False
    if ends[-1] != len(entry.document.text) or owners.max() >= len(entry.sections):
        return False
    starts = np.concatenate(([0], ends[:-1]))
    first = np.array([section.start for section in entry.sections])[owners]
    last = np.array([section.end for section in entry.sections])[owners]
    is_inside = (first <= starts) & (starts < ends) & (ends <= last)
    return bool(is_inside.all() and tokens.min() >= 1)


def _chunk_problem(entry: DocumentEntry) -> str:
    text = entry.document.text
    place = 0
    for index, row in enumerate(chunk_rows(entry.chunks)):
        number, start, end, tokens, part, _, _ = row
        if start != place or end <= place:
            return f"{row!r} is not chunk {index} from {place} on; joined chunks are the text"
        if part != text[start:end]:
            return f"{row!r} does not match the text of the document there"
        if not 0 <= number < len(entry.sections) or tokens < 1:
            return f"{row!r} names no section or has no tokens"
        section = entry.sections[number]
        if not section.start <= start < end <= section.end:
            return f"{row!r} is not inside of its section {section!r}"
        place = end
    if place != len(text):
        return f"its chunks end at {place}, its text at {len(text)}"
    return _index_problem(entry)


def _index_problem(entry: DocumentEntry) -> str:
    if isinstance(entry.chunks, ChunkTable):  # it numbers its chunks itself
        return ""
    wrong = (chunk for index, chunk in enumerate(entry.chunks) if chunk.index != index)
    return next((f"{chunk!r} has the index of another chunk" for chunk in wrong), "")


def _vector_problem(entry: DocumentEntry, *, dimension: int) -> str:
    if entry.vectors is None or dimension == 0:
        if entry.vectors is None and dimension == 0:
            return ""
        supplied = "no vectors" if entry.vectors is None else "vectors"
        return f"it comes with {supplied}, and the knowledge base has dimension {dimension}"
    expected = (len(entry.chunks), dimension)
    if entry.vectors.shape != expected:
        return f"its vectors have shape {entry.vectors.shape}; give {expected}"
    return (
        ""
        if all(
            np.isfinite(entry.vectors[first : first + _BLOCK_ROWS]).all()
            for first in range(0, len(entry.vectors), _BLOCK_ROWS)
        )
        else "its vectors contain values that are not finite"
    )


def _signal_problem(entry: DocumentEntry) -> str:
    for landmark, signal in entry.signals.items():
        if signal.shape != (len(entry.chunks),) or not np.isfinite(signal).all():
            return f"its signal {landmark!r} is not one finite number a chunk"
    return ""


def differing_part(entry: DocumentEntry, other: DocumentEntry) -> str:
    """Return the name of the first part in which two stored entries differ; empty if none does.

    Vectors and signals are compared bit for bit.
    """
    for part in fields(entry):
        one, two = getattr(entry, part.name), getattr(other, part.name)
        if part.name == "vectors":
            is_equal = _same_rows(one, two)
        elif part.name == "signals":
            is_equal = one.keys() == two.keys() and all(_same_rows(one[k], two[k]) for k in one)
        elif part.name == "chunks":
            is_equal = tuple(one) == tuple(two)
        else:
            is_equal = one == two
        if not is_equal:
            return part.name
    return ""


def _same_rows(one: NDArray[np.floating] | None, two: NDArray[np.floating] | None) -> bool:
    if one is None or two is None:
        return one is two
    return one.shape == two.shape and one.tobytes() == two.astype(one.dtype).tobytes()
