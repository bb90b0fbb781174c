"""Evidence of a question: the chunks scored for its queries, merged, without near-duplicates.

Each query reads its own ranges of chunks. The merged rows are the union of these ranges.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.extraction.exact import chunk_values
from spanwise.core.ranking.duplicates import (
    TextFingerprint,
    are_near_duplicates,
    candidate_pairs,
    deduplicate_shares,
    find_representatives,
    term_keys,
)
from spanwise.core.ranking.scan import PassageRange
from spanwise.types import SimilarMatch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.options import SegmentOptions
    from spanwise.search.rendering import TokenCounter
    from spanwise.search.scoring import QueryHits, ScoredChunks, SimilarMatches
    from spanwise.stores.port import Snapshot

_SHOWN = 0.05  # share relative to the greatest below which a chunk is unlikely to be shown
_SERVED = 0.0175  # share of a query above which chunks contain evidence for it
_MAX_SHOWN = 128
_MAX_COMPARED = 2_000
SHOWN_SIMILARITY = 0.4
"""Minimum similarity of words that are shown; others have little weight."""


def find_near_duplicates(
    scored: Sequence[ScoredChunks | None],
    positions: Sequence[NDArray[np.int64]],
    *,
    shares: NDArray[np.float64],
    ranges: Sequence[PassageRange],
    snapshot: Snapshot,
) -> NDArray[np.int64]:
    """Return the representative row of each row, (n,): itself if it has no near-duplicate.

    Two texts are compared only if their features are similar for at least one query, and no query
    that scored both chunks finds different terms in them.

    Args:
        scored: Scored chunks of each query.
        positions: For each query, the merged row of each of its rows.
        shares: Shares of the merged rows, (n,).
        ranges: Merged ranges.
        snapshot: Snapshot to read texts from.
    """
    shown = np.zeros(len(shares), dtype=bool)
    best = np.flatnonzero(shares >= _SHOWN * shares.max())
    shown[best[np.argsort(-shares[best], kind="stable")[:_MAX_SHOWN]]] = True
    queries = _with_evidence(scored, positions)
    keys = [_alike(query, place, shown) @ (len(shares), 1) for _, query, place in queries]
    candidates = np.stack(np.divmod(distinct(np.concatenate(keys)), len(shares)), axis=1)
    for _, query, place in queries:
        candidates = candidates[~_distinguished(query, place, candidates, rows=len(shares))]
    by_share = np.argsort(-shares[candidates[:, 0]], kind="stable")
    rows = distinct(candidates)
    copies = _confirmed(candidates[by_share].tolist(), _fingerprints(rows, ranges, snapshot))
    if not copies:
        return np.arange(len(shares))
    _, documents = np.unique([span.handle for span in ranges], return_inverse=True)
    documents = np.repeat(documents, [span.end - span.start for span in ranges])
    return find_representatives(copies, shares=shares, documents=documents)


def _alike(
    query: ScoredChunks, place: NDArray[np.int64], shown: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the pairs of merged rows whose features for one query are similar, (p, 2)."""
    rows = query.candidates
    pairs = candidate_pairs(
        query.passages, rows, query.rows.documents[rows], shown=shown[place[rows]]
    )
    return place[rows[pairs]]


def _distinguished(
    query: ScoredChunks, place: NDArray[np.int64], pairs: NDArray[np.int64], *, rows: int
) -> NDArray[np.bool_]:
    """Return, for each pair of rows, whether the query scored both and their terms differ."""
    query_row = _query_rows(place, rows)
    keys = term_keys(query.passages.impacts)
    first, second = query_row[pairs].T
    return np.asarray((first >= 0) & (second >= 0) & (keys[first] != keys[second]))


def _confirmed(
    pairs: Sequence[tuple[int, int]], fingerprints: Mapping[int, TextFingerprint]
) -> list[tuple[int, int]]:
    """Return the pairs that are near-duplicates, except pairs implied by earlier ones."""
    copies: list[tuple[int, int]] = []
    same_as: dict[int, int] = {}
    compared = 0
    for first, second in pairs:
        if same_as.get(first, first) == same_as.get(second, second):
            continue
        if compared == _MAX_COMPARED:
            break
        compared += 1
        if are_near_duplicates(fingerprints[first], fingerprints[second]):
            copies.append((first, second))
            same_as[second] = same_as.setdefault(first, first)
    return copies


def _fingerprints(
    rows: NDArray[np.int64], ranges: Sequence[PassageRange], snapshot: Snapshot
) -> dict[int, TextFingerprint]:
    """Return the fingerprints of the texts of rows; equal texts share one."""
    starts = np.cumsum([0] + [span.end - span.start for span in ranges])
    at = np.searchsorted(starts, rows, side="right") - 1
    spans = [ranges[index] for index in at.tolist()]
    places = [
        PassageRange(span.handle, span.start + inside, span.start + inside + 1)
        for span, inside in zip(spans, (rows - starts[at]).tolist(), strict=True)
    ]
    read = snapshot.chunk_ranges(places)
    texts = [chunk.text for (chunk,) in read]
    of_text = {text: TextFingerprint(text) for text in texts}
    return {row: of_text[text] for row, text in zip(rows.tolist(), texts, strict=True)}


class NamedSection(NamedTuple):
    """Consecutive rows of the section that a question names."""

    name: str
    """Title of the section."""
    first: int
    """First row of the section."""
    end: int
    """Row after the last one of the section."""


class _MatchedQuery(NamedTuple):
    """Matches of the words of a query and of similar words that may be shown, P pairs."""

    query_row: NDArray[np.int64]
    """Row of the query for each merged row; -1 if the query did not read it."""
    own: NDArray[np.float32]
    """Impacts of the terms in the rows of the query, (T, n)."""
    forms: NDArray[np.float32]
    """Impacts of the similar terms, (F, n)."""
    pairs: list[SimilarMatch]
    """Words and similar words."""
    pair_terms: NDArray[np.int64]
    """Index of the term of each pair, (P,)."""
    pair_forms: NDArray[np.int64]
    """Index of the similar term of each pair, (P,)."""

    @classmethod
    def of(
        cls,
        question: Question,
        own: NDArray[np.float32],
        matched: SimilarMatches,
        place: NDArray[np.int64],
        *,
        rows: int,
    ) -> _MatchedQuery:
        """Return the matches of one query.

        Args:
            question: The query.
            own: Impacts of its terms, (T, n).
            matched: Matches of similar words.
            place: Merged row of each row of the query, (n,).
            rows: Number of merged rows.
        """
        words, similar = question.term_words(), matched.similar
        shown = np.flatnonzero(similar.similarities >= SHOWN_SIMILARITY)
        pairs = [similar.pairs[at] for at in shown.tolist()]
        return cls(
            query_row=_query_rows(place, rows),
            own=own,
            forms=matched.impacts,
            pairs=[
                SimilarMatch(question_word=words[term], word=word.word, similarity=word.similarity)
                for term, _, word in pairs
            ],
            pair_terms=similar.pair_terms[shown],
            pair_forms=similar.pair_forms[shown],
        )


def _query_rows(place: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return the row of a query for each merged row, -1 if it has none, (rows,).

    Args:
        place: Merged row of each row of the query.
        rows: Number of merged rows.
    """
    query_row = np.full(rows, -1, dtype=np.int64)
    query_row[place] = np.arange(len(place))
    return query_row


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Chunks that were read for a question of q queries: n rows in r ranges."""

    questions: tuple[Question, ...]
    """The queries with their search terms, (q,)."""
    scored: tuple[ScoredChunks | None, ...]
    """Scored chunks of each query; None if nothing in scope could contain evidence for it, (q,)."""
    positions: tuple[NDArray[np.int64], ...]
    """For each query, the merged row of each chunk that was read for it, (q,)."""
    ranges: tuple[PassageRange, ...]
    """Disjoint ranges that do not touch, by handle, then start, (r,)."""
    starts: NDArray[np.int64]
    """First row of each range, (r,)."""
    lengths: NDArray[np.int64]
    """Length of each chunk in tokens of the reading model's tokenizer, (n,)."""
    relevances: NDArray[np.float64]
    """Probability that a chunk contains evidence for each query, (q, n)."""
    relevance: NDArray[np.float64]
    """Probability that a chunk contains evidence for any query, `1 - product(1 - p)`, (n,)."""
    shares: NDArray[np.float64]
    """Share of each chunk: that of a single query, or the share of the merged relevance, (n,).

    Each text counts once: the representative of near-duplicates has the sum of their shares.
    """
    copy_of: NDArray[np.int64]
    """Representative row of each row; itself if it has no near-duplicate, (n,)."""
    openings: NDArray[np.bool_]
    """Whether each chunk is the first of a section of its document, (n,)."""
    named: NamedSection | None = None
    """Section that the question names; None if it names none."""
    answer_chance: float = 1.0
    """Probability that the documents answer the question, in [0, 1]; 1 before it is assessed."""

    @property
    def chances(self) -> NDArray[np.float64]:
        """Probability that there is an answer and that a chunk contains evidence for it, (n,)."""
        return np.asarray(self.relevance * self.answer_chance)

    @property
    def candidates(self) -> int:
        """Number of chunks that were scored for at least one query."""
        scored = np.zeros(len(self.shares), dtype=bool)
        for _, query, place in self.queries():
            scored[place[query.candidates]] = True
        return int(np.count_nonzero(scored))

    def queries(self) -> list[tuple[int, ScoredChunks, NDArray[np.int64]]]:
        """Return index, scored chunks and merged rows of each query with evidence."""
        return _with_evidence(self.scored, self.positions)

    def chunk(self, row: int) -> tuple[int, int]:
        """Return the document handle and the chunk index of a row."""
        at, position = self.place(row)
        return self.ranges[at].handle, self.ranges[at].start + position

    def values(self, options: SegmentOptions) -> NDArray[np.float64]:
        """Return the value of each chunk in a segment, in the unit of shares, (n,)."""
        return chunk_values(self.shares, self.lengths, token_price=options.token_price)

    def place(self, row: int) -> tuple[int, int]:
        """Return the range of a row and its position in it."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        return at, row - int(self.starts[at])

    def best_rows(self) -> dict[int, int]:
        """Return the best row (or its representative) by query, for each query with evidence.

        For a question that names a section, it is the first row of the section.
        """
        best = {} if self.named is None else {0: self.named.first}
        for number, query, place in self.queries():
            best.setdefault(number, int(self.copy_of[_best_row(query, place)]))
        return best

    def served_queries(self, rows: NDArray[np.int64]) -> tuple[int, ...]:
        """Return the queries that some rows contain evidence for, ascending; at least one.

        A query is returned if its best chunk is among the rows, or if the sum of the rows' shares
        for the query is above 0.0175.
        """
        if len(self.scored) == 1:
            return (0,)
        shares = np.zeros(len(self.scored))
        for number, query, place in self.queries():
            shares[number] = query.shares[np.isin(place, rows)].sum()
        best = self.best_rows()
        inside = set(rows.tolist())
        served = [
            number
            for number, share in enumerate(shares.tolist())
            if share > _SERVED or best.get(number) in inside
        ]
        return tuple(served) or (int(np.argmax(shares)),)

    def similar_words(self, rows: NDArray[np.int64]) -> tuple[SimilarMatch, ...]:
        """Return the words of the questions that some rows contain only as similar words.

        For each word, the most similar word is returned. Words of low similarity are left out.
        """
        matches: dict[str, SimilarMatch] = {}
        for query in self._matched:
            inside = query.query_row[rows]
            inside = inside[inside >= 0]
            own: NDArray[np.bool_] = np.any(query.own[:, inside] > 0, axis=1)
            forms: NDArray[np.bool_] = np.any(query.forms[:, inside] > 0, axis=1)
            is_match = forms[query.pair_forms] & ~own[query.pair_terms]
            for at in np.flatnonzero(is_match).tolist():
                match = query.pairs[at]
                known = matches.get(match.question_word)
                if known is None or known.similarity < match.similarity:
                    matches[match.question_word] = match
        return tuple(matches.values())

    @cached_property
    def _matched(self) -> list[_MatchedQuery]:
        """The queries with matches of similar words."""
        queries = [
            (self.questions[number], scored.passages.impacts, scored.matched, place)
            for number, scored, place in self.queries()
            if scored.matched is not None
        ]
        return [_MatchedQuery.of(*query, rows=len(self.shares)) for query in queries]

    def chance(self, rows: NDArray[np.int64], shown: NDArray[np.float64] | float = 1.0) -> float:
        """Return the probability that there is an answer and that a text contains evidence for it.

        The second probability is the fraction of all shares in the text, or the relevance of its
        best chunk if that is greater.

        Args:
            rows: Rows of the chunks of the text, k > 0.
            shown: Fraction of each chunk that the text contains, in [0, 1], (k,).
        """
        share = float((self.shares[rows] * shown).sum()) / max(1.0, self._all_shares)
        best = float((self.relevance[rows] * shown).max())
        return min(1.0, max(share, best)) * self.answer_chance

    def copies(self, rows: NDArray[np.int64]) -> tuple[int, ...]:
        """Return the handles of other documents with near-duplicates of the rows of a document."""
        if not self._copies:
            return ()
        handles = {handle for row in rows.tolist() for handle in self._copies.get(row, ())}
        return tuple(sorted(handles - {self.chunk(int(rows[0]))[0]}))

    @cached_property
    def _all_shares(self) -> float:
        """Sum of all shares."""
        return float(self.shares.sum())

    @cached_property
    def _copies(self) -> dict[int, list[int]]:
        """Handles of the documents with near-duplicates of each representative row."""
        copies: dict[int, list[int]] = {}
        for row in np.flatnonzero(self.copy_of != np.arange(len(self.copy_of))).tolist():
            copies.setdefault(int(self.copy_of[row]), []).append(self.chunk(row)[0])
        return copies


def _with_evidence(
    scored: Sequence[ScoredChunks | None], positions: Sequence[NDArray[np.int64]]
) -> list[tuple[int, ScoredChunks, NDArray[np.int64]]]:
    """Return index, scored chunks and merged rows of each query with evidence."""
    pairs = enumerate(zip(scored, positions, strict=True))
    return [(number, query, place) for number, (query, place) in pairs if query is not None]


def merge_evidence(
    hits: Sequence[QueryHits],
    *,
    snapshot: Snapshot,
    model: RelevanceModel,
    token_counter: TokenCounter,
) -> Evidence | None:
    """Return the merged evidence of all queries, or None if no chunk in scope could contain any."""
    questions = tuple(query_hits.question for query_hits in hits)
    scored = tuple(query_hits.scored for query_hits in hits)
    if all(query is None for query in scored):
        return None
    ranges = _merged_ranges(
        [span for query in scored if query is not None for span in query.ranges]
    )
    sizes = np.array([span.end - span.start for span in ranges], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    positions = tuple(_positions(query, ranges, starts) for query in scored)
    tokens, chars = (np.zeros(int(sizes.sum()), dtype=np.int64) for _ in range(2))
    relevances = np.zeros((len(scored), len(tokens)))
    openings = np.zeros(len(tokens), dtype=np.bool_)
    for number, query, place in _with_evidence(scored, positions):
        tokens[place] = query.passages.tokens
        chars[place] = query.passages.chars
        openings[place] = query.passages.openings
        relevances[number, place] = model.relevance(query.shares)
    shares, relevance = _shares(scored, positions, relevances, model)
    copy_of = np.arange(len(shares))
    # A comparison needs the text of each document.
    if not any(question.compares for question in questions):
        copy_of = find_near_duplicates(
            scored, positions, shares=shares, ranges=ranges, snapshot=snapshot
        )
    best = [_best_row(query, place) for _, query, place in _with_evidence(scored, positions)]
    return Evidence(
        questions=questions,
        scored=scored,
        positions=positions,
        ranges=ranges,
        starts=starts,
        lengths=token_counter.chunks(tokens, chars, ranges, snapshot),
        relevances=relevances,
        relevance=relevance,
        shares=deduplicate_shares(shares, copy_of, starts=starts, protected=best),
        copy_of=copy_of,
        openings=openings,
    )


def _shares(
    scored: Sequence[ScoredChunks | None],
    positions: Sequence[NDArray[np.int64]],
    relevances: NDArray[np.float64],
    model: RelevanceModel,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares and the relevances of the merged rows, (n,) each."""
    if len(scored) == 1 and scored[0] is not None:
        shares = np.zeros(relevances.shape[1])
        shares[positions[0]] = scored[0].shares
        return shares, relevances[0]
    none_relevant = np.ones(relevances.shape[1])
    for row in relevances:  # fixed order: equal products on every machine
        none_relevant *= 1 - row
    return model.shares_at(1 - none_relevant), 1 - none_relevant


def _best_row(query: ScoredChunks, place: NDArray[np.int64]) -> int:
    """Return the merged row of the best chunk of a query."""
    return int(place[np.argmax(query.shares)])


def _merged_ranges(ranges: Sequence[PassageRange]) -> tuple[PassageRange, ...]:
    """Return the union of ranges, by handle, then start; touching ranges are joined."""
    merged: list[PassageRange] = []
    for span in sorted(ranges, key=attrgetter("handle", "start")):
        last = merged[-1] if merged else None
        if last is not None and last.handle == span.handle and span.start <= last.end:
            merged[-1] = PassageRange(last.handle, last.start, max(last.end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def _positions(
    query: ScoredChunks | None, ranges: Sequence[PassageRange], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the merged row of each chunk that was read for a query."""
    if query is None:
        return np.zeros(0, dtype=np.int64)
    keys = [(span.handle, span.start) for span in ranges]
    at = [bisect_right(keys, (span.handle, span.start)) - 1 for span in query.ranges]
    first_rows = starts[at] - [ranges[index].start for index in at]
    return np.asarray(np.repeat(first_rows, query.rows.lengths) + query.rows.chunks)
