"""Search for the chunks that contain the quoted phrases of a question.

Rules:
    1. Only documents that contain a phrase in their text or title are searched. If some documents
       contain all phrases, only these are searched. If a document is too long to be read whole,
       only the chunks around the phrases are read.
    2. A segment must contain a phrase, unless the title of its document does. Chunks without a
       phrase count as evidence too, because an answer is often in the sentences around the phrase.
    3. A phrase that no document contains is not required.

The texts of documents that contain all terms of a phrase are compared with it until the limits on
the number of chunks are reached. Documents with the terms of several phrases come first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import true_ranges
from spanwise.core.ranking.phrases import phrase_runs
from spanwise.core.ranking.routing import MAX_CHUNKS
from spanwise.core.ranking.scan import (
    PassageRange,
    ScanQuery,
    group_passage_terms,
    group_scan_terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.phrases import Phrase
    from spanwise.core.ranking.routing import Routing
    from spanwise.core.ranking.scan import Scan
    from spanwise.filters import Filter
    from spanwise.search.evidence import Evidence
    from spanwise.search.extract import Extractor
    from spanwise.stores.port import Snapshot
    from spanwise.types import Chunk

    Bools = NDArray[np.bool_]

_MAX_SEARCHED = 40_000
"""Maximum number of chunks whose terms are compared with a phrase."""
_MAX_COMPARED = 2_000
"""Maximum number of chunks whose text is compared with a phrase."""
_COMPARED_TOGETHER = 256  # documents and chunks
_BATCH_CHUNKS = 512  # chunks whose terms are read together at first; the number doubles
_MAX_REACH = 64  # maximum number of chunks over which a phrase may extend
_AROUND = 12  # chunks read on either side of a phrase if the document is not read whole
_MAX_CHOICES = 6  # maximum number of attempts to choose segments
_NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class PhraseMatches:
    """Quoted phrases of a query and the chunks to read for them, n rows."""

    required: tuple[str, ...] = ()
    """Phrases that documents contain, in order."""
    missing: tuple[str, ...] = ()
    """Phrases that no searched document contains, in order."""
    selected: Sequence[tuple[int, PassageRange]] = ()
    """Ranges to read, each with the position of its document in the scan; empty if no phrase is
    required."""
    held: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Whether each row contains a required phrase, or the title of its document does, (n,)."""
    strict: bool = False
    """Whether only chunks that contain a phrase count as evidence."""

    def candidates(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows to score: the given rows, or all rows with a phrase if `strict`."""
        return np.flatnonzero(self.held) if self.strict and len(self.held) else rows


NO_PHRASES = PhraseMatches()


class _Document(NamedTuple):
    """A document that contains all terms of a phrase."""

    position: int
    """Position in the scan."""
    handle: int
    """Store handle."""
    chunks: int
    """Number of chunks."""
    is_titled: bool
    """Whether its title contains all terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseFinder:
    """Finds the chunks of a snapshot that contain the phrases of a query."""

    phrases: Sequence[Phrase]
    """Phrases that must occur."""
    snapshot: Snapshot
    """Snapshot to search."""
    where: Filter | None = None
    """Metadata filter; None for no filter."""
    documents: Sequence[str] | None = None
    """Ids of documents; None for all."""
    strict: bool = False
    """Whether only chunks that contain a phrase count as evidence."""

    def find(self, scan: Scan, routing: Routing) -> PhraseMatches:
        """Return the matches of all phrases.

        Args:
            scan: Scan of the query.
            routing: Routing of the query; better documents are compared first.
        """
        complete = [self._complete(phrase, scan.handles) for phrase in self.phrases]
        counts = np.sum([contains for contains, _ in complete], axis=0)
        best = routing.best()
        order = best[np.argsort(-counts[best], kind="stable")]
        found = []
        for phrase, (contains, titled) in zip(self.phrases, complete, strict=True):
            positions = order[contains[order]]
            documents = map(
                _Document,
                positions.tolist(),
                scan.handles[positions].tolist(),
                scan.document_chunks[positions].tolist(),
                titled[positions].tolist(),
            )
            found.append(dict(self._holders(phrase, documents)))
        required = [holders for holders in found if holders]
        common = set.intersection(*map(set, required)) if required else set()
        held: dict[int, Bools] = {}
        for holders in required:
            for position, chunks in holders.items():
                if not common or position in common:
                    held[position] = chunks | held.get(position, False)
        selected = _ranges(held, scan, routing)
        return PhraseMatches(
            required=tuple(p.text for p, hold in zip(self.phrases, found, strict=True) if hold),
            missing=tuple(p.text for p, hold in zip(self.phrases, found, strict=True) if not hold),
            selected=selected,
            held=np.concatenate(
                [held[at][span.start : span.end] for at, span in selected]
                or [np.zeros(0, dtype=bool)]
            ),
            strict=self.strict,
        )

    def _complete(self, phrase: Phrase, handles: NDArray[np.int64]) -> tuple[Bools, Bools]:
        """Return which documents contain all terms of a phrase, and which titles do, (D,) each."""
        terms, words = phrase.forms(self.snapshot.languages())
        query = ScanQuery(terms=terms, words=words, vector=None, hits=1)
        scan = self.snapshot.scan(query, where=self.where, documents=self.documents)
        scan = group_scan_terms(scan, words)
        contains = (scan.document_terms > 0) | scan.document_titles
        least = phrase.least_terms(words)
        complete = scan.handles[contains.sum(axis=1) >= least]
        titled = scan.handles[scan.document_titles.sum(axis=1) >= least]
        return np.isin(handles, complete), np.isin(handles, titled)

    def _holders(
        self, phrase: Phrase, documents: Iterable[_Document]
    ) -> Iterator[tuple[int, Bools]]:
        """Yield each document that contains a phrase: its position, and which chunks contain it.

        Args:
            phrase: The phrase.
            documents: Documents with all terms of the phrase, best first.
        """
        compared = held_chunks = 0
        for position, near, held in self._compared(phrase, self._near(phrase, documents)):
            if held.any():
                yield position, held
                held_chunks += len(held)
            compared += int(np.count_nonzero(near))
            if compared >= _MAX_COMPARED or held_chunks >= MAX_CHUNKS:
                return

    def _compared(
        self, phrase: Phrase, documents: Iterable[tuple[_Document, Bools]]
    ) -> Iterator[tuple[int, Bools, Bools]]:
        """Yield each document with the chunks to compare, and which of its chunks contain a phrase.

        If the title contains the phrase, all chunks count. The texts of several documents are
        compared together.
        """
        group: list[tuple[_Document, Bools]] = []
        waiting = 0
        for document, near in documents:
            group.append((document, near))
            waiting += 1 + int(np.count_nonzero(near))
            if waiting >= _COMPARED_TOGETHER:
                yield from self._held(phrase, group)
                group, waiting = [], 0
        yield from self._held(phrase, group)

    def _near(
        self, phrase: Phrase, documents: Iterable[_Document]
    ) -> Iterator[tuple[_Document, Bools]]:
        """Yield the documents that may contain a phrase, each with the chunks near all its terms.

        The terms of several documents are read together.
        """
        batch: list[_Document] = []
        searched, waiting, most = 0, 0, _BATCH_CHUNKS
        for document in documents:
            searched += document.chunks
            if searched > max(_MAX_SEARCHED, document.chunks):
                break
            batch.append(document)
            waiting += document.chunks
            if waiting >= most:
                yield from self._near_rows(phrase, batch)
                batch, waiting, most = [], 0, 2 * most
        yield from self._near_rows(phrase, batch)

    def _near_rows(
        self, phrase: Phrase, batch: Sequence[_Document]
    ) -> Iterator[tuple[_Document, Bools]]:
        """Yield the documents of a batch, as `_near`."""
        if not batch:
            return
        terms, words = phrase.forms(self.snapshot.languages())
        ranges = [PassageRange(document.handle, 0, document.chunks) for document in batch]
        passages = self.snapshot.passages(ranges, terms=terms, vectors=_NO_VECTORS)
        contains = group_passage_terms(passages, words).impacts > 0
        sizes = np.array([document.chunks for document in batch])
        reach = min(_reach(passages.chars, 2 * len(phrase.text)), len(phrase.words))
        near = _together(contains, sizes, phrase.least_terms(words), reach=reach)
        counts = np.append(0, np.cumsum(near))
        end = 0
        for document in batch:
            start, end = end, end + document.chunks
            if document.is_titled or counts[start] < counts[end]:
                yield document, near[start:end]

    def _held(
        self, phrase: Phrase, group: Sequence[tuple[_Document, Bools]]
    ) -> Iterator[tuple[int, Bools, Bools]]:
        """Yield the documents of a group, as `_compared`."""
        runs = [
            PassageRange(document.handle, start, end)
            for document, near in group
            for start, end in true_ranges(near)
        ]
        titled = [document.handle for document, _ in group if document.is_titled]
        texts = [[chunk.text for chunk in chunks] for chunks in self._read(runs)]
        texts += [[self.snapshot.record(handle).title] for handle in titled]
        found = phrase_runs(phrase, texts)
        in_titles = iter(found[len(found) - len(titled) :].tolist())
        end = 0
        for document, near in group:
            start, end = end, end + int(np.count_nonzero(near))
            held = np.zeros(len(near), dtype=bool)
            held[near] = found[start:end]
            held |= document.is_titled and next(in_titles)
            yield document.position, near, held

    def _read(self, runs: Sequence[PassageRange]) -> Sequence[Sequence[Chunk]]:
        """Return the chunks of some ranges; few of them are read in one request."""
        if sum(run.end - run.start for run in runs) <= _MAX_COMPARED:
            return self.snapshot.chunk_ranges(runs)
        return [self.snapshot.chunks(run.handle, run.start, run.end) for run in runs]


def _reach(chars: NDArray[np.int64], longest: int) -> int:
    """Return the maximum number of chunks over which a text of some length may extend, at least 2.

    Args:
        chars: Length of each chunk in characters.
        longest: Length of the text.
    """
    before = np.append(0, np.cumsum(chars))
    # The chunks between the first one and the last one are parts of the text.
    last = np.searchsorted(before, before[1:] + longest, side="right") - 1
    return int(np.clip((last - np.arange(len(chars))).max() + 1, 2, _MAX_REACH))


def _together(contains: Bools, sizes: NDArray[np.int64], least: int, *, reach: int) -> Bools:
    """Return whether each chunk has enough terms of a phrase, together with its neighbours, (n,).

    Args:
        contains: Whether each chunk contains each term, (T, n).
        sizes: Number of chunks of each document.
        least: Minimum number of terms.
        reach: Number of chunks on either side.
    """
    reach = min(reach, int(sizes.max()))
    document = np.repeat(np.arange(len(sizes)), sizes)
    neighbours = [document[:-shift] == document[shift:] for shift in range(1, reach)]
    together = contains.copy()
    for shift, is_same in enumerate(neighbours, 1):
        together[:, :-shift] |= contains[:, shift:] & is_same
    is_first = together.sum(axis=0) >= least
    near: Bools = np.array(is_first)
    for shift, is_same in enumerate(neighbours, 1):
        near[shift:] |= is_first[:-shift] & is_same
    return near


def _ranges(
    held: Mapping[int, Bools], scan: Scan, routing: Routing
) -> list[tuple[int, PassageRange]]:
    """Return the ranges to read, ordered by document and start; at most `MAX_CHUNKS` chunks."""
    remaining = MAX_CHUNKS
    chosen: list[tuple[int, PassageRange]] = []
    for position in routing.best().tolist():
        if position not in held or remaining <= 0:
            continue
        chunks = held[position]
        near = np.ones(len(chunks), dtype=bool)
        if len(chunks) > remaining:
            near = chunks.copy()
            for shift in range(1, min(_AROUND + 1, len(chunks))):
                near[shift:] |= chunks[:-shift]
                near[:-shift] |= chunks[shift:]
            near[np.flatnonzero(near)[remaining:]] = False
        handle = int(scan.handles[position])
        chosen += [(position, PassageRange(handle, start, end)) for start, end in true_ranges(near)]
        remaining -= int(np.count_nonzero(near))
    return sorted(chosen, key=lambda item: (item[0], item[1].start))


def required_phrases(evidence: Evidence | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the phrases that were required, and those that no searched document contains."""
    matches = [query.phrases for _, query, _ in evidence.queries()] if evidence else []
    required = dict.fromkeys(phrase for match in matches for phrase in match.required)
    missing = dict.fromkeys(phrase for match in matches for phrase in match.missing)
    return tuple(required), tuple(phrase for phrase in missing if phrase not in required)


def held_rows(evidence: Evidence) -> Bools | None:
    """Return whether each merged row contains a required phrase, (n,); None if none is required."""
    queries = [(query, place) for _, query, place in evidence.queries()]
    if not any(query.phrases.required for query, _ in queries):
        return None
    held = np.zeros(len(evidence.shares), dtype=bool)
    for query, place in queries:
        held[place[query.phrases.held] if query.phrases.required else place] = True
    return held


def require_phrases(extractor: Extractor) -> Extractor | None:
    """Return an extractor whose segments all contain a required phrase; None if none was found.

    The shares of segments without a phrase are set to 0, and segments are chosen again.
    """
    held = held_rows(extractor.evidence)
    if held is None:
        return extractor
    for _ in range(_MAX_CHOICES):
        evidence = extractor.evidence
        runs = extractor.runs(extractor.fitted.header_tokens)
        firsts = [int(evidence.starts[run.document]) for run in runs]
        rows = [slice(at + run.start, at + run.end) for at, run in zip(firsts, runs, strict=True)]
        lacking = [row for row in rows if not held[row].any()]
        if not lacking:
            return extractor if rows else None
        shares = evidence.shares.copy()
        for row in lacking:
            shares[row] = 0.0
        extractor = replace(extractor, evidence=replace(evidence, shares=shares))
    return None
