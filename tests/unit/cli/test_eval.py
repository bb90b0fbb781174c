"""`spanwise eval`: what it draws, and what it refuses before it opens anything."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluations import METHODS, made_evaluation, with_unanswerable

from spanwise import KnowledgeBase
from spanwise.cli.evaluation_layout import draw_evaluation
from spanwise.cli.layout import Page
from spanwise.cli.main import main
from spanwise.evaluation.report import summarise
from spanwise.evaluation.results import Evaluation
from spanwise.evaluation.retrievers import METHODS as METHODS_OF_EVAL
from spanwise.types import Usage

LONG = {"sentence-window+headers+rerank": 0.6, "exact:comprehensive+headers+rerank": 0.7}


def drawn(evaluation: Evaluation, **options: str) -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    draw_evaluation(summarise(evaluation, **options), Page(stream))
    stream.seek(0)
    return stream.read().splitlines()


@pytest.mark.parametrize("methods", [METHODS, LONG], ids=["short", "long"])
def test_lines_fit_a_terminal(methods: dict[str, float]) -> None:
    evaluation = made_evaluation(24, methods=methods)
    paid = tuple(replace(one, usage=Usage(calls=1, cost=0.01)) for one in evaluation.scores)
    for one in (evaluation, replace(evaluation, scores=paid)):
        said = drawn(one)
        assert max(map(len, said)) <= 80
        for name in methods:
            assert any(line.startswith(name) for line in said)


def test_a_table_a_budget_then_the_datasets_then_sentences() -> None:
    said = drawn(made_evaluation(24))
    heads = [line.split("  ")[0] for line in said if line and not line.startswith(" ")]
    assert heads[0] == "filings, contracts: 24 questions"
    rest = [one for one in heads if one.startswith(("1,000", "4,000", "recall at", "At "))]
    assert rest == [
        "1,000 tokens",
        "4,000 tokens",
        "recall at 1,000",
        "recall at 4,000",
        "At 1,000 tokens",
        "At 4,000 tokens",
    ]


def test_figures_are_in_percent_with_their_interval() -> None:
    evaluation = made_evaluation(40, datasets=["filings"], methods={"exact": 0.6}, budgets=(500,))
    interval = evaluation.interval("recall", "exact", 500)
    assert interval is not None
    (row,) = (line for line in drawn(evaluation) if line.startswith("exact "))
    assert row.split()[1:5] == [
        f"{100 * interval.mean:.1f}",
        f"{100 * interval.low:.1f}",
        "to",
        f"{100 * interval.high:.1f}",
    ]


def test_the_number_of_questions_with_evidence_is_said() -> None:
    said = drawn(with_unanswerable(made_evaluation(24)))
    assert said[0] == "filings, contracts: 24 questions"
    assert said[1].endswith("18 of 24")
    cells = [line.split()[1:4] for line in said if line.startswith(("filings  ", "contracts  "))]
    assert ["6", "of", "12"] in cells
    assert "12" in [cell[0] for cell in cells]


def test_one_question_has_no_interval() -> None:
    evaluation = made_evaluation(1, datasets=["filings"], methods={"exact": 0.6}, budgets=(500,))
    (line,) = [line for line in drawn(evaluation) if line.startswith("exact ")]
    assert line.split()[2] == "-"


def test_another_metric_takes_the_place_of_recall() -> None:
    said = drawn(made_evaluation(24), metric="iou")
    assert sum("IoU" in line for line in said) >= 4
    assert not any("recall" in line for line in said)


def test_what_is_to_be_known_of_the_run_is_said() -> None:
    note = "filings: 3 of 150 questions left out: no page"
    said = drawn(replace(made_evaluation(12), notes=(note,)))
    assert said[-1] == f"warning: {note}"


def test_faults_of_a_file_have_a_line_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*[{"question": "a", "answr": "b\x1b[31m"}] * 25, {"question": "Which?"}]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    KnowledgeBase(tmp_path / "k.kb", embedder=None).close()
    assert main(["eval", str(tmp_path / "q.jsonl"), "--kb", str(tmp_path / "k.kb")]) == 2
    head, *faults = capsys.readouterr().err.splitlines()
    assert head == f"spanwise: there are 25 faults in {tmp_path / 'q.jsonl'}:"
    assert len(faults) == 21
    assert faults[0].startswith("  q.jsonl:1: 'answr' is not a field")
    assert faults[19].startswith("  q.jsonl:20: ")
    assert faults[20] == "  and 5 more; correct these first"


def test_names_cannot_steer_the_terminal() -> None:
    said = "\n".join(drawn(made_evaluation(12, methods={"a\x1b[31m": 0.4, "b": 0.5})))
    assert "\x1b" not in said


def test_names_in_the_help_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--help"]) == 0
    said = capsys.readouterr().out
    for name in (*METHODS_OF_EVAL, "+headers", "+rerank", "+tuned"):
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said), name
    example = next(line for line in said.splitlines() if line.startswith('    {"question"'))
    assert json.loads(example)["evidence"][0].keys() == {"document_id", "text"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there are no questions"),
        (["q.jsonl", "--compare", "exakt"], "did you mean 'exact'?"),
        (["q.jsonl", "--compare", " , "], "--compare is ' , '; name methods"),
        (["q.jsonl", "--metric", "recal"], "metric is 'recal'; did you mean 'recall'?"),
        (["q.jsonl", "--report", "report.pdf"], "ends in .html"),
        (["q.json", "--report", "q.html"], "the report would replace q.json"),
        (["q.jsonl", "--explain", "3"], "--explain is of no use without --report"),
        (
            "q.jsonl --report r.html --compare top-k --explain 3".split(),
            "--explain is of no use without the method exact",
        ),
        (["q.jsonl", "--repeats", "3"], "--repeats is of no use without --answers"),
        (["q.jsonl", "--llm", "a:b"], "--llm is of no use without --answers"),
        (["q.jsonl", "--rerank", "a:b"], "--rerank and methods with +rerank need each other"),
        (["q.jsonl", "--compare", "exact+rerank"], "--rerank and methods with +rerank need"),
        (["q.jsonl", "--tuning", "t.toml"], "--tuning and methods with +tuned need each other"),
        (["q.jsonl", "--answers"], "one that grades: --llm and --judge"),
        (["q.jsonl", "--judge", "a:b"], "--judge is of no use without --answers"),
        (
            "q --answers --dry-run --llm a:b --judge a:b --retriever mine:search".split(),
            "--dry-run cannot estimate the cost of --retriever",
        ),
        (
            "q --answers --dry-run --llm a:b --judge a:b --rerank c --compare exact+rerank".split(),
            "--dry-run cannot estimate the cost of --rerank",
        ),
        (["q.jsonl", "--grading-sheet", "s.csv"], "--grading-sheet is of no use without"),
    ],
)
def test_what_cannot_be_done_is_refused_first(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No file of questions is there: the option is what is told of."""
    monkeypatch.chdir(tmp_path)
    assert main(["eval", *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []
