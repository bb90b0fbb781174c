"""Results of an evaluation, question by question, their statistics, and their JSON form."""

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
    """Metrics that the evidence allows, by name (`evaluation.metrics.METRICS`)."""
    seconds: float
    """Time of the search in seconds."""
    usage: Usage = field(default_factory=Usage)
    """Usage of models."""
    warnings: tuple[str, ...] = ()

    def value(self, metric: str) -> float | None:
        """Return a metric, `seconds` or `cost`; None if it is unknown."""
        if metric == "seconds":
            return self.seconds
        if metric == "cost":
            return self.usage.cost
        return self.metrics.get(metric)

    @property
    def evidence_document(self) -> str:
        """Id of the document of the first evidence; empty without evidence."""
        return self.question.evidence[0].document_id if self.question.evidence else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All measurements of one run.

    A figure over several datasets is the mean of the means of the datasets. Intervals sample
    questions about one document together (`document_clusters`).
    """

    scores: tuple[Scored, ...]
    tokenizer: str
    """Name of the tokenizer that counted."""
    settings: Mapping[str, Plain] = field(default_factory=dict)
    """Settings that reproduce the run: command, versions, options, knowledge bases."""
    notes: tuple[str, ...] = ()
    """Notes about the run, such as the number of questions left out."""

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets, in the order of the run."""
        return tuple(dict.fromkeys(one.dataset for one in self.scores))

    @property
    def retrievers(self) -> tuple[str, ...]:
        """Names of the retrievers, in the order of the run."""
        return tuple(dict.fromkeys(one.retriever for one in self.scores))

    @property
    def budgets(self) -> tuple[int, ...]:
        """Budgets in tokens, ascending."""
        return tuple(sorted({one.budget_tokens for one in self.scores}))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the measured metrics, in the order of `METRICS`."""
        measured = {name for one in self.scores for name in one.metrics}
        if self.scores:
            measured.add("seconds")
        if any(one.usage.calls or one.usage.cached_calls for one in self.scores):
            measured.add("cost")
        known = [name for name in METRICS if name in measured]
        return (*known, *sorted(measured.difference(known)))

    @property
    def metadata_fields(self) -> tuple[str, ...]:
        """Names of the metadata fields of the questions, in the order of appearance."""
        return tuple(dict.fromkeys(key for one in self.scores for key in one.question.metadata))

    def select(
        self,
        *,
        dataset: str | None = None,
        retriever: str | None = None,
        budget_tokens: int | None = None,
        question: str | None = None,
    ) -> Evaluation:
        """Return the part with all given values; None for any."""
        wanted = (dataset, retriever, budget_tokens, question)
        return self._kept(
            one
            for one in self.scores
            if all(
                want in (None, has)
                for want, has in zip(
                    wanted,
                    (one.dataset, one.retriever, one.budget_tokens, one.question.id),
                    strict=True,
                )
            )
        )

    def by_metadata(self, name: str) -> dict[Scalar, Evaluation]:
        """Return a part for each value of a metadata field of the questions.

        Values are in ascending order of their text; questions without the field are left out.
        """
        parts: dict[Scalar, list[Scored]] = {}
        for one in self.scores:
            if name in one.question.metadata:
                parts.setdefault(one.question.metadata[name], []).append(one)
        return {value: self._kept(parts[value]) for value in sorted(parts, key=str)}

    def interval(
        self, metric: str, retriever: str, budget_tokens: int, *, dataset: str | None = None
    ) -> Interval | None:
        """Return the mean of a metric with its interval; None if no question has it.

        Args:
            metric: Name of the metric.
            retriever: Name of the retriever.
            budget_tokens: One of `budgets`.
            dataset: Name of the dataset; None for the mean of the means of all datasets.
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
        """Return the paired difference of two retrievers; None if no question has both figures.

        Args:
            first: Name of a retriever.
            second: Name of another one.
            budget_tokens: One of `budgets`.
            metric: One of `METRICS`.
            dataset: Name of the dataset; None for the mean of the means of all datasets.

        Raises:
            OptionError: If there is no such metric.
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
        """Return the differences of one retriever to each other one, adjusted for their number."""
        from spanwise.evaluation.statistics import among

        found = (
            self.compare(first, name, budget_tokens=budget_tokens, metric=metric, dataset=dataset)
            for name in self.retrievers
            if name != first
        )
        return among([one for one in found if one is not None])

    def to_plain(self) -> dict[str, Plain]:
        """Return the evaluation as dicts, lists and scalars; each question occurs once."""
        return write_evaluation(self)

    @staticmethod
    def from_plain(value: object) -> Evaluation:
        """Return an evaluation from the output of `to_plain`.

        Raises:
            OptionError: If the value has another form.
        """
        return read_evaluation(value)

    def _kept(self, scores: Iterable[Scored]) -> Evaluation:
        return replace(self, scores=tuple(scores))

    def _values(
        self, metric: str, retriever: str, budget_tokens: int, dataset: str | None
    ) -> dict[_Key, tuple[float, str]]:
        """Return the figure and the document of each question that has the figure."""
        out: dict[_Key, tuple[float, str]] = {}
        for one in self.scores:
            if (one.retriever, one.budget_tokens) != (retriever, budget_tokens):
                continue
            value = one.value(metric)
            if dataset in (None, one.dataset) and value is not None:
                out[one.dataset, one.question.id] = (value, one.evidence_document)
        return out


def merged(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Return several evaluations as one, such as those of several datasets or processes.

    Equal settings are kept. Different ones are kept under the number of each run, from 1.

    Raises:
        OptionError: If there are none, tokenizers differ, different questions of one dataset have
            one id, or a question was scored twice for the same retriever and budget.
    """
    tokenizers = dict.fromkeys(one.tokenizer for one in evaluations)
    if len(tokenizers) != 1:
        names = ", ".join(tokenizers) or "none"
        raise OptionError(f"tokens were counted by {names}; merge runs that count by one tokenizer")
    scores = tuple(score for one in evaluations for score in one.scores)
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
        notes=tuple(dict.fromkeys(note for one in evaluations for note in one.notes)),
    )


def _merged_settings(evaluations: Sequence[Evaluation]) -> dict[str, Plain]:
    first = evaluations[0].settings
    if all(one.settings == first for one in evaluations):
        return dict(first)
    return {f"run {place}": dict(one.settings) for place, one in enumerate(evaluations, start=1)}


_FORMAT = "spanwise-evaluation-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A score with the id of its question in place of the question."""

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
    """Return an evaluation as dicts, lists and scalars."""
    questions: dict[str, dict[str, LabelledQuestion]] = {}
    for one in evaluation.scores:
        questions.setdefault(one.dataset, {})[one.question.id] = one.question
    return {
        "format": _FORMAT,
        "tokenizer": evaluation.tokenizer,
        "settings": to_plain(evaluation.settings),
        "notes": list(evaluation.notes),
        "questions": {
            name: [_brief(question) for question in asked.values()]
            for name, asked in questions.items()
        },
        "scores": [_brief(_row(one)) for one in evaluation.scores],
    }


def read_evaluation(value: object) -> Evaluation:
    """Return an evaluation from the output of `write_evaluation`.

    Raises:
        OptionError: If the value has another form.
    """
    if not isinstance(value, Mapping) or value.get("format") != _FORMAT:
        raise OptionError(f'this is no evaluation: it must be an object with format "{_FORMAT}"')
    try:
        tokenizer, settings = value["tokenizer"], value["settings"]
        notes = value.get("notes", [])
        if not (
            isinstance(tokenizer, str) and isinstance(settings, dict) and isinstance(notes, list)
        ):
            raise OptionError(
                "this is no evaluation: its tokenizer, settings or notes cannot be read"
            )
        questions = {
            name: {one.id: one for one in map(read_question, asked)}
            for name, asked in value["questions"].items()
        }
        scores = tuple(_scored(from_plain(_Row, item), questions) for item in value["scores"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise OptionError(f"this is no evaluation that can be read: {error!r}") from error
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
    """Return a value as dicts, lists and scalars, without fields that have their default."""
    if isinstance(value, tuple):
        return [_brief(item) for item in value]
    if not is_dataclass(value):
        return to_plain(value)
    held = ((part, getattr(value, part.name)) for part in fields(value))
    return {part.name: _brief(item) for part, item in held if item != _default(part)}


def _default(part: Field[object]) -> object:
    return part.default if part.default_factory is MISSING else part.default_factory()


def read_question(value: object) -> LabelledQuestion:
    """Return a question from the output of `to_plain`.

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
