"""Graded answers as JSON: what `to_plain` gives of them, read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spanwise.errors import OptionError
from spanwise.evaluation.judging.graded import Graded, Judged
from spanwise.evaluation.reading.faults import shown
from spanwise.evaluation.results_form import read_question
from spanwise.plain import from_plain

__all__ = ["read_judged"]


def read_judged(value: object) -> Judged:
    """Return graded answers of what `to_plain` gave of them.

    Raises:
        OptionError: If it is not of that form.
    """
    if not isinstance(value, Mapping):
        raise OptionError(f"these are no graded answers that can be read: {shown(value)}")
    try:
        judged = from_plain(Judged, {**value, "grades": []})
        grades = tuple(_read_graded(item) for item in value["grades"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise OptionError(f"these are no graded answers that can be read: {error!r}") from error
    return replace(judged, grades=grades)


def _read_graded(item: Mapping[str, object]) -> Graded:
    question = read_question(item["question"])
    return replace(
        from_plain(Graded, {**item, "question": {"id": question.id, "text": question.text}}),
        question=question,
    )
