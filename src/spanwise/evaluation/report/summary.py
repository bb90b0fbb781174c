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
"""Metrics of a report, as far as a question has them."""


def figure(value: float, metric: str) -> str:
    """Return a figure as text: a share in percent with one digit, any other with two."""
    return f"{100 * value:.1f}" if METRICS[metric].unit == "share" else f"{value:,.2f}"


ALL = 0
"""Position of the group of all questions."""
_MOST_FIELDS, _MOST_VALUES, _LEAST_QUESTIONS = 4, 12, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Questions with figures of their own."""

    name: str
    kind: Literal["all", "dataset", "metadata"]
    questions: tuple[tuple[str, str], ...]
    """Dataset and id of each question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of one method at one budget over one group."""

    intervals: Mapping[str, Interval]
    """Interval by metric, without metrics that no question of the group has."""
    tokens: float
    """Mean number of returned tokens per question. Texts, seconds and cost are means too."""
    texts: float
    seconds: float
    slowest_seconds: float
    """95th percentile of the search time in seconds."""
    cost: float | None
    """Mean cost in US dollars; None if the price of a model is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All figures of a report."""

    evaluation: Evaluation
    metric: str
    """Metric of the comparisons."""
    metrics: tuple[str, ...]
    """Metrics of the report in order; `metric` is one of them."""
    groups: tuple[Group, ...]
    """All questions; each dataset if there are several; then each value of metadata."""
    figures: Mapping[tuple[int, str, int], Figures]
    """Figures by position of the group, method and budget, without those that were not measured."""
    comparisons: Mapping[tuple[int, str, int], Comparison]
    """Comparison of each method with the first, by position of the group, method and budget."""

    @property
    def reference(self) -> str:
        """Method that all others are compared with."""
        return self.evaluation.retrievers[0]


def summarise(evaluation: Evaluation, *, metric: str = "recall") -> Summary:
    """Return the figures of an evaluation.

    Args:
        evaluation: The measurements.
        metric: Metric of the comparisons, a name of `METRICS`.

    Raises:
        OptionError: If there is no such metric, or no question has it.
    """
    if metric not in METRICS:
        raise OptionError(f"there is no metric {metric!r}; there are {', '.join(METRICS)}")
    held = {name for one in evaluation.scores for name in one.metrics}
    if metric not in held:
        raise OptionError(
            f"no question has {metric!r}: its evidence does not allow it; there are "
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
    questions = {(one.dataset, one.question.id): one for one in evaluation.scores}
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
    for key, one in questions.items():
        for field, value in one.question.metadata.items():
            fields.setdefault(field, {}).setdefault(str(value), []).append(key)
    telling = [(field, values) for field, values in fields.items() if _tells(values)]
    for field, values in telling[:_MOST_FIELDS]:
        groups += [
            Group(name=f"{field}: {value}", kind="metadata", questions=tuple(keys))
            for value, keys in sorted(values.items())
            if len(keys) >= _LEAST_QUESTIONS
        ]
    return tuple(groups)


def _tells(values: Mapping[str, Sequence[object]]) -> bool:
    """Return whether a metadata field groups questions, rather than identifying each."""
    large = [keys for keys in values.values() if len(keys) >= _LEAST_QUESTIONS]
    return len(large) > 1 and len(values) <= _MOST_VALUES


def _part(evaluation: Evaluation, group: Group) -> Evaluation:
    if group.kind == "all":
        return evaluation
    members = set(group.questions)
    scores = (one for one in evaluation.scores if (one.dataset, one.question.id) in members)
    return replace(evaluation, scores=tuple(scores))


def _runs(evaluation: Evaluation) -> dict[tuple[str, int], list[Scored]]:
    runs: dict[tuple[str, int], list[Scored]] = {}
    for one in evaluation.scores:
        runs.setdefault((one.retriever, one.budget_tokens), []).append(one)
    return runs


def _figures(part: Evaluation, scores: Sequence[Scored], shown: Sequence[str]) -> Figures:
    name, budget = scores[0].retriever, scores[0].budget_tokens
    run = replace(part, scores=tuple(scores))
    found = {metric: run.interval(metric, name, budget) for metric in shown}
    costs = [one.usage.cost for one in scores]
    known = [cost for cost in costs if cost is not None]
    seconds = sorted(one.seconds for one in scores)
    return Figures(
        intervals={metric: one for metric, one in found.items() if one is not None},
        tokens=fmean(one.metrics.get("tokens", 0.0) for one in scores),
        texts=fmean(float(len(one.found)) for one in scores),
        seconds=fmean(seconds),
        slowest_seconds=seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))],
        cost=fmean(known) if len(known) == len(costs) else None,
    )


def _compared(part: Evaluation, metric: str) -> dict[tuple[str, int], Comparison]:
    """Return the comparison of each method with the first, adjusted for their number."""
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
    """Return notes of the run and the most frequent warnings of its searches.

    Each warning has its number of occurrences. Warnings that differ only in numbers are merged.
    """
    told: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for one in summary.evaluation.scores:
        for warning in one.warnings:
            kind = (one.retriever, _NUMBERS.sub("0", warning))
            first.setdefault(kind, f"{one.retriever}: {warning}")
            told[kind] += 1
    return summary.evaluation.notes + tuple(
        f"{first[kind]} ({times:,} such warnings)" if times > 1 else first[kind]
        for kind, times in told.most_common(_MOST)
    )


_PARTS = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One comparison in words."""

    budget_tokens: int
    retriever: str
    main: str
    """Which method is better by how much, or that no difference can be shown."""
    reservations: tuple[str, ...]
    """Limitations of the comparison, or the number of questions that would be needed."""
    holds: bool
    """Whether the difference holds with all comparisons counted."""

    @property
    def whole(self) -> str:
        """Return the sentence with its reservations."""
        return f"{_PARTS.join((self.main, *self.reservations))}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """All comparisons in words."""

    said: tuple[Sentence, ...]
    """Sentences by budget, then in the order of the methods."""
    common: tuple[str, ...]
    """Reservations of all sentences; they are not repeated in `said`."""

    def plain(self) -> dict[str, Plain]:
        """Return the sentences as dicts and lists, for the page."""
        return {
            "said": [
                {
                    "budget": one.budget_tokens,
                    "main": one.main,
                    "reservations": list(one.reservations),
                    "holds": one.holds,
                }
                for one in self.said
            ],
            "common": list(self.common),
        }


def sentences_of(summary: Summary) -> Sentences:
    """Return the comparison of each method with the first over all questions, in words."""
    said = []
    for budget in summary.evaluation.budgets:
        for name in summary.evaluation.retrievers:
            found = summary.comparisons.get((ALL, name, budget))
            if found is None:
                continue
            main, *reservations = found.sentence.split(_PARTS)
            said.append(
                Sentence(
                    budget_tokens=budget,
                    retriever=name,
                    main=main,
                    reservations=tuple(reservations),
                    holds=found.holds_among_all,
                )
            )
    common: tuple[str, ...] = ()
    if len(said) > 1:
        common = tuple(
            one for one in said[0].reservations if all(one in other.reservations for other in said)
        )
    return Sentences(
        said=tuple(
            replace(one, reservations=tuple(two for two in one.reservations if two not in common))
            for one in said
        ),
        common=common,
    )
