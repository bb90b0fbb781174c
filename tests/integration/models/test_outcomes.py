"""What becomes of documents, searches and questions when a provider does the worst.

In all cases a document that was added is whole, a search finds what it finds without a model, and a
question has an answer, or an error that says what to do.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.servers.capable import capable_reply
from tests.servers.scripted import Received, Reply, ScriptedServer, busy, chat, failure, refusal

from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.errors import ModelAnswerError, ModelError, ModelKeyError
from spanwise.types import IngestReport

REPORT = Path(__file__).resolve().parents[3] / "examples" / "reports" / "annual-report-2023.md"
NAME = REPORT.name
QUESTION = "Why did the gross margin fall in 2023?"
HEADERS = ContextOptions(sections=True, headers=True)
ALWAYS = 10**6


def say(form: object) -> Reply:
    """Return an answer that is the JSON of a value."""
    return chat(json.dumps(form))


HUNDRED = {
    "sections": [{"first_line": n, "title": f"Section {n}"} for n in range(1, 101)],
    "ratings": [{"passage": n, "score": n} for n in range(1, 101)],
    "title": "Harrow Mills: a hundred",
    "summary": "This is about: a hundred sections.",
    "standalone": "",
    "queries": [f"gross margin {n}" for n in range(100)],
    "conditions": [{"field": f"f{n}", "operator": "=", "values": ["x"]} for n in range(100)],
    "answered": True,
    "statements": [
        {"text": f"Statement {n}.", "quotes": [{"segment": n, "quote": f"Words {n}"}]}
        for n in range(100)
    ],
    "conflicts": [],
    "missing": "",
}
EMPTY: dict[str, object] = {
    "sections": [], "ratings": [], "title": "", "summary": "", "standalone": "", "queries": [],
    "conditions": [], "answered": True, "statements": [], "conflicts": [], "missing": "",
}  # fmt: skip
WRONG_TYPES = {
    "sections": "none", "ratings": {"1": 7}, "title": ["a"], "summary": 7, "standalone": None,
    "queries": {"a": 1}, "conditions": "no", "answered": "perhaps", "statements": 3,
    "conflicts": None, "missing": [],
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a provider does, and what becomes of it."""

    reply: Reply
    times: int = ALWAYS
    """How many requests it answers so; then it answers well."""
    options: ModelOptions = field(default_factory=lambda: ModelOptions(retries=1))
    made: bool = False
    """Whether the model's title, summaries and sections come into the document."""
    again: bool = False
    """Whether the same `add` asks again for what is missing, once the provider is well."""
    told: str
    """What warnings of `add` and `search` say, or the error of `ask`; empty for nothing."""
    error: type[ModelError] | None = None
    """What `ask` raises."""


SLOW = ModelOptions(retries=0, timeout_seconds=0.5)
ONCE = ModelOptions(retries=0)
CASES = {
    "429 once, wait 1 s": Case(reply=busy(1), times=1, made=True, told=""),
    "429, wait an hour": Case(
        reply=busy(3_600), again=True, told=r"a wait of 3,600 seconds", error=ModelError
    ),
    "429 always": Case(reply=busy(0), again=True, told=r"answered 429", error=ModelError),
    "500 once": Case(reply=failure(500), times=1, made=True, told=""),
    "500 always": Case(
        reply=failure(500), again=True, told=r"answered 500.*try later", error=ModelError
    ),
    "hangs once": Case(
        reply=chat("late", wait_seconds=20),
        times=1,
        options=replace(SLOW, retries=1, timeout_seconds=2),
        made=True,
        told="",
    ),
    "hangs always": Case(
        reply=chat("late", wait_seconds=20),
        options=SLOW,
        again=True,
        told=r"did not answer within 0.5 seconds",
        error=ModelError,
    ),
    "cut off": Case(
        reply=Reply(body=chat("hello").body, cut_at=40),
        options=ONCE,
        again=True,
        told=r"broke off|cannot be reached|cannot be read",
        error=ModelError,
    ),
    "body is no JSON": Case(
        reply=Reply(body=b"<html>I am a proxy</html>"),
        options=ONCE,
        again=True,
        told=r"cannot be (?:read|reached)",
        error=ModelError,
    ),
    "no such model": Case(
        reply=failure(404, "no such model"),
        again=True,
        told=r"no such model.*name of the model",
        error=ModelError,
    ),
    "request refused": Case(
        reply=failure(400, "too long"), again=True, told=r"too long", error=ModelError
    ),
    "prose": Case(
        reply=chat("Sure! The title is Harrow."), told="no usable answer", error=ModelAnswerError
    ),
    "truncated JSON": Case(
        reply=chat('{"title": "Harrow', finish="length"),
        told=r"it ended because it was too long",
        error=ModelAnswerError,
    ),
    "wrong types": Case(reply=say(WRONG_TYPES), told="no usable answer", error=ModelAnswerError),
    "empty lists": Case(reply=say(EMPTY), told="no usable answer", error=ModelAnswerError),
    "empty answer": Case(reply=chat(""), told="no usable answer", error=ModelAnswerError),
    "array": Case(reply=say([1, 2]), told="no usable answer", error=ModelAnswerError),
    "unusable once": Case(reply=chat("no"), times=1, made=True, told=""),
    "refusal": Case(reply=refusal(), told="refuses to answer", error=ModelAnswerError),
    "refusal in words": Case(
        reply=say({**EMPTY, "title": "I'm sorry, I cannot help.", "summary": "I cannot help."}),
        told="it is a refusal|no usable answer",
        error=ModelAnswerError,
    ),
    "100 sections for 10 lines": Case(reply=say(HUNDRED), made=True, told=""),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


class Provider:
    """A server that does the worst until it is well."""

    def __init__(self, case: Case) -> None:
        """Begin with what the case says."""
        self.left = case.times
        self.reply = case.reply
        self._lock = threading.Lock()

    def __call__(self, received: Received) -> Reply:
        with self._lock:
            self.left -= 1
            is_well = self.left < 0
        return capable_reply(received) if is_well else self.reply


@contextmanager
def provided(case: Case) -> Iterator[tuple[KnowledgeBase, str, Provider, ScriptedServer]]:
    """Yield an empty knowledge base, a model, and who answers for it."""
    provider = Provider(case)
    with (
        ScriptedServer(provider) as server,
        KnowledgeBase(":memory:", embedder=None, models=case.options) as base,
    ):
        yield base, f"compatible:small@{server.url}/v1", provider, server


def assert_whole(base: KnowledgeBase) -> None:
    """The document is stored as it is, cut without gaps."""
    record = base.record(NAME)
    text = base.get(NAME).text
    assert text == REPORT.read_text()
    assert "".join(chunk.text for chunk in base.chunks(NAME)) == text
    sections = base.sections(NAME)
    ends = [0, *(section.end for section in sections)]
    assert [section.start for section in sections] == ends[:-1]
    assert ends[-1] == len(text)
    assert base.check().sound
    said = [record.title, record.summary]
    said += [words for section in sections for words in (section.title, section.summary)]
    assert not [words for words in said if "sorry" in words or "cannot help" in words]


def add(base: KnowledgeBase, llm: str | None = None) -> IngestReport:
    """Add the report from its file."""
    return base.add(REPORT, llm=llm, context=HEADERS if llm else None)


def add_text(base: KnowledgeBase) -> None:
    """Add the report without a parser process and without a model."""
    base.add_text(REPORT.read_text(), document_id=NAME, media_type="text/markdown")


@cases
def test_a_document_is_whole(case: Case) -> None:
    with (
        KnowledgeBase(":memory:", embedder=None) as plain,
        provided(case) as (base, llm, provider, server),
    ):
        add(plain)
        report = add(base, llm)
        assert (report.added, report.failed) == ((NAME,), ())
        assert_whole(base)
        without = plain.record(NAME)
        assert (base.record(NAME).summary != without.summary) == case.made
        assert base.search("gross margin").segments
        warnings = " ".join(report.warnings)
        if case.told:
            assert_told(case, report.warnings)
            assert base.sections(NAME) == plain.sections(NAME)
            assert base.record(NAME).title == without.title
        else:
            assert "model" not in warnings
        asked = len(server.received)
        assert asked == report.usage.calls + report.usage.retries or case.error is ModelError
        provider.left = 0
        again = add(base, llm)
        assert_whole(base)
        assert (len(again.replaced), len(again.unchanged)) == (case.again, not case.again)
        assert (base.record(NAME).summary != without.summary) == (case.made or case.again)
        asked = len(server.received)
        assert add(base, llm).unchanged == (NAME,)
        assert len(server.received) == asked, "what is made is not asked for again"


def assert_told(case: Case, warnings: Sequence[str]) -> None:
    import re

    assert any(re.search(case.told, one) for one in warnings), warnings


@cases
def test_a_search_finds_what_there_is(case: Case) -> None:
    with provided(case) as (base, llm, _, _):
        add_text(base)
        plain = base.search(QUESTION)
        result = base.search(QUESTION, rerank=f"llm:{llm}")
        assert result.segments
        if case.told:
            assert [(one.start, one.end) for one in result.segments] == [
                (one.start, one.end) for one in plain.segments
            ]
            assert_told(
                replace(case, told=r"not reranked for"),
                result.warnings,
            )
        else:
            assert not [one for one in result.warnings if "not reranked" in one]
        assert_whole(base)


@cases
def test_queries_are_the_question_at_least(case: Case) -> None:
    with provided(case) as (base, llm, _, _):
        add_text(base)
        written = base.write_queries(QUESTION, llm=llm)
        assert (written.standalone, written.where) == (QUESTION, "")
        assert bool(written.more_queries) == (not case.told)
        assert len(written.more_queries) <= 4
        if case.told:
            assert_told(replace(case, told="the question alone is searched"), written.warnings)


@cases
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_a_question_has_an_answer_or_an_error(case: Case, streams: bool) -> None:
    with provided(case) as (base, llm, _, _):
        add_text(base)

        def ask() -> object:
            if streams:
                return base.ask_stream(QUESTION, llm=llm, thread="t").answer
            return base.ask(QUESTION, llm=llm, thread="t")

        if case.error is None:
            ask()
            assert len(base.threads.list()) == 1
        else:
            with pytest.raises(case.error, match=case.told.split(".*")[0]) as caught:
                ask()
            assert caught.value.provider == "compatible"
            assert base.threads.list() == [], "a question that failed leaves no trace"
        assert_whole(base)


def test_a_stream_that_is_cut_keeps_the_statements_that_were_whole() -> None:
    """Each was checked before it was shown; the answer says that there is more."""
    cut: Callable[[Received], Reply] = lambda received: replace(  # noqa: E731
        capable_reply(received), cut_at=60 if received.body.get("stream") else None
    )
    with ScriptedServer(cut) as server, KnowledgeBase(":memory:", embedder=None) as base:
        add_text(base)
        llm = f"compatible:small@{server.url}/v1"
        stream = base.ask_stream(QUESTION, llm=llm)
        pieces = list(stream)
        answer = stream.answer
    assert "".join(pieces) == answer.text
    assert answer.citations
    assert all(one.verified for one in answer.citations)
    assert any("ends before it is complete" in one for one in answer.warnings)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_all_before_anything_is_stored(status: int) -> None:
    case = Case(reply=failure(status, "bad key"), told="", error=ModelKeyError)
    with provided(case) as (base, llm, _, server):
        with pytest.raises(ModelKeyError, match="COMPATIBLE_API_KEY"):
            add(base, llm)
        assert base.list() == []
        add_text(base)
        for ask in (base.ask, base.write_queries):
            with pytest.raises(ModelKeyError):
                ask(QUESTION, llm=llm)
        with pytest.raises(ModelKeyError):
            base.search(QUESTION, rerank=f"llm:{llm}")
        assert_whole(base)
        assert len(server.received) <= 5
