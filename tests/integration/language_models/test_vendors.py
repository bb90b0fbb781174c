"""Each vendor's formats: what it is sent, what its answers and its errors mean.

The exchanges are written from the published references; nothing here was recorded.
"""

from __future__ import annotations

import base64
import json
import traceback
from dataclasses import replace

import pytest
from pydantic import BaseModel
from tests.integration.language_models.exchanges import EXCHANGES, FORM, KEY, TEXT, Exchange, reply
from tests.servers.scripted import ScriptedServer

from spanwise.config import Secret
from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.ports import ModelRequest
from spanwise.models.providers.catalog import parse_model_spec
from spanwise.models.providers.connections import Connection
from spanwise.models.providers.language_model import VendorModel, make_model
from spanwise.options import ModelOptions
from spanwise.types import Usage

CONNECTIONS: list[Connection] = []
"""Held to the end, as for users: their clients would complain of sockets that are not closed."""


class Title(BaseModel):
    title: str
    pages: int


REQUEST = ModelRequest(
    task="title",
    instructions="You write titles.",
    shared="<document>\nHarbour dues of the year\n</document>",
    prompt="Write the title.",
    max_output_tokens=300,
)
FORM_REQUEST = ModelRequest(
    task="title", instructions="You write titles.", prompt="Write the title.", answer=Title
)


@pytest.fixture(params=EXCHANGES, ids=lambda exchange: exchange.name.partition(":")[0])
def exchange(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Exchange:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    found = request.param
    assert isinstance(found, Exchange)
    return found


def model_of(exchange: Exchange, url: str, *, retries: int = 0) -> VendorModel:
    """Return the model as it is made for users, but that its provider has another address."""
    spec = parse_model_spec(exchange.name)
    provider = exchange.provider(url)
    connection = Connection(provider=provider, address="", secret=Secret(KEY))
    CONNECTIONS.append(connection)
    return VendorModel(
        spec=spec,
        options=ModelOptions(retries=retries, timeout_seconds=20),
        connection=connection,
        model=make_model(spec, connection),
    )


def test_a_text_is_asked_for_and_its_usage_is_counted(exchange: Exchange) -> None:
    with ScriptedServer(reply(exchange.text)) as server:
        model = model_of(exchange, server.url)
        answer = model.generate(REQUEST)
    assert answer.text == TEXT
    assert answer.model == exchange.name
    assert not answer.is_cut
    usage = answer.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 100, 7)
    assert usage.cached_input_tokens == exchange.cached_tokens
    if exchange.name.startswith("ollama"):
        assert usage.cost is None  # at another's server; see the tests of prices
    else:
        assert usage.cost is not None
        assert 0 < usage.cost < 0.01
    (received,) = server.received
    assert received.path.startswith(exchange.path)
    name, value = exchange.key_header
    assert received.headers[name].startswith(value)
    sent = json.dumps(received.body)
    for words in ("You write titles.", "Harbour dues of the year", "Write the title.", "300"):
        assert words in sent


def test_a_form_comes_back_as_json(exchange: Exchange) -> None:
    with ScriptedServer(reply(exchange.form)) as server:
        answer = model_of(exchange, server.url).generate(FORM_REQUEST)
    assert json.loads(answer.text) == FORM
    assert '"pages"' in json.dumps(server.received[0].body)


def test_a_picture_goes_with_the_prompt(exchange: Exchange) -> None:
    """As a PNG file in base 64, in the form of each vendor, or not at all."""
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    request = replace(REQUEST, images=(picture,))
    with ScriptedServer(reply(exchange.text)) as server:
        model = model_of(exchange, server.url, retries=3)
        if not model.spec.vendor.sees_pictures:
            with pytest.raises(ModelError, match="asked about pictures") as caught:
                model.generate(request)
            assert not caught.value.retryable
            assert server.received == []
            return
        assert model.generate(request).text == TEXT
    sent = json.dumps(server.received[0].body).replace("-", "+").replace("_", "/")
    assert base64.b64encode(picture).decode() in sent
    assert "image/png" in sent or '"png"' in sent


def test_what_is_cut_is_said_to_be(exchange: Exchange) -> None:
    with ScriptedServer(reply(exchange.cut)) as server:
        answer = model_of(exchange, server.url).generate(FORM_REQUEST)
    assert answer.is_cut
    assert answer.text == '{"title": "Harb'


def test_a_key_that_is_refused_is_an_error_that_does_not_show_it(exchange: Exchange) -> None:
    status, body = exchange.no_key
    with ScriptedServer(reply(body, status=status)) as server:
        model = model_of(exchange, server.url, retries=3)
        with pytest.raises(ModelKeyError) as caught:
            model.generate(REQUEST)
    assert len(server.received) == 1
    error = caught.value
    assert not error.retryable
    assert error.provider == exchange.name.partition(":")[0]
    assert model.spec.vendor.keys[0] in str(error)
    shown = "".join(traceback.format_exception(error))
    assert KEY not in shown
    assert KEY not in repr(error) + repr(model) + repr(model.connection)


def test_a_busy_provider_is_asked_again(exchange: Exchange) -> None:
    status, body = exchange.busy
    busy = reply(body, status=status, headers={exchange.retry_header: "1"})
    with ScriptedServer([busy, reply(exchange.text)]) as server:
        answer = model_of(exchange, server.url, retries=2).generate(REQUEST)
    assert answer.text == TEXT
    assert answer.usage.retries == 1
    first, second = server.received
    assert second.at - first.at >= 1


def test_a_busy_provider_is_an_error_when_all_calls_are_made(exchange: Exchange) -> None:
    """The client of a vendor makes no further calls of its own."""
    status, body = exchange.busy
    with (
        ScriptedServer(reply(body, status=status)) as server,
        pytest.raises(ModelError) as caught,
    ):
        model_of(exchange, server.url).generate(REQUEST)
    assert len(server.received) == 1
    assert caught.value.retryable
    assert caught.value.status == status
    assert caught.value.model == exchange.name.partition(":")[2]


def test_an_estimate_is_made_without_a_call(exchange: Exchange) -> None:
    model = model_of(exchange, "http://127.0.0.1:9")
    estimate = model.estimate(REQUEST)
    assert isinstance(estimate, Usage)
    assert 20 <= estimate.input_tokens <= 60
    assert estimate.output_tokens == 300
