"""What an operation would take, without calling a model."""

from __future__ import annotations

import pytest

from spanwise.errors import ModelAnswerError
from spanwise.models.caller import MemoryOutputs, ModelCaller
from spanwise.models.dry_run import DryRunModel, dry_run_caller
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.testing.models import ScriptedModel


def ask(prompt: str, *, typical: str = "7") -> ModelRequest:
    return ModelRequest(
        task="test", instructions="Answer.", prompt=prompt, max_output_tokens=10, typical=typical
    )


def never(_: ModelRequest) -> str:
    raise AssertionError("the model was called")


def test_it_goes_on_with_the_typical_answer_and_counts_without_a_call() -> None:
    model = ScriptedModel(never, dollars_a_token=0.5)
    caller = dry_run_caller(model, cache=MemoryOutputs(), answer_retries=0)
    requests = [ask(f"question {number}") for number in range(5)]
    assert caller.call_all(requests, read=lambda _, text: int(text)) == [7] * 5
    usage = caller.usage
    assert (usage.calls, usage.output_tokens) == (5, 50)
    counted = sum(model.estimate(one).input_tokens for one in requests)
    assert counted < usage.input_tokens <= 1.5 * counted
    assert (usage.cost or 0) >= 0.5 * (counted + usage.output_tokens)


def test_an_answer_may_be_requested_again_as_often_as_is_allowed() -> None:
    """Repeated requests are counted separately: a run with usable answers makes none."""
    caller = dry_run_caller(ScriptedModel(never), cache=MemoryOutputs(), answer_retries=2)
    caller.call(ask("x"), read=int)
    assert (caller.usage.calls, caller.usage.repeated_calls) == (3, 2)


def test_what_is_kept_costs_nothing_and_nothing_is_kept_of_what_is_foreseen() -> None:
    outputs = MemoryOutputs()
    model = ScriptedModel(lambda _: "8")
    ModelCaller(model=model, cache=outputs).call(ask("kept"), read=int)
    caller = dry_run_caller(model, cache=outputs, answer_retries=0)
    assert caller.call(ask("kept"), read=int) == 8
    assert caller.call(ask("missing"), read=int) == 7
    assert caller.call(ask("missing"), read=int) == 7
    assert (caller.usage.calls, caller.usage.cached_calls) == (2, 1)
    assert ModelCaller(model=model, cache=outputs).call(ask("missing"), read=int) == 8


def test_a_typical_answer_that_is_not_usable_is_counted_once() -> None:
    caller = dry_run_caller(ScriptedModel(never), cache=MemoryOutputs(), answer_retries=0)
    with pytest.raises(ModelAnswerError):
        caller.call(ask("x", typical=""), read=int)
    assert caller.usage.calls == 1


def test_it_has_name_width_and_estimates_of_the_other_model() -> None:
    other = ScriptedModel(never, name="a:b", concurrency=9)
    model = DryRunModel(model=other)
    assert (model.name, model.concurrency) == ("a:b", 9)
    assert model.estimate(ask("x")) == other.estimate(ask("x"))


def test_a_stream_is_the_typical_answer() -> None:
    pieces = list(DryRunModel(model=ScriptedModel(never)).stream(ask("x")))
    assert pieces[0] == "7"
    assert isinstance(pieces[-1], ModelReply)
    assert pieces[-1].text == "7"
