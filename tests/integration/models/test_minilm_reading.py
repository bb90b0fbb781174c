"""Comparison of candidates by the real model MiniLM, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.cli.main import main
from spanwise.errors import StoreError
from spanwise.models.providers import minilm
from spanwise.options import AnswerOptions, SearchOptions
from spanwise.testing.models import ScriptedModel

pytestmark = pytest.mark.skipif(not minilm.is_available(), reason="MiniLM is not installed")

QUESTION = "How do cats sleep?"
TEXTS = {
    "pets.txt": "A kitten dozes for sixteen hours a day, mostly in the sun.",
    "cars.txt": "How the gearbox of the lorry is repaired: sleep mode of the console.",
    "tax.txt": "Value added tax is due on the tenth day of each month.",
}


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.delenv("SPANWISE_DEEP", raising=False)
    base = KnowledgeBase(tmp_path / "texts.kb")
    for name, text in TEXTS.items():
        base.add_text(text, document_id=name)
    return base


def test_a_search_uses_it_by_default_and_can_leave_it_out(base: KnowledgeBase) -> None:
    with base:
        result = base.search(QUESTION)
        assert result.deep_chunks == len(TEXTS)
        assert result.segments[0].document_id
        assert base.search(QUESTION, deep=False).deep_chunks == 0
        assert base.search(QUESTION, options=SearchOptions(deep=False)).deep_chunks == 0


def test_excerpts_explanations_and_answers_use_it(base: KnowledgeBase) -> None:
    with base:
        assert base.excerpts(QUESTION).deep_chunks == len(TEXTS)
        assert "meaning by MiniLM" in base.explain(QUESTION).features
        stored = base.info().outputs
        assert stored == len(TEXTS)


def test_the_command_line_says_how_much_was_compared(
    base: KnowledgeBase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base.close()
    command = ["search", QUESTION, "--kb", str(tmp_path / "texts.kb")]
    assert main(command) == 0
    assert "3 compared by MiniLM" in capsys.readouterr().out
    assert main([*command, "--no-deep"]) == 0
    assert "MiniLM" not in capsys.readouterr().out


def test_vectors_that_cannot_be_stored_are_used(
    base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.close()
    monkeypatch.setattr("spanwise.stores.embedded.EmbeddedStore.put_outputs", _refuse)
    with KnowledgeBase(tmp_path / "texts.kb") as copy:
        assert copy.search(QUESTION).deep_chunks == len(TEXTS)
        assert copy.search(QUESTION).deep_chunks == len(TEXTS)


def _refuse(*_arguments: object, **_keywords: object) -> None:
    raise StoreError("the database is locked")


def test_answers_use_it(base: KnowledgeBase) -> None:
    outputs = []
    with base:
        for deep in (False, True):
            base.ask(
                QUESTION,
                llm=ScriptedModel(lambda request: request.typical),
                options=AnswerOptions(deep=deep),
                write_queries=False,
            )
            outputs.append(base.info().outputs)
    assert outputs[1] >= outputs[0] + len(TEXTS)


def test_the_environment_turns_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_DEEP", "off")
    with KnowledgeBase(tmp_path / "texts.kb") as base:
        base.add_text(TEXTS["pets.txt"], document_id="pets.txt")
        base.add_text(TEXTS["tax.txt"], document_id="tax.txt")
        assert base.search(QUESTION).deep_chunks == 0


def test_a_knowledge_base_with_its_vectors_needs_no_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPANWISE_DEEP", raising=False)
    with KnowledgeBase(tmp_path / "texts.kb", embedder="minilm") as base:
        for name, text in TEXTS.items():
            base.add_text(text, document_id=name)
        assert base.search(QUESTION).deep_chunks == 0
