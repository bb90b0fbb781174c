"""Settings and known metadata fields of a knowledge base: one point, changed atomically."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from spanwise.errors import StoreBusyError
from spanwise.filters import known_fields
from spanwise.stores.qdrant.points import DOCUMENTS, META_ID

if TYPE_CHECKING:
    from spanwise.filters import FieldKind
    from spanwise.stores.qdrant.requests import Requests
    from spanwise.stores.qdrant.ticks import Ticks
    from spanwise.types import MetadataValue

_ATTEMPTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """Settings and known fields."""

    settings: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, Collection[FieldKind]] = field(default_factory=dict)
    """Kinds of the values of each field that documents have or had."""
    changed: int = 0
    """Tick of the last change; 0 if nothing is recorded."""

    def lacks(self, fields: Mapping[str, MetadataValue]) -> bool:
        """Return whether some fields, or kinds of their values, are not known yet."""
        return any(
            name not in self.kinds or not kinds <= set(self.kinds[name])
            for name, kinds in known_fields([fields]).items()
        )

    def with_fields(self, fields: Mapping[str, MetadataValue]) -> Meta:
        """Return the meta data with further fields."""
        return self._with_kinds(known_fields([fields]))

    def with_names(self, names: Iterable[str]) -> Meta:
        """Return the meta data with further names of fields, without values."""
        return self._with_kinds(dict.fromkeys(names, frozenset()))

    def _with_kinds(self, added: Mapping[str, frozenset[FieldKind]]) -> Meta:
        kinds = {name: set(own) for name, own in self.kinds.items()}
        for name, own in added.items():
            kinds.setdefault(name, set()).update(own)
        return replace(self, kinds={name: sorted(kinds[name]) for name in sorted(kinds)})


def read_meta(payload: Mapping[str, Any]) -> Meta:
    """Return the meta data of a point."""
    fields = json.loads(payload["meta"])
    return Meta(
        settings=fields["settings"],
        kinds=cast("Mapping[str, Collection[FieldKind]]", fields["kinds"]),
        changed=int(payload["changed"]),
    )


def load_meta(requests: Requests) -> Meta:
    """Return the recorded meta data; empty if nothing is recorded."""
    found = requests.retrieve(DOCUMENTS, [META_ID], fields=["meta", "changed"])
    return read_meta(found[META_ID].payload or {}) if found else Meta()


def change_meta(requests: Requests, ticks: Ticks, change: Callable[[Meta], Meta]) -> Meta:
    """Change the meta data atomically, and return them.

    Args:
        requests: Requests to the server.
        ticks: Source of ticks.
        change: Function of the recorded meta data. It is called again if another process changed
            them at the same time.

    Raises:
        StoreBusyError: If other processes changed them at every attempt.
    """
    from qdrant_client import models

    for _ in range(_ATTEMPTS):
        before = load_meta(requests)
        ticks.see(before.changed)
        wanted = change(before)
        if (wanted.settings, wanted.kinds) == (before.settings, before.kinds):
            return before
        tick = ticks.draw()
        payload = {
            "kind": "meta",
            "changed": tick,
            "meta": json.dumps({"settings": dict(wanted.settings), "kinds": dict(wanted.kinds)}),
        }
        point = models.PointStruct(id=META_ID, vector={}, payload=payload)
        requests.upsert(DOCUMENTS, [point], **unchanged(before.changed))
        after = load_meta(requests)
        if after.changed == tick and after.settings == dict(wanted.settings):
            return after
    raise StoreBusyError("other processes change the settings all the time; try again later")


def unchanged(changed: int) -> dict[str, Any]:
    """Return the options of a write that has no effect if the point was changed.

    Args:
        changed: Tick of the last change of the point; 0 if it must not exist.
    """
    from qdrant_client import models

    if not changed:
        return {"update_mode": models.UpdateMode.INSERT_ONLY}
    condition = models.FieldCondition(key="changed", match=models.MatchValue(value=changed))
    return {"update_filter": models.Filter(must=[condition])}
