"""Results of an evaluation: one row per question, statistics, and conversion to JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.metrics.definitions import METRICS
from spanwise.evaluation.retrieval import Retrieved
from spanwise.types import Scalar, Usage
from spanwise.types.plain import Plain, from_plain, to_plain

if TYPE_CHECKING:
    from spanwise.evaluation.statistics import Comparison, Interval

_Key = tuple[str, str]
"""Dataset and id of a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Result of one retriever for one question at one budget."""

    dataset: str
    question: LabelledQuestion
    retriever: str
    budget_tokens: int
    found: tuple[Retrieved, ...]
    """Returned texts, truncated to the budget."""
    metrics: Mapping[str, float]
    """Value of each metric that the evidence supports, by its name in `METRICS`."""
    seconds: float
    """Time of the search in seconds."""
    usage: Usage = field(default_factory=Usage)
    """Usage of models."""
    warnings: tuple[str, ...] = ()

    def value(self, metric: str) -> float | None:
        """Return the value of a metric, or of `seconds` or `cost`; None if it is unknown."""
        if metric == "seconds":
            return self.seconds
        if metric == "cost":
            return self.usage.cost
        return self.metrics.get(metric)

    @property
    def tokens(self) -> float:
        """Number of returned tokens, also for a question without evidence."""
        return self.metrics.get("tokens", self.metrics.get("tokens_without_evidence", 0.0))

    @property
    def evidence_document(self) -> str:
        """Id of the document with the first piece of evidence; empty without evidence."""
        return self.question.evidence[0].document_id if self.question.evidence else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All measurements of one run.

    A figure over several datasets is the mean of the datasets' means. Confidence intervals treat
    questions about the same document as one cluster (`document_clusters`).
    """

    scores: tuple[Scored, ...]
    tokenizer: str
    """Name of the tokenizer used for the budgets."""
    settings: Mapping[str, Plain] = field(default_factory=dict)
    """Settings that reproduce the run: command, versions, options, knowledge bases."""
    notes: tuple[str, ...] = ()
    """Notes about the run, such as the number of questions left out."""

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets, in the order of the run."""
        return tuple(dict.fromkeys(score.dataset for score in self.scores))

    @property
    def retrievers(self) -> tuple[str, ...]:
        """Names of the retrievers, in the order of the run."""
        return tuple(dict.fromkeys(score.retriever for score in self.scores))

    @property
    def budgets(self) -> tuple[int, ...]:
        """Budgets in tokens, ascending."""
        return tuple(sorted({score.budget_tokens for score in self.scores}))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the measured metrics, in the order of `METRICS`; others follow by name."""
        measured = {name for score in self.scores for name in score.metrics}
        if self.scores:
            measured.add("seconds")
        if any(score.usage.calls or score.usage.cached_calls for score in self.scores):
            measured.add("cost")
        known = [name for name in METRICS if name in measured]
        return (*known, *sorted(measured.difference(known)))

    @property
    def metadata_fields(self) -> tuple[str, ...]:
        """Names of the metadata fields of the questions, in the order of appearance."""
        return tuple(dict.fromkeys(key for score in self.scores for key in score.question.metadata))

    def select(
        self,
        *,
        dataset: str | None = None,
        retriever: str | None = None,
        budget_tokens: int | None = None,
        question: str | None = None,
    ) -> Evaluation:
        """Return the rows that match all arguments; an argument of None matches every row."""
        wanted = (dataset, retriever, budget_tokens, question)
        return self._kept(
            score
            for score in self.scores
            if all(
                want in (None, has)
                for want, has in zip(
                    wanted,
                    (score.dataset, score.retriever, score.budget_tokens, score.question.id),
                    strict=True,
                )
            )
        )

    def by_metadata(self, name: str) -> dict[Scalar, Evaluation]:
        """Return one evaluation per value of a metadata field of the questions.

        Values are sorted by their text. Questions without the field are left out.
        """
        parts: dict[Scalar, list[Scored]] = {}
        for score in self.scores:
            if name in score.question.metadata:
                parts.setdefault(score.question.metadata[name], []).append(score)
        return {value: self._kept(parts[value]) for value in sorted(parts, key=str)}

    def interval(
        self, metric: str, retriever: str, budget_tokens: int, *, dataset: str | None = None
    ) -> Interval | None:
        """Return the mean of a metric with its confidence interval; None if no question has it.

        Args:
            metric: Name of the metric.
            retriever: Name of the retriever.
            budget_tokens: Budget in tokens, one of `budgets`.
            dataset: Name of the dataset; None for the mean over all datasets.
        """
        from spanwise.evaluation.statistics import document_clusters, mean_interval

        values = self._values(metric, retriever, budget_tokens, dataset)
        if not values:
            return None
        strata = [name for name, _ in values]
        documents = [document for _, document in values.values()]
        return mean_interval(
            [value for value, _ in values.values()],
            clusters=document_clusters(documents, strata=strata).ids,
            strata=strata,
        )

    def compare(
        self,
        first: str,
        second: str,
        *,
        budget_tokens: int,
        metric: str = "recall",
        dataset: str | None = None,
    ) -> Comparison | None:
        """Return the paired difference of two retrievers; None if they share no measured question.

        Args:
            first: Name of the first retriever.
            second: Name of the second retriever.
            budget_tokens: Budget in tokens, one of `budgets`.
            metric: Name of the metric, one of `METRICS`.
            dataset: Name of the dataset; None for the mean over all datasets.

        Raises:
            OptionError: If the metric is unknown.
        """
        from spanwise.evaluation.statistics import Wording, compare, document_clusters

        if metric not in METRICS:
            raise OptionError(f"metric is {metric!r}; it must be one of {', '.join(METRICS)}")
        one = self._values(metric, first, budget_tokens, dataset)
        other = self._values(metric, second, budget_tokens, dataset)
        shared = [key for key in one if key in other]
        if not shared:
            return None
        strata = [name for name, _ in shared]
        groups = document_clusters([one[key][1] for key in shared], strata=strata)
        return compare(
            [one[key][0] for key in shared],
            [other[key][0] for key in shared],
            clusters=groups.ids,
            strata=strata,
            wording=Wording(first=first, second=second, metric=METRICS[metric], note=groups.note),
        )

    def comparisons(
        self,
        first: str,
        *,
        budget_tokens: int,
        metric: str = "recall",
        dataset: str | None = None,
    ) -> tuple[Comparison, ...]:
        """Return comparisons of one retriever with all other retrievers, with adjusted p-values."""
        from spanwise.evaluation.statistics import among

        found = (
            self.compare(first, name, budget_tokens=budget_tokens, metric=metric, dataset=dataset)
            for name in self.retrievers
            if name != first
        )
        return among([item for item in found if item is not None])

    def to_plain(self) -> dict[str, Plain]:
        """Return the evaluation as dicts, lists and scalars, ready for JSON."""
        return write_evaluation(self)

    @staticmethod
    def from_plain(value: object) -> Evaluation:
        """Return the evaluation from an output of `to_plain`.

        Raises:
            OptionError: If the value is not an output of `to_plain`.
        """
        return read_evaluation(value)

    def _kept(self, scores: Iterable[Scored]) -> Evaluation:
        return replace(self, scores=tuple(scores))

    def _values(
        self, metric: str, retriever: str, budget_tokens: int, dataset: str | None
    ) -> dict[_Key, tuple[float, str]]:
        """Return the value of a metric and the evidence document of each question that has it."""
        out: dict[_Key, tuple[float, str]] = {}
        for score in self.scores:
            if (score.retriever, score.budget_tokens) != (retriever, budget_tokens):
                continue
            value = score.value(metric)
            if dataset in (None, score.dataset) and value is not None:
                out[score.dataset, score.question.id] = (value, score.evidence_document)
        return out


def merged(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Return several evaluations as one, such as those of several datasets or processes.

    If settings differ, the settings of each run are stored under its number, from 1.

    Raises:
        OptionError: If there is no evaluation, tokenizers differ, two questions of a dataset have
            the same id, or a question was scored twice for one retriever and budget.
    """
    tokenizers = dict.fromkeys(evaluation.tokenizer for evaluation in evaluations)
    if len(tokenizers) != 1:
        names = ", ".join(tokenizers) or "none"
        raise OptionError(f"tokenizers are {names}; merge runs with the same tokenizer")
    scores = tuple(score for evaluation in evaluations for score in evaluation.scores)
    asked: dict[_Key, LabelledQuestion] = {}
    seen: set[tuple[str, str, str, int]] = set()
    for one in scores:
        if asked.setdefault((one.dataset, one.question.id), one.question) != one.question:
            raise OptionError(
                f"question {one.question.id!r} of {one.dataset!r} is not the same in all runs; "
                "merge runs that asked the same questions, or give the datasets different names"
            )
        key = (one.dataset, one.question.id, one.retriever, one.budget_tokens)
        if key in seen:
            raise OptionError(
                f"question {one.question.id!r} of {one.dataset!r} was scored twice for "
                f"{one.retriever!r} at {one.budget_tokens} tokens; merge different runs"
            )
        seen.add(key)
    return Evaluation(
        scores=scores,
        tokenizer=evaluations[0].tokenizer,
        settings=_merged_settings(evaluations),
        notes=tuple(dict.fromkeys(note for evaluation in evaluations for note in evaluation.notes)),
    )


def _merged_settings(evaluations: Sequence[Evaluation]) -> dict[str, Plain]:
    first = evaluations[0].settings
    if all(evaluation.settings == first for evaluation in evaluations):
        return dict(first)
    return {
        f"run {place}": dict(evaluation.settings)
        for place, evaluation in enumerate(evaluations, start=1)
    }


_FORMAT = "spanwise-evaluation-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """JSON form of `Scored`, with the question replaced by its id."""

    dataset: str
    question: str
    retriever: str
    budget_tokens: int
    metrics: Mapping[str, float]
    seconds: float
    found: tuple[Retrieved, ...] = ()
    usage: Usage = field(default_factory=Usage)
    warnings: tuple[str, ...] = ()


def write_evaluation(evaluation: Evaluation) -> dict[str, Plain]:
    """Return an evaluation as dicts, lists and scalars; each question is included once."""
    questions: dict[str, dict[str, LabelledQuestion]] = {}
    for score in evaluation.scores:
        questions.setdefault(score.dataset, {})[score.question.id] = score.question
    return {
        "format": _FORMAT,
        "tokenizer": evaluation.tokenizer,
        "settings": to_plain(evaluation.settings),
        "notes": list(evaluation.notes),
        "questions": {
            name: [_brief(question) for question in asked.values()]
            for name, asked in questions.items()
        },
        "scores": [_brief(_row(score)) for score in evaluation.scores],
    }


def read_evaluation(value: object) -> Evaluation:
    """Return the evaluation from an output of `write_evaluation`.

    Raises:
        OptionError: If the value is not an output of `write_evaluation`.
    """
    if not isinstance(value, Mapping) or value.get("format") != _FORMAT:
        raise OptionError(f'not an evaluation: it must be an object with format "{_FORMAT}"')
    try:
        tokenizer, settings = value["tokenizer"], value["settings"]
        notes = value.get("notes", [])
        if not (
            isinstance(tokenizer, str) and isinstance(settings, dict) and isinstance(notes, list)
        ):
            raise OptionError("not an evaluation: its tokenizer, settings or notes cannot be read")
        questions = {
            name: {one.id: one for one in map(read_question, asked)}
            for name, asked in value["questions"].items()
        }
        scores = tuple(_scored(from_plain(_Row, item), questions) for item in value["scores"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise OptionError(f"not an evaluation: {error!r}") from error
    return Evaluation(
        scores=scores, tokenizer=tokenizer, settings=settings, notes=tuple(map(str, notes))
    )


def _row(one: Scored) -> _Row:
    return _Row(
        dataset=one.dataset,
        question=one.question.id,
        retriever=one.retriever,
        budget_tokens=one.budget_tokens,
        metrics=one.metrics,
        seconds=one.seconds,
        found=one.found,
        usage=one.usage,
        warnings=one.warnings,
    )


def _scored(row: _Row, questions: Mapping[str, Mapping[str, LabelledQuestion]]) -> Scored:
    return Scored(
        dataset=row.dataset,
        question=questions[row.dataset][row.question],
        retriever=row.retriever,
        budget_tokens=row.budget_tokens,
        found=row.found,
        metrics=row.metrics,
        seconds=row.seconds,
        usage=row.usage,
        warnings=row.warnings,
    )


def _brief(value: object) -> Plain:
    """Return a value as dicts, lists and scalars, without fields that have default values."""
    if isinstance(value, tuple):
        return [_brief(item) for item in value]
    if not is_dataclass(value):
        return to_plain(value)
    held = ((part, getattr(value, part.name)) for part in fields(value))
    return {part.name: _brief(item) for part, item in held if item != _default(part)}


def _default(part: Field[object]) -> object:
    return part.default if part.default_factory is MISSING else part.default_factory()


def read_question(value: object) -> LabelledQuestion:
    """Return the question from an output of `to_plain`.

    Raises:
        TypeError: If the value is not an object, or a metadata value is not a scalar.
        ValueError: If a field is missing or has the wrong type.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"a question is {value!r}")
    question = from_plain(
        LabelledQuestion, {key: item for key, item in value.items() if key != "metadata"}
    )
    metadata: dict[str, Scalar] = {}
    for key, item in value.get("metadata", {}).items():
        if not isinstance(item, str | int | float):
            raise TypeError(f"metadata {key!r} of question {question.id!r} is {item!r}")
        metadata[key] = item
    return replace(question, metadata=metadata)
