"""Reports of ingest, checks and backups, and information about a knowledge base and its packs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanwise.errors import DocumentErrorCode
from spanwise.types.documents import MetadataValue
from spanwise.types.plain import PlainForm
from spanwise.types.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestFailure(PlainForm):
    """Source that could not be added."""

    source: str
    """Path, URL or id of the document."""
    code: DocumentErrorCode
    """Machine-readable kind of the failure."""
    message: str
    """Human-readable description of the failure and of what to do."""

    @property
    def is_left_out(self) -> bool:
        """Whether the run ended before the document was added; another run continues with it."""
        return self.code in ("cost_limit", "not_begun")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress(PlainForm):
    """Progress of an ingest after a document; the counted documents are already on disk."""

    documents_done: int
    """Number of documents processed so far."""
    documents_total: int
    """Number of documents known so far; grows when containers are opened."""
    bytes_done: int
    """Size of the sources processed so far, in bytes."""
    bytes_total: int
    """Size of all sources whose size is known in advance, in bytes."""
    chunks: int
    """Number of chunks added and replaced so far."""
    document_id: str
    """Id of the document that was processed last."""
    outcome: Literal["added", "replaced", "updated", "unchanged", "removed", "failed"]
    """Outcome for the document that was processed last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport(PlainForm):
    """Report of an ingest; document ids are in the order of the sources."""

    added: tuple[str, ...] = ()
    """Ids of new documents."""
    replaced: tuple[str, ...] = ()
    """Ids of documents that replaced an earlier version."""
    updated: tuple[str, ...] = ()
    """Ids of documents whose text is the same and whose metadata or title was changed."""
    unchanged: tuple[str, ...] = ()
    """Ids of documents that were already stored in the same form."""
    removed: tuple[str, ...] = ()
    """Ids of documents that `sync` or a crawl removed because their files or pages are gone."""
    failed: tuple[IngestFailure, ...] = ()
    """Sources that could not be added."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about content that was not read and about missing capabilities."""
    partial: tuple[str, ...] = ()
    """Ids of added and replaced documents that could be read only in part."""
    needs_ocr: tuple[str, ...] = ()
    """Ids of added and replaced documents with pages that are images of text."""
    chunks: int = 0
    """Number of chunks of the added and replaced documents."""
    embedded_chunks: int = 0
    """Number of added and replaced chunks that were embedded; 0 without an embedder."""
    kept_vectors: int = 0
    """Number of added and replaced chunks that reuse the vector of an earlier chunk with the same
    text, or have a vector of the caller."""
    chars: int = 0
    """Number of characters of the added and replaced documents."""
    seconds: float = 0.0
    """Wall time of the ingest, in seconds."""
    usage: Usage = field(default_factory=Usage)
    """Calls, tokens and cost of all models."""
    usage_by_task: Mapping[str, Usage] = field(default_factory=dict)
    """Calls, tokens and cost by task: "title", "sections" and others, and "embed"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataChange(PlainForm):
    """Change of the metadata and the title of one document."""

    document_id: str
    """Id of the document."""
    before: Mapping[str, MetadataValue | None]
    """Earlier values of the changed fields; None for a field that the document did not have."""
    after: Mapping[str, MetadataValue | None]
    """New values of the changed fields; None for a removed field."""
    title_before: str
    """Earlier title."""
    title_after: str
    """New title; equal to the earlier one if it was not changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataReport(PlainForm):
    """Result of `KnowledgeBase.update_metadata`; documents are in the given order, or by id."""

    changes: tuple[MetadataChange, ...] = ()
    """Documents that were changed."""
    unchanged: tuple[str, ...] = ()
    """Ids of the documents that already had these fields and this title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBaseInfo(PlainForm):
    """Size and settings of a knowledge base."""

    path: str
    """Folder or address of the knowledge base."""
    documents: int
    """Number of documents."""
    chunks: int
    """Number of chunks."""
    chars: int
    """Number of characters of all documents."""
    tokens: int
    """Number of tokens of all documents, in tokens of the knowledge base's tokenizer."""
    bytes_on_disk: int
    """Size of the knowledge base on disk, in bytes."""
    settings: Mapping[str, str]
    """Recorded settings by name, such as embedder, tokenizer and chunk options."""
    fields: Mapping[str, tuple[str, ...]]
    """Metadata fields by name, with the kinds of their values ("text", "date", "number" or
    "boolean")."""
    partial: int = 0
    """Number of documents that could be read only in part."""
    needs_ocr: int = 0
    """Number of documents with pages that are images of text."""
    outputs: int = 0
    """Number of cached model outputs, which save repeated calls."""
    output_bytes: int = 0
    """Size of the cached model outputs, in bytes."""
    threads: int = 0
    """Number of conversations."""
    reclaimable_bytes: int = 0
    """Number of bytes on disk that `KnowledgeBase.compact` would return: an estimate."""


CheckCode = Literal[
    "database",  # SQLite reports damage to its file
    "settings",  # the recorded settings of the knowledge base are not usable
    "record",  # the record of a document is unreadable or contradicts its parts
    "text",  # a text differs from the stored hash
    "chunks",  # the chunks of a document do not add up to its text, or lack data
    "sections",  # the sections of a document do not partition its text
    "pages",  # pages are missing, or outside the text
    "vectors",  # vectors are missing, of the wrong size, or not finite
    "checksum",  # other data of a document differs from its checksum
    "changes",  # the change log does not contain a document
    "orphans",  # rows belong to a document that does not exist
    "threads",  # a conversation lacks turns, or one of them is unreadable
    "outputs",  # a cached output of a model differs from its checksum
    "manifest",  # the list of index parts is missing, damaged, or from another history
    "part",  # an index part is missing, damaged, or contradicts the documents
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding(PlainForm):
    """One defect found by a check of a knowledge base."""

    code: CheckCode
    """Machine-readable kind of the defect."""
    document_id: str
    """Id of the damaged document; empty if the defect does not belong to one document."""
    message: str
    """Human-readable description of the defect and of what to do."""
    repaired: bool
    """Whether the check repaired the defect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport(PlainForm):
    """Report of a check of a knowledge base."""

    path: str
    """Folder or address of the knowledge base."""
    documents: int
    """Number of documents whose text, chunks, sections, pages and vectors were checked."""
    chunks: int
    """Number of chunks that were checked."""
    chars: int
    """Number of characters of text that were compared with their hash."""
    index_parts: int
    """Number of index parts whose checksums and documents were checked."""
    index_chunks: int
    """Number of chunks compared with a freshly built index: all of a small part, a sample of a
    large one."""
    pending_chunks: int
    """Number of chunks not yet in an index part. This is not damage: they are searched from
    memory."""
    findings: tuple[CheckFinding, ...]
    """Defects: of the database first, then of conversations, of documents from oldest to newest,
    and of the index."""
    seconds: float
    """Wall time of the check, in seconds."""

    @property
    def sound(self) -> bool:
        """Whether there is no damage, or all of it was repaired."""
        return all(finding.repaired for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport(PlainForm):
    """Report of a backup of a knowledge base."""

    path: str
    """Folder of the copy."""
    bytes_on_disk: int
    """Size of the copy on disk, in bytes."""
    seconds: float
    """Wall time of the backup, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport(PlainForm):
    """Report of a copy of a knowledge base to another store."""

    source: str
    """Folder or address of the source, without a password."""
    target: str
    """Folder or address of the target, without a password."""
    documents: int
    """Number of documents of the source."""
    copied: int
    """Number of documents that were stored or updated; the target had the others already."""
    chunks: int
    """Number of chunks of the source."""
    outputs: int
    """Number of cached model outputs that were copied."""
    threads: int
    """Number of conversations of the source."""
    verified: int
    """Number of documents that were compared in full at the end."""
    warnings: tuple[str, ...]
    """Conversations that were not copied, because the target has others with their ids."""
    seconds: float
    """Wall time of the copy, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport(PlainForm):
    """Report of an export of a knowledge base."""

    path: str
    """Folder of the export."""
    documents: int
    """Number of documents."""
    sections: int
    """Number of sections."""
    chunks: int
    """Number of chunks."""
    bytes_on_disk: int
    """Size of the files, in bytes."""
    seconds: float
    """Wall time of the export, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport(PlainForm):
    """Report of `KnowledgeBase.compact`."""

    path: str
    """Folder or address of the knowledge base."""
    bytes_before: int
    """Size of the knowledge base on disk before, in bytes."""
    bytes_after: int
    """Size of the knowledge base on disk after, in bytes."""
    seconds: float
    """Wall time, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport(PlainForm):
    """Report of `KnowledgeBase.rebuild`, or of its dry run."""

    path: str
    """Folder or address of the knowledge base."""
    documents: int
    """Number of documents of the new state."""
    continued: int
    """Number of these documents that an interrupted rebuild had prepared before this one."""
    chunks: int
    """Number of chunks of the new state."""
    chars: int
    """Number of characters of the new state."""
    kept_sections: tuple[str, ...] = ()
    """Ids of documents whose sections come from a language model or the caller, and were kept."""
    usage: Usage = field(default_factory=Usage)
    """Calls, tokens and cost of the embedder; in a dry run an upper bound."""
    bytes_before: int = 0
    """Size of the knowledge base on disk before, in bytes."""
    bytes_after: int = 0
    """Size of the knowledge base on disk after, in bytes; 0 in a dry run."""
    seconds: float = 0.0
    """Wall time, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackInfo(PlainForm):
    """Description of a pack and of its effect in a knowledge base."""

    name: str
    """Name of the pack."""
    description: str
    """Description of the pack, one line."""
    origin: str
    """Path of the pack's file, or "spanwise" for a pack shipped with Spanwise."""
    in_use: bool
    """Whether the knowledge base uses the pack."""
    outdated: bool
    """Whether this version of Spanwise ships a different version of the pack than the one in
    use."""
    landmarks: tuple[str, ...]
    """Display names of the pack's landmarks."""
    phrases: int
    """Number of question phrases that point to a landmark."""
    glossary: int
    """Number of question words for which the pack adds search terms."""
    documents: int
    """Number of documents with at least one of the pack's landmarks; the pack affects only
    these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPlace(PlainForm):
    """Chunk of a document that matches a landmark of a pack best."""

    document_id: str
    """Id of the document."""
    landmark: str
    """Key of the landmark in the pack's file."""
    name: str
    """Display name of the landmark."""
    chunk: int
    """Position of the chunk in its document, from 0."""
    start: int
    """Offset of the first character of the chunk."""
    end: int
    """Offset one past the last character of the chunk."""
    text: str
    """Text of the chunk."""
