"""The demo's path, with other questions: the right topic and the words that answer come back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.examples import load_example

BUDGET_TOKENS = 1_800

QUESTIONS = [
    (
        "How are default parameter values of a function evaluated?",
        {"function", "compound"},
        "evaluated from left to right when the function definition is executed",
    ),
    (
        "How does the import statement find and bind modules?",
        {"import"},
        "find a module, loading and initializing it if necessary",
    ),
    (
        "How are chained comparisons evaluated?",
        {"comparisons"},
        "is evaluated only once",
    ),
    (
        "Which values are considered false in truth value testing?",
        {"truth"},
        "considered true unless its class defines",
    ),
    (
        "What does assert do when optimization is on?",
        {"assert"},
        "emits no code for an assert statement when optimization is requested",
    ),
    (
        "Which loop does break end, and what becomes of its else clause?",
        {"break"},
        "terminates the nearest enclosing loop",
    ),
    (
        "What is assigned when the target list contains a starred target?",
        {"assignment"},
        "at least as many items as there are targets in the target list, minus one",
    ),
    (
        "What does str.split do with the maxsplit argument?",
        {"string-methods"},
        "at most *maxsplit* splits are done",
    ),
    (
        "Which operators bind tightest, in order of precedence?",
        {"operator-summary"},
        "Operators in the same box group left to right",
    ),
]


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    """Return the program of the demo."""
    return load_example("python_reference")


@pytest.fixture(scope="module")
def folder(demo: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the demo was run."""
    path = tmp_path_factory.mktemp("demo")
    assert demo.main(path) == 0
    return path


@pytest.fixture
def ask(demo: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return what runs a command of the demo on its knowledge base and returns its output."""

    def run(*arguments: str) -> str:
        assert demo.run_command(*arguments, "--kb", str(folder / "python.kb")) == 0
        return capsys.readouterr().out.split("\n\n", maxsplit=1)[1]

    return run


def test_the_demo_asks_what_needs_more_than_one_chunk(
    demo: ModuleType, ask: Callable[..., str]
) -> None:
    for question in demo.QUESTIONS:
        result = json.loads(ask("search", question, "--json"))
        best = min(result["segments"], key=lambda segment: segment["rank"])
        assert best["last_chunk"] - best["first_chunk"] > 1


def test_the_demo_can_be_run_again(demo: ModuleType, folder: Path, ask: Callable[..., str]) -> None:
    assert "unchanged" in ask("add", str(folder / "topics"))


def test_a_long_answer_needs_a_comprehensive_search(ask: Callable[..., str]) -> None:
    """The table of alignments follows 19 chunks about the syntax, and repeats no word of it."""
    question = "What does the format specification mini-language allow for alignment?"
    result = json.loads(ask("search", question, "--preset", "comprehensive", "--json"))
    (segment,) = [one for one in result["segments"] if one["document_id"] == "formatstrings.txt"]
    assert "Forces the field to be left-aligned within the" in " ".join(segment["text"].split())


@pytest.mark.parametrize(("question", "topics", "phrase"), QUESTIONS)
def test_the_segments_hold_the_answer(
    ask: Callable[..., str], question: str, topics: set[str], phrase: str
) -> None:
    result = json.loads(ask("search", question, "--budget", str(BUDGET_TOKENS), "--json"))
    holders = {
        segment["document_id"].removesuffix(".txt")
        for segment in result["segments"]
        if phrase in " ".join(segment["text"].split())
    }
    assert holders & topics
