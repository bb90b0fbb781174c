"""Runs that end where a model is not there."""

from __future__ import annotations

import pytest

from spanwise.errors import ModelAnswerError, ModelError
from spanwise.evaluation.run_models import FAILURES_IN_A_ROW, CircuitBreaker, call_with_breaker
from spanwise.models.caller import ModelCaller
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel

DOWN = ModelError("no connection", provider="scripted", model="m")
UNREAD = ModelAnswerError("no JSON", provider="scripted", model="m")
REQUESTS = [ModelRequest(task="t", instructions="", prompt=str(number)) for number in range(40)]


def model(*down: int) -> ScriptedModel:
    """Return a model that is not there for the requests of these numbers."""

    def answer(request: ModelRequest) -> str:
        if int(request.prompt) in down:
            raise DOWN
        return request.prompt

    return ScriptedModel(answer, concurrency=1)


@pytest.mark.parametrize("begin", [0, 10])
def test_a_model_that_is_lost_is_not_asked_on(begin: int) -> None:
    lost = model(*range(begin, 40))
    with pytest.raises(ModelError, match="no connection"):
        call_with_breaker(ModelCaller(model=lost), REQUESTS, read=lambda _, text: text)
    assert len(lost.requests) == begin + FAILURES_IN_A_ROW


def test_errors_stand_in_the_place_of_answers() -> None:
    said = call_with_breaker(
        ModelCaller(model=model(*range(0, 40, 2))), REQUESTS, read=lambda at, text: (at, text)
    )
    assert said == [DOWN if at % 2 == 0 else (at, str(at)) for at in range(40)]


def test_an_answer_that_cannot_be_read_was_reached() -> None:
    breaker = CircuitBreaker()
    for _ in range(20):
        for said in (*[DOWN] * (FAILURES_IN_A_ROW - 1), UNREAD):
            breaker.check(said)
