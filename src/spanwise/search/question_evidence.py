"""Evidence of one question: its queries are searched, scored, reranked and merged, and assessed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.ranking.abstention import (
    IRRELEVANT_CHANCE,
    NO_EVIDENCE,
    UNASSESSED,
    EvidenceAssessment,
)
from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.embed_caller import embedding_usage, make_embed_caller
from spanwise.models.ledger import Ledger
from spanwise.options import SearchOptions
from spanwise.search.assessment import assess_evidence
from spanwise.search.documents_spread import (
    assess_by_document,
    count_documents,
    evidence_by_document,
    questions_by_document,
)
from spanwise.search.evidence import merge_evidence
from spanwise.search.former_fields import former_field_warnings
from spanwise.search.queries import search_queries
from spanwise.search.question_limits import read_questions
from spanwise.search.scoring import DeepResult, RerankResult
from spanwise.search.section_shares import NAMED_EVIDENCE, add_named_section
from spanwise.types import DocumentCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.core.ranking.question import Question
    from spanwise.events import StepTimer
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder
    from spanwise.options import ExcerptOptions
    from spanwise.search.evidence import Evidence
    from spanwise.search.pipeline import Searcher, SearchRequest
    from spanwise.search.rendering import TokenCounter
    from spanwise.search.rerank import Reranking
    from spanwise.search.scoring import QueryHits, Scope
    from spanwise.stores.port import Snapshot
    from spanwise.types import Usage

_MAX_RELAXED_SEARCHES = 3  # with relaxed filters; each may need a paid reranking


class QuestionEvidence(NamedTuple):
    """Evidence of all queries of a question, and how it was found."""

    questions: tuple[Question, ...]
    """The question, the queries of the things that it compares, and its additional queries."""
    evidence: Evidence | None
    """Merged evidence of all queries; None if nothing in scope could contain evidence."""
    warnings: tuple[str, ...]
    """Warnings about failed or uncalibrated models."""
    usage: Usage
    """Model usage of the search."""
    deep_chunks: int
    """Number of different chunks that MiniLM compared with the queries."""
    scope: Scope
    """Documents that were searched."""
    unmatched_documents: int
    """Number of documents in scope if there is no evidence; 0 otherwise."""
    assessment: EvidenceAssessment
    """Assessment of the evidence."""

    @property
    def by_document(self) -> bool:
        """Whether the search is for the best place of each document."""
        return self.questions[0].by_document

    @property
    def no_document_passes(self) -> bool:
        """Whether no document passes the filter of the search."""
        is_filtered = self.scope.where is not None and self.scope.documents != ()
        return is_filtered and self.evidence is None and not self.unmatched_documents

    @property
    def no_documents(self) -> DocumentCounts | None:
        """Counts of a search by document without evidence; None for other searches."""
        if self.evidence is not None or not self.by_document:
            return None
        return DocumentCounts(searched=self.unmatched_documents, found=0, shown=0)


class _SearchedQueries(NamedTuple):
    """Hits of all queries of a question."""

    hits: tuple[QueryHits, ...]
    embedder: Embedder | None
    """Embedder that was used; None for a keyword search."""
    usage: Usage
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceCollector:
    """Collects the evidence of one question."""

    searcher: Searcher
    """Models and limits of the knowledge base."""
    snapshot: Snapshot
    """Snapshot to search."""
    steps: StepTimer
    """Timer of the search."""
    token_counter: TokenCounter
    """Counter of the tokens of the result."""
    options: SearchOptions | ExcerptOptions
    """Options of the search."""

    def find(self, request: SearchRequest, *, abstain: bool) -> QuestionEvidence:
        """Return the evidence under both filters; the model's filter is relaxed if nothing is left.

        Args:
            request: Question, scope and reranking.
            abstain: Whether a result without enough evidence will be empty.
        """
        if request.model_filter is None:
            return self._collect(request)
        found = self._collect(_narrowed(request, request.model_filter))
        if not _is_missing(found, abstain=abstain):
            return found
        if not count_documents(request.scope, self.snapshot):
            return self._collect(request)
        return self._relax(request, request.model_filter, found, abstain=abstain)

    def _relax(
        self,
        request: SearchRequest,
        model_filter: Filter,
        narrow: QuestionEvidence,
        *,
        abstain: bool,
    ) -> QuestionEvidence:
        """Return the evidence under the best relaxed filter that leaves some.

        Args:
            request: Question, scope and reranking.
            model_filter: Filter that a model wrote.
            narrow: Result under the whole filter.
            abstain: Whether a result without enough evidence will be empty.
        """
        from spanwise.filters import relaxed_filters, relaxed_warning

        def count(where: Filter) -> int:
            return count_documents(_narrowed(request, where).scope, self.snapshot)

        usage, searches = narrow.usage, 0
        found, dropped = narrow, model_filter
        for relaxed in relaxed_filters(model_filter, count):
            if relaxed.kept is None:
                relaxed_request = request
            elif searches < _MAX_RELAXED_SEARCHES and count(relaxed.kept):
                relaxed_request = _narrowed(request, relaxed.kept)
            else:
                continue
            found, dropped = self._collect(relaxed_request), relaxed.dropped
            usage, searches = usage + found.usage, searches + 1
            if not _is_missing(found, abstain=abstain):
                break
        if narrow.scope.where is None:
            return found
        warning = relaxed_warning(
            narrow.scope.where, dropped, passes_none=narrow.no_document_passes
        )
        return found._replace(warnings=(warning, *found.warnings), usage=usage)

    def _collect(self, request: SearchRequest) -> QuestionEvidence:
        """Return the evidence of all queries: searched, scored, reranked, merged and assessed."""
        searcher, snapshot = self.searcher, self.snapshot
        searched = self._search(request)
        deep = self._read_deep(searched.hits)
        if request.reranking is not None:
            self.steps.done("weigh", queries=len(searched.hits))
        reranked = self._rerank(deep.hits, request.reranking)
        merged = merge_evidence(
            reranked.hits,
            snapshot=snapshot,
            model=searcher.model,
            token_counter=self.token_counter,
        )
        evidence, assessment = self._assess(
            merged, embedder=searched.embedder, finds_nothing=reranked.finds_nothing
        )
        step = "weigh" if request.reranking is None else "rerank"
        self.steps.done(step, queries=len(searched.hits))
        return QuestionEvidence(
            questions=tuple(query.question for query in searched.hits),
            evidence=evidence,
            warnings=(
                *former_field_warnings(request.scope.where, snapshot),
                *searched.warnings,
                *deep.warnings,
                *reranked.warnings,
            ),
            deep_chunks=deep.chunks,
            usage=reranked.usage + searched.usage,
            scope=request.scope,
            unmatched_documents=0
            if evidence is not None
            else count_documents(request.scope, snapshot),
            assessment=assessment,
        )

    def _search(self, request: SearchRequest) -> _SearchedQueries:
        """Return the hits of all queries; found by keywords, with a warning, if the embedder fails.

        Raises:
            ModelKeyError: If the provider of the embedder rejects the key.
            ModelError: If the embedder fails, and the searcher does not fall back to keywords.
        """
        searcher = self.searcher
        questions = read_questions([request.question, *request.more_queries], self.snapshot)
        embedder = make_embed_caller(
            searcher.embedder,
            "query",
            cache=searcher.store,
            recorded_dimension=searcher.dimension,
            ledger=Ledger(parent=searcher.ledger),
        )
        try:
            hits = self._hits(request, questions, embedder)
        except ModelKeyError:
            raise
        except ModelError as error:
            if not searcher.falls_back:
                raise
            hits = self._hits(request, questions, None)
            warning = f"searched by keywords alone, as the embedder failed: {error}"
            return _SearchedQueries(hits, None, embedding_usage(embedder), (warning,))
        return _SearchedQueries(hits, embedder, embedding_usage(embedder), ())

    def _hits(
        self, request: SearchRequest, questions: Sequence[Question], embedder: Embedder | None
    ) -> tuple[QueryHits, ...]:
        """Return the hits of all queries by words and, with an embedder, by vectors."""
        queries = questions_by_document(
            questions,
            self.options,
            scope=request.scope,
            snapshot=self.snapshot,
            embedder=embedder,
        )
        return search_queries(
            queries,
            snapshot=self.snapshot,
            embedder=embedder,
            model=self.searcher.model,
            scope=request.scope,
            strict=request.strict,
        )

    def _read_deep(self, hits: tuple[QueryHits, ...]) -> DeepResult:
        """Return the hits after the comparison by MiniLM; a search by document does not use it."""
        deep = self.searcher.deep
        if deep is None or not self.options.deep or hits[0].question.by_document:
            return DeepResult(hits=hits)
        self.steps.done("weigh", queries=len(hits))
        result = deep.read(hits, snapshot=self.snapshot, seconds=self.options.deep_seconds)
        self.steps.done("deep", chunks=result.chunks)
        return result

    def _rerank(self, hits: tuple[QueryHits, ...], reranking: Reranking | None) -> RerankResult:
        """Return the hits after reranking."""
        if reranking is None:
            return RerankResult(hits)
        from spanwise.search.rerank import rerank

        return rerank(
            hits,
            snapshot=self.snapshot,
            model=self.searcher.model,
            reranking=reranking,
            budget_tokens=_reranked_budget(self.options),
        )

    def _assess(
        self, evidence: Evidence | None, *, embedder: Embedder | None, finds_nothing: bool
    ) -> tuple[Evidence | None, EvidenceAssessment]:
        """Return the evidence with the shares and the chance of its kind, and its assessment.

        Args:
            evidence: Evidence of all queries; None if there is none.
            embedder: Embedder that was used; None for a keyword search.
            finds_nothing: Whether a reranker rates all candidates 0.
        """
        searcher = self.searcher
        if evidence is None:
            return None, NO_EVIDENCE
        if evidence.questions[0].by_document:
            evidence = evidence_by_document(
                evidence, searcher.model, self.snapshot, embedder=embedder
            )
            if finds_nothing:
                chances = evidence.relevance * IRRELEVANT_CHANCE
                evidence = replace(evidence, relevance=chances)
            return evidence, assess_by_document(evidence)
        evidence = add_named_section(evidence, self.snapshot)
        if evidence.named is not None:
            assessment = EvidenceAssessment(NAMED_EVIDENCE, is_weak=False, is_missing=False)
        else:
            model = searcher.assessment_model or searcher.model
            assessment = assess_evidence(evidence, model=model, embedder=embedder)
            if finds_nothing and assessment is not UNASSESSED:
                evidence_chance = min(assessment.evidence, IRRELEVANT_CHANCE)
                assessment = EvidenceAssessment(evidence_chance, is_weak=True, is_missing=True)
        # A question that cannot be assessed is taken to have an answer.
        chance = 1.0 if assessment is UNASSESSED else assessment.evidence
        return replace(evidence, answer_chance=chance), assessment


def _narrowed(request: SearchRequest, where: Filter) -> SearchRequest:
    """Return a request with an additional filter."""
    own = request.scope.where
    both = where if own is None else own & where
    return replace(request, scope=request.scope._replace(where=both))


def _is_missing(found: QuestionEvidence, *, abstain: bool) -> bool:
    """Return whether a search has no evidence, or too little for a result."""
    return found.evidence is None or (abstain and found.assessment.is_missing)


def _reranked_budget(options: SearchOptions | ExcerptOptions) -> int:
    """Return the budget that determines how many candidates a reranker scores.

    The published method limits its result by the number of chunks, not by tokens. It always uses
    the default budget, with which 200 candidates are reranked.
    """
    is_published = isinstance(options, SearchOptions) and options.published is not None
    return SearchOptions().budget_tokens if is_published else options.budget_tokens
