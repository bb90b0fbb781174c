"""What is said where the documents hold no answer: what was searched, where, and what was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.notebook import counted

if TYPE_CHECKING:
    from spanwise.filters import Filter
    from spanwise.ports import Store

__all__ = ["refusal"]


def refusal(
    queries: Sequence[str],
    *,
    where: Filter | None,
    documents: Sequence[str] | None,
    store: Store,
    read: int,
) -> str:
    """Return why there is no answer.

    Args:
        queries: By which was searched.
        where: Filter under which was searched.
        documents: Ids of the documents that were searched; None for all.
        store: Where they are.
        read: How many segments or excerpts the model read.
    """
    records = store.list_records(where)
    count = sum(documents is None or record.id in documents for record in records)
    place = counted(count, "document") + ("" if where is None else f" where {where}")
    searched = ", ".join(f'"{query}"' for query in queries)
    if not read:
        said = "nothing was found"
    elif read == 1:
        said = "one text was read, which does not answer it"
    else:
        said = f"{read} texts were read, none of which answers it"
    return (
        f"The documents hold no answer to this question: {said}. Searched {place} for {searched}."
    )
