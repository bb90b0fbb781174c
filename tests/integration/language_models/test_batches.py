"""The batch interface: written from the references of OpenAI, nothing recorded.

https://platform.openai.com/docs/api-reference/batch and the guide to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from tests.integration.language_models.exchanges import KEY, OPENAI, TEXT, reply
from tests.integration.language_models.test_vendors import model_of
from tests.servers.scripted import Received, Reply, ScriptedServer, failure

from spanwise.errors import ModelError, OptionError
from spanwise.models.caller import MemoryOutputs
from spanwise.models.fallback import FallbackModel
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.models.providers.batches import BatchModel, make_batch_model
from spanwise.models.registry import make_language_model
from spanwise.options import ModelOptions
from spanwise.testing.models import ScriptedModel

Line = Mapping[str, object]


def answered(custom_id: str) -> Line:
    return {
        "id": "batch_req_1",
        "custom_id": custom_id,
        "response": {"status_code": 200, "request_id": "1", "body": OPENAI.text},
        "error": None,
    }


def expired(custom_id: str) -> Line:
    error = {"code": "batch_expired", "message": "This request could not be executed in time."}
    return {"id": "batch_req_1", "custom_id": custom_id, "response": None, "error": error}


@dataclass
class BatchService:
    """Takes batches, and ends each when it was looked at a second time."""

    line: Callable[[str], Line] = answered
    batches: list[list[str]] = field(default_factory=list)
    """The ids of the requests of each."""
    looks: int = 0
    ends: bool = True

    def __call__(self, received: Received) -> Reply:
        path = received.path.removeprefix("/v1")
        if path == "/files":
            ids = re.findall(rb'"custom_id":"(\w+)"', received.raw)
            self.batches.append([one.decode() for one in ids])
            return reply({"id": f"in_{len(self.batches)}", "object": "file", "bytes": 1})
        if path == "/batches":
            return reply(self._batch(len(self.batches), "validating"))
        if path.startswith("/batches/"):
            self.looks += 1
            number = int(path.rpartition("_")[2])
            done = self.ends and self.looks > 1
            return reply(self._batch(number, "completed" if done else "in_progress"))
        if path.endswith("/content"):
            number = int(path.split("/")[2].rpartition("_")[2])
            lines = [json.dumps(self.line(one)) for one in self.batches[number - 1]]
            return Reply(body="\n".join(lines).encode())
        return reply({"id": "in_1", "object": "file", "deleted": True})

    def _batch(self, number: int, status: str) -> dict[str, object]:
        done = {"output_file_id": f"out_{number}"} if status == "completed" else {}
        return {
            "id": f"batch_{number}",
            "object": "batch",
            "endpoint": "/v1/responses",
            "input_file_id": f"in_{number}",
            "completion_window": "24h",
            "status": status,
            "created_at": 1_700_000_000,
            **done,
        }


def requests(count: int) -> list[ModelRequest]:
    return [
        ModelRequest(task="title", instructions="You write titles.", prompt=f"Title {number}.")
        for number in range(count)
    ]


def batch_model(server: ScriptedServer, kept: MemoryOutputs, *, retries: int = 2) -> BatchModel:
    model = make_batch_model(model_of(OPENAI, server.url, retries=retries), cache=kept)
    model.gather_seconds, model.poll_seconds = 0.2, 0.1
    return model


def ask(model: BatchModel, asked: list[ModelRequest]) -> list[ModelReply]:
    with ThreadPoolExecutor(len(asked)) as pool:
        return list(pool.map(model.generate, asked))


def test_requests_that_come_together_are_one_batch_at_half_the_price() -> None:
    service = BatchService()
    with ScriptedServer(service) as server:
        model = batch_model(server, MemoryOutputs())
        replies = ask(model, requests(5))
        single = model.model.estimate(requests(1)[0]).cost
    assert [len(ids) for ids in service.batches] == [5]
    assert [one.text for one in replies] == [TEXT] * 5
    assert [one.usage.calls for one in replies] == [1] * 5
    assert replies[0].usage.input_tokens == 100
    assert replies[0].usage.cost == pytest.approx(3e-05 / 2, rel=0.01)
    half = model.estimate(requests(1)[0]).cost
    assert single is not None
    assert half == pytest.approx(single / 2)


def test_a_repeated_run_waits_for_the_batch_that_was_sent() -> None:
    """As after a kill: another object, the same notes. What was sent is not sent again."""
    service, kept = BatchService(), MemoryOutputs()
    with ScriptedServer(service) as server:
        first = ask(batch_model(server, kept), requests(3))
        again = ask(batch_model(server, kept), requests(3))
    assert [one.text for one in again] == [one.text for one in first]
    assert len(service.batches) == 1


def test_what_a_batch_did_not_answer_goes_into_another() -> None:
    service = BatchService()

    def line(custom_id: str) -> Line:
        return (expired if len(service.batches) == 1 else answered)(custom_id)

    service.line = line
    with ScriptedServer(service) as server:
        (answer,) = ask(batch_model(server, MemoryOutputs()), requests(1))
    assert answer.text == TEXT
    assert answer.usage.retries == 1
    assert len(service.batches) == 2


def test_what_no_batch_answers_is_an_error() -> None:
    service = BatchService(line=expired)
    with ScriptedServer(service) as server, pytest.raises(ModelError) as caught:
        ask(batch_model(server, MemoryOutputs(), retries=1), requests(1))
    assert caught.value.retryable
    assert len(service.batches) == 2


def test_a_request_that_is_refused_is_not_sent_again() -> None:
    def refused(custom_id: str) -> Line:
        body = {"error": {"message": "no such thing", "type": "invalid_request_error"}}
        response = {"status_code": 400, "request_id": "1", "body": body}
        return {"id": "1", "custom_id": custom_id, "response": response, "error": None}

    service = BatchService(line=refused)
    with ScriptedServer(service) as server, pytest.raises(ModelError, match="no such thing"):
        ask(batch_model(server, MemoryOutputs()), requests(1))
    assert len(service.batches) == 1


def test_a_batch_that_may_have_been_made_is_not_made_again() -> None:
    """A failure without an answer may hide a batch that is paid for."""
    service = BatchService()

    def answer(received: Received) -> Reply:
        return failure(500) if received.path == "/v1/batches" else service(received)

    with ScriptedServer(answer) as server, pytest.raises(ModelError) as caught:
        ask(batch_model(server, MemoryOutputs()), requests(2))
    assert len(service.batches) == 1
    assert KEY not in str(caught.value)


def test_a_batch_that_cannot_be_looked_at_is_not_made_again() -> None:
    """It may hold the answer, which was paid: the next run looks at it again."""
    service, kept, down = BatchService(), MemoryOutputs(), [True]

    def answer(received: Received) -> Reply:
        looks = received.path.startswith("/v1/batches/")
        return failure(503) if looks and down else service(received)

    with ScriptedServer(answer) as server:
        with pytest.raises(ModelError, match="503"):
            ask(batch_model(server, kept, retries=1), requests(1))
        down.clear()
        (found,) = ask(batch_model(server, kept), requests(1))
    assert found.text == TEXT
    assert len(service.batches) == 1


def test_a_batch_that_is_kept_no_more_is_made_again() -> None:
    service, kept = BatchService(), MemoryOutputs()

    def answer(received: Received) -> Reply:
        return failure(404) if received.path == "/v1/batches/batch_1" else service(received)

    with ScriptedServer(answer) as server:
        (found,) = ask(batch_model(server, kept), requests(1))
    assert found.text == TEXT
    assert len(service.batches) == 2


def test_a_stream_is_not_kept_waiting() -> None:
    with ScriptedServer(reply(OPENAI.text)) as server:
        model = batch_model(server, MemoryOutputs())
        with pytest.raises(ModelError):  # the service of this test has no streams
            list(model.stream(requests(1)[0]))
    assert server.received[0].path == "/v1/responses"


def test_a_model_without_batches_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = ScriptedModel(lambda _: "")
    plain = make_language_model("ollama:qwen3", options=ModelOptions())
    for model in (scripted, plain, FallbackModel(model=plain, second=plain)):
        with pytest.raises(OptionError, match=f"{model.name!r} has no batch interface"):
            make_batch_model(model, cache=MemoryOutputs())
