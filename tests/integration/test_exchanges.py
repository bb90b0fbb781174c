"""Answers of capable models, right and wrong, replayed through `ask`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.exchanges import EXCHANGES, Exchange, ExchangeModel, exchange_base
from tests.servers.scripted import ScriptedServer

from spanwise import KnowledgeBase
from spanwise.types import Answer


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with exchange_base() as made:
        yield made


@pytest.fixture(scope="module")
def llm() -> Iterator[str]:
    with ScriptedServer(ExchangeModel()) as server:
        yield f"compatible:scripted@{server.url}/v1"


def by_question(*, wrong: bool) -> list[object]:
    return [
        pytest.param(one, id=one.question[:50]) for one in EXCHANGES if bool(one.error) == wrong
    ]


def doubts(answer: Answer) -> list[str]:
    """Return the marks of unverified quotes, statements and claims in an answer."""
    return re.findall(r"\[\d*\?\]|\[!\]", answer.text)


@pytest.mark.parametrize("exchange", by_question(wrong=False))
def test_a_right_answer_has_no_mark_of_doubt(
    exchange: Exchange, base: KnowledgeBase, llm: str
) -> None:
    answer = base.ask(exchange.question, llm=llm)
    assert answer.refused == (not exchange.document_id)
    assert doubts(answer) == []
    assert all(cited.verified for cited in answer.citations)
    assert {cited.citation.document_id for cited in answer.citations if cited.citation} <= {
        exchange.document_id
    }


@pytest.mark.parametrize("exchange", by_question(wrong=True))
def test_a_wrong_answer_is_marked(exchange: Exchange, base: KnowledgeBase, llm: str) -> None:
    answer = base.ask(exchange.question, llm=llm)
    assert doubts(answer), f"{exchange.error} in {answer.text!r}"
