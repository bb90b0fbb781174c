"""Cached model outputs and conversations, as points of the collection of state."""

from __future__ import annotations

import json
import uuid
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from spanwise.errors import FormatError
from spanwise.stores.qdrant.points import STATE, point_id
from spanwise.types import Thread, ThreadInfo, Turn
from spanwise.types.output_cache import CachedOutput
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from qdrant_client import models

    from spanwise.stores.qdrant.requests import Requests
    from spanwise.stores.qdrant.ticks import Ticks

_ERRORS = "surrogatepass"  # models may write lone surrogates; outputs are returned unchanged
_OUTPUT_FIELDS = ("key", "task", "model", "output")


class Outputs:
    """Cached model outputs by key."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._keys: list[str] | None = None  # of the list that is being read, ascending

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the outputs of some keys, by key."""
        ids = {key: point_id("output", key) for key in keys}
        found = self._requests.retrieve(STATE, list(ids.values()), fields=["output"])
        return {
            key: _output_text(found[point].payload or {})
            for key, point in ids.items()
            if point in found
        }

    def put(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache outputs, except for keys that exist."""
        from qdrant_client import models

        points: dict[str, models.PointStruct] = {}
        for cached in outputs:
            point = _output_point(cached)
            points.setdefault(str(point.id), point)
        self._requests.upsert(
            STATE, list(points.values()), update_mode=models.UpdateMode.INSERT_ONLY
        )
        self._keys = None

    def page(self, *, after: str, limit: int) -> list[CachedOutput]:
        """Return the outputs after a key, ordered by key.

        The first page reads all keys. Later pages use them, until an output is added here or the
        last page has been read.
        """
        keys = self._keys if after else None
        if keys is None:
            points = self._requests.scroll(STATE, _matching(kind="output"), fields=["key"])
            keys = self._keys = sorted((point.payload or {})["key"] for point in points)
        for first in range(bisect_right(keys, after), len(keys), limit):
            ids = [point_id("output", key) for key in keys[first : first + limit]]
            found = self._requests.retrieve(STATE, ids, fields=_OUTPUT_FIELDS)
            if found:  # unless all of them have been removed
                return [_cached(found[one].payload or {}) for one in ids if one in found]
        self._keys = None
        return []

    def remove(self, key: str) -> None:
        """Remove the output of a key, if there is one."""
        from qdrant_client import models

        self._requests.delete(STATE, models.PointIdsList(points=[point_id("output", key)]))

    def count(self) -> tuple[int, int]:
        """Return the number of outputs and their size in bytes."""
        points = self._requests.scroll(STATE, _matching(kind="output"), fields=["bytes"])
        sizes = [int((point.payload or {})["bytes"]) for point in points]
        return len(sizes), sum(sizes)

    def forget(self) -> int:
        """Delete all outputs, and return their number."""
        count, _ = self.count()
        self._requests.delete(STATE, _matching(kind="output"))
        return count


def _output_point(cached: CachedOutput) -> models.PointStruct:
    from qdrant_client import models

    data = cached.output.encode(errors=_ERRORS)
    payload = {
        "kind": "output",
        "key": cached.key,
        "task": cached.task,
        "model": cached.model,
        "bytes": len(data),
        "output": b64encode(data).decode("ascii"),
    }
    return models.PointStruct(id=point_id("output", cached.key), vector={}, payload=payload)


def _output_text(payload: dict[str, Any]) -> str:
    return b64decode(payload["output"]).decode(errors=_ERRORS)


def _cached(payload: dict[str, Any]) -> CachedOutput:
    return CachedOutput(
        key=payload["key"],
        output=_output_text(payload),
        task=payload["task"],
        model=payload["model"],
    )


class Threads:
    """Conversations: one point for each turn, in the order of ticks."""

    def __init__(self, requests: Requests, ticks: Ticks) -> None:
        self._requests = requests
        self._ticks = ticks

    def append(self, thread_id: str, turn: Turn) -> None:
        """Append a turn to a conversation; the first turn creates it."""
        from qdrant_client import models

        payload = {
            "kind": "turn",
            "thread": point_id("thread", thread_id),
            "thread_id": thread_id,
            "at": self._ticks.draw(),
            "question": turn.question,
            "asked_at": turn.asked_at,
            "turn": json.dumps(turn.to_dict()),
        }
        self._requests.upsert(
            STATE, [models.PointStruct(id=str(uuid.uuid4()), vector={}, payload=payload)]
        )

    def get(self, thread_id: str) -> Thread | None:
        """Return a conversation with its turns in order, or None.

        Raises:
            FormatError: If a turn is damaged.
        """
        rows = self._read(_matching(kind="turn", thread=point_id("thread", thread_id)), whole=True)
        if not rows:
            return None
        try:
            turns = tuple(from_plain(Turn, json.loads(row["turn"])) for row in rows)
        except (ValueError, KeyError) as error:
            raise FormatError(
                f"the conversation {thread_id!r} is damaged ({error}); delete the conversation"
            ) from error
        return Thread(info=_info(rows), turns=turns)

    def infos(self) -> list[ThreadInfo]:
        """Return all conversations, latest turn first; ties by id."""
        by_thread: dict[str, list[dict[str, Any]]] = {}
        for row in self._read(_matching(kind="turn"), whole=False):
            by_thread.setdefault(row["thread_id"], []).append(row)
        infos = [_info(by_thread[name]) for name in sorted(by_thread)]
        return sorted(infos, key=lambda info: info.changed_at, reverse=True)

    def delete(self, thread_id: str) -> bool:
        """Delete a conversation, and return whether it existed."""
        where = _matching(kind="turn", thread=point_id("thread", thread_id))
        existed = self._requests.count_points(STATE, where) > 0
        self._requests.delete(STATE, where)
        return existed

    def _read(self, where: models.Filter, *, whole: bool) -> list[dict[str, Any]]:
        """Return the payloads of turns in order."""
        fields = ["thread_id", "at", "question", "asked_at", *(["turn"] if whole else [])]
        points: Iterator[Any] = self._requests.scroll(STATE, where, fields=fields)
        rows: list[dict[str, Any]] = [point.payload or {} for point in points]
        for row in rows:
            self._ticks.see(int(row["at"]))
        return sorted(rows, key=lambda row: int(row["at"]))


def _info(rows: list[dict[str, Any]]) -> ThreadInfo:
    return ThreadInfo(
        id=rows[0]["thread_id"],
        title=rows[0]["question"],
        turns=len(rows),
        created_at=rows[0]["asked_at"],
        changed_at=rows[-1]["asked_at"],
    )


def _matching(**values: str) -> models.Filter:
    from qdrant_client import models

    return models.Filter(
        must=[
            models.FieldCondition(key=key, match=models.MatchValue(value=value))
            for key, value in values.items()
        ]
    )
