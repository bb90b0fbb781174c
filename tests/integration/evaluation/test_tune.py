"""Tuning, from questions to searches: where titles mislead it learns so, elsewhere it says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.integration.commands import read_json, spanwise
from tests.question_files import write_questions
from tests.tuned_documents import misleading_base, misleading_questions, misleading_texts

from spanwise import KnowledgeBase
from spanwise.errors import ModelError, OptionError
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.tuning import TuneOptions, TuneReport, tune
from spanwise.evaluation.tuning.tuner import tuned_reranking, write_tuning
from spanwise.knowledge_base.internals import add_parsed
from spanwise.options import SegmentOptions
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import read_tuning, tuning_text
from spanwise.testing.models import ScriptedReranker
from spanwise.types import Document, GivenParts, Page

OPTIONS = TuneOptions(budgets=(150,), tokenizer="chars:4", keyword_shares=(), folds=2)


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with misleading_base() as base:
        yield base


@pytest.fixture(scope="module")
def report(base: KnowledgeBase) -> TuneReport:
    return tune(base, misleading_questions(), options=OPTIONS)


def test_a_gain_is_shown_and_kept(report: TuneReport) -> None:
    (figure,) = report.tuning.measured.figures
    assert report.tuning.measured.is_shown
    assert report.by_document
    assert figure.after > figure.before + 0.5
    assert figure.low > 0
    assert "better" in report.comparison.sentence


def test_it_learns_that_titles_mislead(report: TuneReport) -> None:
    at = shipped_model().features.index("title")
    assert report.tuning.model.weights[at] < shipped_model().weights[at]


def test_made_questions_teach_no_weights_and_no_settings(
    base: KnowledgeBase, report: TuneReport
) -> None:
    """They are asked in words of the documents, and their evidence is a section."""
    shipped = shipped_model()
    assert np.abs(report.tuning.model.weights - shipped.weights).max() > 0.1
    made = tune(base, misleading_questions(), options=OPTIONS, source="made").tuning
    assert made.model.weights == pytest.approx(shipped.weights, abs=1e-4)
    assert made.segments == SegmentOptions.BALANCED


def test_the_same_questions_give_the_same_bytes(base: KnowledgeBase, report: TuneReport) -> None:
    again = tune(base, misleading_questions(), options=OPTIONS)
    assert tuning_text(again.tuning) == tuning_text(report.tuning)


def test_several_budgets_are_told_each_and_counted_together(base: KnowledgeBase) -> None:
    options = replace(OPTIONS, budgets=(150, 400))
    report = tune(base, misleading_questions(), options=options)
    assert [one.budget_tokens for one in report.tuning.measured.figures] == [150, 400]
    assert len(report.budgets) == 2
    assert report.comparison.comparisons == 3
    assert "at 150 tokens" in report.comparison.sentence
    assert report.tuning.measured.is_shown


def test_few_questions_are_refused(base: KnowledgeBase) -> None:
    with pytest.raises(OptionError, match=r"9 questions have evidence.*at least 10"):
        tune(base, misleading_questions()[:9], options=OPTIONS)
    with pytest.raises(OptionError, match="0 questions can be made of section titles"):
        tune(base, [], options=OPTIONS, source="made")


def test_questions_with_one_id_are_refused(base: KnowledgeBase) -> None:
    """Each would be tuned on with what it is measured by."""
    asked = [replace(one, id=one.id.replace("11", "10")) for one in misleading_questions()]
    with pytest.raises(OptionError, match="2 questions have the id '10'"):
        tune(base, asked, options=OPTIONS)


@pytest.mark.slow
def test_pages_count_as_their_characters(tmp_path: Path) -> None:
    """Chunks of another length have no pages, and evidence on these is measured all the same."""
    with KnowledgeBase(tmp_path / "pages.kb", embedder=None, packs=()) as base:
        asked = []
        for at, (name, (text, start, end)) in enumerate(misleading_texts().items()):
            cuts = (0, start, end, len(text))
            pages = tuple(Page(start=first, end=last) for first, last in pairwise(cuts))
            document = Document(id=f"{name}.txt", text=text, pages=pages)
            add_parsed(base, document, given=GivenParts(title=f"{name} works"))
            asked.append(
                replace(
                    misleading_questions()[at],
                    evidence=(Evidence(document_id=f"{name}.txt", page=2),),
                )
            )
        report = tune(base, asked[:12], options=replace(OPTIONS, chunk_targets=(200,)))
    (figure,) = report.tuning.measured.figures
    assert figure.after > figure.before + 0.5


def test_where_evidence_is_found_in_few_documents_the_rest_says_nothing(
    base: KnowledgeBase,
) -> None:
    """All that can be learned lies in one part: the others are measured by the defaults."""
    first = next(iter(misleading_texts()))
    text = misleading_texts()[first][0]
    lines = [at for at, mark in enumerate(text) if mark == "\n"]
    found = [
        LabelledQuestion(
            id=f"found {at}",
            text=f"What of {first} {at}?",
            evidence=(Evidence(document_id=f"{first}.txt", start=lines[at], end=lines[at + 1]),),
        )
        for at in range(12)
    ]
    lost = [
        replace(one, evidence=(Evidence(document_id=f"{name}.txt", start=10**6, end=10**6 + 5),))
        for one, name in zip(misleading_questions(), misleading_texts(), strict=True)
    ]
    report = tune(base, found + lost[1:], options=OPTIONS)
    assert not report.tuning.measured.is_shown


def test_a_reranker_that_fails_ends_it(base: KnowledgeBase) -> None:
    """What is found without it says nothing of its weight."""

    def fail(_query: str, _text: str) -> float:
        raise ModelError("no answer", provider="scripted", model="broken")

    reranking = tuned_reranking(base, ScriptedReranker(fail, name="scripted:broken"), chunks=5)
    with pytest.raises(ModelError, match="no answer"):
        tune(base, misleading_questions(), options=OPTIONS, reranking=reranking)


def test_where_nothing_can_be_learned_the_defaults_stay(base: KnowledgeBase) -> None:
    """Evidence anywhere: what one question teaches helps no other one."""
    asked = [
        replace(
            one,
            evidence=(Evidence(document_id=f"{name}.txt", start=200 + 37 * at, end=260 + 37 * at),),
        )
        for at, (one, name) in enumerate(
            zip(misleading_questions(), reversed(misleading_texts()), strict=True)
        )
    ]
    report = tune(base, asked, options=OPTIONS)
    assert not report.tuning.measured.is_shown
    assert report.tuning.model is shipped_model()
    assert report.comparison.verdict == "none"


def test_a_reranker_gets_its_weight(base: KnowledgeBase) -> None:
    reranking = tuned_reranking(
        base, ScriptedReranker(lambda _, text: float("because" in text)), chunks=50
    )
    report = tune(base, misleading_questions(), options=OPTIONS, reranking=reranking)
    assert report.tuning.measured.is_shown
    assert report.tuning.model.rerankers.keys() == {reranking.caller.reranker.name}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the knowledge base, and the questions as a file."""
    with KnowledgeBase(tmp_path / "spanwise.kb", embedder=None, packs=()) as base:
        for name, (text, _, _) in misleading_texts().items():
            base.add_text(text, document_id=f"{name}.txt", title=f"{name} works")
    write_questions(tmp_path / "questions.jsonl", misleading_questions()[:14])
    return tmp_path


def test_search_finds_more_with_the_file(folder: Path, report: TuneReport) -> None:
    write_tuning(report.tuning, folder / "tuned.toml")
    asked = misleading_questions()[3]
    (place,) = asked.evidence

    def found(tuning: Path | None) -> set[str]:
        with KnowledgeBase(folder / "spanwise.kb", tuning=tuning) as base:
            result = base.search(asked.text, budget_tokens=150, headers=False)
        return {one.document_id for one in result.segments}

    assert place.document_id not in found(None)
    assert place.document_id in found(folder / "tuned.toml")


@pytest.mark.slow
def test_the_commands(folder: Path) -> None:
    """Tune, then search, explain and say what holds, by the option and by the setting."""
    told = read_json(
        *("tune", "questions.jsonl", "--budget", "150"),
        *("--tokenizer", "chars:4"),
        folder=folder,
    )
    assert told["is_shown"]
    assert told["questions"] == 14
    tuning = read_tuning(folder / "tuned.toml")
    assert tuning.measured.figures[0].after == told["figures"][0]["after"]

    asked = misleading_questions()[3]
    search = ("search", asked.text, "--budget", "250")
    tuned = read_json(*search, "--tuning", "tuned.toml", folder=folder)
    untuned = read_json(*search, folder=folder)
    assert asked.evidence[0].document_id in {one["document_id"] for one in tuned["segments"]}
    assert tuned["segments"] != untuned["segments"]

    setting = {"SPANWISE_SEARCH_TUNING": "tuned.toml"}
    by_setting = spanwise(*search, "--json", folder=folder, extra=setting)
    assert json.loads(by_setting.stdout)["segments"] == tuned["segments"]
    assert "tuned.toml" in spanwise("explain", asked.text, folder=folder, extra=setting).stdout
    info = json.loads(spanwise("info", "--json", folder=folder, extra=setting).stdout)
    assert "recall" in info["settings"]["tuning"]


@pytest.mark.slow
def test_what_is_found_fits_a_terminal(folder: Path) -> None:
    done = spanwise("tune", "questions.jsonl", "--budget", "150", "--out", "t.toml", folder=folder)
    assert done.returncode == 0
    assert "tuned minus untuned" in " ".join(done.stdout.split()) or "improved: " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_file_of_something_else_is_not_written_over(folder: Path) -> None:
    (folder / "mine.toml").write_text("mine = true\n", encoding="utf-8")
    done = spanwise("tune", "questions.jsonl", "--out", "mine.toml", folder=folder)
    assert done.returncode == 2
    assert "is not a tuning file" in done.stderr
    assert (folder / "mine.toml").read_text(encoding="utf-8") == "mine = true\n"


@pytest.mark.parametrize("given", ["300,x", "", "٣٠٠", "9" * 5_000])
def test_lengths_of_chunks_that_are_no_numbers_are_refused(given: str, folder: Path) -> None:
    done = spanwise("tune", "questions.jsonl", "--chunk-sizes", f"300,{given}", folder=folder)
    assert done.returncode == 2
    assert "is not a list of whole numbers" in " ".join(done.stderr.split())


def test_a_damaged_file_ends_a_search_with_its_name(folder: Path) -> None:
    (folder / "tuned.toml").write_text("format = 2\n", encoding="utf-8")
    done = spanwise("search", "valve", "--tuning", "tuned.toml", folder=folder)
    assert done.returncode == 2
    assert "tuned.toml: relevance is missing" in done.stderr
