"""Measure the overhead of our code on model calls: python -m benchmarks.model_calls.

A local server answers each call after a fixed latency (--latency). First, calls are made one at a
time and --at-once in parallel, and the time beyond the latency is printed. Then a report of
--pages pages is added, with sections and summaries by the model, and added again from the cache.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from benchmarks.lib.corpus import documents, sentences
from benchmarks.lib.model_server import running_model
from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.core.text.fences import fenced
from spanwise.models.caller import ModelCaller
from spanwise.models.ports import ModelRequest
from spanwise.models.registry import make_language_model

PAGE_CHARS = 3_000
PROMPT_CHARS = 20_000


class Form(BaseModel):
    """Answer type of a call."""

    title: str


def report_text(pages: int) -> str:
    """Return the text of a long report without headings, with a form feed after each page."""
    parts = [text for _, text in documents(sentences(None), chunks=pages * PAGE_CHARS // 300)]
    text = "\n\n".join(parts)[: pages * PAGE_CHARS]
    return "\f".join(text[start : start + PAGE_CHARS] for start in range(0, len(text), PAGE_CHARS))


def measure_calls(text: str, *, count: int, at_once: int, latency: float) -> None:
    """Print the time of calls beyond the latency of the model."""
    with running_model(latency) as server:
        options = ModelOptions(concurrency=at_once)
        caller = ModelCaller(
            model=make_language_model(f"compatible:scripted@{server.url}/v1", options=options)
        )
        caller.call(_request(text, 0), read=Form.model_validate_json)  # loads what is loaded once
        requests = [_request(text, number) for number in range(1, count + 1)]
        used, started = time.process_time(), time.perf_counter()
        answers = caller.call_all(requests, read=lambda _, said: Form.model_validate_json(said))
        seconds, used = time.perf_counter() - started, time.process_time() - used
        model_seconds = sum(end - begin for begin, end in server.calls()[1:])
    assert all(isinstance(one, Form) for one in answers), answers
    # where all places are taken all the time, the model's time is at_once times that of the clock
    added = seconds * at_once / model_seconds - 1
    print(
        f"{count} calls, {at_once:2d} at once: {seconds:.2f} s; the model's own time is "
        f"{model_seconds:.2f} s; by the clock we add {100 * added:.1f} % to it, and processor time "
        f"of {100 * used / model_seconds:.1f} % of it ({1_000 * used / count:.1f} ms a call)",
        flush=True,
    )


def measure_report(text: str, *, at_once: int, latency: float) -> None:
    """Print the time to add a report, without and with a model."""
    with tempfile.TemporaryDirectory() as place, running_model(latency) as server:
        path = Path(place) / "report.txt"
        path.write_text(text, encoding="utf-8")
        with KnowledgeBase(Path(place) / "plain.kb") as base:
            started = time.perf_counter()
            base.add(path)
            print(f"without a model: {time.perf_counter() - started:.2f} s", flush=True)
        options = ModelOptions(concurrency=at_once)
        with KnowledgeBase(Path(place) / "made.kb", models=options) as base:
            for what in ("with a model", "again"):
                used, started = time.process_time(), time.perf_counter()
                report = base.add(
                    path,
                    llm=f"compatible:scripted@{server.url}/v1",
                    context=ContextOptions(sections=True, headers=True),
                )
                seconds, used = time.perf_counter() - started, time.process_time() - used
                assert not report.warnings, report.warnings
                print(
                    f"{what}: {seconds:.2f} s, {report.usage.calls} calls, {at_once} at once; "
                    f"processor {used:.2f} s",
                    flush=True,
                )
            sections = len(base.sections("report.txt"))
        calls = server.calls()
    busy, all_seconds = busy_seconds(calls), sum(end - begin for begin, end in calls)
    print(
        f"{len(text):,} characters, {sections} sections; of the {len(calls)} calls that came, at "
        f"least one ran during {busy:.2f} s; all of them took {all_seconds:.2f} s",
        flush=True,
    )


def busy_seconds(calls: Sequence[tuple[float, float]]) -> float:
    """Return the time in seconds during which at least one call was running."""
    seconds, until = 0.0, float("-inf")
    for begin, end in sorted(calls):
        seconds += max(0.0, end - max(begin, until))
        until = max(until, end)
    return seconds


def _request(text: str, number: int) -> ModelRequest:
    """Return a request with a different part of a text."""
    start = number * 997 % max(1, len(text) - PROMPT_CHARS)
    return ModelRequest(
        task="benchmark",
        instructions='Write a title for the text. Answer in JSON: {"title": "..."}',
        prompt=fenced(f"{number}\n{text[start : start + PROMPT_CHARS]}", name="text"),
        answer=Form,
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of one call")
    parser.add_argument("--at-once", type=int, default=16, help="calls at the same time")
    parser.add_argument("--calls", type=int, default=480)
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.pages, arguments.latency, arguments.calls = 12, 0.02, 32
    text = report_text(arguments.pages)
    print(f"{arguments.latency} s a call, load {os.getloadavg()[0]:.1f}", flush=True)
    for at_once in (1, arguments.at_once):
        count = arguments.calls * at_once // arguments.at_once
        measure_calls(text, count=count, at_once=at_once, latency=arguments.latency)
    measure_report(text, at_once=arguments.at_once, latency=arguments.latency)


if __name__ == "__main__":
    main()
