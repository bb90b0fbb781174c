"""Explanation of a search from its intermediate results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.ranking.features import FEATURE_GROUPS, FEATURES, keyword_scores
from spanwise.options import SegmentOptions
from spanwise.search.evidence import SHOWN_SIMILARITY
from spanwise.search.explanation import (
    CandidateExplanation,
    ChoiceTerms,
    ChunkRun,
    DocumentExplanation,
    Explanation,
    QueryScores,
    QuestionWord,
    decision_text,
)
from spanwise.search.section_shares import border_parts
from spanwise.types import SimilarMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.options import SearchOptions
    from spanwise.search.explanation import Decision
    from spanwise.search.extract import Extractor
    from spanwise.search.scoring import ScoredChunks
    from spanwise.types import Chunk, SearchResult

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


_MAX_TOKENS = 10_000_000


def explain_search(
    result: SearchResult, *, extractor: Extractor | None, options: SearchOptions
) -> Explanation:
    """Return the explanation of a search; its snapshot must still be open.

    Args:
        result: Result of the search.
        extractor: Extractor that chose the segments; None if no chunk in scope could contain
            evidence.
        options: Options of the search.
    """
    if extractor is None:
        return Explanation(
            result=result,
            features=FEATURES,
            groups=FEATURE_GROUPS,
            typical={},
            terms=_terms(
                options, header_tokens=0, required=(), table=((0.0, 0.0),), choice="exact"
            ),
            documents=(),
            candidates=(),
        )
    return _Explainer.of(result, extractor).explain()


def _terms(
    options: SearchOptions,
    *,
    header_tokens: int,
    required: tuple[tuple[str, int], ...],
    table: tuple[tuple[float, float], ...],
    choice: Literal["exact", "greedy", "whole"],
    answer_chance: float = 1.0,
) -> ChoiceTerms:
    segments = options.segments
    return ChoiceTerms(
        budget_tokens=options.budget_tokens,
        header_tokens=header_tokens,
        token_price=segments.token_price,
        segment_charge=segments.fixed_charge,
        min_segment_value=segments.min_segment_value,
        max_segment_tokens=segments.max_segment_tokens,
        required=required,
        table=table,
        choice=choice,
        trim=segments.trim,
        answer_chance=answer_chance,
    )


@dataclass(frozen=True, slots=True)
class _QueryView:
    """Scores of one query for the merged rows."""

    number: int
    """Index of the query."""
    scored: ScoredChunks
    """Scored chunks of the query."""
    question: Question
    """Analysis of the query."""
    rows: dict[int, int]
    """Position among the candidates, by merged row."""
    place: Integers
    """For each merged row, the row of the query; -1 if it was not read for the query, (n,)."""
    keyword: Floats
    """Keyword score of each row of the query."""
    names: tuple[str, ...]
    """Names of the contributions: features, then lifts (additions to the score)."""
    contributions: Floats
    """Contributions to the score of each candidate."""
    scores: Floats
    """Score of each candidate."""
    spread: Floats
    """Reduction of each score by better chunks of the same document."""
    relevance: Floats
    """Relevance of each merged row for the query."""

    def typical(self) -> dict[str, float]:
        """Return the mean contribution of each feature."""
        means = self.contributions.mean(axis=0).tolist()
        return dict(zip(self.names, means, strict=True))

    def scores_of(self, row: int) -> QueryScores | None:
        """Return the scores of a merged row; None if the query did not score it."""
        if row not in self.rows:
            return None
        at, query_row = self.rows[row], int(self.place[row])
        similarities = self.scored.passages.similarities
        return QueryScores(
            query=self.number,
            keyword=float(self.keyword[query_row]),
            cosine=float(similarities[0, query_row]) if len(similarities) else 0.0,
            contributions=dict(zip(self.names, self.contributions[at].tolist(), strict=True)),
            score=float(self.scores[at]),
            spread=float(self.spread[at]),
            share=float(self.scored.shares[query_row]),
            relevance=float(self.relevance[row]),
        )

    def words_in(self, row: int) -> list[str]:
        """Return the words of the question in a row."""
        query_row = int(self.place[row])
        if query_row < 0:
            return []
        contained = np.flatnonzero(self.scored.passages.impacts[:, query_row] > 0).tolist()
        words = list(_words(self.question).values())
        return [words[term] for term in contained]

    def question_words(self) -> Iterator[QuestionWord]:
        """Yield the words of the query with their terms and with similar words."""
        matched = self.scored.matched
        pairs = () if matched is None else matched.similar.pairs
        for place, (term, word) in enumerate(_words(self.question).items()):
            similar = [
                SimilarMatch(question_word=word, word=other.word, similarity=other.similarity)
                for at, _, other in pairs
                if at == place and other.similarity >= SHOWN_SIMILARITY
            ]
            yield QuestionWord(
                word=word,
                terms=(term, *self.question.other_forms.get(term, ())),
                similar=tuple(sorted(similar, key=lambda match: -match.similarity)),
            )


@dataclass(frozen=True, slots=True)
class _Explainer:
    """Builds the explanation of a search; rows are the rows of its evidence."""

    result: SearchResult
    extractor: Extractor
    header_tokens: int
    values: Floats
    inside: Integers
    """Rank of the segment that contains each row, -1 for none, (n,)."""
    queries: tuple[_QueryView, ...]
    choice: Literal["exact", "greedy", "whole"]
    _chunks: dict[int, tuple[Chunk, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: SearchResult, extractor: Extractor) -> _Explainer:
        """Return the explainer of a result."""
        inside = _ranks(result, extractor)
        is_whole = extractor.may_be_whole and bool((inside == 0).all())
        is_greedy = extractor.options.published is not None
        return cls(
            result=result,
            extractor=extractor,
            header_tokens=extractor.fitted.header_tokens,
            values=extractor.values(),
            inside=inside,
            queries=tuple(_views(extractor)),
            choice="greedy" if is_greedy else "whole" if is_whole else "exact",
        )

    def explain(self) -> Explanation:
        """Return the explanation."""
        evidence, model = self.extractor.evidence, self.extractor.model
        rows = distinct(np.concatenate([np.array(list(view.rows)) for view in self.queries]))
        order = rows[np.argsort(-evidence.shares[rows], kind="stable")].tolist()
        bridges = sorted(set(np.flatnonzero(self.inside >= 0).tolist()) - set(order))
        decisions = _Decisions.of(self)
        required = dict.fromkeys(evidence.best_rows().values())
        lift_names = _lift_names(self.extractor)
        return Explanation(
            result=self.result,
            features={**FEATURES, **{name: name for name in lift_names}},
            groups={**FEATURE_GROUPS, **{name: (name,) for name in lift_names}},
            typical={view.number: view.typical() for view in self.queries},
            terms=replace(
                _terms(
                    self.extractor.options,
                    header_tokens=self.header_tokens,
                    required=tuple(self._name(row) for row in required),
                    table=tuple((float(s), float(r)) for s, r in model.table.T),
                    choice=self.choice,
                    answer_chance=evidence.answer_chance,
                ),
                named="" if evidence.named is None else evidence.named.name,
                required_in=tuple(filter(None, map(self._base, required))),
                charge_factor=_charge_factor(evidence.questions),
            ),
            documents=self._documents(rows),
            candidates=tuple(
                self._candidate(row, decisions.decide(row)) for row in [*order, *bridges]
            ),
            words=tuple(word for view in self.queries for word in view.question_words()),
            languages=self.extractor.renderer.documents.snapshot.languages(),
        )

    def _candidate(self, row: int, decision: Decision) -> CandidateExplanation:
        evidence = self.extractor.evidence
        at, position = evidence.place(row)
        documents = self.extractor.renderer.documents
        shown = int(evidence.copy_of[row])
        if at not in self._chunks:
            span = evidence.ranges[at]
            self._chunks[at] = documents.snapshot.chunks(span.handle, span.start, span.end)
        chunk = self._chunks[at][position]
        words = dict.fromkeys(word for view in self.queries for word in view.words_in(row))
        scores = [view.scores_of(row) for view in self.queries]
        return CandidateExplanation(
            document_id=self._name(row)[0],
            knowledge_base=self._base(row),
            chunk=chunk.index,
            start=chunk.start,
            end=chunk.end,
            section_path=documents.section(evidence.ranges[at].handle, chunk.section).path,
            text=chunk.text,
            terms=tuple(words),
            scores=tuple(filter(None, scores)),
            relevance=float(evidence.chances[row]),
            share=float(evidence.shares[row]),
            tokens=int(evidence.lengths[row]),
            value=float(self.values[row]),
            decision=decision,
            segment=int(self.inside[row]) if self.inside[row] >= 0 else None,
            copy_of=None if shown == row else self._name(shown),
            copy_in="" if shown == row else self._base(shown),
            reason=self._reason(row, decision),
        )

    def _reason(self, row: int, decision: Decision) -> str:
        evidence, options = self.extractor.evidence, self.extractor.options
        document, chunk = self._name(int(evidence.copy_of[row]))
        return decision_text(
            decision,
            segment=int(self.inside[row]) + 1,
            other_document=document,
            other_chunk=chunk,
            tokens=int(evidence.lengths[row]),
            value=float(self.values[row]),
            charge=self.extractor.charge(self.header_tokens),
            minimum=float(options.segments.min_segment_value),
            longest=options.segments.max_segment_tokens,
            budget=options.budget_tokens,
            section="" if evidence.named is None else evidence.named.name,
        )

    def _name(self, row: int) -> tuple[str, int]:
        """Return document id and chunk of a row."""
        handle, chunk = self.extractor.evidence.chunk(row)
        return self.extractor.renderer.documents.record(handle).id, chunk

    def _base(self, row: int) -> str:
        """Return the knowledge base of a row; empty for one knowledge base."""
        handle, _ = self.extractor.evidence.chunk(row)
        return self.extractor.renderer.documents.record(handle).knowledge_base

    def _documents(self, rows: Integers) -> tuple[DocumentExplanation, ...]:
        """Return the documents with a candidate, by best segment, then by best relevance."""
        evidence = self.extractor.evidence
        with_candidate = {evidence.chunk(row)[0] for row in rows.tolist()}
        borders = border_parts(evidence, self.extractor.options.segments)
        runs: dict[int, list[ChunkRun]] = {}
        best: dict[int, tuple[int, float]] = {}
        ends = [*evidence.starts[1:].tolist(), len(evidence.shares)]
        for span, first, end in zip(evidence.ranges, evidence.starts.tolist(), ends, strict=True):
            if span.handle not in with_candidate:
                continue
            part = slice(first, end)
            run = ChunkRun(
                start=span.start,
                tokens=tuple(evidence.lengths[part].tolist()),
                shares=tuple(evidence.shares[part].tolist()),
                relevances=tuple(evidence.chances[part].tolist()),
                borders=tuple(borders[part].tolist()) if borders[part].any() else (),
            )
            runs.setdefault(span.handle, []).append(run)
            ranks = self.inside[part]
            rank = int(ranks[ranks >= 0].min(initial=len(self.result.segments)))
            previous = best.get(span.handle, (rank, 0.0))
            best[span.handle] = (min(rank, previous[0]), min(-max(run.relevances), previous[1]))
        order = sorted(runs, key=lambda handle: (best[handle], handle))
        positions = {handle: position for position, handle in enumerate(sorted(runs))}
        record = self.extractor.renderer.documents.record
        return tuple(
            DocumentExplanation(
                document_id=record(handle).id,
                title=record(handle).title,
                chunks=record(handle).chunks,
                runs=tuple(runs[handle]),
                position=positions[handle],
                knowledge_base=record(handle).knowledge_base,
            )
            for handle in order
        )


def _ranks(result: SearchResult, extractor: Extractor) -> Integers:
    """Return the rank of the segment that contains each row, -1 for none, (n,)."""
    evidence = extractor.evidence
    inside = np.full(len(evidence.shares), -1, dtype=np.int64)
    for span, first in zip(evidence.ranges, evidence.starts.tolist(), strict=True):
        record = extractor.renderer.documents.record(span.handle)
        document = (record.knowledge_base, record.id)
        for segment in result.segments:
            is_here = (segment.knowledge_base, segment.document_id) == document and (
                span.start <= segment.first_chunk < span.end
            )
            if is_here:
                shift = first - span.start
                inside[segment.first_chunk + shift : segment.last_chunk + shift] = segment.rank
    return inside


def _views(extractor: Extractor) -> Iterator[_QueryView]:
    """Yield the view of each query with evidence."""
    evidence = extractor.evidence
    lift_names = _lift_names(extractor)
    for number, scored, positions in evidence.queries():
        place = np.full(len(evidence.shares), -1, dtype=np.int64)
        place[positions] = np.arange(len(positions))
        lifts = [scored.lifts.get(name, np.zeros(len(scored.candidates))) for name in lift_names]
        yield _QueryView(
            number=number,
            scored=scored,
            question=evidence.questions[number],
            rows={row: at for at, row in enumerate(positions[scored.candidates].tolist())},
            place=place,
            keyword=keyword_scores(scored.scan, scored.rows, scored.passages),
            names=(*FEATURES, *lift_names),
            contributions=np.column_stack([extractor.model.contributions(scored.features), *lifts]),
            scores=scored.scores,
            spread=_spread(scored.scores, scored.shares[scored.candidates]),
            relevance=evidence.relevances[number] * evidence.answer_chance,
        )


def _lift_names(extractor: Extractor) -> tuple[str, ...]:
    """Return the names of the lifts over all queries."""
    queries = extractor.evidence.queries()
    return tuple(dict.fromkeys(name for _, scored, _ in queries for name in scored.lifts))


def _charge_factor(questions: Sequence[Question]) -> float:
    """Return the factor on the charge of a segment that depends on the questions."""
    compares = any(question.compares for question in questions)
    return SegmentOptions(segment_charge=1).charge(0, compares=compares)


def _words(question: Question) -> dict[str, str]:
    """Return the first word of the question for each of its terms, or the term itself."""
    words = dict.fromkeys(question.terms, "")
    for word, stem in zip(question.words, question.stems, strict=True):
        if stem in words and not words[stem]:
            words[stem] = word
    return {term: word or term for term, word in words.items()}


def _spread(scores: Floats, shares: Floats) -> Floats:
    """Return the reduction of each score by better chunks of its document, <= 0.

    It follows from the shares: a share is proportional to the exponential of the reduced score, and
    the best chunk of a document is not reduced.
    """
    reduction = np.log(np.maximum(shares, np.finfo(np.float64).tiny)) - scores
    return np.asarray(reduction - reduction.max())


@dataclass(frozen=True, slots=True)
class _Decisions:
    """Reason for the decision on each chunk, found by repeating the choice with looser limits."""

    explainer: _Explainer
    refused: Bools
    """Whether each row would be chosen if the question were not refused for weak evidence, (n,)."""
    by_budget: Bools
    """Whether each row would be chosen under a larger budget, (n,)."""
    by_length: Bools
    """Whether each row would be chosen if segments had no maximum length either, (n,)."""
    by_minimum: Bools
    """Whether each row would be chosen if segments had no minimum value either, (n,)."""

    @classmethod
    def of(cls, explainer: _Explainer) -> _Decisions:
        """Repeat the choice of an explainer with looser limits."""
        options, budget = explainer.extractor.options.segments, _MAX_TOKENS
        original = explainer.extractor.options.budget_tokens
        refused = np.zeros(len(explainer.values), dtype=np.bool_)
        if explainer.result.not_found:
            refused = _taken(explainer, options, budget=original)
        by_budget = by_length = by_minimum = _taken(explainer, options, budget=budget)
        if options.max_segment_tokens is not None:
            loose = replace(options, max_segment_tokens=None)
            by_length = _taken(explainer, loose, budget=budget)
        if options.min_segment_value > 0:
            loose = replace(options, max_segment_tokens=None, min_segment_value=0.0)
            by_minimum = _taken(explainer, loose, budget=budget)
        return cls(explainer, refused, by_budget, by_length, by_minimum)

    def decide(self, row: int) -> Decision:
        """Return the decision about a row."""
        if self.explainer.inside[row] < 0:
            return self._decide_outside(row)
        named = self.explainer.extractor.evidence.named
        if named is not None and named.first <= row < named.end:
            return "named"
        if self.explainer.choice == "whole":
            return "whole"
        return "segment" if self.explainer.values[row] > 0 else "bridge"

    def _decide_outside(self, row: int) -> Decision:
        if self.explainer.extractor.evidence.copy_of[row] != row:
            return "copy"
        if self.explainer.choice == "greedy":
            return "method"
        if self.explainer.values[row] <= 0:
            return "price"
        looser: tuple[tuple[Bools, Decision], ...] = (
            (self.refused, "refused"),
            (self.by_budget, "budget"),
            (self.by_length, "longest"),
            (self.by_minimum, "minimum"),
        )
        return next((name for taken, name in looser if taken[row]), "charge")


def _taken(explainer: _Explainer, segments: SegmentOptions, *, budget: int) -> Bools:
    """Return whether each row is chosen by the exact method with the given limits, (n,)."""
    extractor = explainer.extractor
    options = replace(extractor.options, segments=segments, budget_tokens=budget)
    taken = np.zeros(len(explainer.values), dtype=np.bool_)
    for run in replace(extractor, options=options).runs(explainer.header_tokens):
        first = int(extractor.evidence.starts[run.document])
        taken[first + run.start : first + run.end] = True
    return taken
