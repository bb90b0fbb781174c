"""Documents that the filter of a key includes: their ids and fields, cached until the next change.

Every question with such a key is checked against them before it is searched, because the messages
of the search would show fields and ids of other documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.errors import FilterError
from spanwise.filters.fields import known_fields, record_fields
from spanwise.knowledge_base.internals import last_change_of
from spanwise.stores.bounded_cache import BoundedCache

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
        self._entries = BoundedCache[tuple[int, str], tuple[str, KeyDocuments]](_MAX_ENTRIES)

    def find(self, base: KnowledgeBase, where: Filter | None) -> KeyDocuments:
        """Return the documents that a filter includes; none if its fields do not exist."""
        place, change = (id(base), str(where)), last_change_of(base)
        known = self._entries.find([place]).get(place)
        if change and known is not None and known[0] == change:
            return known[1]
        try:
            records = base.list(where)
        except FilterError:  # no document has the fields of the filter
            records = []
        found = KeyDocuments(
            ids=frozenset(record.id for record in records),
            kinds=known_fields(map(record_fields, records)),
        )
        self._entries.add(place, (change, found), 1)
        return found
