"""Statistics of metrics: confidence intervals and paired comparisons.

Intervals are percentile bootstrap intervals of a mean, with clusters and strata. Values of one
cluster, such as questions about one document, are correlated: whole clusters are sampled (Field and
Welsh, Bootstrapping clustered data, JRSS B 69(3), 2007), and the mean is the ratio of their sums.
Strata, such as datasets, are sampled separately, and the estimate is the mean of their means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, log10
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spanwise.evaluation.metrics.definitions import METRICS, Metric

Floats = NDArray[np.float64]

FEW = 10
"""Minimum number of questions or clusters; with fewer, a percentile interval is too narrow."""
_BLOCK_DRAWS = 1 << 16
"""Number of random draws per block; a block fits into the processor cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Settings of the bootstrap. Equal settings give equal intervals."""

    samples: int = 2_000
    """Number of bootstrap samples, at least 1."""
    seed: int = 0
    """Seed of the random generator."""
    level: float = 0.95
    """Confidence level, in (0, 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Mean with its confidence interval."""

    mean: float
    low: float
    """Lower end; equal to `mean` if no interval can be computed."""
    high: float
    """Upper end; equal to `mean` if no interval can be computed."""
    questions: int
    """Number of questions."""
    clusters: int
    """Number of clusters; equal to the number of questions if questions are not clustered."""
    fewest_clusters: int
    """Number of clusters in the smallest stratum."""
    level: float = 0.95
    """Confidence level, in (0, 1)."""
    has_range: bool = True
    """Whether the ends could be computed; False if no stratum has two clusters."""

    @property
    def is_rough(self) -> bool:
        """Whether there are too few clusters for a reliable interval."""
        return self.fewest_clusters < FEW


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Sums and counts of the clusters of one stratum."""

    sums: Floats
    counts: Floats
    plain_variance: float
    """Variance of the mean under the assumption of independent questions."""
    mean: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", float(self.sums.sum() / self.counts.sum()))

    @property
    def clustered_variance(self) -> float:
        """Linearised variance of the ratio of sums, corrected for a small number of clusters."""
        many = len(self.sums)
        if many < 2:
            return 0.0
        residuals = self.sums - self.counts * self.mean
        return float((residuals**2).sum() / self.counts.sum() ** 2 * many / (many - 1))


def mean_interval(
    values: Sequence[float],
    *,
    clusters: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    sampling: Sampling | None = None,
) -> Interval:
    """Return the mean of values with its percentile bootstrap interval.

    Args:
        values: Value of each question, at least one.
        clusters: Cluster of each value, such as the document of the question; None for independent
            values. A cluster belongs to one stratum.
        strata: Stratum of each value, such as its dataset; None for a single stratum.
        sampling: Settings of the bootstrap; None for the defaults.

    Raises:
        ValueError: If there are no values, or lengths differ.
    """
    sampling = sampling or Sampling()
    parts = _strata(values, clusters, strata)
    mean = float(np.mean([part.mean for part in parts]))
    many = [len(part.sums) for part in parts]
    low = high = mean
    has_range = max(many) > 1
    if has_range:
        means = bootstrap_means(values, clusters=clusters, strata=strata, sampling=sampling)
        tail = (1 - sampling.level) / 2 * 100
        low, high = (float(edge) for edge in np.percentile(means, [tail, 100 - tail]))
    return Interval(
        mean=mean,
        low=low,
        high=high,
        questions=len(values),
        clusters=sum(many),
        fewest_clusters=min(many),
        level=sampling.level,
        has_range=has_range,
    )


def bootstrap_means(
    values: Sequence[float],
    *,
    clusters: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    sampling: Sampling,
) -> Floats:
    """Return the mean of each bootstrap sample (samples,). Arguments: see `mean_interval`."""
    random = np.random.default_rng(sampling.seed)
    parts = _strata(values, clusters, strata)
    means = [np.concatenate(list(_sampled(part, random, sampling.samples))) for part in parts]
    return np.asarray(np.mean(means, axis=0))


def _sampled(part: _Stratum, random: np.random.Generator, samples: int) -> Iterator[Floats]:
    """Yield the means of samples in blocks; the random draws do not depend on the block size."""
    many = len(part.sums)
    clustered = bool((part.counts > 1).any())
    rows = max(1, _BLOCK_DRAWS // many)
    for start in range(0, samples, rows):
        drawn = random.integers(0, many, (min(rows, samples - start), many))
        counts = part.counts[drawn].sum(axis=1) if clustered else many
        yield part.sums[drawn].sum(axis=1) / counts


def standard_error(
    values: Sequence[float],
    *,
    clusters: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
) -> float:
    """Return the standard error of the mean. Arguments: see `mean_interval`.

    It is the maximum of the standard errors with and without clusters: a design effect below 1
    (Kish, Survey Sampling, 1965) is mostly due to chance.
    """
    parts = _strata(values, clusters, strata)
    variances = [max(part.clustered_variance, part.plain_variance) for part in parts]
    return float(np.sqrt(sum(variances)) / len(parts))


def _strata(
    values: Sequence[float], clusters: Sequence[str] | None, strata: Sequence[str] | None
) -> list[_Stratum]:
    numbers = np.asarray(values, dtype=np.float64)
    if not len(numbers):
        raise ValueError("there are no values to take a mean of")
    for name, labels in (("clusters", clusters), ("strata", strata)):
        if labels is not None and len(labels) != len(numbers):
            raise ValueError(f"there are {len(numbers)} values and {len(labels)} {name}")
    places = _places(strata, len(numbers)) if strata is not None else np.zeros(len(numbers), int)
    out = []
    for stratum in range(int(places.max()) + 1):
        chosen = np.flatnonzero(places == stratum)
        labels = None if clusters is None else [clusters[at] for at in chosen.tolist()]
        out.append(_stratum(numbers[chosen], labels))
    return out


def _stratum(numbers: Floats, clusters: Sequence[str] | None) -> _Stratum:
    count = len(numbers)
    plain = float(numbers.var(ddof=1) / count) if count > 1 else 0.0
    if clusters is None:
        return _Stratum(numbers, np.ones(count), plain)
    places = _places(clusters, count)
    sums = np.asarray(np.bincount(places, weights=numbers), dtype=np.float64)
    return _Stratum(sums, np.bincount(places).astype(np.float64), plain)


def _places(labels: Sequence[str], count: int) -> NDArray[np.intp]:
    """Return the rank of each label in sorted order; the order of questions has no effect."""
    _, places = np.unique(np.asarray(labels, dtype=object), return_inverse=True)
    return np.asarray(places).reshape(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentClusters:
    """Clusters of questions by document."""

    ids: tuple[str, ...]
    """Cluster id of each question; ids of different datasets differ."""
    note: str = ""
    """Note about the limits of the intervals if there are too few documents; otherwise empty."""


def document_clusters(
    documents: Sequence[str], *, strata: Sequence[str] | None = None
) -> DocumentClusters:
    """Return the clusters of questions by the document of their evidence.

    An interval is too narrow if questions about one document are treated as independent. With fewer
    than ten documents, each question is its own cluster: the interval then applies to further
    questions about the same documents, not to other documents.

    Args:
        documents: Document id of each question; empty for a question without a document.
        strata: Dataset of each question; None for a single dataset.
    """
    names = [""] * len(documents) if strata is None else list(strata)
    distinct: dict[str, set[str]] = {}
    for name, document in zip(names, documents, strict=True):
        distinct.setdefault(name, set()).add(document)
    few = {
        name: len(held - {""})
        for name, held in distinct.items()
        if len(held - {""}) < FEW and names.count(name) > len(held)
    }
    ids = tuple(
        f"{name}\0{document}" if document and name not in few else f"{name}\0\0{place}"
        for place, (name, document) in enumerate(zip(names, documents, strict=True))
    )
    return DocumentClusters(ids=ids, note=_note({n: many for n, many in few.items() if many}))


def _note(few: dict[str, int]) -> str:
    if not few:
        return ""
    parts = [
        f"{many} document{'s' * (many > 1)}{f' of {name}' * bool(name)}"
        for name, many in few.items()
    ]
    return f"so far this holds for the {', '.join(parts)} alone"


Verdict = Literal["first", "second", "none"]
"""Which of two retrievers is better (greater, if the metric has no direction), or "none"."""

_MIN_CLUSTERS = 6
"""Minimum number of clusters for a significant difference; five give p = 2/2**5 (sign test)."""
_NORMAL_QUANTILES = 1.959964 + 0.841621
"""Normal quantiles of 97.5 % and 80 %: a two-sided test at 5 % with a power of 80 %."""
_SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Names and notes for the sentence of a comparison."""

    first: str = "the first"
    """Name of the first retriever."""
    second: str = "the second"
    """Name of the second retriever."""
    metric: Metric = field(default_factory=lambda: METRICS["recall"])
    show: float = 0.01
    """Difference for which the number of needed questions is estimated, > 0; 0.01 is one point."""
    note: str = ""
    """Note at the end of the sentence; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Paired difference of two retrievers on the same questions."""

    wording: Wording
    difference: Interval
    """Mean of (first - second), with its confidence interval."""
    p_value: float
    """Two-sided p-value from the bootstrap samples of the interval."""
    differing: int
    """Number of questions on which the two retrievers differ."""
    questions_needed: int | None
    """Number of questions needed to show a difference of `wording.show`; None if unknown."""
    adjusted_p_value: float | None = None
    """p-value adjusted by Holm's method; None for a single comparison."""
    comparisons: int = 1
    """Number of comparisons that the adjustment takes into account."""

    @property
    def verdict(self) -> Verdict:
        """Which retriever is better, without correction for multiple comparisons."""
        if self.difference.fewest_clusters < _MIN_CLUSTERS:
            return "none"
        if self.difference.low > 0:
            return "second" if self.wording.metric.higher_is_better is False else "first"
        if self.difference.high < 0:
            return "first" if self.wording.metric.higher_is_better is False else "second"
        return "none"

    @property
    def holds_among_all(self) -> bool:
        """Whether the difference is significant after correction for multiple comparisons."""
        adjusted = self.p_value if self.adjusted_p_value is None else self.adjusted_p_value
        return self.verdict != "none" and (self.comparisons == 1 or adjusted < _SIGNIFICANT)

    @property
    def sentence(self) -> str:
        """Result of the comparison as a sentence."""
        main = _undecided(self) if self.verdict == "none" else _decided(self)
        parts = [main, *_reservations(self)]
        return "; ".join(part for part in parts if part)


def compare(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    wording: Wording | None = None,
    sampling: Sampling | None = None,
) -> Comparison:
    """Return the paired difference of two retrievers.

    Args:
        first: Value of each question for the first retriever, at least one.
        second: Values of the same questions for the second retriever, in the same order.
        clusters: Cluster of each question (see `mean_interval`); None for independent questions.
        strata: Stratum of each question (see `mean_interval`); None for a single stratum.
        wording: Names, metric, and the difference to show.
        sampling: Settings of the bootstrap; None for the defaults.

    Raises:
        ValueError: If lengths differ, or there are no questions.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    sampling = sampling or Sampling()
    wording = wording or Wording()
    means = bootstrap_means(differences, clusters=clusters, strata=strata, sampling=sampling)
    below, above = int((means <= 0).sum()), int((means >= 0).sum())
    error = standard_error(differences, clusters=clusters, strata=strata)
    return Comparison(
        wording=wording,
        difference=mean_interval(differences, clusters=clusters, strata=strata, sampling=sampling),
        p_value=min(1.0, 2 * (1 + min(below, above)) / (len(means) + 1)),
        differing=sum(map(bool, differences)),
        questions_needed=_questions_needed(len(differences), error, wording),
    )


def _questions_needed(questions: int, error: float, wording: Wording) -> int | None:
    """Return the number of questions that shows a difference with a power of 80 % at the 5 % level.

    n = (z(97.5 %) + z(80 %))^2 variance / difference^2 for paired differences (Card et al., With
    Little Power Comes Great Responsibility, EMNLP 2020; with clusters: Miller, Adding Error Bars to
    Evals, arXiv:2411.00640). The variance per question is n times the squared standard error, which
    includes the effect of clusters and strata.
    """
    if wording.metric.unit != "share" or error == 0 or not np.isfinite(error):
        return None
    return ceil(questions * (_NORMAL_QUANTILES * error / wording.show) ** 2)


def _decided(comparison: Comparison) -> str:
    wording, difference = comparison.wording, comparison.difference
    ahead, behind = wording.first, wording.second
    if comparison.verdict == "second":
        ahead, behind = behind, ahead
    sizes = sorted((abs(difference.low), abs(difference.high)))
    low, high = (_number(size, wording.metric) for size in sizes)
    better = "higher" if wording.metric.higher_is_better is None else "better"
    amount = _amount(_number(abs(difference.mean), wording.metric), wording.metric)
    lower = " (lower is better)" if wording.metric.higher_is_better is False else ""
    level = f"{difference.level * 100:g} % interval"
    return f"{ahead} is {better} than {behind} by {amount}{lower}, {level} {low} to {high}"


def _undecided(comparison: Comparison) -> str:
    wording, difference = comparison.wording, comparison.difference
    names = f"{wording.first} and {wording.second}"
    if not comparison.differing:
        return f"{names} have equal {wording.metric.words} on every question"
    number = _number(difference.mean, wording.metric, sign="+")
    amount = f"{wording.first} minus {wording.second} {_amount(number, wording.metric)}"
    if difference.fewest_clusters < _MIN_CLUSTERS:
        return f"{names} cannot be compared by so few questions: {amount}"
    low, high = (_number(edge, wording.metric) for edge in (difference.low, difference.high))
    level = f"{difference.level * 100:g} % interval"
    sentence = f"{names} do not differ significantly: {amount}, {level} {low} to {high}"
    return f"{sentence}{_more_questions(comparison)}"


def _more_questions(comparison: Comparison) -> str:
    needed, shown = comparison.questions_needed, comparison.wording.show * 100
    if needed is None:
        return ""
    difference = f"a difference of {shown:g} point{'' if shown == 1 else 's'}"
    more = needed - comparison.difference.questions
    if more <= 0:
        return f"; {difference} would probably have been detected"
    return f"; about {_rounded(more):,} more questions are needed to detect {difference}"


def _reservations(comparison: Comparison) -> list[str]:
    out = []
    if comparison.verdict != "none" and comparison.comparisons > 1:
        outcome = "it holds" if comparison.holds_among_all else "it may be chance"
        out.append(f"all {comparison.comparisons} comparisons counted (Holm), {outcome}")
    if comparison.difference.is_rough:
        out.append(f"only {_few(comparison.difference)}: no more than a hint")
    return [*out, comparison.wording.note]


def _few(difference: Interval) -> str:
    counted, clusters = difference.questions, difference.clusters
    drawn = "question" if clusters == counted else "cluster"
    if difference.fewest_clusters < clusters:
        fewest = difference.fewest_clusters
        return f"{fewest} {drawn}{'s' * (fewest != 1)} in one dataset"
    what = f"{counted} question{'s' * (counted != 1)}"
    return what if drawn == "question" else f"{what} in {clusters} cluster{'s' * (clusters != 1)}"


def _number(value: float, metric: Metric, *, sign: str = "") -> str:
    """Return a value as text: shares in percentage points, dollars and seconds with 3 digits."""
    if metric.unit == "share":
        return _signed(f"{value * 100:{sign}.1f}")
    if metric.unit in ("seconds", "dollars"):
        return _signed(f"{value:{sign}.3g}")
    return _signed(f"{value:{sign},.1f}")


def _signed(figure: str) -> str:
    """Return a formatted number without the sign of a negative zero."""
    return figure[1:] if figure.startswith("-") and not figure.strip("-0.") else figure


def _amount(number: str, metric: Metric) -> str:
    return f"{number} {'points of ' * (metric.unit == 'share')}{metric.words}"


def _rounded(count: int) -> int:
    """Return a count rounded up to two significant digits, the precision of the estimate."""
    step: int = 10 ** max(0, floor(log10(count)) - 1)
    return ceil(count / step) * step


def among(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons with p-values adjusted by Holm's method, in the same order.

    The probability of at least one false significant difference is at most 5 % (Holm, A simple
    sequentially rejective multiple test procedure, Scand. J. Statist. 6, 1979).
    """
    many = len(comparisons)
    order = sorted(range(many), key=lambda at: (comparisons[at].p_value, at))
    adjusted: dict[int, float] = {}
    least = 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (many - rank) * comparisons[at].p_value))
        adjusted[at] = least
    return tuple(
        replace(comparison, adjusted_p_value=adjusted[at], comparisons=many)
        for at, comparison in enumerate(comparisons)
    )
