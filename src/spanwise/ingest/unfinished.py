"""What a run does not take in: an embedder fails, a model would cost too much, memory runs out.

Rules:
    A document whose text the embedder refuses fails alone.
    Where the embedder fails otherwise, for some documents in a row, the run ends: each of the
    others would wait for all retries too.
    What was not begun is reported as failed, so that nobody takes the run for complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.errors import DocumentError, DocumentErrorCode, ModelError
from spanwise.ingest.sources import Source, containers_of

if TYPE_CHECKING:
    from spanwise.errors import CostLimitError
    from spanwise.ingest.reading import Compared
    from spanwise.ingest.tally import Tally
    from spanwise.types import Document

__all__ = [
    "FailuresInRow",
    "embedding_failure",
    "note_not_begun",
    "note_too_costly",
    "out_of_memory",
]

_MOST_IN_ROW = 3
_REFUSED = frozenset({400, 413, 422})
"""Status of what is wrong with a text, not with the provider."""


def embedding_failure(document: Document, error: ModelError) -> DocumentError:
    """Return what keeps a document out; to be raised from the error of the embedder."""
    location = document.source or document.id
    return DocumentError(
        f"{location}: not taken in, as its chunks could not be embedded: {error}",
        source=location,
        code="not_embedded",
    )


def out_of_memory(source: Source | DocumentError) -> DocumentError:
    """Return what keeps a document out that needs more memory than there is."""
    location = source.location if isinstance(source, Source) else source.source
    return DocumentError(
        f"{location}: not taken in, as memory ran out; close other programs, split the document, "
        "or lower max_text_bytes to refuse documents as large as this one",
        source=location,
        code="too_large",
    )


@dataclass(slots=True)
class FailuresInRow:
    """Counts the documents in a row for which the embedder failed."""

    _count: int = 0

    def end(self) -> None:
        """Begin anew: a document was embedded."""
        self._count = 0

    def are_enough(self, error: DocumentError) -> bool:
        """Count a failure of a document, and return whether the run is to end.

        Args:
            error: What kept it out; only a failure of the embedder counts.
        """
        cause = error.__cause__
        if isinstance(cause, ModelError) and cause.status not in _REFUSED:
            self._count += 1
        return self._count == _MOST_IN_ROW


def note_not_begun(
    sources: Sequence[Compared], reached: Source | DocumentError, tally: Tally
) -> None:
    """Note all after the source that was reached as not begun, since the embedder fails.

    Args:
        sources: All that was to be taken in.
        reached: The last one that was tried, which is noted already.
        tally: Takes the notes.
    """
    reason = (
        f"not taken in, because the embedder failed for {_MOST_IN_ROW} documents in a row; run the "
        "same again to go on"
    )
    _note_rest(sources, reached, tally, reason=reason, code="not_begun")


def note_too_costly(
    sources: Sequence[Compared],
    reached: Source | DocumentError,
    tally: Tally,
    cause: CostLimitError,
) -> None:
    """Note the source that would have cost too much, and all after it, as not taken in."""
    if isinstance(reached, Source):
        tally.note_failure(reached, _failure(reached, f"not taken in: {cause}", "cost_limit"))
    reason = "not taken in any more, because max_cost was reached; run the same again to go on"
    _note_rest(sources, reached, tally, reason=reason, code="cost_limit")


def _note_rest(
    sources: Sequence[Compared],
    reached: Source | DocumentError,
    tally: Tally,
    *,
    reason: str,
    code: DocumentErrorCode,
) -> None:
    names: list[str] = []
    if isinstance(reached, Source):
        names = [*containers_of(reached.document_id), reached.document_id]
    is_left = False
    for source, verdict in sources:
        if isinstance(source, DocumentError):
            if is_left:
                tally.note_failure(source, source)
            continue
        is_left = is_left or source.document_id in names
        if not is_left or source.members_only or tally.knows(source.document_id):
            continue
        error = verdict if isinstance(verdict, DocumentError) else None
        tally.note_failure(source, error or _failure(source, reason, code))


def _failure(source: Source, reason: str, code: DocumentErrorCode) -> DocumentError:
    return DocumentError(f"{source.location}: {reason}", source=source.location, code=code)
