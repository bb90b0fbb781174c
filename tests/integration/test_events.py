"""Events of a knowledge base: the listener, log records and OpenTelemetry spans."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import KnowledgeBase
from spanwise.errors import QueryError

TEXT = "The gross margin fell because freight cost more.\n\nThe mill in Harrow was closed in May."
QUESTION = "Why did the gross margin fall?"


class Steps:
    """Listener that records names and counts."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, dict[str, int]]] = []

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        assert seconds >= 0
        self.steps.append((name, dict(counts)))


def _by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def test_a_listener_gets_each_operation_after_its_steps() -> None:
    log = Steps()
    with KnowledgeBase(":memory:", listener=log) as kb:
        kb.add_text(TEXT, document_id="report")
        result = kb.search(QUESTION)
    names = [name for name, _ in log.steps]
    assert names[-1] == "search"
    assert {"add_text", "extract"} <= set(names)
    assert names.index("add_text") < names.index("extract") < names.index("search")
    assert dict(log.steps)["search"]["tokens"] == result.tokens


def test_log_records_are_structured(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="spanwise"), KnowledgeBase(":memory:") as kb:
        kb.add_text(TEXT, document_id="report")
        kb.search(QUESTION)
    steps = {
        record.__dict__["spanwise_step"]: record.__dict__
        for record in caplog.records
        if "spanwise_step" in record.__dict__
    }
    assert steps["search"]["spanwise_seconds"] > 0
    assert steps["search"]["spanwise_counts"]["candidates"] > 0
    assert "margin" not in caplog.text


def test_steps_are_spans_below_their_operation(spans: InMemorySpanExporter) -> None:
    tracer = trace.get_tracer("application")
    with KnowledgeBase(":memory:") as kb:
        kb.add_text(TEXT, document_id="report")
        with tracer.start_as_current_span("request"):
            result = kb.search(QUESTION)
    by_name = _by_name(spans)
    request, search, step = (
        by_name[name] for name in ("request", "spanwise.search", "spanwise.extract")
    )
    assert search.parent is not None
    assert search.parent.span_id == request.context.span_id
    assert step.parent is not None
    assert step.parent.span_id == search.context.span_id
    assert search.attributes is not None
    assert search.attributes["spanwise.tokens"] == result.tokens
    assert step.start_time is not None
    assert search.start_time is not None
    assert step.start_time >= search.start_time


def test_calls_of_models_are_spans_below_the_answer(spans: InMemorySpanExporter) -> None:
    form = {
        "answered": True,
        "statements": [{"text": "Freight.", "quotes": [{"segment": 1, "quote": TEXT[:48]}]}],
        "conflicts": [],
        "missing": "",
    }

    def reply(_: Received) -> Reply:
        return chat(json.dumps(form), input_tokens=500, output_tokens=60)

    with ScriptedServer(reply) as server, KnowledgeBase(":memory:") as kb:
        kb.add_text(TEXT, document_id="report")
        kb.ask(QUESTION, llm=f"compatible:scripted@{server.url}/v1", write_queries=False)
    by_name = _by_name(spans)
    call, ask = by_name["spanwise.model.answer"], by_name["spanwise.ask"]
    assert call.attributes is not None
    assert call.attributes["spanwise.input_tokens"] == 500
    assert call.context.trace_id == ask.context.trace_id


def test_a_failed_operation_names_the_kind_of_its_error_only(spans: InMemorySpanExporter) -> None:
    with KnowledgeBase(":memory:") as kb, pytest.raises(QueryError):
        kb.search("   ")
    span = _by_name(spans)["spanwise.search"]
    assert span.attributes is not None
    assert span.attributes["error.type"] == "QueryError"
    assert span.events == ()
