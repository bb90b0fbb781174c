"""Search pipeline: from a question to segments or excerpts.

Steps: read the question, search and score with every query, rerank, merge the evidence of all
queries, assess it, choose segments or fill excerpts, render.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.ranking.relevance import share_around_best
from spanwise.errors import OptionError
from spanwise.events import StepTimer
from spanwise.models.ledger import Ledger
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.options import SearchOptions, SegmentOptions
from spanwise.search.documents_spread import DocumentPlaces, place_segments
from spanwise.search.extract import Extractor, extract_greedy
from spanwise.search.phrases import require_phrases, required_phrases
from spanwise.search.question_evidence import EvidenceCollector
from spanwise.search.rendering import DocumentCache, SegmentRenderer, make_token_counter
from spanwise.search.result_warnings import limit_warnings, missing_things
from spanwise.search.scoring import Scope
from spanwise.search.section_shares import section_price
from spanwise.search.small_budget import SmallBudgetError, check_best_fits, cut_segment
from spanwise.search.trim import Trimmer
from spanwise.stores.port import repeated_read
from spanwise.types import SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder
    from spanwise.options import ExcerptOptions
    from spanwise.search.deep import DeepReader
    from spanwise.search.evidence import Evidence
    from spanwise.search.excerpts import ExcerptBuilder, ExcerptSet
    from spanwise.search.explanation import Explanation
    from spanwise.search.question_evidence import QuestionEvidence
    from spanwise.search.rerank import Reranking
    from spanwise.search.tuned_options import Tuning
    from spanwise.stores.port import Snapshot, Store
    from spanwise.types import DocumentCounts, ExcerptResult, Segment
    from spanwise.types.listener import Listener


def question_segments(options: SegmentOptions, evidence: Evidence) -> SegmentOptions:
    """Return the options for one question, with the charge and the price that apply to it."""
    compares = any(question.compares for question in evidence.questions)
    share = share_around_best(evidence.shares, evidence.starts)
    return replace(
        options,
        segment_charge=options.charge(share, compares=compares),
        token_price=section_price(options.token_price, evidence),
    )


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
    """Additional filter that a language model wrote; None for none. Its conditions are dropped
    one at a time if it leaves no evidence (`filters.relaxed_filters`)."""
    reranking: Reranking | None = None
    """Reranker with its options; None for no reranking."""
    strict: bool = False
    """Whether only chunks that contain a quoted phrase count as evidence."""
    cuts_sentences: bool = False
    """Whether the best sentences are returned if the budget is too small for a chunk; otherwise
    that is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Configuration shared by every search of one knowledge base."""

    store: Store
    """Store of the knowledge base, or several stores."""
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
    notes: Callable[[], tuple[str, ...]] = tuple
    """Function that returns warnings about the state of the knowledge base."""
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
            OptionError: If no relevant chunk fits into a segment, or no word into the budget.
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
        from spanwise.search.explain import explain_search

        if options.spread == "documents":
            raise OptionError('spread is "documents"; only a search for passages is explained')
        options = replace(options, spread="passages")
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
            OptionError: If not even one word fits into an excerpt.
            SpanwiseError: The errors of `search`.
        """
        from spanwise.search.excerpts import ExcerptSet
        from spanwise.types import ExcerptResult

        steps = StepTimer(self.listener)
        options = replace(options, segments=self._segments(options.segments))
        excerpts = ExcerptSet()
        missing: tuple[str, ...] = ()
        with self.store.snapshot() as snapshot:
            collector = self._collector(options, snapshot, steps)
            found = collector.find(replace(request, strict=True), abstain=options.abstain)
            documents = found.no_documents
            if found.evidence is not None:
                builder = self._excerpt_builder(found.evidence, options, snapshot)
                build = _build_excerpts if request.cuts_sentences else _build_whole
                excerpts, documents = build(found, builder, options)
                shown = excerpts.excerpts or [excerpts.best_guess]
                missing = missing_things(found, shown, snapshot)
        steps.done("extract", excerpts=len(excerpts.excerpts), tokens=excerpts.tokens)
        return ExcerptResult(
            question=found.questions[0].shown_text,
            queries=tuple(question.shown_text for question in found.questions),
            excerpts=tuple(excerpts.excerpts),
            context=excerpts.context,
            tokens=excerpts.tokens,
            excerpt_tokens=options.excerpt_tokens,
            candidates=0 if found.evidence is None else found.evidence.candidates,
            deep_chunks=found.deep_chunks,
            evidence=found.assessment.evidence,
            weak_evidence=found.assessment.is_weak,
            best_guess=excerpts.best_guess,
            warnings=(*self._limits(found), *missing, *found.warnings, *excerpts.warnings),
            seconds=steps.seconds,
            usage=found.usage,
            where="" if found.scope.where is None else str(found.scope.where),
            no_document_passes=found.no_document_passes,
            phrases=required_phrases(found.evidence)[0],
            documents=documents,
        )

    def tuned(self, tuning: Tuning) -> Searcher:
        """Return a searcher with tuned settings."""
        return replace(
            self,
            model=tuning.model,
            balanced=tuning.segments,
            assessment_model=self.assessment_model or self.model,
        )

    def _segments(self, options: SegmentOptions) -> SegmentOptions:
        """Return the tuned options for the preset "balanced"; other options are unchanged.

        The preset is recognised by identity. Options that a caller builds are never replaced, even
        if they equal the preset.
        """
        return self.balanced if options is SegmentOptions.BALANCED else options

    def _limits(self, found: QuestionEvidence) -> tuple[str, ...]:
        limits = limit_warnings(found, store=self.store, embedder=self.embedder, model=self.model)
        return (*self.notes(), *limits)

    def _collector(
        self, options: SearchOptions | ExcerptOptions, snapshot: Snapshot, steps: StepTimer
    ) -> EvidenceCollector:
        return EvidenceCollector(
            searcher=self,
            snapshot=snapshot,
            steps=steps,
            token_counter=make_token_counter(options.tokenizer, self.tokenizer),
            options=options,
        )

    def _excerpt_builder(
        self, evidence: Evidence, options: ExcerptOptions, snapshot: Snapshot
    ) -> ExcerptBuilder:
        from spanwise.search.excerpts import ExcerptBuilder

        segments = question_segments(options.segments, evidence)
        return ExcerptBuilder(
            evidence,
            options=replace(options, segments=segments),
            snapshot=snapshot,
            tokenizer=make_tokenizer(options.tokenizer or self.tokenizer),
        )

    def _search_segments(
        self, request: SearchRequest, snapshot: Snapshot, options: SearchOptions
    ) -> tuple[SearchResult, Extractor | None]:
        """Return the result of a search and its extractor, which is None without evidence."""
        steps = StepTimer(self.listener)
        options = replace(options, segments=self._segments(options.segments))
        collector = self._collector(options, snapshot, steps)
        found, extractor = self._choose_evidence(request, collector, options)
        choice, context = _Choice(documents=found.no_documents), ""
        missing: tuple[str, ...] = ()
        if extractor is not None:
            choose = _choose_segments if request.cuts_sentences else _choose_whole
            choice = choose(found, extractor, options)
            renderer = extractor.renderer
            has_headers = renderer.headers and choice.has_headers
            context = replace(renderer, headers=has_headers).context(choice.segments)
            missing = missing_things(found, choice.segments or [choice.guess], snapshot)
        tokens = sum(segment.tokens for segment in choice.segments)
        steps.done("extract", segments=len(choice.segments), tokens=tokens)
        result = SearchResult(
            question=found.questions[0].shown_text,
            queries=tuple(question.shown_text for question in found.questions),
            segments=tuple(choice.segments),
            context=context,
            tokens=tokens,
            budget_tokens=options.budget_tokens,
            candidates=0 if found.evidence is None else found.evidence.candidates,
            deep_chunks=found.deep_chunks,
            evidence=found.assessment.evidence,
            weak_evidence=found.assessment.is_weak,
            best_guess=choice.guess,
            warnings=(*self._limits(found), *missing, *found.warnings, *choice.warnings),
            seconds=steps.seconds,
            usage=found.usage,
            where="" if found.scope.where is None else str(found.scope.where),
            no_document_passes=found.no_document_passes,
            phrases=required_phrases(found.evidence)[0],
            documents=choice.documents,
        )
        return result, extractor

    def _choose_evidence(
        self, request: SearchRequest, collector: EvidenceCollector, options: SearchOptions
    ) -> tuple[QuestionEvidence, Extractor | None]:
        """Return the evidence and its extractor, which is None without evidence.

        If no segment would contain a required phrase, only chunks with a phrase count as evidence.
        """
        is_greedy = options.published is not None
        request = replace(request, strict=request.strict or is_greedy)
        found = collector.find(request, abstain=options.abstain and not is_greedy)
        if found.evidence is None:
            return found, None
        extractor = self._extractor(found.evidence, request.scope, collector, options)
        is_abstaining = found.assessment.is_missing and options.abstain
        if request.strict or is_abstaining or found.by_document:
            return found, extractor
        requiring = require_phrases(extractor)
        if requiring is not None:
            return found._replace(evidence=requiring.evidence), requiring
        strict = replace(request, strict=True)
        second, extractor_of_phrases = self._choose_evidence(strict, collector, options)
        return second._replace(usage=found.usage + second.usage), extractor_of_phrases

    def _extractor(
        self,
        evidence: Evidence,
        scope: Scope,
        collector: EvidenceCollector,
        options: SearchOptions,
    ) -> Extractor:
        """Return the extractor of segments from some evidence."""
        segments = question_segments(options.segments, evidence)
        trimmer = Trimmer.of(evidence, segments) if evidence.named is None else None
        return Extractor(
            evidence=evidence,
            model=self.model,
            options=replace(options, segments=segments),
            renderer=SegmentRenderer(
                DocumentCache(collector.snapshot),
                collector.token_counter,
                options.headers,
                trimmer,
            ),
            is_one_document=len(set(scope.documents or ())) == 1,
        )


def _build_excerpts(
    found: QuestionEvidence, builder: ExcerptBuilder, options: ExcerptOptions
) -> tuple[ExcerptSet, DocumentCounts | None]:
    """Return the excerpts; the best sentences if an excerpt is too small for a chunk."""
    try:
        return _build_whole(found, builder, options)
    except SmallBudgetError:
        excerpts = builder.cut()
        return excerpts, _counts(found, options, shown=1)


def _build_whole(
    found: QuestionEvidence, builder: ExcerptBuilder, options: ExcerptOptions
) -> tuple[ExcerptSet, DocumentCounts | None]:
    """Return the excerpts, and the counts of a search by document.

    Raises:
        SmallBudgetError: If no chunk fits into an excerpt.
    """
    if found.by_document and found.evidence is not None:
        places = DocumentPlaces.of(found.evidence, abstain=options.abstain)
        excerpts = builder.build(places)
        return excerpts, places.counts(len(excerpts.excerpts))
    is_abstaining = found.assessment.is_missing and options.abstain
    return (builder.guess() if is_abstaining else builder.build()), None


def _counts(
    found: QuestionEvidence, options: SearchOptions | ExcerptOptions, *, shown: int
) -> DocumentCounts | None:
    """Return the counts of a search by document; None for other searches."""
    if not found.by_document or found.evidence is None:
        return None
    return DocumentPlaces.of(found.evidence, abstain=options.abstain).counts(shown)


class _Choice(NamedTuple):
    """Segments of a result."""

    segments: Sequence[Segment] = ()
    guess: Segment | None = None
    """Best chunk if there are no segments."""
    warnings: tuple[str, ...] = ()
    """Warning about segments that did not fit."""
    documents: DocumentCounts | None = None
    """Counts of a search by document; None for other searches."""
    has_headers: bool = True
    """Whether the segments have headers, if the options ask for them."""


def _choose_segments(
    found: QuestionEvidence, extractor: Extractor, options: SearchOptions
) -> _Choice:
    """Return the segments; the best sentences if the budget is too small for a chunk."""
    try:
        choice = _choose_whole(found, extractor, options)
        is_exact = options.published is None and not found.by_document
        if is_exact and choice.segments:
            check_best_fits(extractor, choice.segments)
    except SmallBudgetError:
        segments, has_headers, warning = cut_segment(extractor)
        documents = _counts(found, options, shown=len(segments))
        return _Choice(segments, None, (warning,), documents, has_headers)
    return choice


def _choose_whole(found: QuestionEvidence, extractor: Extractor, options: SearchOptions) -> _Choice:
    """Return the segments by the method that the question and the options ask for.

    Raises:
        SmallBudgetError: If no segment fits into the budget.
    """
    if found.by_document:
        places = DocumentPlaces.of(extractor.evidence, abstain=options.abstain)
        segments, guess = place_segments(places, extractor)
        return _Choice(segments, guess, documents=places.counts(len(segments)))
    if options.published is not None:
        return _Choice(*extract_greedy(extractor, options.published))
    if found.assessment.is_missing and options.abstain:
        return _Choice(guess=extractor.shown_guess())
    return _Choice(*extractor.extract())
