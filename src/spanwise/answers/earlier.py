"""Evidence of earlier answers of a conversation, looked up again in the documents of today.

Rules:
    What was quoted is kept as citations; its text is read from the store, and only if it stands
    there still, character for character.
    It is offered in chunks, with the chunk before and after it in the section: what was quoted
    and checked latest comes first, as far as its budget reaches.
    What a new search found is not offered twice, and nothing of a document that it may not search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.answers.queries import searched_records
from spanwise.answers.sources import Run, Source
from spanwise.core.answers.citations import cite_range, locate
from spanwise.core.documents.headers import chunk_header
from spanwise.core.extraction.render import render_segments
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from spanwise.answers.sources import Found
    from spanwise.search.scoring import Scope
    from spanwise.stores.port import Store
    from spanwise.types import Chunk, Citation, Turn, WholeDocument


_MAX_CITATIONS = 64  # the latest ones, that are looked up
_AROUND_CHUNKS = 1


@dataclass(frozen=True, slots=True)
class _Document:
    """A document that was quoted, as it is now."""

    whole: WholeDocument
    chunks: tuple[Chunk, ...]

    def around(self, start: int, end: int) -> list[int]:
        """Return the chunks that hold a range, and their neighbours in the same section."""
        held = [chunk for chunk in self.chunks if chunk.start < end and start < chunk.end]
        first, last = held[0], held[-1]
        return [
            chunk.index
            for chunk in self.chunks[
                max(0, first.index - _AROUND_CHUNKS) : last.index + _AROUND_CHUNKS + 1
            ]
            if first.index <= chunk.index <= last.index
            or chunk.section in (first.section, last.section)
        ]

    def tokens(self, index: int) -> int:
        """Return what a chunk costs at most: its text, and the header above it."""
        chunk = self.chunks[index]
        return chunk.tokens + self.whole.sections[chunk.section].header_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierEvidence:
    """What earlier answers quoted and is there still."""

    tokens: int = 0
    """What all of it costs at most."""
    warnings: tuple[str, ...] = ()
    """What of it was edited or is gone."""
    kept: tuple[tuple[_Document, tuple[int, ...]], ...] = ()
    """Documents in the order in which they were quoted, the latest first, with their chunks."""

    def beside(self, found: Found) -> Found:
        """Return what a search found, and after it what it did not find of the earlier evidence."""
        earlier = [
            source
            for document, indices in self.kept
            for source in _sources(document, _not_found(document, indices, found.sources))
        ]
        sources = (*found.sources, *earlier)
        context = found.context
        if earlier:
            context = render_segments(
                [source.text for source in sources],
                citations=[source.citation for source in sources],
                headers=[source.header for source in sources],
                also_in=[source.also_in for source in sources],
            )
        warnings = (*found.warnings, *self.warnings)
        return replace(found, sources=sources, context=context, warnings=warnings)


def find_earlier(
    store: Store, turns: Sequence[Turn], *, scope: Scope, budget_tokens: int
) -> EarlierEvidence:
    """Return what was quoted in some turns and stands in the documents still.

    Args:
        store: Where the documents are.
        turns: Of the conversation, in order.
        scope: The documents that may be searched now.
        budget_tokens: Most tokens of all of it.

    Raises:
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    is_all = scope.where is None and scope.documents is None
    within = None if is_all else {record.id for record in searched_records(store, scope)}
    documents: dict[str, _Document | None] = {}
    kept: dict[str, set[int]] = {}
    tokens, changed = 0, []
    for cited in _cited(turns):
        name = cited.document_id
        if within is not None and name not in within:
            continue
        if name not in documents:
            documents[name] = _read(store, name)
        document = documents[name]
        place = None if document is None else _place(document.whole, cited)
        if document is None or place is None:
            changed.append(cited)
            continue
        wanted = set(document.around(*place)) - kept.get(name, set())
        cost = sum(map(document.tokens, wanted))
        if tokens + cost <= budget_tokens:
            tokens += cost
            kept.setdefault(name, set()).update(wanted)
    return EarlierEvidence(
        tokens=tokens,
        warnings=tuple(_warnings(changed)),
        kept=tuple(
            (document, tuple(sorted(kept[name])))
            for name, document in documents.items()
            if document is not None and name in kept
        ),
    )


def _cited(turns: Sequence[Turn]) -> list[Citation]:
    """Return what was quoted and found, each place once: the latest turn first."""
    quoted = [
        one.citation
        for turn in reversed(turns)
        for one in turn.answer.citations
        if one.citation is not None
    ]
    return list(dict.fromkeys(quoted))[:_MAX_CITATIONS]


def _read(store: Store, document_id: str) -> _Document | None:
    """Return a document with its chunks of the same moment; None where it is gone."""
    whole = store.get_whole(document_id)
    chunks = store.get_chunks(document_id)
    if whole is None or "".join(chunk.text for chunk in chunks) != whole.document.text:
        return None
    return _Document(whole, chunks)


def _place(whole: WholeDocument, cited: Citation) -> tuple[int, int] | None:
    """Return where the quoted text stands now, character for character; None where it does not."""
    try:
        located = locate(whole, cited)
    except OptionError:  # it begins in too many places to compare them all
        return None
    if located.status not in ("current", "moved") or located.citation is None:
        return None
    return located.citation.start, located.citation.end


def _warnings(changed: Iterable[Citation]) -> Iterator[str]:
    for name in dict.fromkeys(cited.document_id for cited in changed):
        yield (
            f"what an earlier answer quotes of {name!r} does not stand there any more: the "
            "document was edited or removed"
        )


def _not_found(document: _Document, indices: Sequence[int], sources: Sequence[Source]) -> list[int]:
    """Return those chunks of a document that no source holds whole."""
    spans = [
        (run.start, run.start + len(run.text))
        for source in sources
        if source.citation.document_id == document.whole.record.id
        for run in source.runs
    ]
    return [
        index
        for index in indices
        if not any(
            start <= document.chunks[index].start and document.chunks[index].end <= end
            for start, end in spans
        )
    ]


def _sources(document: _Document, indices: Sequence[int]) -> Iterator[Source]:
    """Yield each run of consecutive chunks of one section, in order."""
    runs: list[list[Chunk]] = []
    for chunk in (document.chunks[index] for index in indices):
        if runs and (runs[-1][-1].index + 1, runs[-1][-1].section) == (chunk.index, chunk.section):
            runs[-1].append(chunk)
        else:
            runs.append([chunk])
    record = document.whole.record
    for run in runs:
        section = document.whole.sections[run[0].section]
        text = "".join(chunk.text for chunk in run)
        yield Source(
            citation=cite_range(document.whole, run[0].start, run[-1].end),
            header=chunk_header(
                record.title,
                summary=record.summary,
                section_path=section.path,
                section_summary=section.summary,
            ),
            text=text,
            runs=(Run(start=run[0].start, text=text),),
        )
