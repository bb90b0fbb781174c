"""An evaluation as JSON: questions once, then what each retriever reached for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.results import Evaluation, Scored
from spanwise.evaluation.retrieval import Retrieved
from spanwise.plain import Plain, from_plain, to_plain
from spanwise.types import Scalar, Usage

__all__ = ["read_evaluation", "read_question", "write_evaluation"]

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
    """Return an evaluation of what `write_evaluation` gave.

    Raises:
        OptionError: If it is not of that form.
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
    """Return a question of what `to_plain` gave of it.

    Raises:
        TypeError: If it is no object, or its metadata are no scalars.
        ValueError: If a field is missing, or a value is of another kind.
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
