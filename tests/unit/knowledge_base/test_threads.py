"""Conversations of a knowledge base: questions that follow one another, and what is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from spanwise import KnowledgeBase
from spanwise.answers.stored_threads import new_thread_id
from spanwise.errors import ModelError, OptionError, ThreadNotFoundError
from spanwise.models.ports import ModelRequest
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.options import AnswerOptions
from spanwise.testing.models import ScriptedModel

LEASE = "The lease of the plant in Austin ends in May 2031."
FREIGHT = "Margins fell because freight cost more than planned."
FILLER = "Rain fell on the hills and on the port, and nobody counted the days of it. "


@pytest.fixture
def knowledge_base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as made:
        made.add_text(f"{LEASE} {FILLER * 20}", document_id="lease")
        made.add_text(f"{FREIGHT} {FILLER * 20}", document_id="freight")
        yield made


def reply(request: ModelRequest) -> str:
    """Answer as a model would that finds the lease, and rewrites questions after the first."""
    if request.task == "queries":
        standalone = "When does the lease end?"
        if "<conversation>" in request.prompt:
            standalone = "May the margins fall because of freight after the lease?"
        return json.dumps({"standalone": standalone, "queries": ["lease end"], "conditions": []})
    segments = request.shared.split("<segment")[1:]
    quote = LEASE if LEASE in request.shared else FREIGHT
    place = next(n for n, text in enumerate(segments, start=1) if quote in text)
    statement = {"text": "So it is.", "quotes": [{"segment": place, "quote": quote}]}
    return json.dumps({"answered": True, "statements": [statement], "conflicts": [], "missing": ""})


def test_a_conversation_is_kept_turn_by_turn(knowledge_base: KnowledgeBase) -> None:
    """Each turn with its answer, the question as it was asked and as it reads alone."""
    model = ScriptedModel(reply)
    first = knowledge_base.ask("When does the lease end?", llm=model, thread="a")
    second = knowledge_base.ask("Why did the margins fall because of it?", llm=model, thread="a")
    thread = knowledge_base.threads.get("a")
    assert [turn.answer for turn in thread.turns] == [first, second]
    assert first.thread == second.thread == "a"
    assert [(turn.question, turn.standalone) for turn in thread.turns] == [
        ("When does the lease end?", "When does the lease end?"),
        (
            "Why did the margins fall because of it?",
            "May the margins fall because of freight after the lease?",
        ),
    ]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", thread.turns[0].asked_at)
    (info,) = knowledge_base.threads.list()
    assert info == thread.info
    assert (info.title, info.turns) == ("When does the lease end?", 2)
    assert knowledge_base.info().threads == 1


def test_the_model_is_told_what_was_said(knowledge_base: KnowledgeBase) -> None:
    """In a fence, and only in the conversation that the question stands in."""
    model = ScriptedModel(reply)
    knowledge_base.ask("When does the lease end?", llm=model, thread="a")
    for thread, told in (("a", True), ("b", False), (None, False)):
        model.requests.clear()
        knowledge_base.ask("Why did the margins fall?", llm=model, thread=thread)
        for request in model.requests:
            assert ("When does the lease end?" in request.prompt) == told
            assert ("<conversation>" in request.prompt) == told
            assert "When does the lease end?" not in request.instructions


def test_what_was_quoted_is_shown_again(knowledge_base: KnowledgeBase) -> None:
    """Beside what the new search finds, once; and can be quoted and is checked again."""
    model = ScriptedModel(reply)
    knowledge_base.ask("When does the lease end?", llm=model, thread="a", documents=["lease"])
    answer = knowledge_base.ask(
        "Why did the margins fall?", llm=model, thread="a", write_queries=False
    )
    assert [source.document_id for source in answer.sources] == ["freight", "lease"]
    (cited,) = answer.citations
    assert (cited.status, cited.document_id) == ("exact", "lease")
    shown = model.requests[-1].shared
    assert shown.count(LEASE) == shown.count(FREIGHT) == 1
    again = knowledge_base.ask(
        "When does the lease end?", llm=model, thread="a", documents=["lease"]
    )
    assert model.requests[-1].shared.count(LEASE) == 1, "found anew, not shown twice"
    assert again.citations[0].document_id == "lease"


def test_removed_evidence_is_said(knowledge_base: KnowledgeBase) -> None:
    model = ScriptedModel(reply)
    knowledge_base.ask("When does the lease end?", llm=model, thread="a")
    knowledge_base.remove("lease")
    answer = knowledge_base.ask("Why did the margins fall?", llm=model, thread="a")
    assert any("'lease'" in warning for warning in answer.warnings)
    assert LEASE not in model.requests[-1].shared
    kept = knowledge_base.threads.get("a").turns[0].answer.citations[0]
    assert kept.citation is not None
    assert knowledge_base.locate(kept.citation).status == "removed"


def test_earlier_evidence_answers_where_a_search_finds_nothing(
    knowledge_base: KnowledgeBase,
) -> None:
    model = ScriptedModel(reply)
    knowledge_base.ask("When does the lease end?", llm=model, thread="a")
    answer = knowledge_base.ask("Zxqv wvut?", llm=model, thread="a", write_queries=False)
    assert not answer.refused
    assert [source.document_id for source in answer.sources] == ["lease"]


@pytest.mark.parametrize("within", [{"documents": ["freight"]}, {"where": 'title = "freight"'}])
def test_earlier_evidence_stays_inside_what_may_be_searched(
    knowledge_base: KnowledgeBase, within: dict[str, Any]
) -> None:
    """A filter holds for what was quoted before it, too."""
    model = ScriptedModel(reply)
    knowledge_base.ask("When does the lease end?", llm=model, thread="a")
    answer = knowledge_base.ask("Why did the margins fall?", llm=model, thread="a", **within)
    assert {source.document_id for source in answer.sources} == {"freight"}
    assert LEASE not in model.requests[-1].shared


def test_earlier_evidence_gives_way_to_what_is_found(knowledge_base: KnowledgeBase) -> None:
    """A budget that is enough for a question alone is enough for it in a conversation."""
    parts = "-".join(f"{number:05d}" for number in range(400))
    knowledge_base.add_text(f"{FREIGHT} freight-{parts}", document_id="freight")
    knowledge_base.add_text(LEASE, document_id="lease")
    model = ScriptedModel(reply)
    knowledge_base.ask("When does the lease end?", llm=model, thread="a", documents=["lease"])
    options = AnswerOptions(budget_tokens=310)
    question = "Why did the margins fall?"
    alone = knowledge_base.search(question, budget_tokens=310 * 3 // 4)
    assert alone.segments[0].end < len(knowledge_base.get("freight").text)
    answer = knowledge_base.ask(
        question,
        llm=model,
        thread="a",
        write_queries=False,
        options=options,
    )
    assert [source.document_id for source in answer.sources] == ["freight"]
    assert "budget_tokens of 310 has no room for what was quoted before" in answer.warnings


def test_all_stays_within_the_budget(knowledge_base: KnowledgeBase) -> None:
    """Of what is found and what was found before together."""
    model = ScriptedModel(reply)
    count = make_tokenizer("o200k_base").count
    for budget in (300, 600, 1_200):
        options = AnswerOptions(budget_tokens=budget)
        for question in ("When does the lease end?", "Why did the margins fall?", "And freight?"):
            knowledge_base.ask(question, llm=model, thread=f"{budget}", options=options)
            assert count([model.requests[-1].shared])[0] <= budget


def test_excerpts_are_read_without_earlier_evidence(knowledge_base: KnowledgeBase) -> None:
    """Each would be a further call."""

    def conclude(request: ModelRequest) -> str:
        if request.task in ("queries", "answer"):
            return reply(request)
        raise ModelError("reads no excerpts", provider="scripted", model="model")

    model = ScriptedModel(conclude)
    knowledge_base.ask("When does the lease end?", llm=model, thread="a", documents=["lease"])
    model.requests.clear()
    with pytest.raises(ModelError, match="reads no excerpts"):
        knowledge_base.ask(
            "Why did the margins fall?",
            llm=model,
            thread="a",
            documents=["freight"],
            options=AnswerOptions(excerpts=2),
        )
    assert all(LEASE not in request.shared + request.prompt for request in model.requests)
    assert knowledge_base.threads.get("a").info.turns == 1


def test_a_failed_answer_is_not_kept(knowledge_base: KnowledgeBase) -> None:
    def fail(request: ModelRequest) -> str:
        raise ModelError("no answer today", provider="scripted", model="model")

    with pytest.raises(ModelError, match="no answer today"):
        knowledge_base.ask("When does the lease end?", llm=ScriptedModel(fail), thread="a")
    assert knowledge_base.threads.list() == []


def test_a_stream_is_kept_when_it_was_read(knowledge_base: KnowledgeBase) -> None:
    model = ScriptedModel(reply)
    stream = knowledge_base.ask_stream("When does the lease end?", llm=model, thread="a")
    next(stream)
    stream.close()
    assert knowledge_base.threads.list() == []
    stream = knowledge_base.ask_stream("When does the lease end?", llm=model, thread="a")
    assert "".join(stream) == stream.answer.text
    assert knowledge_base.threads.get("a").turns[0].answer == stream.answer


def test_conversations_are_deleted(knowledge_base: KnowledgeBase) -> None:
    knowledge_base.ask("When does the lease end?", llm=ScriptedModel(reply), thread="a")
    assert knowledge_base.threads.remove("a")
    assert not knowledge_base.threads.remove("a")
    with pytest.raises(ThreadNotFoundError, match="no conversation has the id 'a'"):
        knowledge_base.threads.get("a")


@pytest.mark.parametrize("thread", ["", " ", "a\nb", "x" * 1_001, "half \ud800 pair"])
def test_an_id_that_cannot_be_kept_is_refused_before_the_first_call(
    knowledge_base: KnowledgeBase, thread: str
) -> None:
    model = ScriptedModel(reply)
    with pytest.raises(OptionError, match="thread is "):
        knowledge_base.ask("When does the lease end?", llm=model, thread=thread)
    assert model.requests == []


def test_new_ids_are_unique_and_sort_as_they_begin() -> None:
    ids = [new_thread_id() for _ in range(100)]
    assert len(set(ids)) == len(ids)
    assert [one[:15] for one in ids] == sorted(one[:15] for one in ids)
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", one) for one in ids)


def test_what_models_answered_is_forgotten(knowledge_base: KnowledgeBase) -> None:
    """The same is asked for again then; conversations stay."""
    model = ScriptedModel(reply)
    knowledge_base.ask("When does the lease end?", llm=model, thread="a")
    info = knowledge_base.info()
    assert info.outputs == 2
    assert info.output_bytes > 100
    model.requests.clear()
    knowledge_base.ask("When does the lease end?", llm=model, thread="b")
    assert model.requests == [], "kept"
    assert knowledge_base.forget_outputs() == 2
    assert knowledge_base.info().outputs == 0
    knowledge_base.ask("When does the lease end?", llm=model, thread="c")
    assert len(model.requests) == 2
    assert len(knowledge_base.threads.list()) == 3
