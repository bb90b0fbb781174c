"""Search for the best place of each document: "Which contracts allow ...?".

Rules:
    The search uses the topic of the question, without the words that ask for documents, and the
    phrases of the topic in the packs. With a quoted phrase, it uses no phrases of packs. If the
    question names no kind of document, it uses the packs whose landmarks half of a sample of the
    documents have.
    Every document with a hit is read (`core.ranking.document_places`).
    A document has evidence if the probability of its best place is at least `LEAST_CHANCE`. If no
    document reaches it, those with at least half of the best probability are shown, as weak
    evidence.
    If the documents hardly answer the question at all, every probability is multiplied with the
    probability that they do. A document that contains none of the names of the topic has a small
    probability.
    The best chunk of each document is shown, in descending order of the probabilities, as far as
    the budget goes. The rest of the budget is divided equally, and adds neighbouring chunks.
    MiniLM is not used: it compares too few chunks for many documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.extraction.exact import Run
from spanwise.core.ranking.abstention import EvidenceAssessment
from spanwise.core.ranking.document_places import (
    COMPARED,
    LEAST_CHANCE,
    PLAIN,
    WITH_TOPIC,
    best_of_each,
    length_bonus,
    phrase_bonus,
    place_chances,
    place_scores,
)
from spanwise.core.ranking.documents_question import (
    DocumentsRequest,
    asks_documents,
    is_year,
    read_request,
    topic_names,
    topic_words,
    topic_years,
)
from spanwise.core.ranking.question import read_question
from spanwise.core.ranking.scan import PassageRange, ScanQuery
from spanwise.core.text.terms import words
from spanwise.options import SearchOptions
from spanwise.packs.pack_file import recorded_packs
from spanwise.packs.topics import topic_phrases
from spanwise.search.assessment import assess_query
from spanwise.search.small_budget import SmallBudgetError
from spanwise.types.results import DocumentCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.core.ranking.scan import Scan
    from spanwise.models.ports import Embedder
    from spanwise.options import ExcerptOptions
    from spanwise.packs.pack_file import Pack
    from spanwise.search.evidence import Evidence
    from spanwise.search.extract import Extractor
    from spanwise.search.scoring import Scope, ScoredChunks
    from spanwise.stores.port import Snapshot
    from spanwise.types import Segment

_NO_NAME = 0.2  # factor for a document that contains none of the names of the topic
_HALF = 0.5  # least probability of a further chunk or a weak document, relative to the best
_MAX_CHUNKS = 8  # chunks of one place
_SAMPLE = 16  # documents whose kind is checked


def questions_by_document(
    questions: Sequence[Question],
    options: SearchOptions | ExcerptOptions,
    *,
    scope: Scope,
    snapshot: Snapshot,
    embedder: Embedder | None,
) -> tuple[Question, ...]:
    """Return the queries for a search by document if the options or the question ask for it.

    Args:
        questions: The question, then its additional queries.
        options: Options of the search.
        scope: Documents to search. With "auto", a single document is searched for passages.
        snapshot: Snapshot to search, for its languages and packs.
        embedder: Embedder of the knowledge base, to compare the question with topics of packs; None
            to compare words alone.

    Raises:
        ModelError: If the embedder fails.
    """
    if options.spread != "documents" and not _is_asked(questions[0], options, scope, snapshot):
        return tuple(questions)
    read = partial(_by_document, scope=scope, snapshot=snapshot, embedder=embedder)
    return tuple(map(read, questions))


def _is_asked(
    question: Question,
    options: SearchOptions | ExcerptOptions,
    scope: Scope,
    snapshot: Snapshot,
) -> bool:
    """Return whether a question asks for documents, and there are several in scope."""
    is_greedy = isinstance(options, SearchOptions) and options.published is not None
    if options.spread != "auto" or not asks_documents(question.text) or is_greedy:
        return False
    return count_documents(scope, snapshot) > 1


def count_documents(scope: Scope, snapshot: Snapshot) -> int:
    """Return the number of documents in a scope."""
    query = ScanQuery(terms=(), words=(), vector=None)
    return snapshot.scan(query, where=scope.where, documents=scope.documents).documents


def _by_document(
    question: Question, *, scope: Scope, snapshot: Snapshot, embedder: Embedder | None
) -> Question:
    request = read_request(question.text) or DocumentsRequest("", question.text)
    added: tuple[str, ...] = ()
    if not question.phrases:
        packs = [named.pack for named in recorded_packs(snapshot.packs())]
        if not request.noun:
            packs = [pack for pack in packs if pack.topics]
            packs = [pack for pack in packs if _is_of_kind(pack, question, scope, snapshot)]
        # The vector of a question with a year resembles those of topics about dates and terms.
        has_year = any(map(is_year, words(request.topic)))
        embed = None if embedder is None or has_year else embedder.embed
        added = topic_phrases(packs, request.topic, noun=request.noun, embed=embed)
    read = read_question(", ".join([request.topic, *added]), languages=snapshot.languages())
    if not read.terms:
        read, added = question, ()
    return replace(
        read,
        original_text=question.shown_text,
        original_words=question.original_words,
        corrections=question.corrections,
        phrases=question.phrases,
        compares=True,  # the same clause counts in each document
        by_document=True,
        topic_phrases=added,
    )


def _is_of_kind(pack: Pack, question: Question, scope: Scope, snapshot: Snapshot) -> bool:
    """Return whether half of a sample of the documents have landmarks of a pack."""
    forms, words = question.forms()
    query = ScanQuery(terms=forms, words=words, vector=None)
    scan = snapshot.scan(query, where=scope.where, documents=scope.documents)
    sample = np.arange(len(scan.handles))[:: max(1, len(scan.handles) // _SAMPLE)]
    names = [pack.signal(landmark.key) for landmark in pack.landmarks]
    known = 0
    for handle, chunks in zip(scan.handles[sample], scan.document_chunks[sample], strict=True):
        span = PassageRange(int(handle), 0, int(chunks))
        known += bool(snapshot.signals([span], names).any())
    return len(sample) > 0 and known >= len(sample) / 2


def evidence_by_document(
    evidence: Evidence, model: RelevanceModel, snapshot: Snapshot, *, embedder: Embedder | None
) -> Evidence:
    """Return evidence in which a relevance does not depend on other documents.

    The relevance of a chunk is the greatest probability over the queries that it contains evidence.
    Shares are proportional to relevances.

    Args:
        evidence: Evidence of all queries.
        model: Relevance model.
        snapshot: Snapshot of the documents.
        embedder: Embedder that was used; None for a keyword search.
    """
    chances = np.zeros(len(evidence.shares))
    for number, scored, place in evidence.queries():
        question = evidence.questions[number]
        phrases = question.topic_phrases
        rows = place[scored.candidates]
        scores = place_scores(model, scored.features, scored.lifts)
        if phrases:
            best = best_of_each(scores, scored.rows.documents[scored.candidates], count=COMPARED)
            texts = _texts(evidence, rows[best], snapshot)
            scores[best] += phrase_bonus(texts, phrases, language=question.language)
        calibration = WITH_TOPIC if phrases else PLAIN
        scores += length_bonus(scored.scan.chunks, scored.scan.documents, calibration)
        own = place_chances(scores, calibration)
        own *= _answer_chance(question, scored, model, embedder)
        lacks = _lacks_names(question, scored.scan)[scored.rows.documents[scored.candidates]]
        own[lacks] *= _NO_NAME
        chances[rows] = np.maximum(chances[rows], own)
    return replace(evidence, relevance=chances, shares=chances / len(chances), answer_chance=1.0)


def _answer_chance(
    question: Question, scored: ScoredChunks, model: RelevanceModel, embedder: Embedder | None
) -> float:
    """Return the probability that any document contains evidence for a query, if it is small.

    Otherwise it is 1, also for a query with the phrases of a topic.
    """
    if question.topic_phrases:
        return 1.0
    chance = assess_query(question, scored, model=model, embedder=embedder).evidence
    return chance if chance < LEAST_CHANCE else 1.0


def _lacks_names(question: Question, scan: Scan) -> NDArray[np.bool_]:
    """Return whether each document contains none of the names, or none of the years, (D,).

    False if the topic has none. An abbreviation that no document contains does not count.
    """
    place = {term: at for at, term in enumerate(question.terms)}
    contains = (scan.document_terms > 0) | scan.document_titles
    holders = [
        named
        for name in topic_names(question)
        if place.keys() >= set(name.terms)  # a long question is searched by some of its terms
        and (
            (named := contains[:, [place[term] for term in name.terms]].all(axis=1)).any()
            or not name.is_abbreviation
        )
    ]
    lacks = ~np.any(holders, axis=0) if holders else np.zeros(len(contains), dtype=bool)
    years = [place[term] for term in topic_years(question) if term in place]
    return lacks | ~contains[:, years].any(axis=1) if years else lacks


def absent_words(question: Question, scan: Scan) -> tuple[str, ...]:
    """Return the words of a topic that no searched document contains, in order."""
    known = np.any((scan.document_terms > 0) | scan.document_titles, axis=0)
    present = frozenset(compress(question.terms, known.tolist()))
    absent = (word for word, term in topic_words(question) if term not in present)
    return tuple(dict.fromkeys(absent))


def _texts(evidence: Evidence, rows: NDArray[np.int64], snapshot: Snapshot) -> list[str]:
    places = map(evidence.chunk, rows.tolist())
    ranges = [PassageRange(handle, index, index + 1) for handle, index in places]
    return [chunk.text for (chunk,) in snapshot.chunk_ranges(ranges)]


def assess_by_document(evidence: Evidence) -> EvidenceAssessment:
    """Return the probability that the best place contains evidence, as an assessment."""
    best = float(evidence.relevance.max())
    return EvidenceAssessment(best, is_weak=best < LEAST_CHANCE, is_missing=best < LEAST_CHANCE)


@dataclass(frozen=True, slots=True, eq=False)
class DocumentPlaces:
    """Documents with evidence, each with its best place."""

    evidence: Evidence
    """Evidence of the question, by document."""
    rows: tuple[int, ...]
    """Best row of each document with evidence, best first."""

    @classmethod
    def of(cls, evidence: Evidence, *, abstain: bool) -> DocumentPlaces:
        """Return the places of the documents that are expected to contain evidence.

        Args:
            evidence: Evidence of the question, by document.
            abstain: Whether there are no places if the evidence of all documents is weak.
        """
        chances = evidence.relevance
        handles = np.repeat(
            [span.handle for span in evidence.ranges],
            [span.end - span.start for span in evidence.ranges],
        )
        order = np.argsort(-chances, kind="stable")
        _, first = np.unique(handles[order], return_index=True)
        best_rows = order[np.sort(first)]
        top = float(chances[best_rows[0]])
        least = LEAST_CHANCE if top >= LEAST_CHANCE or abstain else _HALF * top
        rows = best_rows[(chances[best_rows] >= least) & (chances[best_rows] > 0)]
        return cls(evidence, tuple(rows.tolist()))

    def counts(self, shown: int) -> DocumentCounts:
        """Return the numbers of documents, given how many are shown."""
        searched = max(scored.scan.documents for _, scored, _ in self.evidence.queries())
        chances = self.evidence.relevance[list(self.rows)]
        found = int(np.count_nonzero(chances >= LEAST_CHANCE))
        return DocumentCounts(searched=searched, found=found, shown=shown)

    def run(self, row: int, *, most_tokens: int = 0) -> Run:
        """Return a best row with its neighbours that have evidence.

        Args:
            row: Best row of a document.
            most_tokens: Maximum tokens of the run. The best row is always in it.
        """
        chances, lengths = self.evidence.relevance, self.evidence.lengths
        at, position = self.evidence.place(row)
        span, first = self.evidence.ranges[at], row - position
        low, high = first, first + span.end - span.start
        start, end, tokens = row, row + 1, int(lengths[row])
        while end - start < _MAX_CHUNKS:
            sides = [side for side in (start - 1, end) if low <= side < high]
            side = max(sides, key=lambda side: float(chances[side]), default=row)
            is_evidence = side != row and chances[side] >= _HALF * chances[row]
            if not is_evidence or tokens + lengths[side] > most_tokens:
                break
            tokens += int(lengths[side])
            start, end = min(start, side), max(end, side + 1)
        value = float(self.evidence.shares[start:end].sum())
        return Run(document=at, start=start - first, end=end - first, value=value, tokens=tokens)


def place_segments(
    places: DocumentPlaces, extractor: Extractor
) -> tuple[list[Segment], Segment | None]:
    """Return one segment for each document, best first, and the best chunk if there are none.

    Raises:
        SmallBudgetError: If the best place of no document fits into the budget.
    """
    options, borders = extractor.options, extractor.borders(trims=False)
    renderer = borders.renderer
    if not places.rows:
        return [], renderer.segments([extractor.guess()])[0]
    rows = places.rows[: options.max_documents]
    single = renderer.segments([extractor.locate(places.run(row)) for row in rows])
    totals = np.cumsum([segment.tokens for segment in single])
    count = int(np.searchsorted(totals, options.budget_tokens, side="right"))
    if not count:
        raise SmallBudgetError(
            f"budget_tokens is {options.budget_tokens}; the best place of a document with its "
            f"header needs {single[0].tokens}"
        )
    spare = (options.budget_tokens - int(totals[count - 1])) // count
    limit = options.segments.max_segment_tokens
    runs = []
    for row in rows[:count]:
        most = int(places.evidence.lengths[row]) + spare
        run = places.run(row, most_tokens=most if limit is None else min(most, limit))
        runs.append(extractor.locate(run))
    segments = renderer.segments(runs)
    if sum(segment.tokens for segment in segments) > options.budget_tokens:
        runs = [extractor.locate(places.run(row)) for row in rows[:count]]
        segments = renderer.segments(runs)
    return borders.complete(runs, segments).segments, None
