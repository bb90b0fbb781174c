"""An explanation in a notebook: a strip of relevance for each of the best documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.notebook import Card, cards_html, counted

if TYPE_CHECKING:
    from spanwise.explanation.explanation import DocumentExplanation, Explanation
    from spanwise.types import Segment

__all__ = ["strips_html"]

_MOST_DOCUMENTS = 8


def strips_html(explanation: Explanation) -> str:
    """Return the best documents with their relevance from the first chunk to the last."""
    shown = explanation.documents[:_MOST_DOCUMENTS]
    more = len(explanation.documents) - len(shown)
    return cards_html(
        explanation.result.question,
        summary=f"{counted(len(explanation.candidates), 'chunk')} of "
        f"{counted(len(explanation.documents), 'document')} weighed; bars are relevance, from the "
        "first chunk of a document to the last",
        cards=[_card(document, explanation) for document in shown],
        remarks=[f"{counted(more, 'further document')} not shown"] if more else [],
    )


def _card(document: DocumentExplanation, explanation: Explanation) -> Card:
    relevances = [0.0] * document.chunks
    for run in document.runs:
        relevances[run.start : run.start + len(run.relevances)] = run.relevances
    chosen = [
        _chunks(segment)
        for segment in explanation.result.segments
        if segment.document_id == document.document_id
    ]
    return Card(
        title=document.title or document.document_id,
        place=f"{document.document_id}, {counted(document.chunks, 'chunk')}",
        relevance=max(relevances, default=0.0),
        relevances=tuple(relevances),
        text=f"chosen: {', '.join(chosen)}" if chosen else "nothing chosen",
    )


def _chunks(segment: Segment) -> str:
    first, last = segment.first_chunk, segment.last_chunk - 1
    return f"chunk {first}" if first == last else f"chunks {first} to {last}"
