"""Tune search to questions about some documents, and say only what was shown.

Rules:
    Every question is measured by searches with settings that were fitted to other questions, of
    other documents where there are enough: part by part, the whole fit is made anew without it.
    A gain is shown if its interval lies above 0 at a budget, or on their mean, all these
    comparisons counted (Holm), and at none a loss is. Then the settings are fitted to all
    questions. If it is not shown they stay as they came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Evidence
from spanwise.evaluation.statistics import (
    Comparison,
    Wording,
    among,
    compare,
    document_clusters,
)
from spanwise.evaluation.tuning.answers import Answers, examples_with_answers, read_answers
from spanwise.evaluation.tuning.examples import evidence_ranges
from spanwise.evaluation.tuning.fitting import Fitted, Start, fit, fit_weights, gains
from spanwise.evaluation.tuning.folds import Folds, fold_questions
from spanwise.evaluation.tuning.material import Material, collected, other_chunks, with_chunks
from spanwise.evaluation.tuning.measuring import Measure
from spanwise.evaluation.tuning.options import LEAST_QUESTIONS, TuneOptions
from spanwise.options import SegmentOptions
from spanwise.query import shipped_model
from spanwise.query.tuning import Figure, Measured, Tuning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.relevance import RelevanceModel
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.query.rerank import Reranking

    Floats = NDArray[np.float64]

__all__ = ["TuneReport", "tune"]

Recalls = list[tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """What came of a tuning."""

    tuning: Tuning
    """The defaults where no improvement is shown."""
    comparison: Comparison
    """Tuned less untuned, on questions that were not tuned on: at the first budget with a gain that
    is shown; if at none, of the mean over the budgets."""
    budgets: tuple[Comparison, ...]
    """At each budget."""
    left_out: int
    """Questions without evidence in characters or pages."""
    by_document: bool
    """Whether what was measured lay in other documents than what was tuned on."""
    note: str = ""
    """What the intervals do not say, in words; empty for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tuner:
    """Fits and measures; `materials` has the knowledge base as it is first."""

    materials: Sequence[Material]
    start: Start
    measure: Measure
    answers: Answers | None
    """Of all questions; None where nothing is learned from them."""

    def fit(self, questions: Sequence[LabelledQuestion]) -> tuple[Material, Fitted]:
        """Return in which chunks and with what settings some questions are found best."""
        first = self.materials[0]
        best = first, fit(first.of(questions), self.start)
        for other in self.materials[1:]:
            tried = fit(other.of(questions), self.start)
            if gains(tried.recalls, best[1].recalls):
                best = other, tried
        if self.answers is None:
            return best
        return best[0], self._with_answers(*best, questions, answers=self.answers)

    def _with_answers(
        self,
        material: Material,
        fitted: Fitted,
        questions: Sequence[LabelledQuestion],
        *,
        answers: Answers,
    ) -> Fitted:
        """Return what some questions say once their answers are known, where that gains."""
        known = answers.learn(questions)
        if not known.kinds:
            return fitted
        share = fitted.model.keyword_share
        start = replace(self.start, model=replace(self.start.model, keyword_share=share))
        examples = examples_with_answers(
            material.base,
            questions,
            answers=answers,
            model=start.model,
            tokenizer=self.measure.tokenizer,
        )
        tried = fit_weights(examples, start, segments=fitted.segments)
        if not gains(tried.recalls, fitted.recalls):
            return fitted
        return replace(tried, model=replace(tried.model, known_answers=known))

    def before(self, questions: Sequence[LabelledQuestion]) -> Recalls:
        """Return what is reached without tuning."""
        base = self.materials[0].base
        return self.measure.recalls(questions, base=base, searcher=base.searcher(self.start.model))

    def after(
        self, questions: Sequence[LabelledQuestion], others: Sequence[LabelledQuestion]
    ) -> Recalls:
        """Return what some questions reach with what others say."""
        material, fitted = self.fit(others)
        searcher = replace(
            material.base.searcher(fitted.model),
            balanced=fitted.segments,
        )
        return self.measure.recalls(
            questions, base=material.base, searcher=searcher, may_refuse=True
        )


def tune(  # noqa: PLR0913 - options are keywords, each with a default
    base: KnowledgeBase,
    questions: Sequence[LabelledQuestion],
    *,
    options: TuneOptions | None = None,
    model: RelevanceModel | None = None,
    reranking: Reranking | None = None,
    source: Literal["labelled", "made"] = "labelled",
    hear: Callable[[str, int, int], None] = lambda _step, _done, _total: None,
) -> TuneReport:
    """Tune search to questions about the documents of a knowledge base.

    Args:
        base: The knowledge base; it stays as it is, but for the kept outputs of models.
        questions: With evidence in characters or pages; others are left out.
        options: What is tried.
        model: What it starts from; the shipped one when None.
        reranking: A reranker that is given its weight; None for none.
        source: Where the questions come from. Made ones are asked in words of the documents, and
            their evidence is a section by the way they are made: of them the place of embedder and
            reranker is learned, and the table, but no weight of a feature and no setting.
        hear: Hears each step: its name, how much is done, and how much there is.

    Raises:
        OptionError: If there are fewer than ten questions with evidence, or two have one id.
        DocumentNotFoundError: If a question is about a document that is not there.
        ModelError: If the embedder or the reranker fails.
    """
    wanted = options or TuneOptions()
    start = Start(
        model=model or shipped_model(),
        reranker=None if reranking is None else reranking.caller.reranker.name,
        budgets=wanted.budgets,
        places_alone=source == "made",
    )
    usable = _usable(base, questions, source)
    folds = fold_questions(usable, folds=wanted.folds)
    # With a reranker each part would have it read more; made questions teach no answers; and in
    # parts that share documents, questions would be measured with what their own ones taught.
    learns = (
        wanted.known_answers and source == "labelled" and reranking is None and folds.by_document
    )
    with ExitStack() as stack:
        hear("reading candidates", 0, len(usable))
        materials = [
            collected(base, usable, model=start.model, options=wanted, reranking=reranking)
        ]
        _check_found(materials[0])
        for chunks in other_chunks(base, wanted.chunk_targets):
            work = stack.enter_context(with_chunks(base, chunks, hear=hear))
            materials.append(
                collected(
                    work,
                    usable,
                    model=start.model,
                    options=wanted,
                    reranking=reranking,
                    chunks=chunks,
                )
            )
        tuner = _Tuner(
            materials=materials,
            start=start,
            measure=Measure(
                budgets=wanted.budgets, tokenizer=wanted.tokenizer, reranking=reranking
            ),
            answers=read_answers(base, usable, model=start.model) if learns else None,
        )
        return _report(tuner, usable, len(questions) - len(usable), folds, source, hear)


def _usable(
    base: KnowledgeBase,
    questions: Sequence[LabelledQuestion],
    source: Literal["labelled", "made"],
) -> list[LabelledQuestion]:
    """Return the questions with evidence in characters or pages, which becomes characters."""
    for name, times in Counter(one.id for one in questions).items():
        if times > 1:  # one would be tuned on with what the other is measured by
            raise OptionError(f"{times} questions have the id {name!r}; give each its own")
    located = [_located(one, base) for one in questions]
    usable = [one for one in located if one is not None]
    if len(usable) < LEAST_QUESTIONS and source == "made":
        raise OptionError(
            f"{len(usable)} questions can be made of titles of sections, and {LEAST_QUESTIONS} are "
            "needed; label questions, or name others"
        )
    if len(usable) < LEAST_QUESTIONS:
        raise OptionError(
            f"{len(usable)} questions have evidence in characters or pages; label at least "
            f"{LEAST_QUESTIONS}, better 50"
        )
    return usable


def _located(question: LabelledQuestion, base: KnowledgeBase) -> LabelledQuestion | None:
    """Return a question with its evidence in characters, None where it has none.

    In other chunks there are no pages. Documents that are named alone stay: they tie questions
    together.
    """
    places = [
        Evidence(document_id=document_id, start=start, end=end)
        for document_id, ranges in evidence_ranges(question, base).items()
        for start, end in ranges
        if end > start
    ]
    alone = [one for one in question.evidence if one.start is None and one.page is None]
    return replace(question, evidence=(*places, *alone)) if places else None


def _check_found(material: Material) -> None:
    """Raise if a search finds too little of the evidence to learn from."""
    found = min(len(one) for one in material.examples.values())
    if found < LEAST_QUESTIONS:
        raise OptionError(
            f"the evidence of {found} questions is among the chunks that are weighed; tuning "
            f"learns from those alone, and needs {LEAST_QUESTIONS}"
        )


def _report(
    tuner: _Tuner,
    usable: Sequence[LabelledQuestion],
    left_out: int,
    folds: Folds,
    source: Literal["labelled", "made"],
    hear: Callable[[str, int, int], None],
) -> TuneReport:
    """Return what came of a tuning: measured part by part, then fitted to all where it helps."""
    hear("measuring before", 0, len(folds.numbers) + 2)
    before = np.array(tuner.before(usable))
    after = np.zeros_like(before)
    for number in folds.numbers:
        hear(f"part {number + 1}", number + 1, len(folds.numbers) + 2)
        inside = [at for at, part in enumerate(folds.of) if part == number]
        others = [one for one, part in zip(usable, folds.of, strict=True) if part != number]
        after[inside] = tuner.after([usable[at] for at in inside], others)
    clusters = document_clusters([one.evidence[0].document_id for one in usable])
    compared = _compared(before, after, budgets=tuner.measure.budgets, clusters=clusters.ids)
    budgets = compared[: len(tuner.measure.budgets)]
    gained = [one for one in compared if one.verdict == "first" and one.holds_among_all]
    is_shown = bool(gained) and all(one.verdict != "second" for one in compared)
    hear("fitting", len(folds.numbers) + 1, len(folds.numbers) + 2)
    return TuneReport(
        tuning=_tuning(
            tuner,
            usable if is_shown else [],
            Measured(
                questions=len(usable),
                source=source,
                is_shown=is_shown,
                figures=_figures(tuner.measure.budgets, before, after, budgets),
            ),
        ),
        comparison=gained[0] if is_shown else compared[-1],
        budgets=budgets,
        left_out=left_out,
        by_document=folds.by_document,
        note=clusters.note,
    )


def _compared(
    before: Floats, after: Floats, *, budgets: Sequence[int], clusters: Sequence[str]
) -> tuple[Comparison, ...]:
    """Return the difference at each budget, and last that of their mean where there are several."""
    pairs = list(zip(after.T, before.T, strict=True))
    notes = [f"at {budget:,} tokens" for budget in budgets]
    if len(budgets) > 1:
        pairs.append((after.mean(axis=1), before.mean(axis=1)))
        notes.append("on the mean of the budgets")
    return among(
        [
            compare(
                first.tolist(),
                second.tolist(),
                clusters=clusters,
                wording=Wording(first="tuned", second="untuned", note=note),
            )
            for (first, second), note in zip(pairs, notes, strict=True)
        ]
    )


def _figures(
    budgets: Sequence[int],
    before: Floats,
    after: Floats,
    comparisons: Sequence[Comparison],
) -> tuple[Figure, ...]:
    return tuple(
        Figure(
            budget_tokens=budget,
            before=float(one.mean()),
            after=float(other.mean()),
            difference=compared.difference.mean,
            low=compared.difference.low,
            high=compared.difference.high,
        )
        for budget, one, other, compared in zip(
            budgets, before.T, after.T, comparisons, strict=True
        )
    )


def _tuning(tuner: _Tuner, questions: Sequence[LabelledQuestion], measured: Measured) -> Tuning:
    """Return the tuning that some questions want; of none, what it started from."""
    base = tuner.materials[0].base
    embedder = base.info().settings["embedder"]
    if not questions:
        return Tuning(
            model=tuner.start.model,
            segments=SegmentOptions.BALANCED,
            embedder=embedder,
            measured=measured,
        )
    material, fitted = tuner.fit(questions)
    trained_with = "" if embedder == "none" else embedder
    return Tuning(
        model=replace(fitted.model, embedder=trained_with),
        segments=fitted.segments,
        embedder=embedder,
        measured=measured,
        chunks=material.chunks,
    )
