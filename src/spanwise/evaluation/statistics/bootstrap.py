"""Percentile bootstrap of a mean: how far it could be off, had other questions been asked.

Questions about one document resemble each other. Where clusters are given, whole clusters are
drawn (Field and Welsh, Bootstrapping clustered data, JRSS B 69(3), 2007), and the mean is the ratio
of their sums. Where strata are given, such as datasets, each is drawn for itself, and what is
estimated is the mean of their means.

Which questions belong together: those about one document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEW = 10
"""Below so many questions or clusters a percentile interval is too narrow to be relied on."""
_BLOCK_DRAWS = 1 << 16
"""Drawn at once: more do not fit into the cache of a processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How an interval is computed; the same values give the same interval."""

    samples: int = 2_000
    """At least 1."""
    seed: int = 0
    level: float = 0.95
    """Chance that the interval holds the mean of all such questions, in (0, 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean and where it may lie."""

    mean: float
    low: float
    high: float
    """Equal to `low` and `mean` where no stratum has two clusters: nothing can be said."""
    questions: int
    """How many there are."""
    clusters: int
    """Of what was drawn: documents, or as many as questions."""
    fewest_clusters: int
    """Of the stratum that has the fewest: in the mean it weighs as much as any other."""
    level: float = 0.95

    @property
    def is_rough(self) -> bool:
        """Whether it rests on too few questions or clusters to be relied on."""
        return self.fewest_clusters < FEW


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Sums and counts of the clusters of one stratum."""

    sums: Floats
    counts: Floats
    plain_variance: float
    """Of its mean, were its questions independent."""
    mean: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", float(self.sums.sum() / self.counts.sum()))

    @property
    def clustered_variance(self) -> float:
        """Of the ratio of sums: linearised, with the correction for few clusters."""
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
        values: One for each question; at least one.
        clusters: To what each value belongs, such as the document asked about; those of one cluster
            are drawn together. None for values that are independent. As many as values.
        strata: Such as the dataset of each value: the mean is that of the means of all strata. A
            cluster belongs to one stratum. None for one stratum.
        sampling: How many samples are drawn, and how.

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
    """Return the mean of each sample; arguments as of `mean_interval`."""
    random = np.random.default_rng(sampling.seed)
    parts = _strata(values, clusters, strata)
    means = [np.concatenate(list(_sampled(part, random, sampling.samples))) for part in parts]
    return np.asarray(np.mean(means, axis=0))


def _sampled(part: _Stratum, random: np.random.Generator, samples: int) -> Iterator[Floats]:
    """Yield means block by block; the draws are those of all at once."""
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
    """Return the standard error of the mean, clusters counted.

    It is the greater one of the clustered and the plain one: a design effect (Kish, Survey
    Sampling, 1965) below 1 is chance more often than not.
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
    """Return the place of each label among all, ascending: so the order of questions is all one."""
    _, places = np.unique(np.asarray(labels, dtype=object), return_inverse=True)
    return np.asarray(places).reshape(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentClusters:
    """What is drawn together, and what that leaves out."""

    ids: tuple[str, ...]
    """One for each question; different ones in different datasets."""
    note: str = ""
    """In words, where documents are too few to be drawn; empty otherwise."""


def document_clusters(
    documents: Sequence[str], *, strata: Sequence[str] | None = None
) -> DocumentClusters:
    """Return the clusters of questions by the document that their evidence is in.

    An interval that takes questions about one document for independent is too narrow. Where there
    are fewer than ten documents, though, too few can be drawn: questions are drawn, and the
    interval says something about other questions on these documents, not about other documents.

    Args:
        documents: Of each question; empty where none is known: such a question stands alone.
        strata: Dataset of each question; None where all are of one.
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
