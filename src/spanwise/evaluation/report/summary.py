"""Summary of an evaluation: figures of each group, method and budget, comparisons, warnings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from spanwise.errors import OptionError
from spanwise.evaluation.metrics import METRICS

if TYPE_CHECKING:
    from spanwise.evaluation.results import Evaluation, Scored
    from spanwise.evaluation.statistics import Comparison, Interval
    from spanwise.types.plain import Plain

SHOWN = frozenset(
    {
        "recall",
        "precision",
        "iou",
        "all_hit50",
        "mrr",
        "ndcg",
        "wrong_doc",
        "page_recall",
        "page_precision",
        "page_all_hit",
    }
)
"""Metrics that a report shows if at least one question has a value for them."""


def figure(value: float, metric: str) -> str:
    """Return a figure as text: a share in percent with one decimal digit, any other with two."""
    return f"{100 * value:.1f}" if METRICS[metric].unit == "share" else f"{value:,.2f}"


ALL = 0
"""Index of the group of all questions in `Summary.groups`."""
_MAX_FIELDS, _MAX_VALUES, _MIN_QUESTIONS = 4, 12, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Set of questions for which figures are computed."""

    name: str
    kind: Literal["all", "dataset", "metadata"]
    questions: tuple[tuple[str, str], ...]
    """Dataset and id of each question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of one method at one budget over one group."""

    intervals: Mapping[str, Interval]
    """Confidence interval of each metric that at least one question of the group has."""
    tokens: float
    """Mean number of returned tokens per question."""
    texts: float
    """Mean number of returned texts per question."""
    seconds: float
    """Mean search time per question, in seconds."""
    slowest_seconds: float
    """95th percentile of the search time in seconds."""
    cost: float | None
    """Mean cost per question in US dollars; None if the price of a model is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Figures and comparisons of a report."""

    evaluation: Evaluation
    metric: str
    """Metric of the comparisons."""
    metrics: tuple[str, ...]
    """Metrics of the report in display order, including `metric`."""
    groups: tuple[Group, ...]
    """Groups in display order: all questions, each dataset if several, metadata values."""
    figures: Mapping[tuple[int, str, int], Figures]
    """Measured figures by index of the group, method and budget in tokens."""
    comparisons: Mapping[tuple[int, str, int], Comparison]
    """Comparison of each method with the first one, by index of the group, method and budget."""

    @property
    def reference(self) -> str:
        """Name of the first method, with which each other method is compared."""
        return self.evaluation.retrievers[0]

    def measured(self, group: int, metric: str) -> int:
        """Return the number of questions of a group that have a value of the metric.

        Args:
            group: Index of the group in `groups`.
            metric: One of `metrics`.
        """
        intervals = (
            figures.intervals.get(metric)
            for (place, _, _), figures in self.figures.items()
            if place == group
        )
        return max((interval.questions for interval in intervals if interval), default=0)


def question_count(summary: Summary, group: int) -> str:
    """Return the number of questions behind the main metric of a group, as in "60 of 68"."""
    total = len(summary.groups[group].questions)
    measured = summary.measured(group, summary.metric)
    return f"{total:,}" if measured == total else f"{measured:,} of {total:,}"


def evidence_sentence(summary: Summary) -> str:
    """Return how many questions have evidence for the metrics; empty if all have it for all."""
    total = len(summary.groups[ALL].questions)
    metrics: dict[int, list[str]] = {}
    for name in summary.metrics:
        metrics.setdefault(summary.measured(ALL, name), []).append(METRICS[name].words)
    if set(metrics) == {total}:
        return ""
    parts = (
        f"{number:,} of {total:,}" + f" for {', '.join(words)}" * (len(metrics) > 1)
        for number, words in metrics.items()
    )
    return f"shares count only the questions with evidence: {'; '.join(parts)}"


def summarise(evaluation: Evaluation, *, metric: str = "recall") -> Summary:
    """Return the figures and comparisons of an evaluation.

    Args:
        evaluation: Measurements of one run.
        metric: Metric of the comparisons, one of `METRICS`.

    Raises:
        OptionError: If the metric is unknown, or no question has it.
    """
    if metric not in METRICS:
        raise OptionError(f"there is no metric {metric!r}; there are {', '.join(METRICS)}")
    held = {name for score in evaluation.scores for name in score.metrics}
    if metric not in held:
        raise OptionError(
            f"no question has the metric {metric!r}: its evidence does not support it; there are "
            f"{', '.join(name for name in METRICS if name in held)}"
        )
    shown = [name for name in METRICS if name in held and (name in SHOWN or name == metric)]
    groups = _groups(evaluation)
    figures: dict[tuple[int, str, int], Figures] = {}
    comparisons: dict[tuple[int, str, int], Comparison] = {}
    for place, group in enumerate(groups):
        part = _part(evaluation, group)
        for (name, budget), scores in _runs(part).items():
            figures[place, name, budget] = _figures(part, scores, shown)
        comparisons |= {
            (place, name, budget): comparison
            for (name, budget), comparison in _compared(part, metric).items()
        }
    return Summary(
        evaluation=evaluation,
        metric=metric,
        metrics=tuple(shown),
        groups=groups,
        figures=figures,
        comparisons=comparisons,
    )


def _groups(evaluation: Evaluation) -> tuple[Group, ...]:
    questions = {(score.dataset, score.question.id): score for score in evaluation.scores}
    groups = [Group(name="all questions", kind="all", questions=tuple(questions))]
    if len(evaluation.datasets) > 1:
        groups += [
            Group(
                name=dataset,
                kind="dataset",
                questions=tuple(key for key in questions if key[0] == dataset),
            )
            for dataset in evaluation.datasets
        ]
    fields: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for key, question in questions.items():
        for field, value in question.question.metadata.items():
            fields.setdefault(field, {}).setdefault(str(value), []).append(key)
    grouping = [(field, values) for field, values in fields.items() if _is_grouping(values)]
    for field, values in grouping[:_MAX_FIELDS]:
        groups += [
            Group(name=f"{field}: {value}", kind="metadata", questions=tuple(keys))
            for value, keys in sorted(values.items())
            if len(keys) >= _MIN_QUESTIONS
        ]
    return tuple(groups)


def _is_grouping(values: Mapping[str, Sequence[object]]) -> bool:
    """Return whether a metadata field has few values that many questions share."""
    large = [keys for keys in values.values() if len(keys) >= _MIN_QUESTIONS]
    return len(large) > 1 and len(values) <= _MAX_VALUES


def _part(evaluation: Evaluation, group: Group) -> Evaluation:
    if group.kind == "all":
        return evaluation
    members = set(group.questions)
    scores = (score for score in evaluation.scores if (score.dataset, score.question.id) in members)
    return replace(evaluation, scores=tuple(scores))


def _runs(evaluation: Evaluation) -> dict[tuple[str, int], list[Scored]]:
    runs: dict[tuple[str, int], list[Scored]] = {}
    for score in evaluation.scores:
        runs.setdefault((score.retriever, score.budget_tokens), []).append(score)
    return runs


def _figures(part: Evaluation, scores: Sequence[Scored], shown: Sequence[str]) -> Figures:
    name, budget = scores[0].retriever, scores[0].budget_tokens
    run = replace(part, scores=tuple(scores))
    found = {metric: run.interval(metric, name, budget) for metric in shown}
    costs = [score.usage.cost for score in scores]
    known = [cost for cost in costs if cost is not None]
    seconds = sorted(score.seconds for score in scores)
    return Figures(
        intervals={metric: item for metric, item in found.items() if item is not None},
        tokens=fmean(score.tokens for score in scores),
        texts=fmean(float(len(score.found)) for score in scores),
        seconds=fmean(seconds),
        slowest_seconds=seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))],
        cost=fmean(known) if len(known) == len(costs) else None,
    )


def _compared(part: Evaluation, metric: str) -> dict[tuple[str, int], Comparison]:
    """Return the comparisons of each method with the first one, with adjusted p-values."""
    from spanwise.evaluation.statistics import among

    reference, *others = part.retrievers
    found: dict[tuple[str, int], Comparison] = {}
    for budget in part.budgets:
        for name in others:
            one = part.compare(name, reference, budget_tokens=budget, metric=metric)
            if one is not None:
                found[name, budget] = one
    return dict(zip(found, among(tuple(found.values())), strict=True))


_MOST = 8
_NUMBERS = re.compile(r"\d[\d.,]*")


def notices(summary: Summary) -> tuple[str, ...]:
    """Return the notes of a run and the most frequent warnings of its searches.

    Warnings that differ only in numbers are counted together.
    """
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for score in summary.evaluation.scores:
        for warning in score.warnings:
            kind = (score.retriever, _NUMBERS.sub("0", warning))
            first.setdefault(kind, f"{score.retriever}: {warning}")
            counts[kind] += 1
    return summary.evaluation.notes + tuple(
        f"{first[kind]} ({times:,} such warnings)" if times > 1 else first[kind]
        for kind, times in counts.most_common(_MOST)
    )


_PARTS = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A comparison of two methods as a sentence."""

    budget_tokens: int
    retriever: str
    main: str
    """Main clause: the better method and the difference, or that no difference can be shown."""
    reservations: tuple[str, ...]
    """Limitations of the comparison, such as the number of questions still needed."""
    holds: bool
    """Whether the difference is significant after correction for multiple comparisons."""

    @property
    def whole(self) -> str:
        """Return the main clause and the limitations."""
        return f"{_PARTS.join((self.main, *self.reservations))}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """All comparisons of a report as sentences."""

    comparisons: tuple[Sentence, ...]
    """Sentences sorted by budget, then in the order of the methods."""
    common: tuple[str, ...]
    """Limitations shared by all sentences; the sentences do not repeat them."""

    def plain(self) -> dict[str, Plain]:
        """Return the sentences as dicts and lists for the HTML page."""
        return {
            "said": [
                {
                    "budget": one.budget_tokens,
                    "main": one.main,
                    "reservations": list(one.reservations),
                    "holds": one.holds,
                }
                for one in self.comparisons
            ],
            "common": list(self.common),
        }


def sentences_of(summary: Summary) -> Sentences:
    """Return the comparisons of each method with the first one over all questions."""
    sentences = []
    for budget in summary.evaluation.budgets:
        for name in summary.evaluation.retrievers:
            comparison = summary.comparisons.get((ALL, name, budget))
            if comparison is None:
                continue
            main, *reservations = comparison.sentence.split(_PARTS)
            sentences.append(
                Sentence(
                    budget_tokens=budget,
                    retriever=name,
                    main=main,
                    reservations=tuple(reservations),
                    holds=comparison.holds_among_all,
                )
            )
    common: list[str] = []
    if len(sentences) > 1:
        common = [
            limitation
            for limitation in sentences[0].reservations
            if all(limitation in sentence.reservations for sentence in sentences)
        ]
    return Sentences(
        comparisons=tuple(
            replace(
                sentence,
                reservations=tuple(part for part in sentence.reservations if part not in common),
            )
            for sentence in sentences
        ),
        common=tuple(common),
    )
