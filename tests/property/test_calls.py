"""Laws of calling models: order, money, what is kept."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import CostLimitError, ModelError
from spanwise.models.caller import MemoryOutputs, ModelCaller
from spanwise.models.dry_run import dry_run_caller
from spanwise.models.ledger import Ledger
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel
from spanwise.threads import map_bounded

WIDTHS = st.integers(1, 12)
NUMBERS = st.lists(st.integers(0, 9), max_size=30)


def ask(number: int) -> ModelRequest:
    prompt = "question " * number
    return ModelRequest(
        task=f"task {number % 2}",
        instructions="Answer.",
        prompt=prompt,
        max_output_tokens=20,
        typical="words " * (number % 3),
    )


def answer(request: ModelRequest) -> str:
    """Return one to twenty tokens."""
    return "word" * (1 + len(request.prompt) * 7 % 20)


@given(numbers=NUMBERS, limit=WIDTHS)
def test_results_are_those_of_one_thread(numbers: list[int], limit: int) -> None:
    assert map_bounded(str, numbers, limit=limit) == list(map(str, numbers))


@settings(max_examples=60)
@given(numbers=NUMBERS, limit=WIDTHS, max_cost=st.floats(0, 400))
def test_the_limit_on_the_cost_is_never_crossed(
    numbers: list[int], limit: int, max_cost: float
) -> None:
    model = ScriptedModel(answer, dollars_a_token=1.0, concurrency=limit)
    caller = ModelCaller(model=model, ledger=Ledger(max_cost=max_cost))
    try:
        caller.call_all([ask(number) for number in numbers], read=lambda _, text: text)
    except CostLimitError:
        # what was left would not have done for the dearest call of those that were not made
        spent = caller.usage.cost
        assert spent is not None
        assert spent + max(model.estimate(ask(number)).cost or 0.0 for number in numbers) > max_cost
    assert (caller.usage.cost or 0.0) <= max_cost


@settings(max_examples=60)
@given(numbers=NUMBERS, limit=WIDTHS)
def test_each_different_request_is_made_once_and_a_repeated_run_makes_none(
    numbers: list[int], limit: int
) -> None:
    model = ScriptedModel(answer, concurrency=limit)
    outputs = MemoryOutputs()
    requests = [ask(number) for number in numbers]
    first = ModelCaller(model=model, cache=outputs)
    answers = first.call_all(requests, read=lambda _, text: text)
    assert answers == [answer(request) for request in requests]
    assert first.usage.calls == len(set(numbers)) == len(model.requests)
    again = ModelCaller(model=model, cache=outputs)
    assert again.call_all(requests, read=lambda _, text: text) == answers
    assert (again.usage.calls, again.usage.cached_calls) == (0, len(numbers))
    assert again.usage.cost == 0


@settings(max_examples=60)
@given(numbers=NUMBERS, limit=WIDTHS, failing=st.sets(st.integers(0, 9)))
def test_a_call_that_fails_takes_no_other_with_it(
    numbers: list[int], limit: int, failing: set[int]
) -> None:
    def fail(request: ModelRequest) -> str:
        if request in [ask(number) for number in failing]:
            raise ModelError("down", provider="scripted", model="model")
        return answer(request)

    caller = ModelCaller(model=ScriptedModel(fail, concurrency=limit))
    answers = caller.call_all([ask(number) for number in numbers], read=lambda _, text: text)
    for number, given_answer in zip(numbers, answers, strict=True):
        assert isinstance(given_answer, ModelError) == (number in failing)


@settings(max_examples=60)
@given(numbers=NUMBERS, kept=st.sets(st.integers(0, 9)), is_faulty=st.booleans())
def test_an_estimate_is_an_upper_bound(numbers: list[int], kept: set[int], is_faulty: bool) -> None:
    """The bound also holds if the first answer to each request is unusable."""

    model = ScriptedModel(answer, dollars_a_token=1.0)
    outputs = MemoryOutputs()
    for number in kept:
        ModelCaller(model=model, cache=outputs).call(ask(number), read=str)
    requests = [ask(number) for number in numbers]
    foreseen = dry_run_caller(model, cache=outputs)
    foreseen.call_all(requests, read=lambda _, text: text)

    def faulty_answer(request: ModelRequest) -> str:
        is_first = "could not be used" not in request.prompt
        return "unusable" if is_faulty and is_first else answer(request)

    def read(_: int, text: str) -> str:
        if text == "unusable":
            raise ValueError("it is not usable " * 40)
        return text

    actual = ScriptedModel(faulty_answer, dollars_a_token=1.0)
    real = ModelCaller(model=actual, cache=outputs)
    real.call_all(requests, read=read)
    for task, usage in real.usage_by_task.items():
        before = foreseen.usage_by_task[task]
        assert before.calls >= usage.calls
        assert before.repeated_calls >= usage.repeated_calls
        assert before.input_tokens >= usage.input_tokens
        assert before.output_tokens >= usage.output_tokens
    assert (foreseen.usage.cost or 0.0) >= (real.usage.cost or 0.0)
