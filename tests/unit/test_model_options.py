"""Options of models are checked when they are made."""

from __future__ import annotations

import pytest

from spanwise.errors import OptionError
from spanwise.options import (
    AnswerOptions,
    ContextOptions,
    ModelOptions,
    QueryOptions,
    RerankOptions,
)


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        (ModelOptions, "concurrency", -1),
        (ModelOptions, "retries", -1),
        (ModelOptions, "answer_retries", 11),
        (ModelOptions, "requests_per_minute", 0),
        (ModelOptions, "tokens_per_minute", 2.5),
        (ModelOptions, "timeout_seconds", 0),
        (ModelOptions, "max_wait_seconds", float("nan")),
        (ModelOptions, "max_cost", -0.01),
        (ContextOptions, "window_tokens", 199),
        (ContextOptions, "title_tokens", 0),
        (ContextOptions, "summary_tokens", "many"),
        (RerankOptions, "chunks", 0),
        (RerankOptions, "weight", -1),
        (RerankOptions, "weight", float("inf")),
        (QueryOptions, "queries", 7),
        (AnswerOptions, "excerpts", 33),
        (AnswerOptions, "history", -1),
        (AnswerOptions, "budget_tokens", 0),
        (AnswerOptions, "max_output_tokens", 0),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(
    options: type[object], field: str, value: object
) -> None:
    with pytest.raises(OptionError, match=f"^{field} is {value!r}; it must be "):
        options(**{field: value})


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        (ModelOptions, "max_cost", 0),
        (ModelOptions, "requests_per_minute", 1),
        (RerankOptions, "weight", 0.0),
        (QueryOptions, "queries", 6),
        (AnswerOptions, "history", 0),
    ],
)
def test_the_ends_of_a_range_are_in_it(options: type[object], field: str, value: object) -> None:
    assert getattr(options(**{field: value}), field) == value
