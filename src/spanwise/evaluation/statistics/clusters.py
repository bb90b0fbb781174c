"""Which questions belong together: those about one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.evaluation.statistics.bootstrap import FEW

__all__ = ["DocumentClusters", "document_clusters"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentClusters:
    """What is drawn together, and what that leaves out."""

    ids: tuple[str, ...]
    """One for each question; different ones in different datasets."""
    note: str = ""
    """In words, where documents are too few to be drawn; empty otherwise."""


def document_clusters(
    documents: Sequence[str], *, strata: Sequence[str] | None = None
) -> DocumentClusters:
    """Return the clusters of questions by the document that their evidence is in.

    An interval that takes questions about one document for independent is too narrow. Where there
    are fewer than ten documents, though, too few can be drawn: questions are drawn, and the
    interval says something about other questions on these documents, not about other documents.

    Args:
        documents: Of each question; empty where none is known: such a question stands alone.
        strata: Dataset of each question; None where all are of one.
    """
    names = [""] * len(documents) if strata is None else list(strata)
    distinct: dict[str, set[str]] = {}
    for name, document in zip(names, documents, strict=True):
        distinct.setdefault(name, set()).add(document)
    few = {
        name: len(held - {""})
        for name, held in distinct.items()
        if len(held - {""}) < FEW and names.count(name) > len(held)
    }
    ids = tuple(
        f"{name}\0{document}" if document and name not in few else f"{name}\0\0{place}"
        for place, (name, document) in enumerate(zip(names, documents, strict=True))
    )
    return DocumentClusters(ids=ids, note=_note({n: many for n, many in few.items() if many}))


def _note(few: dict[str, int]) -> str:
    if not few:
        return ""
    parts = [
        f"{many} document{'s' * (many > 1)}{f' of {name}' * bool(name)}"
        for name, many in few.items()
    ]
    return f"so far this holds for the {', '.join(parts)} alone"
