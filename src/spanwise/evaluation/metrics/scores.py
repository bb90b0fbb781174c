"""All metrics of one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText, LabelledQuestion
from spanwise.evaluation.metrics.chroma import chroma_metrics
from spanwise.evaluation.metrics.counting import Count
from spanwise.evaluation.metrics.documents import document_metrics, page_metrics
from spanwise.evaluation.metrics.overlap import (
    Span,
    character_metrics,
    hit_metrics,
    token_metrics,
)
from spanwise.evaluation.metrics.places import Place, document_text, place
from spanwise.evaluation.metrics.ranges import Range
from spanwise.evaluation.metrics.ranks import rank_metrics
from spanwise.evaluation.metrics.trigrams import text_metrics
from spanwise.evaluation.retrieval import Retrieved

__all__ = ["score"]


def score(
    question: LabelledQuestion,
    found: Sequence[Retrieved],
    texts: Mapping[str, DocumentText],
    *,
    count: Count | None = None,
    chunks: Mapping[str, Sequence[Range]] | None = None,
) -> dict[str, float]:
    """Return the metrics that the evidence of a question allows, by their names in `METRICS`.

    Characters are measured where evidence is in characters, pages where it names pages, words where
    some of it has a text but no characters, documents always.

    Args:
        question: With its evidence. Without any, only how much was returned is given, as
            `chars_without_evidence`, so that it is in no mean of what was returned with evidence.
        found: What is looked at, best first: as `cut` leaves it.
        texts: Text of every document that evidence or `found` names.
        count: Counts tokens (`counter`); None leaves the metrics of tokens out.
        chunks: All chunks of each document, for the figures of Chroma about a whole chunking; None
            leaves them out.

    Raises:
        OptionError: If `found` or evidence names a document or a place that `texts` does not have.
    """
    places = [one for one in (place(item, texts) for item in found) if one is not None]
    if not question.evidence:
        amounts = _amounts(places, count)
        return {
            f"{name}_without_evidence": amounts[name]
            for name in ("chars", "tokens")
            if name in amounts
        }
    spans = _spans(question, texts)
    out = {
        **_amounts(places, count),
        **document_metrics({piece.document_id for piece in question.evidence}, places),
    }
    if spans:
        out |= _span_metrics(spans, places, texts, chunks)
        if count is not None:
            out |= token_metrics(spans, places, texts, count)
    pages = {(one.document_id, one.page) for one in question.evidence if one.page is not None}
    if pages:
        out |= page_metrics(pages, places)
    written = [(piece.document_id, piece.text) for piece in question.evidence if piece.text]
    if written and any(piece.start is None for piece in question.evidence):
        out |= text_metrics(written, places)
    return out


def _amounts(places: Sequence[Place], count: Count | None) -> dict[str, float]:
    out = {
        "segments": float(len(places)),
        "chars": float(sum(len(one.text) for one in places)),
    }
    if count is not None:
        out["tokens"] = float(sum(count(one.text) for one in places))
    return out


def _span_metrics(
    spans: Sequence[Span],
    places: Sequence[Place],
    texts: Mapping[str, DocumentText],
    chunks: Mapping[str, Sequence[Range]] | None,
) -> dict[str, float]:
    out = {
        **character_metrics(spans, places),
        **hit_metrics(spans, places, texts),
        **rank_metrics(spans, places),
    }
    documents = {document_id for document_id, _ in spans}
    if len(documents) == 1:
        (document_id,) = documents
        of_document = None if chunks is None else chunks.get(document_id, ())
        out |= chroma_metrics(spans, places, of_document)
    return out


def _spans(question: LabelledQuestion, texts: Mapping[str, DocumentText]) -> list[Span]:
    """Return the evidence that is in characters, checked."""
    out: list[Span] = []
    for piece in question.evidence:
        if piece.start is None:
            continue
        chars = len(document_text(texts, piece.document_id).text)
        if piece.end is None or not 0 <= piece.start < piece.end <= chars:
            raise OptionError(
                f"evidence of question {question.id!r} is at characters {piece.start} to "
                f"{piece.end} of document {piece.document_id!r}, which has {chars}; "
                "give 0 <= start < end <= its length"
            )
        out.append((piece.document_id, (piece.start, piece.end)))
    return out
