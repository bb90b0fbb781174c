"""Documents that this process knows: the whole index of a small knowledge base, kept current.

A refresh asks for the points of documents that changed since the last one, less the time by which
clocks may differ, and reads the chunks of new versions. Deleted documents keep a point for a day,
so that a refresh sees the deletion; after half a day without a refresh everything is read again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spanwise.errors import FormatError
from spanwise.filters import known_fields, record_fields
from spanwise.stores.merge import MergeSource, merge_parts
from spanwise.stores.qdrant.meta import Meta, read_meta
from spanwise.stores.qdrant.points import (
    CHUNKS,
    DOCUMENTS,
    META_ID,
    VERSION_FIELDS,
    StoredVersion,
    document_point_id,
    read_row,
    read_version,
    read_words,
)
from spanwise.stores.qdrant.rows import RowTable, join_rows
from spanwise.stores.qdrant.ticks import MAX_SKEW_SECONDS, TICKS
from spanwise.stores.qdrant.writes import KEEP_GONE_SECONDS
from spanwise.stores.view import LiveDocuments, View, locate

if TYPE_CHECKING:
    from spanwise.filters import FieldKind
    from spanwise.stores.part import Part
    from spanwise.stores.qdrant.requests import Requests
    from spanwise.stores.qdrant.ticks import Ticks

_ATTEMPTS = 10
_MAX_PARTS = 8
_READ_IDS = 4_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """All live documents at one moment, with their index."""

    meta: Meta
    changes: Mapping[str, int]
    """Tick of the last change of every point, also of deleted documents."""
    read_at: int
    """Tick at which the points were last read."""
    versions: Mapping[str, StoredVersion]
    """Live versions by the id of their point."""
    handles: Mapping[int, StoredVersion]
    """Live versions by handle."""
    view: View

    @cached_property
    def fields(self) -> dict[str, frozenset[FieldKind]]:
        """Kinds of the values of each field of live documents."""
        return known_fields(record_fields(one.record) for one in self.versions.values())

    def find(self, document_id: str) -> int | None:
        """Return the handle of a document; None if there is no such document."""
        return self._handle_of.get(document_point_id(document_id))

    @cached_property
    def _handle_of(self) -> dict[str, int]:
        return {version.point: handle for handle, version in self.handles.items()}


class _VersionGoneError(Exception):
    """Chunks of a version are missing, because it was replaced after its point was read."""


class KnownDocuments:
    """Reads the documents of a knowledge base, and follows changes; safe for several threads."""

    def __init__(self, requests: Requests, ticks: Ticks) -> None:
        self._requests = requests
        self._ticks = ticks
        self._lock = threading.Lock()
        self._known: Known | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether the documents have been read."""
        return self._known is not None

    def forget(self) -> None:
        """Release the documents."""
        with self._lock:
            self._known = None

    def refresh(self) -> Known:
        """Return the present documents.

        Raises:
            FormatError: If points are damaged, or chunks of a document are missing.
        """
        with self._lock:
            for attempt in range(_ATTEMPTS):
                try:
                    self._known = self._refreshed(self._known)
                except _VersionGoneError as error:
                    if attempt == _ATTEMPTS - 1:
                        raise FormatError(
                            f"chunks of {error.args[0]!r} are missing; add the document again"
                        ) from error
                else:
                    break
            if self._known is None:
                raise AssertionError("the last attempt returns or raises")
            return self._known

    def _refreshed(self, known: Known | None) -> Known:
        now = self._ticks.now()
        if known is not None and now - known.read_at > KEEP_GONE_SECONDS * TICKS // 2:
            known = None
        changes = dict(known.changes) if known is not None else {}
        since = max(changes.values(), default=0) - MAX_SKEW_SECONDS * TICKS
        changed = [
            point
            for point, tick in self._read_changes(since if known is not None else 0)
            if changes.get(point) != tick
        ]
        if known is not None and not changed:
            return known
        return self._read(known, changes, changed, now)

    def _read_changes(self, since: int) -> Iterable[tuple[str, int]]:
        from qdrant_client import models

        later = models.FieldCondition(key="changed", range=models.Range(gte=since))
        points = self._requests.scroll(
            DOCUMENTS, models.Filter(must=[later]), fields=["changed"], limit=None
        )
        return [(str(point.id), int((point.payload or {})["changed"])) for point in points]

    def _read(
        self, known: Known | None, changes: dict[str, int], changed: Sequence[str], now: int
    ) -> Known:
        """Return the known documents after the changes of some points."""
        meta = known.meta if known is not None else Meta()
        versions = dict(known.versions) if known is not None else {}
        new: list[tuple[StoredVersion, str]] = []
        fields = (*VERSION_FIELDS, "words", "meta")
        for first in range(0, len(changed), _READ_IDS):
            ids = changed[first : first + _READ_IDS]
            for point, record in self._requests.retrieve(DOCUMENTS, ids, fields=fields).items():
                payload = record.payload or {}
                changes[point] = int(payload["changed"])
                self._ticks.see(changes[point])
                if point == META_ID:
                    meta = read_meta(payload)
                    continue
                version = read_version(point, payload)
                before = versions.pop(point, None)
                if version.gone:
                    continue
                versions[point] = version
                if before is None or (before.token, before.number) != (
                    version.token,
                    version.number,
                ):
                    new.append((version, payload["words"]))
        handles = _assign_handles(known, versions, [version for version, _ in new])
        parts = [view.part for view in known.view.parts] if known is not None else []
        if new:
            parts.append(self._read_part(new, handles, _dimension(meta)))
        return Known(
            meta=meta,
            changes=changes,
            read_at=now,
            versions=versions,
            handles=handles,
            view=_view(parts, handles),
        )

    def _read_part(
        self,
        new: Sequence[tuple[StoredVersion, str]],
        handles: Mapping[int, StoredVersion],
        dimension: int,
    ) -> Part:
        """Return the index part of new versions."""
        words = {version.token: text for version, text in new}
        ordered = [(n, v) for n, v in sorted(handles.items()) if v.token in words]
        rows: list[bytes] = []
        ids = [one for _, version in ordered for one in version.chunk_ids(0, version.chunks)]
        owners = [version for _, version in ordered for _ in range(version.chunks)]
        for first in range(0, len(ids), _READ_IDS):
            batch = ids[first : first + _READ_IDS]
            found = self._requests.retrieve(CHUNKS, batch, fields=["row"])
            for one, owner in zip(batch, owners[first:], strict=False):
                if one not in found:
                    raise _VersionGoneError(owner.record.id)
                rows.append(read_row(found[one].payload or {}))
        return join_rows(
            RowTable.of(rows, dimension=dimension),
            numbers=[number for number, _ in ordered],
            counts=[version.chunks for _, version in ordered],
            words=[read_words(words[version.token]) for _, version in ordered],
        )


def _dimension(meta: Meta) -> int:
    return int(meta.settings.get("dimension", "0"))


def _assign_handles(
    known: Known | None, versions: Mapping[str, StoredVersion], new: Sequence[StoredVersion]
) -> dict[int, StoredVersion]:
    """Return the live versions by handle, ascending.

    The handle is the number of the version. If two processes drew the same number, the second
    document gets the next free one.
    """
    handles: dict[int, StoredVersion] = {}
    fresh = {version.token for version in new}
    if known is not None:
        for handle, version in known.handles.items():
            current = versions.get(version.point)
            if current is not None and current.token not in fresh:
                handles[handle] = current
    taken = {*handles, *(known.handles if known is not None else ())}
    for version in sorted(new, key=lambda one: (one.number, one.token)):
        handle = version.number
        while handle in taken:
            handle += 1
        taken.add(handle)
        handles[handle] = version
    return dict(sorted(handles.items()))


def _view(parts: list[Part], handles: Mapping[int, StoredVersion]) -> View:
    """Return the view of the live documents; parts without live documents are dropped."""
    numbers = np.array(list(handles), dtype=np.int64)
    live = LiveDocuments(
        0,
        int(numbers[-1]) if len(numbers) else 0,
        numbers,
        np.array([version.chunks for version in handles.values()], dtype=np.int64),
        0,
    )
    parts = [part for part in parts if np.isin(part.numbers, numbers).any()]
    if len(parts) > _MAX_PARTS:
        sources = [MergeSource(part, np.isin(part.numbers, numbers)) for part in parts]
        try:
            parts = [merge_parts(sorted(sources, key=lambda one: int(one.part.numbers[0])))]
        except ValueError:  # the numbers of the parts overlap
            if len(parts) > _MAX_PARTS**2:
                parts = [_in_order(parts)]
    return locate(live, parts, manifest_parts=())


def _in_order(parts: Sequence[Part]) -> Part:
    """Return one part with the documents of parts whose numbers overlap."""
    sources = []
    for part in parts:
        for ordinal in range(part.documents):
            kept = np.arange(part.documents) == ordinal
            sources.append(MergeSource(part, kept))
    sources.sort(key=lambda one: int(one.part.numbers[one.kept][0]))
    return merge_parts(sources)
