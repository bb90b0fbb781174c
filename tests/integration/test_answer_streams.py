"""Answers that come piece by piece, are cut off, or cannot be read."""

import json
from collections.abc import Iterator

import pytest
from tests.scripted_answers import (
    QUESTION,
    answer_of,
    ask,
    model_of,
    statement,
    two_sources,
)

from spanwise import KnowledgeBase
from spanwise.answers.stream import AnswerStream
from spanwise.errors import ModelAnswerError, ModelError, SpanwiseError
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.testing.models import ScriptedModel


@pytest.fixture
def kb() -> Iterator[KnowledgeBase]:
    with two_sources() as made:
        yield made


def test_a_repeated_question_costs_nothing_streamed_or_not(kb: KnowledgeBase) -> None:
    model = model_of(answer_of(statement("1,577.", (1, "was $1,577 million in 2018"))))
    first = ask(kb, model)
    stream = kb.ask_stream(QUESTION, llm=model, write_queries=False)
    assert "".join(stream) == first.text
    second = stream.answer
    assert (second.usage.calls, second.usage.cached_calls, len(model.requests)) == (0, 1, 1)
    assert second.citations == first.citations


def test_a_stream_gives_checked_statements_while_they_are_written(kb: KnowledgeBase) -> None:
    statements = [
        statement("It was 1,577 million.", (1, "was $1,577 million in 2018")),
        statement("It was less.", (1, "was $1,579 million in 2018")),
    ]
    seen: list[int] = []

    class Slow(ScriptedModel):
        def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
            for number, piece in enumerate(super().stream(request)):
                seen.append(number)
                yield piece

    model = Slow(lambda _: json.dumps(answer_of(*statements)))
    stream = kb.ask_stream(QUESTION, llm=model, write_queries=False)
    assert next(stream) == "It was 1,577 million. [1]"
    written = len(seen)
    assert list(stream) == [" It was less. [2?]"]
    assert len(seen) > written
    assert stream.answer.text == "It was 1,577 million. [1] It was less. [2?]"


def failing(error: ModelError, *, after: int) -> type[ScriptedModel]:
    """Return a model whose stream breaks off after a number of pieces."""

    class Failing(ScriptedModel):
        def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
            for number, piece in enumerate(super().stream(request)):
                if number == after:
                    raise error
                yield piece

    return Failing


def test_a_cut_stream_keeps_what_was_checked(kb: KnowledgeBase) -> None:
    said = answer_of(statement("1,577.", (1, "was $1,577 million in 2018")), statement("Two."))
    cut = ModelError("the server hung up", provider="scripted", model="model", retryable=True)
    pieces = len(json.dumps(said).split(" "))
    model = failing(cut, after=pieces - 6)(lambda _: json.dumps(said))
    answer = kb.ask_stream(QUESTION, llm=model, write_queries=False).answer
    assert answer.text == "1,577. [1]"
    assert "the answer ends before it is complete: the server hung up" in answer.warnings
    whole = ScriptedModel(lambda _: json.dumps(said))
    assert ask(kb, whole).text == "1,577. [1] Two. [?]"  # what was cut is not kept


def test_a_stream_that_fails_at_once_raises(kb: KnowledgeBase) -> None:
    down = ModelError("the server is down", provider="scripted", model="model")
    model = failing(down, after=0)(lambda _: "")
    stream = kb.ask_stream(QUESTION, llm=model, write_queries=False)
    with pytest.raises(ModelError, match="is down"):
        list(stream)
    with pytest.raises(SpanwiseError, match="ended with an error"):
        _ = stream.answer


UNUSABLE = {
    "no JSON": "The capital spending was high.",
    "empty": "",
    "truncated": json.dumps(answer_of(statement("x")))[:40],
    "wrong types": '{"answered": "perhaps", "statements": 3, "conflicts": [], "missing": ""}',
    "no statement": json.dumps(answer_of()),
    "blank statement": json.dumps(answer_of(statement(" "))),
}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("said", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_answer_is_asked_for_again(
    kb: KnowledgeBase, said: str, *, streams: bool
) -> None:
    good = json.dumps(answer_of(statement("1,577.", (1, "was $1,577 million in 2018"))))
    model = model_of(said, good)
    made = (
        kb.ask_stream(QUESTION, llm=model, write_queries=False).answer
        if streams
        else ask(kb, model)
    )
    assert (made.text, made.usage.calls) == ("1,577. [1]", 2)


@pytest.mark.parametrize("said", UNUSABLE.values(), ids=UNUSABLE)
def test_a_model_that_never_gives_an_answer_is_an_error(kb: KnowledgeBase, said: str) -> None:
    with pytest.raises(ModelAnswerError, match="no usable answer"):
        ask(kb, ScriptedModel(lambda _: said))


def test_a_refusal_of_a_stream_that_said_statements_first_yields_none_of_them(
    kb: KnowledgeBase,
) -> None:
    said = {"statements": [statement("Wrong.")], "answered": False, "conflicts": [], "missing": ""}
    stream = kb.ask_stream(QUESTION, llm=model_of(said), write_queries=False)
    pieces = list(stream)
    assert stream.answer.refused
    assert (len(pieces), pieces[0]) == (1, stream.answer.text)
    assert "Wrong" not in stream.answer.text


def test_a_stream_that_is_refused_after_all_keeps_what_was_said(kb: KnowledgeBase) -> None:
    """What was yielded is the text, and what it cites is there."""
    said = json.dumps(answer_of(statement("1,577.", (1, "was $1,577 million in 2018"))))
    model = ScriptedModel(lambda _: f'{said[:-1]}, "answered": false}}')
    stream = kb.ask_stream(QUESTION, llm=model, write_queries=False)
    pieces = "".join(stream)
    assert pieces == stream.answer.text == "1,577. [1]"
    assert not stream.answer.refused
    assert any("ends before it is complete" in warning for warning in stream.answer.warnings)


def test_a_stream_can_be_left(kb: KnowledgeBase) -> None:
    said = answer_of(statement("One."), statement("Two."))
    stream = kb.ask_stream(QUESTION, llm=model_of(said), write_queries=False)
    assert isinstance(stream, AnswerStream)
    assert next(stream).startswith("One.")
    stream.close()
    assert list(stream) == []
    with pytest.raises(SpanwiseError, match="closed"):
        _ = stream.answer
