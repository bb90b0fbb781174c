"""What Spanwise asks of a store, and the plain data that crosses.

A store gives counts and raw scores; all arithmetic on them lives in the core, so that the same
question gives the same segments on one file or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Literal, ParamSpec, Protocol, TypeVar

from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery
from spanwise.errors import StoreChangedError
from spanwise.models.ports import OutputCache

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from spanwise.filters import Filter
    from spanwise.types import (
        CheckReport,
        Chunk,
        Document,
        DocumentRecord,
        Page,
        Section,
        Thread,
        ThreadInfo,
        Turn,
        WholeDocument,
    )


_P = ParamSpec("_P")
_R = TypeVar("_R")
_MAX_READS = 20


def repeated_read(read: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that repeats a read, a few times, while it fails with StoreChangedError."""

    @wraps(read)
    def repeated(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for _ in range(_MAX_READS - 1):
            with suppress(StoreChangedError):
                return read(*args, **kwargs)
        return read(*args, **kwargs)

    return repeated


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DocumentEntry:
    """A document ready to be stored, whole: what one transaction writes."""

    document: Document
    title: str
    summary: str
    title_words: str
    """Words of its title, file name and path: the field that routes a question to it."""
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    vectors: NDArray[np.floating] | None
    """One row a chunk, of any length; None in a knowledge base without an embedder."""
    language: str = ""
    """Of its text (ISO 639-1), empty where it is not known: its terms are made in it."""
    signals: Mapping[str, NDArray[np.float16]] = field(default_factory=dict)
    """Where the landmarks of packs stand in it: by name, one number a chunk."""
    packs: str = ""
    """The packs that they were made with, as recorded."""
    recipe: str = ""
    """As `DocumentRecord.recipe`."""


class Searchable(Protocol):
    """Documents that can be searched and weighed: every call sees the same ones."""

    def languages(self) -> tuple[str, ...]:
        """Return the languages of living documents, ascending; "" for what is not known."""

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return how many living chunks hold each term, (T,), and how many there are."""

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Search all chunks in scope.

        The keyword score of chunk u is `sum over terms t of weight(t) * (impact(t, u) + title(t))`,
        `title(t)` 1 where the title words of its document hold t, `weight(t)` the inverse frequency
        over all living chunks, or over document titles where no chunk holds t; of terms that stand
        for one word (`query.words`), the chunks or titles of all are counted together, at most as
        many as there are. Terms are those of `core.terms` in the language of the document; a
        filter sees metadata, title, language and status (`filters.filter_fields`). Hits are the
        union of the best `query.hits` chunks by keyword score (above 0), by cosine, and by
        `s z(keyword) + (1 - s) z(cosine)`, `s` the query's `keyword_share`; ties go to the older
        document, then the earlier chunk. Hits are ordered by document, then chunk.

        Raises:
            FilterError: If the filter names a field that no document has, or compares it with
                a value of another type.
            DocumentNotFoundError: If `documents` names one that does not exist.
        """

    def passages(
        self,
        ranges: Sequence[PassageRange],
        *,
        terms: Sequence[str],
        vectors: NDArray[np.float32],
    ) -> Passages:
        """Return the raw material of some ranges; `vectors` (m, dimension) have unit length."""

    def packs(self) -> str:
        """Return the packs that are recorded (`packs.pack_file`), "" for none."""

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks in the chunks of some ranges, (landmarks, n).

        0 where a document does not have a landmark. The ranges lie inside of their documents.
        """


class Snapshot(Searchable, Protocol):
    """One moment of a store."""

    def record(self, handle: int) -> DocumentRecord:
        """Return what is known of a document that a scan of this snapshot returned."""

    def sections(self, handle: int, start: int, end: int) -> tuple[Section, ...]:
        """Return its sections `[start, end)`, those that exist."""

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return its pages in order, none where the format has no pages."""

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return its chunks `[start, end)`."""


class Store(OutputCache, Protocol):
    """Keeps documents, whole or not at all, and searches them; conversations; outputs of models.

    Safe for use by several threads and, where it is on disk, several processes. A search sees
    every document whose `put_document` has returned, and none of a document that is not whole.
    """

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record the settings that are not recorded yet, and return all that are recorded."""

    def record_settings(self, settings: Mapping[str, str]) -> None:
        """Record settings in place of what was recorded under their names; the others stay.

        Raises:
            OptionError: If it names "dimension" or "reference_terms": what is stored depends on
                them, and they are recorded once; or "packs", which `record_packs` records.
        """

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        """Record packs in place of those before, in one transaction with the signals of all.

        Args:
            packs: What is recorded (`packs.pack_file`).
            make: Makes the signals of a document of the texts of its chunks.
        """

    def list_signals(self) -> Mapping[str, Sequence[str]]:
        """Return the landmarks that documents have, sorted, by id; those that have any."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False
    ) -> Literal["added", "replaced"]:
        """Store a document in one transaction, in place of one with the same id.

        Args:
            entry: The document; its chunks joined are its text.
            replace: Whether a document that came from another source root may be replaced.

        Raises:
            ConflictError: If the id belongs to another source root and `replace` is False, or its
                signals were made with other packs than are recorded now.
            StoreFullError: If the disk is full; nothing of the document was kept.
        """

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        """Delete a document whole, if there is one, in one transaction.

        Args:
            document_id: Its id.
            record: What the caller knows of it; where that does not hold any more, because
                another process replaced it, it stays. None to delete it whatever it is.

        Returns:
            Whether a document was deleted.
        """

    def group_commits(self) -> AbstractContextManager[Callable[[], None]]:
        """Leave it to the caller when the writes of this thread are forced to the disk.

        Outside of it, a write is on the disk when it returns, as far as the store promises that.
        Inside, it is visible at once, and on the disk when the function that this gives, or the
        end of the context, returns.
        """

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return what is known of a document, or None."""

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that a filter leaves, ordered by id.

        Raises:
            FilterError: As `Snapshot.scan`.
        """

    def get_document(self, document_id: str) -> Document | None:
        """Return a document as it was put, or None."""

    def get_whole(self, document_id: str) -> WholeDocument | None:
        """Return a document with its record and sections, of one moment, or None."""

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return all chunks of a document, none when there is no such document."""

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        """Return all sections of a document, none when there is no such document."""

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        """Return its chunks and their vectors as stored, (chunks, dimension), of one moment.

        None when there is no such document, or without an embedder.
        """

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open a snapshot; close it soon, it holds a read transaction.

        Raises:
            StoreChangedError: At its end, if the store is read without locks and changed meanwhile;
                nothing that was read counts (`repeated_read`).
        """

    def count_outputs(self) -> tuple[int, int]:
        """Return how many outputs of models are kept, and their bytes in UTF-8."""

    def forget_outputs(self) -> int:
        """Delete all outputs of models, and return how many there were."""

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        """Append a turn to a conversation, in one transaction; the first one makes it.

        Raises:
            OptionError: If the id or the question has half a surrogate pair.
            StoreError: If it cannot be written.
        """

    def get_thread(self, thread_id: str) -> Thread | None:
        """Return a conversation with its turns in order, or None.

        Raises:
            FormatError: If a turn is missing or damaged.
        """

    def list_threads(self) -> list[ThreadInfo]:
        """Return all conversations, the one with the latest turn first; ties by id."""

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation, and return whether there was one."""

    def optimise(self) -> None:
        """Bring what is derived up to date and compact it."""

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return what is wrong with what is stored and with what is derived of it.

        Args:
            repair: Whether to make anew what is derived; documents are never changed.

        Raises:
            StoreError: If it cannot be checked, or not be written for a repair.
        """

    def backup(
        self, target: Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Copy everything as it is at one moment to a new folder, whole or not at all.

        Args:
            target: Folder to make.
            on_progress: Called with the bytes copied and all bytes of the documents.

        Raises:
            OptionError: If the target cannot be such a folder.
            StoreFullError: If its disk is full; nothing is left of the copy.
            StoreError: If it cannot be written, or the store is not on disk.
        """

    def close(self) -> None:
        """Release everything; a closed store raises StoreError."""
