"""What a provider can do wrong, and what becomes of it."""

from __future__ import annotations

import email.utils
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.servers.scripted import (
    Received,
    Reply,
    ScriptedServer,
    busy,
    chat,
    failure,
    refusal,
)

from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest
from spanwise.models.registry import make_language_model
from spanwise.options import ModelOptions

REQUEST = ModelRequest(task="title", instructions="You write titles.", prompt="Write one.")
KEY = "sk-test-0123456789abcdef"


class Title(BaseModel):
    title: str


def model_at(server: ScriptedServer, **options: Any) -> LanguageModel:
    return make_language_model(f"compatible:small@{server.url}/v1", options=ModelOptions(**options))


def raw(body: bytes, *, status: int = 200, cut_at: int | None = None) -> Reply:
    return Reply(body=body, status=status, cut_at=cut_at)


def whole(stream: bool, model: LanguageModel, request: ModelRequest = REQUEST) -> ModelReply:
    """Return the reply, asked for at once or as a stream."""
    if not stream:
        return model.generate(request)
    *_, last = model.stream(request)
    assert isinstance(last, ModelReply)
    return last


BROKEN = {
    "500": failure(500),
    "502 in HTML": raw(b"<html>bad gateway</html>", status=502),
    "503": failure(503),
    "429": busy(),
    "408": failure(408),
    "no JSON": raw(b"I am a proxy"),
    "truncated JSON": raw(b'{"id": "1", "choices": [{"message'),
    "wrong types": raw(json.dumps({"id": 7, "choices": "none", "usage": []}).encode()),
    "no choices": raw(json.dumps({"id": "1", "object": "chat.completion", "choices": []}).encode()),
    "empty body": raw(b""),
    "broken off": Reply(body=chat("hello").body, cut_at=40),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_may_pass_is_tried_again(name: str) -> None:
    with ScriptedServer([BROKEN[name], chat("Harbour dues")]) as server:
        reply = model_at(server, retries=1).generate(REQUEST)
    assert reply.text == "Harbour dues"
    assert reply.usage.retries == 1
    assert reply.usage.calls == 1
    assert len(server.received) == 2


@pytest.mark.parametrize("name", BROKEN)
def test_what_does_not_pass_is_a_typed_error(name: str) -> None:
    with (
        ScriptedServer(BROKEN[name]) as server,
        pytest.raises(ModelError) as caught,
    ):
        model_at(server, retries=0).generate(REQUEST)
    assert caught.value.retryable
    assert caught.value.provider == "compatible"
    assert caught.value.model == "small"
    assert caught.value.__cause__ is not None
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "try another model"), (404, "name of the model"), (413, "try another model")],
)
def test_a_request_that_is_refused_is_not_sent_again(status: int, words: str) -> None:
    with (
        ScriptedServer(failure(status, "no such thing")) as server,
        pytest.raises(ModelError, match=rf"no such thing.*{words}") as caught,
    ):
        model_at(server).generate(REQUEST)
    assert not caught.value.retryable
    assert caught.value.status == status
    assert len(server.received) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_wait_that_is_asked_for_is_kept(stream: bool) -> None:
    with ScriptedServer([busy(1), chat("Harbour dues")]) as server:
        reply = whole(stream, model_at(server))
    assert reply.usage.retries == 1
    first, second = server.received
    assert second.at - first.at >= 1


def test_a_wait_may_be_asked_for_as_a_date() -> None:
    when = email.utils.formatdate(time.time() + 2, usegmt=True)
    with ScriptedServer([busy(when), chat("Harbour dues")]) as server:
        model_at(server).generate(REQUEST)
    first, second = server.received
    assert second.at - first.at >= 0.9


def test_a_wait_that_is_asked_for_holds_for_all_calls() -> None:
    """Those that did not fail wait too, so that the provider is left alone."""
    with ScriptedServer([busy(1), chat("Harbour dues")]) as server:
        model = model_at(server, concurrency=4)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(model.generate, REQUEST)
            while not server.received:
                time.sleep(0.01)
            time.sleep(0.3)
            second = pool.submit(model.generate, REQUEST)
            first.result()
            second.result()
    begun = server.received[0].at
    assert all(one.at - begun >= 1 for one in server.received[1:])


def test_a_wait_that_is_too_long_is_an_error_at_once() -> None:
    with (
        ScriptedServer(busy(3_600)) as server,
        pytest.raises(ModelError, match=r"wait of 3,600 seconds, more than max_wait") as caught,
    ):
        model_at(server, max_wait_seconds=30).generate(REQUEST)
    assert caught.value.status == 429
    assert caught.value.retryable
    assert len(server.received) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_hangs_is_left(stream: bool) -> None:
    with ScriptedServer(chat("late", wait_seconds=60)) as server:
        begun = time.monotonic()
        with pytest.raises(ModelError, match=r"did not answer within 0.3 seconds") as caught:
            whole(stream, model_at(server, timeout_seconds=0.3, retries=1))
    assert time.monotonic() - begun < 30
    assert caught.value.retryable
    assert len(server.received) == 2


def test_a_server_that_is_not_there_is_an_error_that_names_the_address() -> None:
    with ScriptedServer(chat("hello")) as server:
        model = model_at(server, retries=1)
    with pytest.raises(ModelError, match=r"cannot be reached.*check the address") as caught:
        model.generate(REQUEST)
    assert caught.value.status is None
    assert caught.value.retryable


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_named_and_not_shown(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    with (
        ScriptedServer(failure(status, f"the key {KEY} is wrong")) as server,
        pytest.raises(ModelKeyError, match=r"COMPATIBLE_API_KEY.*keyring set spanwise") as caught,
    ):
        model_at(server).generate(REQUEST)
    assert server.received[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_a_call_that_is_not_answered_in_time_gets_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits as long; a server that is too slow for one is too slow for all of them."""
    with (
        ScriptedServer(chat("late"), latency_seconds=5) as server,
        pytest.raises(ModelError, match=r"did not answer within 0\.2 seconds"),
    ):
        model_at(server, timeout_seconds=0.2, retries=4).generate(REQUEST)
    assert len(server.received) == 2


def test_a_server_of_ones_own_is_asked_few_things_at_once() -> None:
    with ScriptedServer(chat("yes")) as server:
        assert model_at(server).concurrency == 4
        assert model_at(server, concurrency=16).concurrency == 16


def test_a_key_is_shown_by_no_error_of_a_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where it is hidden in what cannot be read, and in no log."""
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    caplog.set_level("DEBUG")

    def echo(received: Received) -> Reply:
        return raw(json.dumps({"headers": dict(received.headers)}).encode(), status=418)

    with ScriptedServer(echo) as server, pytest.raises(ModelError) as caught:
        model_at(server).generate(REQUEST)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in caplog.text


FILTERED = chat("", finish="content_filter", output_tokens=8)


@pytest.mark.parametrize(
    ("answer", "stream"), [(refusal(), False), (FILTERED, False), (FILTERED, True)]
)
def test_a_refusal_of_the_model_is_said_and_counted(answer: Reply, stream: bool) -> None:
    with ScriptedServer(answer) as server:
        reply = whole(stream, model_at(server))
    assert reply.refusal
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 100, 8)
    assert len(server.received) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_goes_to_the_fallback_and_both_are_counted(stream: bool) -> None:
    answered = chat("Harbour dues", output_tokens=2)
    with ScriptedServer(FILTERED) as first, ScriptedServer(answered) as second:
        options = ModelOptions(fallback=f"compatible:other@{second.url}/v1")
        model = make_language_model(f"compatible:small@{first.url}/v1", options=options)
        reply = whole(stream, model)
    assert reply.text == "Harbour dues"
    assert not reply.refusal
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (2, 200, 10)


def test_a_text_that_cannot_be_sent_is_said_at_once() -> None:
    request = replace(REQUEST, prompt="half a pair: \ud800")
    with (
        ScriptedServer(chat("Harbour dues")) as server,
        pytest.raises(ModelError, match="half a surrogate pair") as caught,
    ):
        model_at(server).generate(request)
    assert not caught.value.retryable
    assert server.received == []


def test_a_wait_of_nothing_is_not_taken_at_its_word() -> None:
    """All further calls would be spent within a moment."""
    with ScriptedServer([busy(0), busy(0), chat("Harbour dues")]) as server:
        model_at(server).generate(REQUEST)
    first, second, third = (one.at for one in server.received)
    assert second - first >= 0.25
    assert third - second >= 0.5


def test_an_empty_answer_is_an_empty_text() -> None:
    """Whoever asked reads it, and asks again."""
    with ScriptedServer(chat("")) as server:
        assert model_at(server).generate(REQUEST).text == ""


def test_an_answer_that_is_too_long_is_said_to_be_cut() -> None:
    with ScriptedServer(chat('{"title": "Harb', finish="length")) as server:
        reply = model_at(server).generate(REQUEST)
    assert reply.is_cut
    assert reply.text == '{"title": "Harb'


def test_fences_around_the_json_of_a_form_are_taken_off() -> None:
    request = ModelRequest(task="title", instructions="", prompt="Write one.", answer=Title)
    with ScriptedServer(chat('```json\n{"title": "Dues"}\n```')) as server:
        assert model_at(server).generate(request).text == '{"title": "Dues"}'


def test_what_a_server_does_not_count_is_counted_here() -> None:
    body = json.loads(chat("Harbour dues").body)
    del body["usage"]
    with ScriptedServer(raw(json.dumps(body).encode())) as server:
        model = model_at(server)
        reply = model.generate(REQUEST)
    assert reply.usage.input_tokens == model.estimate(REQUEST).input_tokens
    assert reply.usage.output_tokens >= 2


def test_a_stream_that_breaks_off_is_an_error_after_its_pieces() -> None:
    """What was read cannot be taken back, so that there is no further call."""
    with ScriptedServer(chat("one two three", cut_at=3)) as server:
        pieces: list[str | ModelReply] = []
        with pytest.raises(ModelError) as caught:
            pieces.extend(model_at(server, retries=3).stream(REQUEST))
    assert pieces == ["one", " two"]
    assert caught.value.retryable
    assert len(server.received) == 1


def test_a_stream_is_begun_again_before_its_first_piece() -> None:
    with ScriptedServer([failure(500), chat("one two")]) as server:
        *pieces, last = model_at(server).stream(REQUEST)
    assert pieces == ["one", " two"]
    assert isinstance(last, ModelReply)
    assert last.usage.retries == 1


def test_pieces_come_as_they_are_written() -> None:
    with ScriptedServer(chat("one two three", event_seconds=0.3)) as server:
        stream = model_at(server).stream(REQUEST)
        begun = time.monotonic()
        assert next(stream) == "one"
        first = time.monotonic() - begun
        rest = list(stream)
        assert time.monotonic() - begun - first > 0.5
    assert rest[:2] == [" two", " three"]


def test_no_more_calls_run_at_once_than_allowed() -> None:
    """All models of one provider count together."""
    with ScriptedServer(chat("hello"), latency_seconds=0.05) as server:
        models = [model_at(server, concurrency=3), model_at(server, concurrency=3)]
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda number: models[number % 2].generate(REQUEST), range(24)))
    assert len(server.received) == 24
    assert server.most_at_once <= 3


@pytest.mark.parametrize(
    "limits",
    [{"requests_per_minute": 3}, {"tokens_per_minute": 250}],
)
def test_no_more_calls_go_in_a_minute_than_allowed(
    limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute of this test is half a second. Each call takes 100 tokens."""
    monkeypatch.setattr("spanwise.models.providers.retry._WINDOW_SECONDS", 0.5)
    request = ModelRequest(task="title", instructions="", prompt="x", max_output_tokens=50)
    with ScriptedServer(chat("", input_tokens=100, output_tokens=0)) as server:
        model = model_at(server, **limits)
        for _ in range(7):
            model.generate(request)
    times = [one.at for one in server.received]
    most = limits.get("requests_per_minute", 2)
    spans = [later - sooner for sooner, later in zip(times, times[most:], strict=False)]
    assert all(span >= 0.45 for span in spans)


def test_a_fallback_answers_where_the_first_model_fails(caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(failure(500)) as broken, ScriptedServer(chat("Harbour dues")) as server:
        options = ModelOptions(retries=0, fallback=f"compatible:other@{server.url}/v1")
        model = make_language_model(f"compatible:small@{broken.url}/v1", options=options)
        reply = model.generate(REQUEST)
        *pieces, last = model.stream(REQUEST)
    assert reply.text == "Harbour dues"
    assert reply.model.startswith("compatible:other@")
    assert model.name.startswith("compatible:small@")
    assert pieces == ["Harbour", " dues"]
    assert isinstance(last, ModelReply)
    assert "failed" in caplog.text


def test_a_key_that_is_refused_does_not_send_all_to_the_fallback() -> None:
    with ScriptedServer(failure(401)) as broken, ScriptedServer(chat("Harbour dues")) as server:
        options = ModelOptions(fallback=f"compatible:other@{server.url}/v1")
        model = make_language_model(f"compatible:small@{broken.url}/v1", options=options)
        with pytest.raises(ModelKeyError):
            model.generate(REQUEST)
        with pytest.raises(ModelKeyError):
            list(model.stream(REQUEST))
    assert server.received == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("call", ["model.generate(request)", "list(model.stream(request))"])
def test_an_interrupt_ends_a_call_at_once(call: str, tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import sys
        from spanwise.options import ModelOptions
        from spanwise.models.ports import ModelRequest
        from spanwise.models.registry import make_language_model

        model = make_language_model(sys.argv[1], options=ModelOptions())
        request = ModelRequest(task="title", instructions="", prompt="Write one.")
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    with (
        ScriptedServer(chat("late", wait_seconds=60)) as server,
        subprocess.Popen(
            [sys.executable, "-c", program, f"compatible:small@{server.url}/v1"],
            stdout=subprocess.PIPE,
            cwd=tmp_path,
        ) as process,
    ):
        while not server.received:
            assert process.poll() is None
            time.sleep(0.02)
        begun = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    assert output.split() == [b"interrupted"]
    assert time.monotonic() - begun < 5
    assert process.returncode == 0


def test_a_stream_that_is_left_is_ended() -> None:
    """The place of the call is free again, long before it would have ended."""
    slow = chat("one two " * 200, event_seconds=0.05)
    with ScriptedServer([slow, chat("Harbour dues")]) as server:
        model = model_at(server, concurrency=1)
        stream = model.stream(REQUEST)
        begun = time.monotonic()
        assert next(stream) == "one"
        del stream
        assert model.generate(REQUEST).text == "Harbour dues"
        assert time.monotonic() - begun < 10
