"""`--write-queries`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.filing_records import as_answer

from spanwise import KnowledgeBase
from spanwise.cli.main import main
from spanwise.testing.models import ScriptedModel

QUESTION = "What did 3M spend on capital in 2018?"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """Return the model that every name stands for."""
    conditions = [{"field": "year", "operator": "=", "values": ["2018"]}]
    made = ScriptedModel(lambda _: as_answer(["purchases of property"], conditions=conditions))
    monkeypatch.setattr("spanwise.models.registry.make_language_model", lambda _, **options: made)
    return made


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command and gives its exit code and what it wrote."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        for year in (2017, 2018):
            base.add_text(
                f"In {year}, 3M spent money on capital: purchases of property.",
                document_id=str(year),
                metadata={"year": year},
            )
        base.add_text("Whales sing.", document_id="whales", metadata={"year": 2016})

    def command(*arguments: str) -> tuple[int, str]:
        code = main([*arguments, "--kb", str(tmp_path / "a.kb")])
        written = capsys.readouterr()
        return code, " ".join((written.out + written.err).split())

    return command


@pytest.mark.parametrize("command", ["search", "excerpts", "explain"])
def test_written_queries_are_shown(command: str, run: Run, model: ScriptedModel) -> None:
    wanted = ("--write-queries", "--llm", "a:model", "--guidance", "Be brief.")
    code, text = run(command, QUESTION, *wanted)
    assert code == 0
    assert "also searched: purchases of property" in text
    assert "only documents where year = 2018" in text
    assert "1 model call" in text
    assert "Be brief." in model.requests[0].prompt
    assert "1 from the cache" in run(command, QUESTION, *wanted)[1]
    assert len(model.requests) == 1


@pytest.mark.parametrize("command", ["search", "excerpts", "explain"])
def test_what_was_written_is_in_the_json(command: str, run: Run, model: ScriptedModel) -> None:
    wanted = ("--write-queries", "--llm", "a:model", "--json", "-q", "capital")
    _, text = run(command, QUESTION, *wanted)
    data = json.loads(text)
    result = data["result"] if command == "explain" else data
    assert result["queries"] == [QUESTION, "capital", "purchases of property"]
    assert result["where"] == "year = 2018"
    assert result["usage"]["calls"] == 1


@pytest.mark.parametrize("command", ["search", "excerpts", "explain"])
def test_a_written_filter_without_results_is_dropped(
    command: str, run: Run, model: ScriptedModel
) -> None:
    conditions = [{"field": "year", "operator": "=", "values": ["2016"]}]
    model.answer = lambda _: as_answer(["purchases"], conditions=conditions)
    question = "Which purchases of property did 3M make in 2016?"
    code, text = run(command, question, "--write-queries", "--llm", "a:model")
    assert code == 0
    assert "searched without `year = 2016`" in text
    assert "only documents where" not in text


def test_the_setting_names_the_model(
    run: Run, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANWISE_LLM_MODEL", "a:model")
    assert run("search", QUESTION, "--write-queries")[0] == 0
    assert len(model.requests) == 1
    assert run("search", QUESTION)[0] == 0
    assert len(model.requests) == 1


def test_without_a_model_nothing_can_be_written(run: Run) -> None:
    code, text = run("search", QUESTION, "--write-queries")
    assert code == 2
    assert "--llm vendor:model" in text


@pytest.mark.parametrize("option", [("--llm", "a:model"), ("--guidance", "Be brief.")])
def test_an_option_that_would_do_nothing_is_refused(option: tuple[str, str], run: Run) -> None:
    code, text = run("search", QUESTION, *option)
    assert code == 2
    assert f"{option[0]} is of no use here without --write-queries" in text
