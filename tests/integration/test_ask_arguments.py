"""Arguments of `ask`: selection of the segments, and models for queries and answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.scripted_answers import QUESTION, answer_of, ask, model_of, statement, two_sources

import spanwise
from spanwise import AnswerOptions, AsyncKnowledgeBase, KnowledgeBase, PublishedOptions
from spanwise.errors import OptionError
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel

FOUND = answer_of(statement("1,577.", (1, "was $1,577 million in 2018")))
QUERIES = {"standalone": "", "queries": ["berth at Northport"], "conditions": []}


@pytest.fixture
def kb() -> Iterator[KnowledgeBase]:
    with two_sources() as made:
        yield made


def segments_read(kb: KnowledgeBase, **arguments: Any) -> list[tuple[str, int, int]]:
    """Return the ranges that the model reads with these arguments."""
    answer = ask(kb, model_of(FOUND), **arguments)
    return [(one.document_id, one.start, one.end) for one in answer.sources]


@pytest.mark.parametrize(
    "arguments",
    [
        {"preset": "precise"},
        {"preset": "comprehensive"},
        {"method": "greedy"},
        {"method": "greedy", "preset": "dsrag-find-all"},
        {"segment_options": spanwise.SegmentOptions(token_price=0.2)},
        {"segment_options": PublishedOptions(max_segment_chunks=1), "method": "greedy"},
        {"budget_tokens": 120},
    ],
    ids=str,
)
def test_segments_are_selected_as_by_search(kb: KnowledgeBase, arguments: dict[str, Any]) -> None:
    found = kb.search(QUESTION, **{"budget_tokens": 8_000, **arguments}).segments
    expected = [(one.document_id, one.start, one.end) for one in found]
    assert segments_read(kb, **arguments) == expected


def test_keywords_replace_single_options(kb: KnowledgeBase) -> None:
    model = model_of(FOUND)
    options = AnswerOptions(guidance="Answer in one word.", budget_tokens=8_000)
    answer = ask(kb, model, options=options, budget_tokens=120, temperature=0.5)
    (request,) = model.requests
    assert "Answer in one word." in request.instructions
    assert (len(answer.sources), request.temperature) == (1, 0.5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"preset": "dsrag-balanced"},
        {"method": "greedy", "preset": "precise"},
        {"method": "best"},
        {"temperature": 3.0},
        {"budget_tokens": 0},
        {"method": "greedy", "options": AnswerOptions(excerpts=2)},
        {"method": "greedy", "options": AnswerOptions(spread="documents")},
        {"query_llm": ScriptedModel(lambda _: ""), "write_queries": False},
        {"options": {"budget_tokens": 3}},
    ],
    ids="+".join,
)
def test_unusable_arguments_are_refused_before_a_call(
    kb: KnowledgeBase, arguments: dict[str, Any]
) -> None:
    model = model_of(FOUND)
    with pytest.raises(OptionError):
        kb.ask(QUESTION, llm=model, **arguments)
    with pytest.raises(OptionError):
        kb.ask_stream(QUESTION, llm=model, **arguments)
    assert model.requests == []


def test_an_unknown_argument_of_a_stream_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(TypeError, match="tempreature"):
        kb.ask_stream(QUESTION, llm=model_of(FOUND), tempreature=1)  # type: ignore[call-arg]


def test_two_models_share_the_work_and_both_are_counted(kb: KnowledgeBase) -> None:
    writer = ScriptedModel(lambda _: json.dumps(QUERIES), name="scripted:writer")
    reader = model_of(FOUND)
    answer = kb.ask(QUESTION, llm=reader, query_llm=writer)
    assert [request.task for request in writer.requests] == ["queries"]
    assert [request.task for request in reader.requests] == ["answer"]
    assert answer.queries == (QUESTION, "berth at Northport")
    assert (answer.model, answer.usage.calls) == ("scripted:model", 2)


def test_a_temperature_has_answers_of_its_own(kb: KnowledgeBase) -> None:
    said = iter([FOUND, answer_of(statement("So it was.", (1, "was $1,577 million in 2018")))])

    def answer(request: ModelRequest) -> str:
        return json.dumps(next(said))

    model = ScriptedModel(answer)
    first, warm = ask(kb, model), ask(kb, model, temperature=1.0)
    assert first.text != warm.text
    assert (ask(kb, model).text, ask(kb, model, temperature=1.0).text) == (first.text, warm.text)
    assert len(model.requests) == 2


def test_several_bases_and_coroutines_take_the_same_arguments(kb: KnowledgeBase) -> None:
    arguments: dict[str, Any] = {"preset": "precise", "budget_tokens": 500, "temperature": 0.3}
    expected = ask(kb, model_of(FOUND), **arguments).sources
    with two_sources() as other:
        joint = spanwise.ask(
            [kb, other], QUESTION, llm=model_of(FOUND), write_queries=False, **arguments
        )
    assert joint.sources
    assert {one.knowledge_base for one in joint.sources} <= {":memory: 1", ":memory: 2"}

    async def asked() -> Any:
        base = AsyncKnowledgeBase(kb)
        return await base.ask(QUESTION, llm=model_of(FOUND), write_queries=False, **arguments)

    assert asyncio.run(asked()).sources == expected
