"""The penalty of one question: how relevant a chunk must be to be worth its tokens.

From a question to segments, top to bottom.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.question import read_question
from spanwise.errors import ModelError, ModelKeyError, QueryError
from spanwise.models.embed_caller import embedding_usage, make_embed_caller
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.options import SegmentOptions
from spanwise.search.abstention import judge
from spanwise.search.evidence import gather
from spanwise.search.excerpts import Excerpter, Excerpts
from spanwise.search.explain import explain_search
from spanwise.search.extract import Extractor
from spanwise.search.greedy import extract_greedy
from spanwise.search.rendering import Presenter
from spanwise.search.rerank import rerank
from spanwise.search.scoring import Scope, search_all
from spanwise.search.token_counter import make_token_counter
from spanwise.search.trim import Trimmer
from spanwise.types import ExcerptResult, SearchResult, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.core.ranking.abstention import Judgement
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder
    from spanwise.options import ExcerptOptions, SearchOptions
    from spanwise.search.evidence import Evidence
    from spanwise.search.explanation import Explanation
    from spanwise.search.rerank import Reranking
    from spanwise.search.token_counter import TokenCounter
    from spanwise.search.tuned_options import Tuning
    from spanwise.stores.port import Snapshot, Store
    from spanwise.types import Segment
    from spanwise.types.listener import Listener

_HIGHEST = 1 - 1e-9  # a penalty is below 1


def with_penalty(
    options: SegmentOptions, evidence: Evidence, model: RelevanceModel
) -> SegmentOptions:
    """Return options whose penalty is the higher of their own and of the relative one."""
    if not options.relative_penalty:
        return options
    share = options.relative_penalty * evidence.best_share(options.reference_length)
    relevance = float(model.relevance(np.array([share]))[0])
    penalty = max(options.irrelevant_chunk_penalty, min(relevance, _HIGHEST))
    return replace(options, irrelevant_chunk_penalty=penalty)


COMPARISON_CHARGE = 1 / 3
"""Of the segment charge, for a question that compares: it wants a place in each document."""
_MAX_QUERIES = 16


class _Steps:
    """Times the steps of one search and tells the listener."""

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
class _Gathered:
    """What all queries found, and what models took for it."""

    evidence: Evidence | None
    embedder: Embedder | None
    """What the search was made with; None for keywords alone."""
    warnings: tuple[str, ...]
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """What every search of one knowledge base shares."""

    store: Store
    embedder: Embedder | None
    dimension: int
    """Length of the vectors that are stored."""
    tokenizer: str
    """Name of the tokenizer of the knowledge base."""
    model: RelevanceModel
    listener: Listener | None = None
    balanced: SegmentOptions = SegmentOptions.BALANCED
    """What stands for the preset of that name: something else where it was tuned."""
    judging_model: RelevanceModel | None = None
    """By whose scores it is judged whether anything was found; None for `model`. The judgement was
    fitted to the scores of one model, and others have another scale."""
    falls_back: bool = True
    """Whether a search goes on by keywords alone where its embedder fails, and says so."""

    def search(
        self,
        text: str,
        *,
        queries: Sequence[str] = (),
        options: SearchOptions,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
        reranking: Reranking | None = None,
    ) -> SearchResult:
        """Return the segments that answer a question, searched by itself and by further queries.

        Raises:
            QueryError: If the question or a query is empty, or there are too many.
            OptionError: If the budget, or a segment, holds no relevant chunk.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` names one that does not exist.
        """
        with self.store.snapshot() as snapshot:
            asked = _read_all([text, *queries], snapshot)
            return self._found(
                asked,
                snapshot,
                options=options,
                scope=Scope(where=where, documents=documents),
                reranking=reranking,
            )[0]

    def explain(
        self,
        text: str,
        *,
        queries: Sequence[str] = (),
        options: SearchOptions,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
        reranking: Reranking | None = None,
    ) -> Explanation:
        """Return what `search` returns, and why, chunk by chunk.

        Raises:
            SpanwiseError: As `search`.
        """
        with self.store.snapshot() as snapshot:
            asked = _read_all([text, *queries], snapshot)
            result, extractor = self._found(
                asked,
                snapshot,
                options=options,
                scope=Scope(where=where, documents=documents),
                reranking=reranking,
            )
            return explain_search(result, extractor=extractor, options=options)

    def excerpts(
        self,
        text: str,
        *,
        queries: Sequence[str] = (),
        options: ExcerptOptions,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
        reranking: Reranking | None = None,
    ) -> ExcerptResult:
        """Return texts of a given size around what answers a question.

        Raises:
            OptionError: If no excerpt has room for a relevant chunk under its header.
            SpanwiseError: As `search`.
        """
        steps = _Steps(self.listener)
        options = replace(options, segments=self._segments(options.segments))
        found = Excerpts()
        with self.store.snapshot() as snapshot:
            asked = _read_all([text, *queries], snapshot)
            gathered = self._gathered(
                asked,
                snapshot,
                steps=steps,
                meter=make_token_counter(options.tokenizer, self.tokenizer),
                scope=Scope(where=where, documents=documents),
                reranking=reranking,
            )
            evidence = gathered.evidence
            judgement = self._judged(gathered)
            if evidence is not None:
                segments = with_penalty(options.segments, evidence, self.model)
                excerpter = Excerpter(
                    evidence,
                    model=self.model,
                    options=replace(options, segments=segments),
                    snapshot=snapshot,
                    tokenizer=make_tokenizer(options.tokenizer or self.tokenizer),
                )
                refuses = judgement.is_missing and options.abstain
                found = excerpter.guess() if refuses else excerpter.make()
        steps.done("excerpts", excerpts=len(found.excerpts), tokens=found.tokens)
        return ExcerptResult(
            question=asked[0].text,
            queries=tuple(question.text for question in asked),
            excerpts=found.excerpts,
            context=found.context,
            tokens=found.tokens,
            excerpt_tokens=options.excerpt_tokens,
            candidates=0 if evidence is None else evidence.candidates,
            evidence=judgement.evidence,
            weak_evidence=judgement.is_weak,
            best_guess=found.best_guess,
            warnings=(
                *self._warnings(asked, evidence, where, documents),
                *gathered.warnings,
                *found.warnings,
            ),
            seconds=steps.seconds,
            usage=gathered.usage,
            where=_where_text(where),
        )

    def _found(
        self,
        asked: Sequence[Question],
        snapshot: Snapshot,
        *,
        options: SearchOptions,
        scope: Scope,
        reranking: Reranking | None,
    ) -> tuple[SearchResult, Extractor | None]:
        """Return the result of a search, and what chose it; None where there was nothing."""
        steps = _Steps(self.listener)
        options = replace(options, segments=self._segments(options.segments))
        meter = make_token_counter(options.tokenizer, self.tokenizer)
        segments: list[Segment] = []
        left_out: tuple[str, ...] = ()
        extractor, guess, context = None, None, ""
        gathered = self._gathered(
            asked, snapshot, steps=steps, meter=meter, scope=scope, reranking=reranking
        )
        evidence = gathered.evidence
        judgement = self._judged(gathered)
        if evidence is not None:
            options = _options_for(evidence, options, self.model)
            trimmer = Trimmer.of(evidence, options.segments, self.model)
            extractor = Extractor(
                evidence=evidence,
                model=self.model,
                options=options,
                presenter=Presenter(snapshot, meter, options.headers, trimmer),
                is_one_document=len(set(scope.documents or ())) == 1 and trimmer is None,
            )
            if options.published is not None:
                segments, guess, left_out = extract_greedy(extractor, options.published)
            elif judgement.is_missing and options.abstain:
                guess = extractor.presenter.segments([extractor.guess()])[0]
            else:
                segments, guess = extractor.extract()
            context = extractor.presenter.context(segments)
        tokens = sum(segment.tokens for segment in segments)
        steps.done("extract", segments=len(segments), tokens=tokens)
        result = SearchResult(
            question=asked[0].text,
            queries=tuple(question.text for question in asked),
            segments=tuple(segments),
            context=context,
            tokens=tokens,
            budget_tokens=options.budget_tokens,
            candidates=0 if evidence is None else evidence.candidates,
            evidence=judgement.evidence,
            weak_evidence=judgement.is_weak,
            best_guess=guess,
            warnings=(
                *self._warnings(asked, evidence, scope.where, scope.documents),
                *gathered.warnings,
                *left_out,
            ),
            seconds=steps.seconds,
            usage=gathered.usage,
            where=_where_text(scope.where),
        )
        return result, extractor

    def tuned(self, tuning: Tuning) -> Searcher:
        """Return what searches with tuned settings."""
        return replace(
            self,
            model=tuning.model,
            balanced=tuning.segments,
            judging_model=self.judging_model or self.model,
        )

    def _judged(self, gathered: _Gathered) -> Judgement:
        return judge(
            gathered.evidence,
            model=self.judging_model or self.model,
            embedder=gathered.embedder,
        )

    def _segments(self, options: SegmentOptions) -> SegmentOptions:
        return self.balanced if options == SegmentOptions.BALANCED else options

    def _gathered(
        self,
        asked: Sequence[Question],
        snapshot: Snapshot,
        *,
        steps: _Steps,
        meter: TokenCounter,
        scope: Scope,
        reranking: Reranking | None,
    ) -> _Gathered:
        """Return what the queries found, weighed, reranked and united."""
        warnings: list[str] = []
        embedder = make_embed_caller(
            self.embedder, "query", cache=self.store, recorded_dimension=self.dimension
        )
        search = partial(search_all, asked, snapshot=snapshot, model=self.model, scope=scope)
        used = embedder
        try:
            searched = search(embedder=embedder)
        except ModelKeyError:
            raise
        except ModelError as error:
            if not self.falls_back:
                raise
            warnings.append(f"searched by keywords alone, as the embedder failed: {error}")
            used = None
            searched = search(embedder=None)
        if reranking is not None:
            steps.done("weigh", queries=len(asked))
        reranked = rerank(searched, snapshot=snapshot, model=self.model, reranking=reranking)
        evidence = gather(reranked.found, snapshot=snapshot, model=self.model, meter=meter)
        steps.done("weigh" if reranking is None else "rerank", queries=len(asked))
        return _Gathered(
            evidence=evidence,
            embedder=used,
            warnings=(*warnings, *reranked.warnings),
            usage=reranked.usage + embedding_usage(embedder),
        )

    def _warnings(
        self,
        asked: Sequence[Question],
        evidence: Evidence | None,
        where: Filter | None,
        documents: Sequence[str] | None,
    ) -> tuple[str, ...]:
        """Return what a search did without, for people."""
        warnings: list[str] = []
        if evidence is not None:
            warnings += [
                f"the question has {len(whole.terms)} different words; "
                f"it was searched by the {len(part.terms)} most telling ones"
                for whole, part in zip(asked, evidence.questions, strict=True)
                if len(part.terms) < len(whole.terms)
            ]
        elif where is not None:
            met = {record.id for record in self.store.list_records(where)}
            if not (met if documents is None else met.intersection(documents)):
                warnings.append(
                    f"no document passes the filter `{where}`; `list` shows the fields of each, "
                    "and texts are equal letter for letter"
                )
        if self.embedder is None:
            warnings.append("searched by keywords alone: this knowledge base has no embedder")
        elif self.model.embedder not in ("", self.embedder.name):
            warnings.append(
                f"uncalibrated: no weights were trained with the embedder {self.embedder.name}, "
                f"those of {self.model.embedder} stand in; relevances may be too high or too low"
            )
        return tuple(warnings)


def _where_text(where: Filter | None) -> str:
    return "" if where is None else str(where)


def _read(text: str, languages: Sequence[str]) -> Question:
    """Return a question that can be searched for."""
    if not isinstance(text, str):
        raise QueryError(f"the question is {text!r}; give one text")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise QueryError(
            f"the question {text[:80]!r} holds bytes that are no text; type it in UTF-8"
        )
    question = read_question(text, languages=languages)
    if not question.terms:
        raise QueryError(f"the question is {text[:80]!r}; ask in at least one word")
    return question


def _read_all(texts: Sequence[str], snapshot: Snapshot) -> tuple[Question, ...]:
    """Return the queries that can be searched for, each once, in the languages of the documents."""
    if len(texts) > _MAX_QUERIES:
        raise QueryError(
            f"{len(texts)} queries are given, the question among them; give at most {_MAX_QUERIES}"
        )
    languages = snapshot.languages()
    questions = [_read(text, languages) for text in texts]
    return tuple({question.text: question for question in questions}.values())


def _options_for(
    evidence: Evidence, options: SearchOptions, model: RelevanceModel
) -> SearchOptions:
    """Return the options of a question: one that compares wants a place in each document."""
    segments = with_penalty(options.segments, evidence, model)
    if any(question.compares for question in evidence.questions):
        charge = segments.segment_charge * COMPARISON_CHARGE
        segments = replace(segments, segment_charge=charge)
    return replace(options, segments=segments)
