"""Percentile bootstrap of a mean, with clusters and strata.

Questions about one document resemble each other. With clusters, whole clusters are sampled (Field
and Welsh, Bootstrapping clustered data, JRSS B 69(3), 2007), and the mean is the ratio of their
sums. With strata, such as datasets, each is sampled separately, and the estimate is the mean of
their means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEW = 10
"""Number of questions or clusters below which a percentile interval is too narrow."""
_BLOCK_DRAWS = 1 << 16
"""Number of draws of one block, so that a block fits into the cache of a processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Settings of the bootstrap; equal settings give equal intervals."""

    samples: int = 2_000
    """Number of samples, at least 1."""
    seed: int = 0
    level: float = 0.95
    """Confidence level, in (0, 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float
    """Upper end. Equal to `low` and `mean` if no stratum has two clusters: no interval is known."""
    questions: int
    """Number of questions."""
    clusters: int
    """Number of sampled clusters: documents, or as many as questions."""
    fewest_clusters: int
    """Number of clusters of the smallest stratum, which weighs as much as any other."""
    level: float = 0.95

    @property
    def is_rough(self) -> bool:
        """Whether there are too few questions or clusters for a reliable interval."""
        return self.fewest_clusters < FEW


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Sums and counts of the clusters of one stratum."""

    sums: Floats
    counts: Floats
    plain_variance: float
    """Variance of the mean if questions were independent."""
    mean: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", float(self.sums.sum() / self.counts.sum()))

    @property
    def clustered_variance(self) -> float:
        """Linearised variance of the ratio of sums, with the correction for few clusters."""
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
        clusters: Cluster of each value, such as the document of the question. Whole clusters are
            sampled. None for independent values.
        strata: Stratum of each value, such as its dataset. The estimate is the mean of the means of
            all strata. A cluster belongs to one stratum. None for one stratum.
        sampling: Number and seed of the samples.

    Raises:
        ValueError: If there are no values, or lengths differ.
    """
    how = sampling or Sampling()
    parts = _strata(values, clusters, strata)
    mean = float(np.mean([part.mean for part in parts]))
    many = [len(part.sums) for part in parts]
    low = high = mean
    if max(many) > 1:
        means = bootstrap_means(values, clusters=clusters, strata=strata, sampling=how)
        tail = (1 - how.level) / 2 * 100
        low, high = (float(edge) for edge in np.percentile(means, [tail, 100 - tail]))
    return Interval(
        mean=mean,
        low=low,
        high=high,
        questions=len(values),
        clusters=sum(many),
        fewest_clusters=min(many),
        level=how.level,
    )


def bootstrap_means(
    values: Sequence[float],
    *,
    clusters: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    sampling: Sampling,
) -> Floats:
    """Return the mean of each sample. Arguments are those of `mean_interval`."""
    random = np.random.default_rng(sampling.seed)
    parts = _strata(values, clusters, strata)
    means = [np.concatenate(list(_sampled(part, random, sampling.samples))) for part in parts]
    return np.asarray(np.mean(means, axis=0))


def _sampled(part: _Stratum, random: np.random.Generator, samples: int) -> Iterator[Floats]:
    """Yield means block by block; the draws do not depend on the size of a block."""
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
    """Return the standard error of the mean with clusters.

    It is the greater one of the clustered and the plain standard error: a design effect (Kish,
    Survey Sampling, 1965) below 1 is mostly chance.
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
    """Return the rank of each label, so that the order of the questions has no effect."""
    _, places = np.unique(np.asarray(labels, dtype=object), return_inverse=True)
    return np.asarray(places).reshape(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentClusters:
    """Clusters of questions by document."""

    ids: tuple[str, ...]
    """Cluster of each question; clusters of different datasets differ."""
    note: str = ""
    """Limitation of the intervals if there are too few documents; empty otherwise."""


def document_clusters(
    documents: Sequence[str], *, strata: Sequence[str] | None = None
) -> DocumentClusters:
    """Return the clusters of questions by the document of their evidence.

    Treating questions about one document as independent makes an interval too narrow. With fewer
    than ten documents, questions are sampled all the same: the interval then holds for other
    questions about these documents, not for other documents.

    Args:
        documents: Document of each question; empty for a question that is a cluster of its own.
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
