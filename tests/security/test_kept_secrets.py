"""An API key is in no file, log record, span, event, error or `repr` after it was used."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.servers.capable import capable_reply
from tests.servers.scripted import Received, Reply, ScriptedServer

from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.errors import ModelError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

KEY = "sk-of-no-use-0123456789"
TEXT = "# Pier\n\nThe pier is 30 m long. It was built in 1911 by the harbour company.\n"


def echo(received: Received) -> Reply:
    """Refuse a request, and repeat its key, as some servers do."""
    said = f"Incorrect API key provided: {received.headers.get('authorization', '')}"
    body = {"error": {"message": said, "type": "invalid_request_error", "code": KEY}}
    return Reply(body=json.dumps(body).encode(), status=401)


def test_a_key_is_nowhere_after_its_use(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    spans: InMemorySpanExporter,
) -> None:
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    options = ModelOptions(retries=0, timeout_seconds=20)
    with ScriptedServer(capable_reply) as good, ScriptedServer(echo) as bad:
        model, refusing = f"compatible:m@{good.url}/v1", f"compatible:m@{bad.url}/v1"
        with KnowledgeBase(tmp_path / "a.kb", embedder=None, models=options) as base:
            context = ContextOptions(headers=True)
            (tmp_path / "pier.md").write_text(TEXT)
            report = base.add(tmp_path / "pier.md", llm=model, context=context)
            answer = base.ask("How long is the pier?", llm=model, thread="talk")
            with pytest.raises(ModelError) as caught:
                base.ask("When was the pier built?", llm=refusing)
            with pytest.raises(ModelError) as stopped:
                base.add_text(TEXT, document_id="b", llm=refusing, context=context)
            base.backup(tmp_path / "copy.kb")
            base.export_to(tmp_path / "exported")
            errors = [caught.value, stopped.value]
            objects = [base, report, answer, options, *errors, base.threads.get("talk")]
            shown += map(repr, objects)
        assert any(one.headers.get("authorization") == f"Bearer {KEY}" for one in good.received)
        assert bad.received
    shown += ["".join(traceback.format_exception(error)) for error in errors]
    shown += [span.to_json() for span in spans.get_finished_spans()]
    shown += [
        f"{record.getMessage()} {record.__dict__}"
        for record in caplog.records
        if record.name.startswith("spanwise") or record.levelno >= logging.INFO
    ]  # the clients of vendors log requests at the level DEBUG
    shown += [str(pickle.dumps(one)) for one in (report, answer, options)]
    assert not [text for text in shown if KEY in text]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
