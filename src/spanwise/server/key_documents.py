"""Documents that the filter of a key includes: their ids and fields, cached until the next change.

Every question with such a key is checked against them before it is searched, because the messages
of the search would show fields and ids of other documents.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from spanwise.errors import FilterError
from spanwise.filters.matching import known_fields, record_fields
from spanwise.knowledge_base.internals import last_change_of

if TYPE_CHECKING:
    from spanwise.filters import FieldKind, Filter
    from spanwise.knowledge_base import KnowledgeBase

_MAX_ENTRIES = 64  # pairs of a knowledge base and a filter


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDocuments:
    """Documents of one knowledge base that a filter includes."""

    ids: frozenset[str]
    """Ids of the documents."""
    kinds: Mapping[str, frozenset[FieldKind]]
    """Kinds of values of each field of the documents."""


class KeyDocumentsCache:
    """Cache of the documents of keys, for knowledge bases that report their changes."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._entries: OrderedDict[tuple[int, str], tuple[str, KeyDocuments]] = OrderedDict()
        self._lock = Lock()

    def find(self, base: KnowledgeBase, where: Filter | None) -> KeyDocuments:
        """Return the documents that a filter includes; none if its fields do not exist."""
        place, change = (id(base), str(where)), last_change_of(base)
        with self._lock:
            known = self._entries.get(place)
            if change and known is not None and known[0] == change:
                self._entries.move_to_end(place)
                return known[1]
        try:
            records = base.list(where)
        except FilterError:  # no document has the fields of the filter
            records = []
        found = KeyDocuments(
            ids=frozenset(record.id for record in records),
            kinds=known_fields(map(record_fields, records)),
        )
        with self._lock:
            self._entries[place] = (change, found)
            while len(self._entries) > _MAX_ENTRIES:
                self._entries.popitem(last=False)
        return found
