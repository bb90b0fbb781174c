"""Context of a conversation for its next question, and storage of the answer."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

import pytest

from spanwise.answers.conversation import AskedQuestion, Conversation, open_conversation, store_turn
from spanwise.answers.stream import AnswerStream
from spanwise.errors import StoreError
from spanwise.models.providers.tokenizer import CharacterTokenizer
from spanwise.options import AnswerOptions
from spanwise.search.scoring import Scope
from spanwise.stores.memory import MemoryStore
from spanwise.testing.store_records import make_turn
from spanwise.types import Answer, Turn

TOKENIZER = CharacterTokenizer(4.0)
AT = "2026-01-01T00:00:00Z"
ASKED = AskedQuestion(text="And then?", asked_at=AT, scope=Scope())


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    made = MemoryStore()
    yield made
    made.close()


def said(number: int, text: str) -> Turn:
    turn = make_turn(f"Question {number}?", minute=number)
    return replace(turn, answer=replace(turn.answer, text=text, citations=()))


def opened(store: MemoryStore, *, history: int = 6, budget_tokens: int = 8_000) -> Conversation:
    options = AnswerOptions(history=history, budget_tokens=budget_tokens)
    return open_conversation(store, "a", options=options, scope=Scope(), tokenizer=TOKENIZER)


def test_a_new_conversation_is_empty(store: MemoryStore) -> None:
    assert opened(store) == Conversation()


def test_the_last_turns_are_included(store: MemoryStore) -> None:
    """They are in order and limited by the options."""
    turns = [said(number, "short") for number in range(9)]
    for turn in turns:
        store.append_turn("a", turn)
    assert opened(store).turns == tuple(turns[-6:])
    assert opened(store, history=2).turns == tuple(turns[-2:])
    assert opened(store, history=100).turns == tuple(turns)
    assert opened(store, history=0) == Conversation()


def test_turns_take_a_quarter_of_the_tokens(store: MemoryStore) -> None:
    """Turns are dropped from the first one that does not fit, counted from the latest."""
    for number, chars in enumerate((10, 390, 10, 10)):
        store.append_turn("a", said(number, "x" * chars))
    assert [turn.question for turn in opened(store, budget_tokens=80).turns] == [
        "Question 2?",
        "Question 3?",
    ]
    assert len(opened(store, budget_tokens=4_000).turns) == 4


def test_a_long_last_turn_is_truncated(store: MemoryStore) -> None:
    """The stored turn stays complete."""
    store.append_turn("a", said(0, "before"))
    store.append_turn("a", said(1, "x" * 4_000))
    (turn,) = opened(store, budget_tokens=400).turns
    assert turn.question == "Question 1?"
    assert turn.answer.text.endswith("x ...")
    assert 300 <= len(turn.answer.text) <= 404
    thread = store.get_thread("a")
    assert thread is not None
    assert len(thread.turns[1].answer.text) == 4_000


def answering(answer: Answer, *, fails: bool = False) -> Generator[str, None, Answer]:
    yield answer.text[:2]
    if fails:
        raise StoreError("the search fails")
    yield answer.text[2:]
    return answer


def keep(store: MemoryStore, run: Generator[str, None, Answer]) -> AnswerStream:
    return AnswerStream(store_turn(run, store=store, thread_id="a", asked=ASKED))


def test_a_complete_answer_is_stored(store: MemoryStore) -> None:
    """The turn has the original and the standalone question."""
    answer = replace(make_turn("What then?").answer, queries=("What then?", "then"), thread="")
    stream = keep(store, answering(answer))
    assert next(stream) == answer.text[:2]
    assert store.get_thread("a") is None, "nothing before it is whole"
    assert "".join(stream) == answer.text[2:]
    whole = replace(answer, question="And then?", standalone="What then?", thread="a")
    assert stream.answer == whole
    thread = store.get_thread("a")
    assert thread is not None
    expected = Turn(question="And then?", standalone="What then?", answer=whole, asked_at=AT)
    assert thread.turns == (expected,)


def test_an_aborted_answer_is_not_stored(store: MemoryStore) -> None:
    answer = make_turn("Who?").answer
    stream = keep(store, answering(answer))
    next(stream)
    stream.close()
    assert store.get_thread("a") is None
    with pytest.raises(StoreError, match="the search fails"):
        _ = keep(store, answering(answer, fails=True)).answer
    assert store.list_threads() == []


def test_an_answer_that_cannot_be_stored_is_returned(store: MemoryStore) -> None:
    """A warning reports the failure."""
    answer = replace(make_turn("Who?").answer, warnings=("before",))
    run = answering(answer)
    store.close()
    found = keep(store, run).answer
    assert found.text == answer.text
    assert found.warnings[0] == "before"
    assert "not stored in the conversation 'a': the store is closed" in found.warnings[1]
