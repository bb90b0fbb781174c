"""Stores that keep something wrongly, each in one way: of documents, outputs, conversations."""

import time
from collections.abc import Sequence
from dataclasses import replace
from dataclasses import replace as changed
from typing import Any

import numpy as np

from spanwise.filters import Filter
from spanwise.stores.memory import MemoryStore, StoredDocument
from spanwise.stores.port import Accept, DocumentEntry, DocumentUpdate, PutOutcome
from spanwise.types import Document, DocumentRecord, Section, Thread, ThreadInfo, Turn
from spanwise.types.output_cache import CachedOutput


class OutputsOverwritten(MemoryStore):
    """The last output under a key stays."""

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        self._live()
        self._outputs.update((cached.key, cached) for cached in outputs)


class SectionsUnseen(MemoryStore):
    """A document is one section to those who search it."""

    def _keep(self, stored: StoredDocument) -> None:
        whole = np.arange(len(stored.chunks)) == 0
        super()._keep(replace(stored, counted=replace(stored.counted, openings=whole)))


class OutputsKept(MemoryStore):
    """What is forgotten is only counted."""

    def forget_outputs(self) -> int:
        return len(self._outputs)


class TitleWordsDropped(MemoryStore):
    """Entries have the title in place of its words."""

    def read_entry(self, document_id: str) -> DocumentEntry | None:
        entry = super().read_entry(document_id)
        return None if entry is None else replace(entry, title_words=entry.title)


class OutputsUnsorted(MemoryStore):
    """Outputs are listed in the order in which they were cached."""

    def list_outputs(self, *, after: str = "", limit: int = 100) -> list[CachedOutput]:
        keys = ["", *self._outputs]
        return [self._outputs[key] for key in keys[keys.index(after) + 1 :][:limit]]


class OutputsStripped(MemoryStore):
    """Outputs lose the white space around them."""

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        super().put_outputs([replace(cached, output=cached.output.strip()) for cached in outputs])


class SecondOutputsDropped(MemoryStore):
    """Only the first output of several is cached."""

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        super().put_outputs(outputs[:1])


class SecondOutputsUnread(MemoryStore):
    """Only the first output of several is returned."""

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        return super().get_outputs(keys[:1])


class OutputsOfABatchOverwritten(MemoryStore):
    """The last of several outputs under a key stays."""

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        super().put_outputs(outputs[::-1])


class TurnsLost(MemoryStore):
    """Two who append at once may overwrite each other."""

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        before = self._threads.get(thread_id)
        time.sleep(0.001)
        super().append_turn(thread_id, turn)
        if before is not None:
            info = replace(before.info, turns=before.info.turns + 1)
            self._threads[thread_id] = Thread(info=info, turns=(*before.turns, turn))


class TurnsKept(MemoryStore):
    """A deleted conversation comes back with its name."""

    def __init__(self) -> None:
        super().__init__()
        self._gone: dict[str, Thread] = {}

    def delete_thread(self, thread_id: str) -> bool:
        thread = self._threads.get(thread_id)
        if thread is not None:
            self._gone[thread_id] = thread
        return super().delete_thread(thread_id)

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        if thread_id in self._gone:
            self._threads[thread_id] = self._gone.pop(thread_id)
        super().append_turn(thread_id, turn)


class CostsForgotten(MemoryStore):
    """What an answer cost is known as nothing, where it was not known."""

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        usage = replace(turn.answer.usage, cost=turn.answer.usage.cost or 0.0)
        super().append_turn(thread_id, replace(turn, answer=replace(turn.answer, usage=usage)))


class ThreadsByName(MemoryStore):
    """Conversations are listed by their ids."""

    def list_threads(self) -> list[ThreadInfo]:
        return sorted(super().list_threads(), key=lambda info: info.id)


class HeadingsDropped(MemoryStore):
    """Headings are not kept."""

    def get_document(self, document_id: str) -> Document | None:
        document = super().get_document(document_id)
        return None if document is None else replace(document, headings=())


class RootsIgnored(MemoryStore):
    """Any document replaces any other."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        return super().put_document(entry, replace=True, accept=accept)


class ConditionsIgnored(MemoryStore):
    """A document is written whatever has become of the one it was prepared from."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        return super().put_document(entry, replace=replace)


class TitlesNotUpdated(MemoryStore):
    """A new title is shown, and the old one is searched."""

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        counted = self._live()[document_id].counted
        if not super().update_document(document_id, update, record=record):
            return False
        stored = self._documents[document_id]
        if update.searched is not None:
            same = replace(counted, handle=stored.handle)
            self._documents = {**self._documents, document_id: replace(stored, counted=same)}
        return True


class OriginsDropped(MemoryStore):
    """Nobody knows which fields were set by hand."""

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        return super().update_document(document_id, changed(update, origins=None), record=record)


class UpdatesForced(MemoryStore):
    """An update is made whatever the record is by then."""

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        record = self.get_record(document_id) or record
        return super().update_document(document_id, update, record=record)


class StatusForgotten(MemoryStore):
    """Every document counts as whole."""

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        return [replace(record, status="ok") for record in super().list_records(where)]


class VersionOfTheBytes(MemoryStore):
    """The version changes with the file, not with the text."""

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        records = super().list_records(where)
        return [replace(record, version=record.title[:12]) for record in records]


class SummariesDropped(MemoryStore):
    """Sections lose what they are about."""

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        return tuple(replace(one, summary="") for one in super().get_sections(document_id))


class RecipesDropped(MemoryStore):
    """Nobody knows what a document was made by."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        return super().put_document(changed(entry, recipe=""), replace=replace, accept=accept)


class SettingsOverwritten(MemoryStore):
    """The last value of a setting stays."""

    def ensure_settings(self, settings: Any) -> Any:
        self._settings = {**self._settings, **settings}
        return super().ensure_settings({})


class SettingsKept(MemoryStore):
    """A setting cannot be written again."""

    def record_settings(self, settings: Any) -> None:
        super().record_settings({k: v for k, v in settings.items() if k not in self._settings})
