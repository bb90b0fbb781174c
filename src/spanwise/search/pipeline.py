"""Search pipeline: from a question to segments or excerpts.

Steps: read the question, search and score with every query, rerank, merge the evidence of all
queries, assess it, choose segments or fill excerpts, render.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.abstention import (
    DEEP,
    NO_EVIDENCE,
    UNASSESSED,
    AbstentionModel,
    EvidenceAssessment,
    ScoreSignals,
    abstention_signals,
    is_assessable,
)
from spanwise.core.ranking.named_things import YEAR, ShownDocument, find_missing
from spanwise.core.ranking.relevance import lifted_scores
from spanwise.core.ranking.scan import ScanQuery
from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.embed_caller import embedding_usage, make_embed_caller
from spanwise.models.ledger import Ledger
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.options import SearchOptions, SegmentOptions
from spanwise.search.deep import LABEL as MINILM_LIFT
from spanwise.search.deep import DeepResult
from spanwise.search.evidence import merge_evidence
from spanwise.search.excerpts import ExcerptBuilder, ExcerptSet
from spanwise.search.explain import explain_search
from spanwise.search.extract import Extractor, extract_greedy
from spanwise.search.phrases import require_phrases, required_phrases
from spanwise.search.question_limits import read_questions
from spanwise.search.rendering import DocumentCache, SegmentRenderer, make_token_counter
from spanwise.search.rerank import rerank
from spanwise.search.scoring import Scope, search_queries
from spanwise.search.trim import Trimmer
from spanwise.stores.port import repeated_read
from spanwise.types import ExcerptResult, SearchResult, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder
    from spanwise.options import ExcerptOptions
    from spanwise.search.deep import DeepReader
    from spanwise.search.evidence import Evidence
    from spanwise.search.explanation import Explanation
    from spanwise.search.rendering import TokenCounter
    from spanwise.search.rerank import Reranking
    from spanwise.search.scoring import ScoredChunks
    from spanwise.search.tuned_options import Tuning
    from spanwise.stores.port import Snapshot, Store
    from spanwise.types import DocumentRecord, Excerpt, Segment
    from spanwise.types.listener import Listener

_HIGHEST = 1 - 1e-9  # a penalty is below 1
_RERANKER = "reranker "  # prefix of the label of a reranker's addition
_SIMILAR = "similar_coverage"  # feature: share of the question's words; similar words count


def question_segments(
    options: SegmentOptions, evidence: Evidence, model: RelevanceModel
) -> SegmentOptions:
    """Return the options for one question, with the penalty and the charge that apply to it.

    A penalty is the relevance below which a chunk is not worth its tokens. The relative penalty is
    the relevance at a fraction of the best chunk's share. The higher penalty applies.
    """
    compares = any(question.compares for question in evidence.questions)
    charge = options.charge(float(evidence.shares.max()), compares=compares)
    options = replace(options, segment_charge=charge)
    if not options.relative_penalty:
        return options
    share = options.relative_penalty * evidence.best_share(options.reference_length)
    relevance = float(model.relevance(np.array([share]))[0])
    penalty = max(options.irrelevant_chunk_penalty, min(relevance, _HIGHEST))
    return replace(options, irrelevant_chunk_penalty=penalty)


def shipped_abstention_text() -> str:
    """Return the text of the file with the shipped abstention model."""
    return resources.files("spanwise.core.ranking").joinpath("abstention.json").read_text("utf-8")


@lru_cache(maxsize=1)
def load_abstention_model() -> AbstentionModel:
    """Return the abstention model that comes with the package."""
    return AbstentionModel.from_json(shipped_abstention_text())


def query_signals(
    question: Question, scored: ScoredChunks, *, model: RelevanceModel
) -> NDArray[np.float64]:
    """Return the abstention signals of one query, in the order of `SIGNALS`, (s,).

    The lifts of a reranker and of MiniLM are left out: they are relative to the other candidates.
    The reranker's probability of an answer and the greatest cosine of MiniLM are used instead.
    """
    lifts = {
        name: lift
        for name, lift in scored.lifts.items()
        if name != MINILM_LIFT and not name.startswith(_RERANKER)
    }
    similar = 0.0
    if _SIMILAR in model.features:
        similar = float(scored.features[:, model.features.index(_SIMILAR)].max())
    return abstention_signals(
        question,
        scan=scored.scan,
        rows=scored.rows,
        passages=scored.passages,
        candidates=scored.candidates,
        scores=ScoreSignals(
            score=float(lifted_scores(model.scores(scored.features), lifts).max()),
            similar=similar,
            found=scored.found,
            deep_similarity=scored.deep_similarity,
        ),
    )


def assess_evidence(
    evidence: Evidence | None, *, model: RelevanceModel, embedder: Embedder | None
) -> EvidenceAssessment:
    """Return the best assessment over all queries.

    The evidence for a question that cannot be assessed counts as neither weak nor missing.
    """
    if evidence is None:
        return NO_EVIDENCE
    queries = [query for query in evidence.scored if query is not None]
    name = embedder.name if embedder is not None else None
    if any(query.deep_similarity is not None for query in queries):
        name = DEEP
    logistic = load_abstention_model().for_embedder(name)
    assessments = [
        logistic.assess(
            query_signals(question, scored, model=model),
            reranker_chance=None if scored.reranker is None else scored.reranker.chance,
        )
        if is_assessable(question)
        else UNASSESSED
        for question, scored in zip(evidence.questions, evidence.scored, strict=True)
        if scored is not None
    ]
    return max(assessments, key=lambda assessment: assessment.evidence)


class _StepTimer:
    """Timer of the steps of one search; notifies the listener."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def done(self, name: str, **counts: int) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
        if self._listener is not None:
            self._listener.on_step(name, seconds=self.seconds[name], counts=counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueryOutcome:
    """Evidence of all queries, and how it was found."""

    questions: Sequence[Question]
    """The question and its additional queries."""
    evidence: Evidence | None
    """Merged evidence of all queries; None if nothing in scope could contain evidence."""
    embedder: Embedder | None
    """Embedder that was used; None for a keyword search."""
    warnings: tuple[str, ...]
    """Warnings about failed or uncalibrated models."""
    usage: Usage
    """Model usage of the search."""
    deep_chunks: int
    """Number of different chunks that MiniLM compared with the queries."""
    scope: Scope
    """Documents that were searched."""
    has_documents: bool
    """Whether there is any document in scope."""
    assessment: EvidenceAssessment
    """Assessment of the evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """Question, scope and reranking of one search; the options are a separate argument."""

    question: str
    """Text of the question."""
    more_queries: Sequence[str] = ()
    """Additional search queries for the question."""
    scope: Scope = field(default_factory=Scope)
    """Documents to search."""
    model_filter: Filter | None = None
    """Additional filter that a language model wrote; None for none. It is dropped if it leaves no
    evidence.
    """
    reranking: Reranking | None = None
    """Reranker with its options; None for no reranking."""
    strict: bool = False
    """Whether only chunks that contain a quoted phrase count as evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Configuration shared by every search of one knowledge base."""

    store: Store
    """Store of the knowledge base."""
    embedder: Embedder | None
    """Embedder of the knowledge base; None for keyword search."""
    dimension: int
    """Dimension of the stored vectors."""
    tokenizer: str
    """Name of the tokenizer of the knowledge base."""
    model: RelevanceModel
    """Relevance model."""
    listener: Listener | None = None
    """Callbacks for the steps of a search."""
    balanced: SegmentOptions = SegmentOptions.BALANCED
    """Options for the "balanced" preset; replaced by the tuned options when a tuning is loaded."""
    assessment_model: RelevanceModel | None = None
    """Relevance model for the abstention score; None for `model`.

    The abstention model was fitted to the scores of the shipped model. Other relevance models have
    scores of another scale.
    """
    deep: DeepReader | None = None
    """Comparison of the best candidates by MiniLM; None if it is not available."""
    falls_back: bool = True
    """Whether a search continues by keywords, with a warning, if its embedder fails."""
    ledger: Ledger = field(default_factory=Ledger)
    """Ledger of the operation, which records embedded questions and enforces the cost limit."""

    @repeated_read
    def search(
        self,
        request: SearchRequest,
        *,
        options: SearchOptions,
    ) -> SearchResult:
        """Return the segments that answer a question.

        Raises:
            QueryError: If the question or a query is empty or too long, or there are too many.
            OptionError: If no relevant chunk fits into the budget or into a segment.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If the scope names a document that does not exist.
        """
        with self.store.snapshot() as snapshot:
            return self._search_segments(request, snapshot, options)[0]

    @repeated_read
    def explain(
        self,
        request: SearchRequest,
        *,
        options: SearchOptions,
    ) -> Explanation:
        """Return the result of `search` with an explanation of every chunk.

        Raises:
            SpanwiseError: The errors of `search`.
        """
        with self.store.snapshot() as snapshot:
            result, extractor = self._search_segments(request, snapshot, options)
            return explain_search(result, extractor=extractor, options=options)

    @repeated_read
    def excerpts(
        self,
        request: SearchRequest,
        *,
        options: ExcerptOptions,
    ) -> ExcerptResult:
        """Return excerpts of a fixed size around the evidence for a question.

        Raises:
            OptionError: If no relevant chunk with its header fits into an excerpt.
            SpanwiseError: The errors of `search`.
        """
        steps = _StepTimer(self.listener)
        options = replace(options, segments=self._segments(options.segments))
        excerpts = ExcerptSet()
        missing: tuple[str, ...] = ()
        with self.store.snapshot() as snapshot:
            outcome = self._find_evidence(
                replace(request, strict=True),
                snapshot,
                steps=steps,
                token_counter=make_token_counter(options.tokenizer, self.tokenizer),
                options=options,
                abstain=options.abstain,
            )
            evidence, assessment = outcome.evidence, outcome.assessment
            if evidence is not None:
                segments = question_segments(options.segments, evidence, self.model)
                builder = ExcerptBuilder(
                    evidence,
                    model=self.model,
                    options=replace(options, segments=segments),
                    snapshot=snapshot,
                    tokenizer=make_tokenizer(options.tokenizer or self.tokenizer),
                )
                is_abstaining = assessment.is_missing and options.abstain
                excerpts = builder.guess() if is_abstaining else builder.build()
                shown = excerpts.excerpts or [excerpts.best_guess]
                missing = _missing_things(outcome, shown, snapshot)
        steps.done("excerpts", excerpts=len(excerpts.excerpts), tokens=excerpts.tokens)
        return ExcerptResult(
            question=outcome.questions[0].shown_text,
            queries=tuple(question.shown_text for question in outcome.questions),
            excerpts=tuple(excerpts.excerpts),
            context=excerpts.context,
            tokens=excerpts.tokens,
            excerpt_tokens=options.excerpt_tokens,
            candidates=0 if evidence is None else evidence.candidates,
            deep_chunks=outcome.deep_chunks,
            evidence=assessment.evidence,
            weak_evidence=assessment.is_weak,
            best_guess=excerpts.best_guess,
            warnings=(
                *self._warnings(outcome),
                *missing,
                *outcome.warnings,
                *excerpts.warnings,
            ),
            seconds=steps.seconds,
            usage=outcome.usage,
            where="" if outcome.scope.where is None else str(outcome.scope.where),
            phrases=required_phrases(evidence)[0],
        )

    def _search_segments(
        self, request: SearchRequest, snapshot: Snapshot, options: SearchOptions
    ) -> tuple[SearchResult, Extractor | None]:
        """Return the result of a search and its extractor, which is None without evidence."""
        steps = _StepTimer(self.listener)
        options = replace(options, segments=self._segments(options.segments))
        segments: list[Segment] = []
        left_out: tuple[str, ...] = ()
        missing: tuple[str, ...] = ()
        guess, context = None, ""
        outcome, extractor = self._choose_evidence(request, snapshot, options, steps)
        evidence, assessment = outcome.evidence, outcome.assessment
        if extractor is not None:
            if options.published is not None:
                segments, guess, left_out = extract_greedy(extractor, options.published)
            elif assessment.is_missing and options.abstain:
                guess = extractor.renderer.segments([extractor.guess()])[0]
            else:
                segments, guess = extractor.extract()
            context = extractor.renderer.context(segments)
            missing = _missing_things(outcome, segments or [guess], snapshot)
        tokens = sum(segment.tokens for segment in segments)
        steps.done("extract", segments=len(segments), tokens=tokens)
        result = SearchResult(
            question=outcome.questions[0].shown_text,
            queries=tuple(question.shown_text for question in outcome.questions),
            segments=tuple(segments),
            context=context,
            tokens=tokens,
            budget_tokens=options.budget_tokens,
            candidates=0 if evidence is None else evidence.candidates,
            deep_chunks=outcome.deep_chunks,
            evidence=assessment.evidence,
            weak_evidence=assessment.is_weak,
            best_guess=guess,
            warnings=(*self._warnings(outcome), *missing, *outcome.warnings, *left_out),
            seconds=steps.seconds,
            usage=outcome.usage,
            where="" if outcome.scope.where is None else str(outcome.scope.where),
            phrases=required_phrases(evidence)[0],
        )
        return result, extractor

    def _choose_evidence(
        self,
        request: SearchRequest,
        snapshot: Snapshot,
        options: SearchOptions,
        steps: _StepTimer,
    ) -> tuple[_QueryOutcome, Extractor | None]:
        """Return the evidence and its extractor, which is None without evidence.

        If no segment would contain a required phrase, only chunks with a phrase count as evidence.
        """
        token_counter = make_token_counter(options.tokenizer, self.tokenizer)
        is_greedy = options.published is not None
        request = replace(request, strict=request.strict or is_greedy)
        outcome = self._find_evidence(
            request,
            snapshot,
            steps=steps,
            token_counter=token_counter,
            options=options,
            abstain=options.abstain and not is_greedy,
        )
        evidence = outcome.evidence
        if evidence is None:
            return outcome, None
        segments = question_segments(options.segments, evidence, self.model)
        question_options = replace(options, segments=segments)
        trimmer = Trimmer.of(evidence, question_options.segments, self.model)
        extractor = Extractor(
            evidence=evidence,
            model=self.model,
            options=question_options,
            renderer=SegmentRenderer(
                DocumentCache(snapshot), token_counter, options.headers, trimmer
            ),
            is_one_document=len(set(request.scope.documents or ())) == 1 and trimmer is None,
        )
        if request.strict or (outcome.assessment.is_missing and options.abstain):
            return outcome, extractor
        requiring = require_phrases(extractor)
        if requiring is not None:
            return replace(outcome, evidence=requiring.evidence), requiring
        strict = replace(request, strict=True)
        second, extractor_of_phrases = self._choose_evidence(strict, snapshot, options, steps)
        return replace(second, usage=outcome.usage + second.usage), extractor_of_phrases

    def tuned(self, tuning: Tuning) -> Searcher:
        """Return a searcher with tuned settings."""
        return replace(
            self,
            model=tuning.model,
            balanced=tuning.segments,
            assessment_model=self.assessment_model or self.model,
        )

    def _find_evidence(
        self,
        request: SearchRequest,
        snapshot: Snapshot,
        *,
        steps: _StepTimer,
        token_counter: TokenCounter,
        options: SearchOptions | ExcerptOptions,
        abstain: bool,
    ) -> _QueryOutcome:
        """Return the evidence under both filters; the model's is dropped if it leaves none."""
        collect = partial(
            self._collect_evidence,
            snapshot=snapshot,
            steps=steps,
            token_counter=token_counter,
            options=options,
        )
        if request.model_filter is None:
            return collect(request)
        where = request.scope.where
        both = request.model_filter if where is None else where & request.model_filter
        narrow = collect(replace(request, scope=replace(request.scope, where=both)))
        if narrow.evidence is not None and not (abstain and narrow.assessment.is_missing):
            return narrow
        wide = collect(request)
        warning = (
            f"the filter `{both}` left no result; searched again without the part written by the "
            "model"
        )
        return replace(wide, warnings=(warning, *wide.warnings), usage=narrow.usage + wide.usage)

    def _segments(self, options: SegmentOptions) -> SegmentOptions:
        """Return the tuned options for the preset "balanced"; other options are unchanged.

        The preset is recognised by identity. Options that a caller builds are never replaced, even
        if they equal the preset.
        """
        return self.balanced if options is SegmentOptions.BALANCED else options

    def _collect_evidence(
        self,
        request: SearchRequest,
        *,
        snapshot: Snapshot,
        steps: _StepTimer,
        token_counter: TokenCounter,
        options: SearchOptions | ExcerptOptions,
    ) -> _QueryOutcome:
        """Return the evidence of all queries: searched, scored, reranked and merged."""
        questions = read_questions([request.question, *request.more_queries], snapshot)
        reranking = request.reranking
        warnings: list[str] = []
        embedder = make_embed_caller(
            self.embedder,
            "query",
            cache=self.store,
            recorded_dimension=self.dimension,
            ledger=Ledger(parent=self.ledger),
        )
        search = partial(
            search_queries,
            questions,
            snapshot=snapshot,
            model=self.model,
            scope=request.scope,
            strict=request.strict,
        )
        used_embedder = embedder
        try:
            hits = search(embedder=embedder)
        except ModelKeyError:
            raise
        except ModelError as error:
            if not self.falls_back:
                raise
            warnings.append(f"searched by keywords alone, as the embedder failed: {error}")
            used_embedder = None
            hits = search(embedder=None)
        deep = DeepResult(hits=hits)
        if self.deep is not None and options.deep:
            steps.done("weigh", queries=len(questions))
            deep = self.deep.read(hits, snapshot=snapshot, seconds=options.deep_seconds)
            steps.done("deep", chunks=deep.chunks)
        if reranking is not None:
            steps.done("weigh", queries=len(questions))
        reranked = rerank(
            deep.hits,
            snapshot=snapshot,
            model=self.model,
            reranking=reranking,
            budget_tokens=_reranked_budget(options),
        )
        evidence = merge_evidence(
            reranked.hits, snapshot=snapshot, model=self.model, token_counter=token_counter
        )
        assessment = assess_evidence(
            evidence, model=self.assessment_model or self.model, embedder=used_embedder
        )
        if evidence is not None:
            evidence = replace(evidence, answer_chance=_answer_chance(assessment))
        steps.done("weigh" if reranking is None else "rerank", queries=len(questions))
        return _QueryOutcome(
            questions=questions,
            evidence=evidence,
            embedder=used_embedder,
            warnings=(*warnings, *deep.warnings, *reranked.warnings),
            deep_chunks=deep.chunks,
            usage=reranked.usage + embedding_usage(embedder),
            scope=request.scope,
            has_documents=evidence is not None or _has_documents(request.scope, snapshot),
            assessment=assessment,
        )

    def _warnings(self, outcome: _QueryOutcome) -> tuple[str, ...]:
        """Return warnings about the limits of a search."""
        evidence, where = outcome.evidence, outcome.scope.where
        warnings: list[str] = []
        if evidence is not None:
            warnings += [
                f"the question has {whole.original_words or len(whole.terms)} different words; "
                f"the search used the {len(part.terms)} most informative ones"
                for whole, part in zip(outcome.questions, evidence.questions, strict=True)
                if whole.original_words or len(part.terms) < len(whole.terms)
            ]
            warnings += dict.fromkeys(
                f'no document contains "{correction.word}"; searched for "{correction.found}"'
                for question in outcome.questions
                for correction in question.corrections
            )
            warnings += [
                f'no searched document contains "{phrase}"; searched without it'
                for phrase in required_phrases(evidence)[1]
            ]
        elif where is not None and not outcome.has_documents:
            warnings.append(
                f"no document passes the filter `{where}`; `list` shows the fields of each "
                "document, and texts must match exactly"
            )
        if self.embedder is None:
            warnings.append("searched by keywords alone: this knowledge base has no embedder")
        elif self.model.embedder not in ("", self.embedder.name):
            warnings.append(
                f"uncalibrated: no weights were trained with the embedder {self.embedder.name}; "
                f"the weights for {self.model.embedder} are used, and relevances may be too high "
                "or too low"
            )
        return tuple(warnings)


def _reranked_budget(options: SearchOptions | ExcerptOptions) -> int:
    """Return the budget that determines how many candidates a reranker scores.

    The published method limits its result by the number of chunks, not by tokens. It always uses
    the default budget, with which 200 candidates are reranked.
    """
    is_published = isinstance(options, SearchOptions) and options.published is not None
    return SearchOptions().budget_tokens if is_published else options.budget_tokens


_YEAR_FIELD = re.compile("year|period|fiscal|quarter|date|filed", re.IGNORECASE)
_FILE_FIELD = re.compile("creat|modif|updat|access|print", re.IGNORECASE)  # dates of the file


def _missing_things(
    outcome: _QueryOutcome, shown: Sequence[Segment | Excerpt | None], snapshot: Snapshot
) -> tuple[str, ...]:
    """Return warnings about what the question names and the shown documents lack."""
    evidence = outcome.evidence
    scored = None if evidence is None else evidence.scored[0]
    if evidence is None or scored is None:
        return ()
    scan = scored.scan
    texts: dict[str, list[str]] = {}
    for part in shown:
        if part is not None:
            texts.setdefault(part.document_id, []).append(f"{part.header}\n{part.text}")
    records = {span.handle: snapshot.record(span.handle) for span in evidence.ranges}
    documents = [
        _shown_document(record, texts[record.id], position=int(np.searchsorted(scan.handles, at)))
        for at, record in records.items()
        if record.id in texts and at in scan.handles
    ]
    missing = find_missing(
        evidence.questions[0],
        scan,
        documents,
        passages=scored.passages,
        rows=scored.rows,
        assessment=outcome.assessment,
    )
    handles = scan.handles.tolist()
    return tuple(
        thing.warning([snapshot.record(handles[at]).id for at in thing.elsewhere])
        for thing in missing
    )


def _shown_document(
    record: DocumentRecord, texts: Sequence[str], *, position: int
) -> ShownDocument:
    dates = [
        str(value)
        for name, value in record.metadata.items()
        if _YEAR_FIELD.search(name) and not _FILE_FIELD.search(name)
    ]
    names = [record.title, record.id]
    years = {int(year) for text in (*names, *dates) for year in YEAR.findall(text)}
    return ShownDocument(
        position=position,
        names="\n".join([*names, *map(str, record.metadata.values())]),
        years=frozenset(years),
        text="\n".join(texts),
    )


def _answer_chance(assessment: EvidenceAssessment) -> float:
    """Return the probability that there is an answer; 1 if the question cannot be assessed."""
    return 1.0 if assessment is UNASSESSED else assessment.evidence


def _has_documents(scope: Scope, snapshot: Snapshot) -> bool:
    query = ScanQuery(terms=(), words=(), vector=None)
    return snapshot.scan(query, where=scope.where, documents=scope.documents).documents > 0
