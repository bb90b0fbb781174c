"""Estimates of dry runs are upper bounds, whatever a model answers.

The tests use thirty documents: with headings, without headings, and transcripts. The answers of the
server vary like those of models: few or many sections, and sometimes an unusable answer.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import ContextOptions, KnowledgeBase
from spanwise.evaluation.answers.answer_runner import (
    JudgingOptions,
    estimate_answers,
    judge_answers,
)
from spanwise.evaluation.dataset import Dataset, LabelledQuestion
from spanwise.models.ports import LanguageModel
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.models.registry import make_language_model
from spanwise.options import AnswerOptions, ModelOptions
from spanwise.types import Usage

ALL = ContextOptions(sections=True, headers=True, chunk_contexts=True, window_tokens=600)
TOPICS = ("ferries", "granaries", "lighthouses", "markets", "orchards", "quarries")
_LINE = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_CHUNK = re.compile(r"^Chunk (\d+):$", re.MULTILINE)


def talk(topic: str, *, paragraphs: int) -> str:
    return "".join(
        f"Of the {topic} of the north, note {number} says that their keepers were paid {number} "
        "crowns by the town and not by the crown.\n\n"
        for number in range(paragraphs)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of thirty documents of different lengths."""
    folder = tmp_path_factory.mktemp("thirty")
    for number in range(30):
        first, second = TOPICS[number % 6], TOPICS[(number + 1) % 6]
        length = 2 + number % 5
        if number % 3 == 0:
            text = "".join(f"# {t.title()}\n\n{talk(t, paragraphs=length)}" for t in TOPICS)
        elif number % 3 == 1:
            text = talk(first, paragraphs=3 * length) + talk(second, paragraphs=length)
        else:
            text = "".join(
                f"{name}: I think that the {first} of the north were paid {turn} crowns and that\n"
                for turn in range(8 * length)
                for name in ("Chair", "Marketing")
            )
        (folder / f"{number}.md").write_text(f"Report {number}\n\n{text}")
    return folder


class Answers:
    """Answers of a server by task, of random size, a share of them unusable."""

    def __init__(self, *, faulty: float, seed: int) -> None:
        self._random = random.Random(seed)
        self._faulty = faulty
        self._tokenizer = make_tokenizer("o200k_base")

    def __call__(self, received: Received) -> Reply:
        """Return an answer, with the tokens of the request and of the answer."""
        text = "I cannot." if self._random.random() < self._faulty else self._text(received)
        asked, answered = self._tokenizer.count([received.instructions + received.prompt, text])
        return chat(text, input_tokens=asked, output_tokens=answered)

    def _text(self, received: Received) -> str:
        known: list[tuple[str, Callable[[str], object]]] = [
            ("You divide a document", self._sections),
            ("You give documents their titles", lambda _: {"title": "Report of the north " * 4}),
            (
                "You write what stands before",
                lambda _: {"summary": "This is about: " + "a b " * 40},
            ),
            ("You write what a search engine keeps", self._contexts),
            ("You write the queries", self._queries),
            ("You answer a question", self._answer),
            ("You grade", lambda _: {"reason": "It is right.", "verdict": "correct"}),
        ]
        for begin, answer in known:
            if received.instructions.startswith(begin):
                return json.dumps(answer(received.prompt))
        raise AssertionError(received.instructions)

    def _sections(self, prompt: str) -> object:
        numbers = [int(number) for number in _LINE.findall(prompt)]
        share = self._random.choice([0.02, 0.2, 1.0])
        named = [number for number in numbers if self._random.random() < share] or [1]
        return {
            "sections": [
                {"first_line": n, "title": f"Topic {n}", "summary": "This section is about: x."}
                for n in named[:25]
            ]
        }

    def _contexts(self, prompt: str) -> object:
        numbers = [int(number) for number in _CHUNK.findall(prompt)]
        return {"contexts": [{"chunk": n, "context": "It is of the north. " * 20} for n in numbers]}

    def _queries(self, _: str) -> object:
        return {"standalone": "", "queries": ["crowns of the keepers", "town"], "conditions": []}

    def _answer(self, _: str) -> object:
        statement = {"text": "They were paid.", "quotes": [{"segment": 1, "quote": "paid"}]}
        return {
            "answered": self._random.random() < 0.8,
            "statements": [statement],
            "conflicts": [],
            "missing": "",
        }


@pytest.fixture(params=[0.0, 0.4])
def model(request: pytest.FixtureRequest) -> Iterator[LanguageModel]:
    with ScriptedServer(Answers(faulty=request.param, seed=1)) as server:
        options = ModelOptions(concurrency=1)
        yield make_language_model(f"compatible:scripted@{server.url}/v1", options=options)


def check_bound(most: Usage, real: Usage) -> None:
    """Check that an estimate is an upper bound, and not much too high."""
    assert 0 < real.calls <= most.calls
    assert real.calls - real.repeated_calls <= most.calls - most.repeated_calls
    assert real.repeated_calls <= most.repeated_calls
    assert real.input_tokens <= most.input_tokens <= 12 * real.input_tokens
    assert real.output_tokens <= most.output_tokens
    assert most.calls <= 4 * real.calls


def test_adding_thirty_documents(folder: Path, model: LanguageModel) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        foreseen = base.add(folder, llm=model, context=ALL, dry_run=True)
        report = base.add(folder, llm=model, context=ALL)
    assert len(report.added) == 30
    assert set(report.usage_by_task) <= set(foreseen.usage_by_task)
    for task, usage in report.usage_by_task.items():
        assert usage.calls <= foreseen.usage_by_task[task].calls, task
        assert usage.input_tokens <= foreseen.usage_by_task[task].input_tokens, task
    check_bound(foreseen.usage, report.usage)


def test_answering_questions_about_thirty_documents(folder: Path, model: LanguageModel) -> None:
    """The bound also holds for a topic that a search for the question alone does not find."""
    texts = [f"Who paid the keepers of the {topic}?" for topic in TOPICS] + ["Zirconium?"]
    dataset = Dataset(
        name="north",
        questions=tuple(
            LabelledQuestion(id=str(number), text=text, answer="The town")
            for number, text in enumerate(texts)
        ),
    )
    options = JudgingOptions(answers=AnswerOptions(budget_tokens=1_000, rounds=1))
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add(folder)
        most = estimate_answers(dataset, base, llm=model, judge=model, options=options)
        judged = judge_answers(dataset, base, llm=model, judge=model, options=options)
    check_bound(most["answers"], judged.usage)
    assert judged.judge_usage.calls <= most["grades"].calls
