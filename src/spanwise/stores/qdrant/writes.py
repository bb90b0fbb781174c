"""Writes of documents: complete, and atomic for readers.

Rules:
    1. The chunks of a version have ids of their own. They are written first, and no reader uses
       them, because the point of the document names the earlier version.
    2. One conditional write of the point of the document is the switch. It has no effect if another
       process changed the point in the meantime; the writer then checks the document again. Qdrant
       does not report whether a write had an effect, so the point names its last changes: the
       writer finds its own there, also if others have changed the point after it.
    3. Before a version is written, and before a version is replaced, a point in the collection of
       state names it with the time. After `GRACE_SECONDS`, the next sweep reads the point of the
       document: chunks of a version that is not the current one are deleted. So an interrupted
       write is undone if it was interrupted before the switch, and finished after it.
    4. Searches that began before the switch can read the earlier version for `GRACE_SECONDS`.
    5. A writer reads the recorded packs again between the last chunk and the switch. If they have
       changed, it refuses the document. After new packs are recorded, their signals are also
       written for all versions that a point names (rule 3). So a version that becomes visible at
       that time gets them too.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.core.ranking.vectors import unit_rows
from spanwise.errors import StoreBusyError
from spanwise.filters import record_fields
from spanwise.stores.entries import check_origin
from spanwise.stores.qdrant.fields import field_payload
from spanwise.stores.qdrant.meta import unchanged
from spanwise.stores.qdrant.points import (
    CHUNKS,
    DOCUMENTS,
    MAX_EARLIER,
    STATE,
    VERSION_FIELDS,
    StoredVersion,
    chunk_points,
    document_point,
    document_point_id,
    layout_points,
    new_version,
    point_id,
    read_version,
    version_payload,
)
from spanwise.stores.qdrant.signals import signal_points
from spanwise.stores.qdrant.ticks import TICKS

if TYPE_CHECKING:
    from qdrant_client import models

    from spanwise.stores.part import Part
    from spanwise.stores.port import DocumentEntry
    from spanwise.stores.qdrant.requests import Requests
    from spanwise.stores.qdrant.ticks import Ticks
    from spanwise.types import DocumentRecord

GRACE_SECONDS = 180
"""Time for which the chunks of a replaced or unfinished version stay."""
KEEP_GONE_SECONDS = 86_400
"""Time for which the points of deleted documents stay, so that readers notice the deletion."""
_RENEW_SECONDS = 20
_BATCH_POINTS = 500
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Preparation:
    """Entry with its index part."""

    entry: DocumentEntry
    part: Part


class Writer:
    """Writes documents; safe for several threads."""

    def __init__(self, requests: Requests, ticks: Ticks) -> None:
        self._requests = requests
        self._ticks = ticks

    def current(self, document_id: str) -> StoredVersion | None:
        """Return the current version of a document, also of a deleted one; None if unknown."""
        point = document_point_id(document_id)
        found = self._requests.retrieve(DOCUMENTS, [point], fields=VERSION_FIELDS)
        if point not in found:
            return None
        version = read_version(point, found[point].payload or {})
        self._ticks.see(version.changed)
        return version

    def put(
        self,
        prepared: Preparation,
        *,
        accept: Callable[[StoredVersion | None], bool],
        before_switch: Callable[[], None],
    ) -> tuple[StoredVersion | None, bool]:
        """Write a document, and replace the current version.

        Args:
            prepared: Document to write.
            accept: Function of the current version, None without one. It returns whether that may
                be replaced, or raises an error. It is called again after a concurrent change.
            before_switch: Function that is called before the document becomes visible.

        Returns:
            The live version that was replaced, None without one; and whether it was replaced.

        Raises:
            StoreBusyError: If other processes change the document all the time.
        """
        entry, part = prepared.entry, prepared.part
        before = self.current(entry.document.id)
        if not accept(_live(before)):
            return _live(before), False
        token = uuid.uuid4().hex
        version = replace(new_version(entry, token=token, number=0), change=_new_name())
        layout = layout_points(entry, token)
        version = replace(version, pieces=len(layout))
        signals = signal_points(token, version.point, entry.packs, entry.signals)
        at = self._name(version)
        self._requests.upsert(STATE, [*layout, *signals])
        at = self._write_chunks(prepared, version, at)
        before_switch()
        for _ in range(_ATTEMPTS):
            if _live(before) is not None or self._age(at) > _RENEW_SECONDS:
                at = self._name(version, *([before] if before is not None else []))
            tick = self._ticks.draw()
            changed, earlier = (before.changed, before.changes) if before is not None else (0, ())
            version = replace(version, number=tick, changed=tick, earlier=earlier)
            point = document_point(version, part)
            self._requests.upsert(DOCUMENTS, [point], **unchanged(changed))
            after = self.current(entry.document.id)
            if after is not None and _had_effect(version, before, after):
                if after.token == token:
                    self._check_written(version, at)
                return _live(before), True
            before = after
            if not accept(_live(before)):
                return _live(before), False
        raise StoreBusyError(f"other processes change {entry.document.id!r} all the time")

    def _write_chunks(self, prepared: Preparation, version: StoredVersion, at: int) -> int:
        """Write the chunks of a version, and return when the version was last named."""
        batch: list[models.PointStruct] = []
        for point in chunk_points(prepared.entry, version, prepared.part):
            batch.append(point)
            if len(batch) == _BATCH_POINTS:
                self._requests.upsert(CHUNKS, batch)
                batch = []
                if self._age(at) > _RENEW_SECONDS:
                    at = self._name(version)
        if batch:
            self._requests.upsert(CHUNKS, batch)
        return at

    def _name(self, *versions: StoredVersion) -> int:
        """Name versions that may have to be deleted later, and return the tick."""
        at = self._ticks.now()
        points = [_named("version", version, at) for version in versions]
        self._requests.upsert(STATE, points)
        return at

    def named_versions(self) -> dict[str, str]:
        """Return the tokens of the versions that are named, with the points of their documents."""
        from qdrant_client import models

        kind = models.FieldCondition(key="kind", match=models.MatchValue(value="version"))
        found = self._requests.scroll(
            STATE, models.Filter(must=[kind]), fields=["token", "document"]
        )
        payloads = [point.payload or {} for point in found]
        return {payload["token"]: payload["document"] for payload in payloads}

    def texts(self, token: str) -> list[str]:
        """Return the texts of the chunks of a version that were written so far, in order."""
        found = self._requests.scroll(CHUNKS, _of_token(token), fields=["index", "text"])
        payloads = [point.payload or {} for point in found]
        return [one["text"] for one in sorted(payloads, key=lambda payload: payload["index"])]

    def _age(self, at: int) -> float:
        """Return the seconds since a tick."""
        return (self._ticks.now() - at) / TICKS

    def _check_written(self, version: StoredVersion, at: int) -> None:
        """Check that a sweep of another process has not deleted a version that took very long."""
        if self._age(at) < GRACE_SECONDS / 2:
            return
        if self._requests.count_points(CHUNKS, _of_token(version.token)) < version.chunks:
            self.delete(version)
            raise StoreBusyError(
                f"the server took too long to store {version.record.id!r}; the document was removed"
            )

    def delete(self, version: StoredVersion) -> bool:
        """Delete a version, and return whether it was the current one."""
        self._name(version)
        return self._change(version, self._changed(version), {"kind": "gone", "tags": []})

    def update(self, version: StoredVersion, record: DocumentRecord) -> bool:
        """Change the record of a version in place, and return whether it was the current one."""
        old, new = (
            field_payload(record_fields(version.record)),
            field_payload(record_fields(record)),
        )
        fields = {**{key: [] for key in old}, **new}
        changed = replace(self._changed(version), record=record)
        self._requests.upsert(STATE, [_named("fields", version, self._ticks.now())])
        if not self._change(version, changed, {**version_payload(changed), **fields}):
            return False
        self._requests.set_payload(CHUNKS, fields, _of_token(version.token))
        self._requests.delete(STATE, _ids([_named_id("fields", version.token)]))
        return True

    def _changed(self, version: StoredVersion) -> StoredVersion:
        """Return a version with the tick and the name of a new change."""
        return replace(
            version, changed=self._ticks.draw(), change=_new_name(), earlier=version.changes
        )

    def _change(
        self, version: StoredVersion, changed: StoredVersion, payload: dict[str, Any]
    ) -> bool:
        """Change fields of a document's point if it was not changed since it was read.

        Args:
            version: Version that was read.
            changed: Version after the change.
            payload: Other fields to set.
        """
        from qdrant_client import models

        same = models.FieldCondition(key="changed", match=models.MatchValue(value=version.changed))
        selector = models.Filter(must=[models.HasIdCondition(has_id=[version.point]), same])
        names = {"changed": changed.changed, "change": changed.change}
        earlier = {"earlier": list(changed.earlier)}
        self._requests.set_payload(DOCUMENTS, {**payload, **names, **earlier}, selector)
        after = self.current(version.record.id)
        return after is not None and _had_effect(changed, version, after)

    def sweep(self, *, grace_seconds: float = GRACE_SECONDS) -> int:
        """Delete the points of outdated and unfinished versions, and return their number."""
        from qdrant_client import models

        now = self._ticks.now()
        limit = now - int(grace_seconds * TICKS)
        kinds = models.FieldCondition(key="kind", match=models.MatchAny(any=["version", "fields"]))
        fields = ["kind", "token", "document", "at"]
        named = [
            (str(point.id), point.payload or {})
            for point in self._requests.scroll(STATE, models.Filter(must=[kinds]), fields=fields)
        ]
        due = [(name, payload) for name, payload in named if payload["at"] <= limit]
        points = sorted({payload["document"] for _, payload in due})
        found = self._requests.retrieve(DOCUMENTS, points, fields=VERSION_FIELDS)
        swept = 0
        for name, payload in due:
            owner = found.get(payload["document"])
            version = None
            if owner is not None:
                version = _live(read_version(str(owner.id), owner.payload or {}))
            is_current = version is not None and version.token == payload["token"]
            if payload["kind"] == "fields" and version is not None and is_current:
                record = record_fields(version.record)
                self._requests.set_payload(CHUNKS, field_payload(record), _of_token(version.token))
            elif not is_current:
                self._requests.delete(CHUNKS, _of_token(payload["token"]))
                self._requests.delete(STATE, _layout_of(payload["token"]))
                swept += 1
            self._requests.delete(STATE, _ids([name]))
        old = now - KEEP_GONE_SECONDS * TICKS
        self._requests.delete(DOCUMENTS, _gone_before(old))
        return swept


def stored_rows(vectors: Sequence[Sequence[float]]) -> np.ndarray[Any, Any]:
    """Return the vectors of chunks as they were stored."""
    return unit_rows(np.array(vectors, dtype=np.float32).astype(np.float16))


def _live(version: StoredVersion | None) -> StoredVersion | None:
    return None if version is None or version.gone else version


def _new_name() -> str:
    """Return a random name for a change."""
    return uuid.uuid4().hex[:16]


def _had_effect(wanted: StoredVersion, before: StoredVersion | None, after: StoredVersion) -> bool:
    """Return whether a conditional change of a point had an effect.

    Args:
        wanted: Version after the change.
        before: Version that was the condition; None if there was none.
        after: Version that was read after the change.

    Raises:
        StoreBusyError: If there were so many changes in the meantime that the point does not tell.
    """
    if wanted.change in (after.change, *after.earlier):
        return True
    if len(after.earlier) < MAX_EARLIER or (before and before.change in after.earlier):
        return False
    raise StoreBusyError(f"other processes change {after.record.id!r} all the time")


def check_replace(
    document_id: str, before: StoredVersion | None, source_root: str, *, replace: bool
) -> None:
    """Check that a document may be replaced by one from a source root.

    Raises:
        ConflictError: If it comes from another source root and `replace` is False.
    """
    if before is not None and not replace:
        check_origin(document_id, before.record.source_root, source_root)


def _named_id(kind: str, token: str) -> str:
    return point_id(kind, token)


def _named(kind: str, version: StoredVersion, at: int) -> models.PointStruct:
    from qdrant_client import models

    payload: Mapping[str, Any] = {
        "kind": kind,
        "token": version.token,
        "document": version.point,
        "at": at,
    }
    return models.PointStruct(id=_named_id(kind, version.token), vector={}, payload=dict(payload))


def _of_token(token: str) -> models.Filter:
    from qdrant_client import models

    return models.Filter(
        must=[models.FieldCondition(key="token", match=models.MatchValue(value=token))]
    )


def _layout_of(token: str) -> models.Filter:
    from qdrant_client import models

    kinds = models.FieldCondition(key="kind", match=models.MatchAny(any=["layout", "signals"]))
    return models.Filter(must=[_of_token(token), kinds])


def _ids(ids: Sequence[str]) -> models.PointIdsList:
    from qdrant_client import models

    return models.PointIdsList(points=list(ids))


def _gone_before(tick: int) -> models.Filter:
    from qdrant_client import models

    return models.Filter(
        must=[
            models.FieldCondition(key="kind", match=models.MatchValue(value="gone")),
            models.FieldCondition(key="changed", range=models.Range(lt=tick)),
        ]
    )
