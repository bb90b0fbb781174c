"""Whether what was returned is from the right documents, and from their right pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from spanwise.evaluation.metrics.places import Place

__all__ = ["document_metrics", "page_metrics"]


def document_metrics(documents: Collection[str], places: Sequence[Place]) -> dict[str, float]:
    """Return document recall, and how much comes from documents without evidence.

    The wrong-document rate is the share of returned texts, as Reuter et al. define their mismatch;
    of characters, it does not depend on how long the texts are.

    Args:
        documents: Those with evidence, at least one.
        places: What was returned, best first.
    """
    right = [one.document_id in documents for one in places]
    returned = {one.document_id for one in places}
    chars = sum(len(one.text) for one in places)
    wrong_chars = sum(len(one.text) for one in places if one.document_id not in documents)
    held = len(returned.intersection(documents))
    return {
        "doc_recall": held / len(set(documents)),
        "doc_hit1": float(right[0]) if right else 0.0,
        "doc_miss": float(not held),
        "wrong_doc": right.count(False) / len(right) if right else 0.0,
        "wrong_doc_chars": wrong_chars / chars if chars else 0.0,
        "docs": float(len(returned)),
    }


def page_metrics(
    evidence: Collection[tuple[str, int]], places: Sequence[Place]
) -> dict[str, float]:
    """Return recall and precision of pages, and the rank of the first text on one.

    Args:
        evidence: Documents and pages, from 1; at least one.
        places: What was returned, best first.
    """
    pages = set(evidence)
    shown = [{(one.document_id, page) for page in one.pages} for one in places]
    returned = set().union(*shown)
    held = len(pages & returned)
    ranks = (1 / rank for rank, some in enumerate(shown, start=1) if some & pages)
    return {
        "page_recall": held / len(pages),
        "page_precision": held / len(returned) if returned else 0.0,
        "page_all_hit": float(pages <= returned),
        "pages": float(len(returned)),
        "page_mrr": next(ranks, 0.0),
    }
