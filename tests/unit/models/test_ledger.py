"""No call begins that may cost more than is left; what runs is waited for."""

from __future__ import annotations

import threading
import time

import pytest

from spanwise.errors import CostLimitError, ModelError
from spanwise.models.caller import ModelCaller
from spanwise.models.ledger import Ledger
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.testing.models import ScriptedModel
from spanwise.types import Usage

# "12345678" and "Answer." are 15 characters: four tokens; with ten of output at most 14 dollars
MOST = 14.0
SHORT = 5.0
"""What it costs where one token is answered."""


def ask(number: int = 0) -> ModelRequest:
    return ModelRequest(
        task="test", instructions="Answer.", prompt=f"{number:08}", max_output_tokens=10
    )


def model(answer: str = "ok", *, concurrency: int = 4) -> ScriptedModel:
    return ScriptedModel(lambda _: answer, dollars_a_token=1.0, concurrency=concurrency)


def test_calls_go_on_as_long_as_the_next_one_surely_fits() -> None:
    caller = ModelCaller(model=model(), ledger=Ledger(max_cost=MOST + 2 * SHORT))
    for number in range(3):
        caller.call(ask(number), read=str)
    with pytest.raises(CostLimitError, match=r"15\.0000 US dollars are spent") as caught:
        caller.call(ask(3), read=str)
    assert "may cost 14.0000, more than max_cost of 24.0 allows" in str(caught.value)
    assert caller.usage.cost == 3 * SHORT


def test_a_limit_needs_a_price() -> None:
    unpriced = ScriptedModel(lambda _: "ok", dollars_a_token=None)
    with pytest.raises(CostLimitError, match="the price of scripted:model is not known"):
        ModelCaller(model=unpriced, ledger=Ledger(max_cost=1.0)).call(ask(), read=str)
    assert ModelCaller(model=unpriced).call(ask(), read=str) == "ok"
    assert unpriced.estimate(ask()).cost is None


def test_a_model_that_costs_nothing_is_called_with_nothing_to_spend() -> None:
    free = ScriptedModel(lambda _: "ok")
    assert ModelCaller(model=free, ledger=Ledger(max_cost=0.0)).call(ask(), read=str) == "ok"


def test_a_call_waits_for_those_that_hold_back_what_it_needs() -> None:
    """Ten calls of 5 dollars fit into 64, though no ten of at most 14 fit at once."""

    def slowly(_: ModelRequest) -> str:
        time.sleep(0.01)
        return "ok"

    slow = ScriptedModel(slowly, dollars_a_token=1.0, concurrency=10)
    caller = ModelCaller(model=slow, ledger=Ledger(max_cost=MOST + 10 * SHORT))
    answers = caller.call_all([ask(number) for number in range(10)], read=lambda _, text: text)
    assert answers == ["ok"] * 10
    assert caller.usage.cost == 10 * SHORT


def test_a_call_that_fails_gives_back_what_it_held() -> None:
    def answer(request: ModelRequest) -> str:
        if request.prompt == ask(0).prompt:
            raise ModelError("down", provider="scripted", model="model")
        return "ok"

    caller = ModelCaller(
        model=ScriptedModel(answer, dollars_a_token=1.0), ledger=Ledger(max_cost=MOST)
    )
    with pytest.raises(ModelError, match="down"):
        caller.call(ask(0), read=str)
    assert caller.call(ask(1), read=str) == "ok"


def test_where_the_price_of_an_answer_is_not_known_the_most_it_may_cost_is_spent() -> None:
    class Unpriced(ScriptedModel):
        def generate(self, request: ModelRequest) -> ModelReply:
            return ModelReply(text="ok", usage=Usage(calls=1, cost=None), model="fallback")

    caller = ModelCaller(model=Unpriced(str, dollars_a_token=1.0), ledger=Ledger(max_cost=2 * MOST))
    caller.call(ask(0), read=str)
    caller.call(ask(1), read=str)
    with pytest.raises(CostLimitError, match=r"28\.0000 US dollars are spent"):
        caller.call(ask(2), read=str)
    assert caller.usage.cost is None


def test_a_stream_that_nobody_reads_lets_no_call_wait_for_it() -> None:
    caller = ModelCaller(model=model("one two"), ledger=Ledger(max_cost=MOST + 1))
    pieces = caller.stream(ask(0), read=str)
    next(pieces)
    with pytest.raises(CostLimitError):
        caller.call(ask(1), read=str)
    list(pieces)


def test_calls_that_do_not_fit_are_refused_on_every_thread() -> None:
    begun = threading.Semaphore(0)
    released = threading.Event()

    def answer(_: ModelRequest) -> str:
        begun.release()
        released.wait(10)
        return "x" * 40

    caller = ModelCaller(
        model=ScriptedModel(answer, dollars_a_token=1.0, concurrency=8),
        ledger=Ledger(max_cost=2 * MOST + 1),
    )
    refused = []

    def one(number: int) -> None:
        try:
            caller.call(ask(number), read=str)
        except CostLimitError as error:
            refused.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        begun.acquire()
    released.set()
    for thread in threads:
        thread.join()
    assert len(refused) == 6
    assert caller.usage.cost == 2 * MOST


def test_a_shared_budget_bounds_several_callers() -> None:
    budget = Ledger(max_cost=MOST + SHORT)
    first, second = (ModelCaller(model=model(), ledger=Ledger(parent=budget)) for _ in range(2))
    first.call(ask(0), read=str)
    second.call(ask(1), read=str)
    with pytest.raises(CostLimitError, match=r"10\.0000 US dollars are spent"):
        first.call(ask(2), read=str)
    assert (first.usage.cost, second.usage.cost, budget.usage.cost) == (SHORT, SHORT, 2 * SHORT)


def test_the_limit_of_an_operation_holds_inside_a_greater_budget() -> None:
    budget = Ledger(max_cost=1_000.0)
    caller = ModelCaller(model=model(), ledger=Ledger(max_cost=MOST, parent=budget))
    caller.call(ask(0), read=str)
    with pytest.raises(CostLimitError, match=f"max_cost of {MOST}"):
        caller.call(ask(1), read=str)
    assert ModelCaller(model=model(), ledger=Ledger(parent=budget)).call(ask(2), read=str) == "ok"


def test_calls_of_several_operations_wait_for_each_other_in_a_shared_budget() -> None:
    """Calls on several threads under two ledgers end, and stay inside of the budget."""

    def slowly(_: ModelRequest) -> str:
        time.sleep(0.01)
        return "ok"

    slow = ScriptedModel(slowly, dollars_a_token=1.0, concurrency=5)
    budget = Ledger(max_cost=MOST + 10 * SHORT)
    callers = [
        ModelCaller(model=slow, ledger=Ledger(max_cost=MOST + 5 * SHORT, parent=budget))
        for _ in range(2)
    ]
    found: list[list[str | ModelError]] = [[], []]

    def run(place: int) -> None:
        requests = [ask(10 * place + number) for number in range(5)]
        found[place] = callers[place].call_all(requests, read=lambda _, text: text)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["ok"] * 5] * 2
    assert budget.usage.cost == 10 * SHORT


def test_a_free_call_begins_where_more_than_the_limit_is_spent() -> None:
    ledger = Ledger(max_cost=1.0)
    ledger.count("checkpoint", Usage(cost=2.0))
    assert (
        ModelCaller(model=ScriptedModel(lambda _: "ok"), ledger=ledger).call(ask(), read=str)
        == "ok"
    )
    with pytest.raises(CostLimitError):
        ModelCaller(model=model(), ledger=ledger).call(ask(), read=str)
