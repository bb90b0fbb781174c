"""What an ingest, a check or a copy did, and what a knowledge base holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanwise.errors import DocumentErrorCode
from spanwise.types.plain import PlainForm
from spanwise.types.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestFailure(PlainForm):
    """Source that could not be taken in."""

    source: str
    code: DocumentErrorCode
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress(PlainForm):
    """How far an ingest has come, told after each document; what it counts is acknowledged."""

    documents_done: int
    documents_total: int
    bytes_done: int
    bytes_total: int
    """Of the sources whose size is known beforehand."""
    chunks: int
    """Chunks added and replaced so far."""
    document_id: str
    """The document that was just done."""
    outcome: Literal["added", "replaced", "unchanged", "removed", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport(PlainForm):
    """What an ingest did, by document id in the order of the sources."""

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Documents whose files are gone; of a sync alone."""
    failed: tuple[IngestFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    """What was read in part, or what the knowledge base does without; for people."""
    partial: tuple[str, ...] = ()
    """Documents among those added and replaced that could be read only in part."""
    needs_ocr: tuple[str, ...] = ()
    """Documents among those added and replaced with pages that are pictures of text."""
    chunks: int = 0
    """Chunks of the documents added and replaced."""
    embedded_chunks: int = 0
    """Chunks among them whose vectors were made; 0 without an embedder."""
    kept_vectors: int = 0
    """Chunks among them with the text of an earlier one, whose vectors were taken over."""
    chars: int = 0
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    """Of models, for everything that was made."""
    usage_by_task: Mapping[str, Usage] = field(default_factory=dict)
    """By what models were asked for: "title", "sections" ..., and "embed"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBaseInfo(PlainForm):
    """What a knowledge base holds and how it was made."""

    path: str
    documents: int
    chunks: int
    chars: int
    tokens: int
    bytes_on_disk: int
    settings: Mapping[str, str]
    """Embedder, tokenizer, chunk options and the like, as recorded."""
    fields: Mapping[str, tuple[str, ...]]
    """Metadata fields with the kinds of their values ("text", "number", "boolean")."""
    partial: int = 0
    """Documents that could be read only in part."""
    needs_ocr: int = 0
    """Documents with pages that are pictures of text."""
    outputs: int = 0
    """Outputs of models that are kept, so that the same is not asked for twice."""
    output_bytes: int = 0
    """Of these outputs."""
    threads: int = 0
    """Conversations."""


CheckCode = Literal[
    "database",  # SQLite finds its file damaged
    "settings",  # what was recorded when the knowledge base was made is not usable
    "record",  # what is known of a document does not fit to its parts, or cannot be read
    "text",  # a text is not the one that was stored
    "chunks",  # the chunks of a document do not join to a text, or miss something
    "sections",  # sections do not partition the text
    "pages",  # pages are missing, or outside of the text
    "vectors",  # vectors are missing, of a wrong size, or hold what is no number
    "checksum",  # something else of a document differs from its checksum
    "changes",  # the sequence of changes does not tell of a document
    "orphans",  # rows of a document that is not there
    "threads",  # a conversation misses turns, or one of them cannot be read
    "outputs",  # a kept output of a model differs from its checksum
    "manifest",  # the list of index parts is missing, damaged, or of another history
    "part",  # an index part is missing or damaged, or does not hold what the documents say
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding(PlainForm):
    """Something in a knowledge base that is not as it must be."""

    code: CheckCode
    document_id: str
    """Empty where it is of no single document."""
    message: str
    """What was found and what to do about it."""
    repaired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport(PlainForm):
    """What a check of a knowledge base looked at and found."""

    path: str
    documents: int
    """Whose text, chunks, sections, pages and vectors were checked."""
    chunks: int
    chars: int
    """Of text compared with its hash."""
    index_parts: int
    """Whose checksums and documents were checked."""
    index_chunks: int
    """Compared with the index as it would be made anew: all of a small part, a sample of others."""
    pending_chunks: int
    """In no index part yet, which is no damage: they are searched from memory."""
    findings: tuple[CheckFinding, ...]
    """The database first, then conversations, documents in the order of age, and the index."""
    seconds: float

    @property
    def sound(self) -> bool:
        """Whether nothing is damaged, or nothing any more."""
        return all(finding.repaired for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport(PlainForm):
    """A copy of a knowledge base."""

    path: str
    bytes_on_disk: int
    """Of the copy."""
    seconds: float
