"""All metrics of one question: characters, tokens, documents, pages, ranks, words, Chroma metrics.

Rules of the Chroma metrics, equal to the package chunking_evaluation:
    All evidence of a question is in one document. Text from other documents and repeated text
    count as returned text.
    Overlapping pieces of evidence count twice in the denominator of recall, once in the numerator.
    A chunk that is adjacent to evidence counts as a chunk with evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import log2

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText, LabelledQuestion
from spanwise.evaluation.metrics.ranges import (
    Count,
    Place,
    Range,
    Span,
    character_metrics,
    difference,
    document_text,
    hit_metrics,
    intersection,
    length,
    place,
    token_metrics,
    union,
    united,
)
from spanwise.evaluation.retrieval import Retrieved


def chroma_metrics(
    spans: Sequence[Span], places: Sequence[Place], chunks: Sequence[Range] | None = None
) -> dict[str, float]:
    """Return the Chroma metrics of a question: IoU, recall and precision.

    Args:
        spans: Evidence in one document, at least one character.
        places: Returned texts, best first.
        chunks: All chunks of that document. They add two results: the precision of all chunks with
            evidence ("omega"), and the three metrics of the first n returned texts, where n is the
            number of chunks with evidence ("min"). None for the three metrics alone.
    """
    document_id = spans[0][0]
    evidence = [characters for _, characters in spans]
    returned = [(place.document_id, place.characters) for place in places if place.characters]
    out = _named("chroma_", _figures(document_id, evidence, returned))
    if chunks is None:
        return out
    holding = [chunk for chunk in chunks if any(_touch(chunk, piece) for piece in evidence)]
    least = _figures(document_id, evidence, returned[: len(holding)])
    omega = {"chroma_precision_omega": _omega(evidence, holding)}
    return {**out, **omega, **_named("chroma_min_", least)}


def _named(prefix: str, figures: tuple[float, float, float]) -> dict[str, float]:
    names = ("iou", "recall", "precision")
    return {f"{prefix}{name}": figure for name, figure in zip(names, figures, strict=True)}


def _figures(
    document_id: str, evidence: Sequence[Range], returned: Sequence[Span]
) -> tuple[float, float, float]:
    """Return IoU, recall and precision."""
    inside = union(characters for name, characters in returned if name == document_id)
    found = length(intersection(union(evidence), inside))
    missed = sum(length(difference([piece], inside)) for piece in evidence)
    sent = length(characters for _, characters in returned)
    return (
        found / (sent + missed) if sent + missed else 0.0,
        found / length(evidence),
        found / sent if sent else 0.0,
    )


def _omega(evidence: Sequence[Range], holding: Sequence[Range]) -> float:
    """Return the precision of all chunks with evidence, out of these chunks and all evidence."""
    found = length(intersection(union(evidence), union(holding)))
    return found / length(union([*evidence, *holding]))


def _touch(first: Range, second: Range) -> bool:
    return max(first[0], second[0]) <= min(first[1], second[1])


def document_metrics(documents: Collection[str], places: Sequence[Place]) -> dict[str, float]:
    """Return document recall and the shares of texts and characters from wrong documents.

    A wrong document has no evidence (document-level retrieval mismatch of Reuter et al.). The share
    of characters does not depend on the number of texts.

    Args:
        documents: Documents with evidence, at least one.
        places: Returned texts, best first.
    """
    right = [place.document_id in documents for place in places]
    returned = {place.document_id for place in places}
    chars = sum(len(place.text) for place in places)
    wrong_chars = sum(len(place.text) for place in places if place.document_id not in documents)
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
    """Return page recall, page precision, and the reciprocal rank of the first page with evidence.

    Args:
        evidence: Document id and page number (from 1) of each page with evidence, at least one.
        places: Returned texts, best first.
    """
    pages = set(evidence)
    shown = [{(place.document_id, page) for page in place.pages} for place in places]
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


def rank_metrics(spans: Sequence[Span], places: Sequence[Place]) -> dict[str, float]:
    """Return nDCG and two reciprocal ranks: first text with evidence, and with half a span.

    The gain of a text is the share of the evidence that it adds to the texts before it. The ideal
    ranking has all evidence in the first text, so its discounted gain is 1.

    Args:
        spans: Evidence, at least one span.
        places: Returned texts, best first.
    """
    left = united(spans)
    evidence = sum(map(length, left.values()))
    first = first_half = gain = 0.0
    for rank, returned in enumerate(places, start=1):
        if returned.characters is None or returned.document_id not in left:
            continue
        if not first and _overlaps(spans, returned.document_id, returned.characters):
            first = 1 / rank
        if not first_half and _holds_half(spans, returned.document_id, returned.characters):
            first_half = 1 / rank
        new = intersection(left[returned.document_id], [returned.characters])
        gain += length(new) / evidence / log2(rank + 1)
        left[returned.document_id] = difference(left[returned.document_id], [returned.characters])
    return {"mrr": first, "mrr50": first_half, "ndcg": gain}


def _overlaps(spans: Sequence[Span], document_id: str, characters: Range) -> bool:
    return any(name == document_id and intersection([piece], [characters]) for name, piece in spans)


def _holds_half(spans: Sequence[Span], document_id: str, characters: Range) -> bool:
    return any(
        name == document_id and 2 * length(intersection([piece], [characters])) >= length([piece])
        for name, piece in spans
    )


_WORD = re.compile(r"[^\W_]+")
_LENGTH = 3


def text_metrics(evidence: Sequence[tuple[str, str]], places: Sequence[Place]) -> dict[str, float]:
    """Return recall and hits of the evidence by word trigrams, from texts of the same document.

    A trigram counts up to its maximum frequency in a single text, so repeated texts add nothing.

    Args:
        evidence: Document id and text of each piece of evidence, at least one.
        places: Returned texts.
    """
    returned: dict[str, Counter[tuple[str, ...]]] = {}
    for item in places:
        returned.setdefault(item.document_id, Counter())
        returned[item.document_id] |= _trigrams(item.text)
    held = []
    for document_id, text in evidence:
        wanted = _trigrams(text)
        shared = wanted & returned.get(document_id, Counter())
        held.append(shared.total() / max(1, wanted.total()))
    return {
        "text_recall": sum(held) / len(held),
        "text_hit50": sum(share >= 0.5 for share in held) / len(held),
        "text_hit90": sum(share >= 0.9 for share in held) / len(held),
        "text_all_hit90": float(all(share >= 0.9 for share in held)),
    }


def _trigrams(text: str) -> Counter[tuple[str, ...]]:
    """Return the lower-case word trigrams of a text; a text of one or two words is one item."""
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) < _LENGTH:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(words, words[1:], words[2:], strict=False))


def score(
    question: LabelledQuestion,
    found: Sequence[Retrieved],
    texts: Mapping[str, DocumentText],
    *,
    count: Count | None = None,
    chunks: Mapping[str, Sequence[Range]] | None = None,
) -> dict[str, float]:
    """Return the metrics of a question, by their names in `METRICS`.

    The form of the evidence determines the metrics: character ranges, pages, or quotes without a
    known range (word metrics). Document metrics are always computed.

    Args:
        question: Question with its evidence. Without evidence, only the amount of returned text is
            measured, under names that end in `_without_evidence`.
        found: Returned texts, best first, truncated by `cut`.
        texts: Texts of all documents named in the evidence or in `found`.
        count: Function that counts tokens (`counter`); None to leave out the token metrics.
        chunks: All chunks of each document, for the Chroma metrics of a chunking; None to leave
            these metrics out.

    Raises:
        OptionError: If the evidence or `found` names a document or position that does not exist.
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
    pages = {
        (piece.document_id, piece.page) for piece in question.evidence if piece.page is not None
    }
    if pages:
        out |= page_metrics(pages, places)
    written = [(piece.document_id, piece.text) for piece in question.evidence if piece.text]
    if written and any(piece.start is None for piece in question.evidence):
        out |= text_metrics(written, places)
    return out


def _amounts(places: Sequence[Place], count: Count | None) -> dict[str, float]:
    out = {
        "segments": float(len(places)),
        "chars": float(sum(len(place.text) for place in places)),
    }
    if count is not None:
        out["tokens"] = float(sum(count(place.text) for place in places))
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
    """Return the spans of the evidence with character ranges, after checking the ranges."""
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
