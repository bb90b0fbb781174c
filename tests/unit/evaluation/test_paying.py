"""One purse for the models of a run."""

from __future__ import annotations

import pytest

from spanwise.calls.outputs import MemoryOutputs
from spanwise.errors import CostLimitError, OptionError
from spanwise.evaluation.paying import CallCounter, Purse
from spanwise.options import ModelOptions
from spanwise.ports import ModelReply, ModelRequest
from spanwise.testing.models import ScriptedModel

REQUEST = ModelRequest(task="t", instructions="", prompt="x" * 40, max_output_tokens=10)


def model(price: float | None = 0.01) -> ScriptedModel:
    return ScriptedModel(lambda _: "y" * 40, dollars_a_token=price)


def test_models_share_a_limit() -> None:
    purse = Purse(ModelOptions(max_cost=0.5), kept=MemoryOutputs())
    first, second = purse.model(model()), purse.model(model())
    first.generate(REQUEST)  # 20 tokens: .20
    *_, reply = second.stream(REQUEST)
    assert isinstance(reply, ModelReply)
    with pytest.raises(CostLimitError, match=r"0\.4000 US dollars are spent"):
        first.generate(REQUEST)


def test_without_a_limit_there_is_none() -> None:
    metered = Purse(ModelOptions(), kept=MemoryOutputs()).model(model(None))
    assert metered.generate(REQUEST).text == "y" * 40
    assert (metered.name, metered.concurrency) == ("scripted:model", 4)


def test_a_limit_on_what_has_no_price_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(OptionError, match="price of scripted:model is not known"):
        Purse(ModelOptions(max_cost=1), kept=MemoryOutputs()).model(model(None))


def test_calls_are_counted_those_that_were_kept_too() -> None:
    heard: list[int] = []
    counter = CallCounter(heard.append)
    for counts in ({"calls": 1, "cached_calls": 0}, {"calls": 0, "cached_calls": 1}):
        counter.on_step("model.t", seconds=0.1, counts=counts)
    assert heard == [1, 2]
