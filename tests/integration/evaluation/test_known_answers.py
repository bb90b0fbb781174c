"""What tuning learns of answers, from labelled questions to searches in documents that are new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clause_documents import (
    NEW_NAME,
    NEW_TEXT,
    clause_base,
    clause_questions,
    clause_texts,
)
from tests.integration.commands import read_json, spanwise
from tests.question_files import write_questions

from spanwise import KnowledgeBase
from spanwise.core.ranking.comparisons import NO_COMPARISON
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.tuning import TuneOptions, TuneReport, tune
from spanwise.evaluation.tuning import learned_answers as answers
from spanwise.evaluation.tuning.examples import collect_examples
from spanwise.evaluation.tuning.learned_answers import examples_with_answers, read_answers
from spanwise.evaluation.tuning.tuner import write_tuning
from spanwise.search import scoring
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import read_tuning, tuning_text

OPTIONS = TuneOptions(budgets=(130,), tokenizer="chars:4", keyword_shares=(), folds=3)
ASKED = f"Which law governs the paper of {NEW_NAME}?"
LIFT = "words that answered such questions"


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with clause_base() as base:
        yield base


@pytest.fixture(scope="module")
def report(base: KnowledgeBase) -> TuneReport:
    return tune(base, clause_questions(), options=OPTIONS)


@pytest.fixture
def tuned(report: TuneReport, tmp_path: Path) -> Path:
    write_tuning(report.tuning, tmp_path / "tuned.toml")
    return tmp_path / "tuned.toml"


def opened(tuning: Path | None) -> KnowledgeBase:
    """Return another knowledge base, with a document that nothing was learned from."""
    base = KnowledgeBase(":memory:", embedder=None, packs=(), tuning=tuning)
    base.add_text(NEW_TEXT, document_id="new.txt", title=f"{NEW_NAME} paper")
    return base


def test_kinds_of_questions_are_learned_where_they_gain(report: TuneReport) -> None:
    kinds = report.tuning.model.known_answers.kinds
    assert report.tuning.measured.is_shown
    assert report.by_document
    assert len(kinds) == 3
    assert all((one.questions, one.documents) == (12, 12) for one in kinds)
    assert "constru" in next(one for one in kinds if "law" in one.terms).answers
    assert "knows the answers to 3 kinds of questions" in report.tuning.words


def test_no_name_of_a_document_is_kept(base: KnowledgeBase, report: TuneReport) -> None:
    names = {record.id.removesuffix(".txt").lower() for record in base.list()}
    for kind in report.tuning.model.known_answers.kinds:
        assert names.isdisjoint(kind.terms)
        assert names.isdisjoint(kind.answers)


def test_the_same_questions_give_the_same_bytes(base: KnowledgeBase, report: TuneReport) -> None:
    again = tune(base, clause_questions(), options=OPTIONS)
    assert tuning_text(again.tuning) == tuning_text(report.tuning)


def test_a_new_document_is_searched_with_what_others_answered(tuned: Path) -> None:
    found = []
    for tuning in (None, tuned):
        with opened(tuning) as base:
            result = base.search(ASKED, budget_tokens=130, headers=False)
        found.append(" ".join(one.text for one in result.segments))
    assert "construed" not in found[0]
    assert "construed" in found[1]


def test_an_explanation_says_so(tuned: Path) -> None:
    with opened(tuned) as base:
        assert LIFT in base.explain(ASKED).features
        assert LIFT not in base.explain("When did the crew check the materials?").features


def test_a_question_like_no_other_is_searched_as_if_nothing_was_known(
    report: TuneReport, tmp_path: Path
) -> None:
    unknowing = replace(
        report.tuning,
        model=replace(report.tuning.model, known_answers=shipped_model().known_answers),
    )
    results = []
    for at, tuning in enumerate((report.tuning, unknowing)):
        path = tmp_path / f"{at}.toml"
        write_tuning(tuning, path)
        with opened(path) as base:
            found = base.search("When did the crew check the materials?").to_dict()
            results.append({name: one for name, one in found.items() if name != "seconds"})
    assert results[0] == results[1]


@pytest.mark.slow
def test_the_command_says_that_the_file_holds_words_of_documents(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "spanwise.kb", embedder=None, packs=()) as base:
        for name, text in clause_texts().items():
            base.add_text(text, document_id=f"{name}.txt", title=f"{name} paper")
    write_questions(tmp_path / "questions.jsonl", clause_questions())
    budget = ("--budget", "130", "--tokenizer", "chars:4")
    done = spanwise("tune", "questions.jsonl", *budget, folder=tmp_path)
    said = " ".join(done.stdout.split())
    assert "contains words of your documents: evidence terms of 3 kinds of questions" in said
    assert read_tuning(tmp_path / "tuned.toml").model.known_answers.kinds

    without = ("--no-known-answers", "--out", "shared.toml")
    told = read_json("tune", "questions.jsonl", *budget, *without, folder=tmp_path)
    assert told["question_kinds"] == 0
    assert "constru" not in (tmp_path / "shared.toml").read_text(encoding="utf-8")


def test_words_of_documents_stay_out_where_they_may_not_be_kept(base: KnowledgeBase) -> None:
    options = replace(OPTIONS, known_answers=False)
    assert not tune(base, clause_questions(), options=options).tuning.model.known_answers.kinds


def test_a_question_never_sees_what_its_own_document_taught(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught: list[set[str]] = []
    searched: list[set[str]] = []
    learn = answers.Answers.learn

    def documents(questions: list[LabelledQuestion]) -> set[str]:
        return {place.document_id for one in questions for place in one.evidence}

    def told(self: answers.Answers, questions: list[LabelledQuestion]) -> object:
        taught.append(documents(questions))
        return learn(self, questions)

    def asked(base: KnowledgeBase, questions: list[LabelledQuestion], **rest: object) -> object:
        searched.append(documents(questions))
        return collect_examples(base, questions, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(answers.Answers, "learn", told)
    monkeypatch.setattr(answers, "collect_examples", asked)
    # Without the lift of the document that the question names.
    monkeypatch.setattr(scoring, "find_comparison", lambda *_, **__: NO_COMPARISON)
    questions = clause_questions()
    found = examples_with_answers(
        base,
        questions,
        answers=read_answers(base, questions),
        model=shipped_model(),
        tokenizer="chars:4",
    )
    assert len(found) == len(questions)
    assert len(taught) == len(searched) == 4
    assert all(one.isdisjoint(other) for one, other in zip(taught, searched, strict=True))
    assert all((one.lifts <= 0).all() and one.lifts.any() for one in found)


def test_where_parts_share_documents_nothing_is_learned(base: KnowledgeBase) -> None:
    """A question would be measured with what its own document taught."""
    questions = clause_questions()[:12]  # about four documents, in five parts
    report = tune(base, questions, options=replace(OPTIONS, folds=5))
    assert report.tuning.measured.questions == 12
    assert not report.by_document
    assert not report.tuning.model.known_answers.kinds


def test_too_few_documents_teach_nothing(base: KnowledgeBase) -> None:
    questions = clause_questions()[:9]  # about three documents
    found = examples_with_answers(
        base,
        questions,
        answers=read_answers(base, questions),
        model=shipped_model(),
        tokenizer="chars:4",
    )
    assert found == []
