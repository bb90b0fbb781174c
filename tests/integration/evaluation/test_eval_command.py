"""`spanwise eval` as people run it: from questions to figures, sentences and a report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.commands import environment, read_json, spanwise
from tests.servers.capable import capable_server

from spanwise import KnowledgeBase
from spanwise.evaluation.results import Evaluation

FACT = "The margin of site {} fell by {} points, since the kiln stood still."
NOISE = "Barges carry grain to the port, and the locks close in winter, as note {} of {} says. "


def text_of(number: int) -> str:
    noise = [NOISE.format(place, number) for place in range(30)]
    noise.insert(3 + number, FACT.format(number, number + 2) + " ")
    return "".join(noise)


def question_of(number: int) -> dict[str, Any]:
    fact = FACT.format(number, number + 2)
    start = text_of(number).index(fact)
    return {
        "id": f"q{number}",
        "question": f"Why did the margin of site {number} fall?",
        "answer": "The kiln stood still.",
        "evidence": [{"document_id": f"site-{number}", "start": start, "end": start + len(fact)}],
        "metadata": {"kind": "odd" if number % 2 else "even"},
    }


def published(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the benchmark that evaluates published datasets."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.evaluate", *arguments],
        cwd=folder,
        env=environment({"PYTHONPATH": str(Path(__file__).resolve().parents[3])}),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base, questions about it, and the same as a folder of benchmarks."""
    folder = tmp_path_factory.mktemp("eval")
    with KnowledgeBase(folder / "spanwise.kb") as base:
        for number in range(10):
            base.add_text(text_of(number), document_id=f"site-{number}", title=f"Site {number}")
    questions = [question_of(number) for number in range(10)]
    lines = "\n".join(json.dumps(question) for question in questions)
    (folder / "questions.jsonl").write_text(lines, encoding="utf-8")
    write_benchmark(folder / "sites", questions)
    (folder / "mine.py").write_text(
        "def search(question):\n"
        "    number = int(''.join(filter(str.isdigit, question)))\n"
        "    return [(f'site-{number}', 0, 800)]\n"
        "def stop(question):\n"
        "    import os, signal\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return search(question)\n",
        encoding="utf-8",
    )
    return folder


def write_benchmark(folder: Path, questions: list[dict[str, Any]]) -> None:
    (folder / "documents").mkdir(parents=True)
    documents, queries = [], []
    for number, question in enumerate(questions):
        path = f"documents/{number}.txt"
        (folder / path).write_text(text_of(number), encoding="utf-8", newline="")
        documents.append({"doc_id": f"site-{number}", "title": f"Site {number}", "path": path})
        places = [
            {"doc_id": one["document_id"], "start": one["start"], "end": one["end"]}
            for one in question["evidence"]
        ]
        queries.append(
            {"query_id": f"q{number}", "query": question["question"], "evidence": places}
        )
    for name, rows in (("documents", documents), ("queries", queries)):
        text = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def test_questions_become_figures_sentences_and_a_report(folder: Path) -> None:
    done = spanwise(
        "eval", "questions.jsonl", "--budget", "200", "--budget", "800",
        "--report", "out/report.html", "--explain", "2", folder=folder,
    )  # fmt: skip
    assert done.returncode == 0
    assert (
        done.stderr == "report: out/report.html; report.md and report.json are in the same folder\n"
    )
    said = done.stdout
    assert said.startswith("questions.jsonl: 10 questions")
    assert all(name in said for name in ("top-k+headers", "exact+headers", "bm25+headers"))
    assert "At 800 tokens" in said
    assert max(map(len, said.splitlines())) <= 80
    written = {path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*")}
    assert {"report.html", "report.md", "report.json", "report-explain/002.html"} <= written
    assert "report-explain/003.html" not in written
    data = json.loads((folder / "out" / "report.json").read_text("utf-8"))
    evaluation = Evaluation.from_plain(data)
    assert len(evaluation.scores) == 10 * 3 * 2
    assert evaluation.settings["command"] == (
        "spanwise eval questions.jsonl --budget 200 --budget 800 --report out/report.html "
        "--explain 2"
    )
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert "report-explain/001.html" in page
    assert "The margin of site 7 fell by 9 points" in page
    assert "spanwise explain --open --budget 200 --tokenizer" in page
    assert "--kb spanwise.kb" in page


def test_methods_and_retrievers_of_others_are_measured_in_one_run(folder: Path) -> None:
    data = read_json(
        "eval", "questions.jsonl", "--compare", "greedy,exact:precise", "--budget", "300",
        "--retriever", "mine:search", "--limit", "4", folder=folder,
    )  # fmt: skip
    evaluation = Evaluation.from_plain(data)
    assert evaluation.retrievers[:2] == ("greedy", "exact:precise")
    assert len(evaluation.retrievers) == 3
    assert evaluation.budgets == (300,)
    assert len(evaluation.scores) == 4 * 3
    mine = evaluation.interval("recall", evaluation.retrievers[2], 300)
    assert mine is not None
    assert mine.mean > 0


def test_methods_with_tuned_take_the_tuning_file_of_the_settings(folder: Path) -> None:
    assert spanwise("tune", "questions.jsonl", "--out", "t.toml", folder=folder).returncode == 0
    measure = ("eval", "questions.jsonl", "--budget", "200", "--compare")
    extra = {"SPANWISE_SEARCH_TUNING": "t.toml", "SPANWISE_SEARCH_PRESET": "precise"}

    data = read_json(
        *measure, "exact:precise+headers,exact+headers+tuned", folder=folder, extra=extra
    )
    tuned = Evaluation.from_plain(data)
    assert tuned.settings["tuning"] is not None
    assert tuned.notes == ()

    named = read_json(*measure, "exact+headers+tuned", "--tuning", "t.toml", folder=folder)
    assert Evaluation.from_plain(named).settings["tuning"] == tuned.settings["tuning"]

    done = spanwise(*measure, "exact+headers+tuned", folder=folder)
    assert done.returncode == 2
    assert "search.tuning" in done.stderr


def test_settings_of_search_that_no_method_uses_are_named(folder: Path) -> None:
    measure = ("eval", "questions.jsonl", "--budget", "200", "--compare")
    extra = {
        "SPANWISE_SEARCH_TUNING": "none.toml",
        "SPANWISE_SEARCH_PRESET": "precise",
        "SPANWISE_RERANK_MODEL": "cohere:rerank-v3.5",
    }
    data = read_json(*measure, "exact+headers", folder=folder, extra=extra)
    notes = Evaluation.from_plain(data).notes
    assert len(notes) == 3
    for note, name in zip(notes, ("rerank.model", "search.tuning", "search.preset"), strict=True):
        assert name in note

    chunks = read_json(*measure, "top-k", folder=folder, extra=extra)
    assert Evaluation.from_plain(chunks).notes == ()


def test_a_dataset_is_taken_in_once_and_measured_again_at_once(folder: Path) -> None:
    words = ("--dataset", "spanwise=sites", "--compare", "exact+headers,bm25", "--json",
             "--budget", "300", "--work", "work")  # fmt: skip
    first, second = (
        Evaluation.from_plain(json.loads(published(*words, folder=folder).stdout)) for _ in range(2)
    )
    assert str(first.settings["command"]).startswith("python -m benchmarks.evaluate --dataset")
    assert second == first  # with the times of the searches, which were not made again
    assert len(list((folder / "work").glob("sites-*.kb"))) == 1


def test_several_sets_are_told_apart(folder: Path) -> None:
    done = published(
        "questions.jsonl", "--dataset", "spanwise=sites", "--budget", "300",
        "--compare", "exact+headers,bm25", "--work", "work", folder=folder,
    )  # fmt: skip
    assert done.returncode == 0
    assert "questions.jsonl, sites: 20 questions" in done.stdout
    assert "recall at 300" in done.stdout


def test_what_was_finished_before_ctrl_c_is_kept(folder: Path) -> None:
    measure = ("eval", "questions.jsonl", "--budget", "200", "--compare", "bm25", "--work", "kept")
    stopped = spanwise(*measure, "--retriever", "mine:stop", folder=folder)
    assert stopped.returncode == 130
    assert "finished methods are stored in kept" in stopped.stderr
    kept = folder / "kept" / "measured.jsonl"
    before = kept.read_bytes()
    assert before.count(b'"key"') == 1
    assert spanwise(*measure, "--retriever", "mine:search", folder=folder).returncode == 0
    assert kept.read_bytes() == before


def test_sets_of_one_name_are_refused_before_documents_are_taken_in(folder: Path) -> None:
    done = published(
        "--dataset", "spanwise=sites", "--dataset", "spanwise=sites", "--work", "twice",
        folder=folder,
    )  # fmt: skip
    assert done.returncode == 2
    assert "two sets of questions are called 'sites'" in done.stderr
    assert not (folder / "twice").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "there are no questions"), (["--dataset", "cuad"], "NAME=PATH pair")],
)
def test_a_run_without_a_dataset_is_refused(
    arguments: list[str], message: str, folder: Path
) -> None:
    done = published(*arguments, folder=folder)
    assert done.returncode == 2
    assert message in done.stderr


def test_answers_are_graded_in_the_same_run(folder: Path) -> None:
    asked = [
        {
            **question_of(number),
            "question": f"By its report, what is known of site {number}, margin, kiln?",
            "answer": FACT.format(number, number + 2),
        }
        for number in range(3)
    ]
    lines = "\n".join(map(json.dumps, asked))
    (folder / "answered.jsonl").write_text(lines, encoding="utf-8")
    with capable_server() as server:
        model = f"compatible:capable@{server.url}/v1"
        words = ("--answers", "--llm", model, "--judge", model, "--repeats", "2",
                 "--grading-sheet", "sheet.csv", "--report", "judged/report.html")  # fmt: skip
        done = spanwise(
            "eval", "answered.jsonl", "--compare", "bm25,exact+headers", "--budget", "300",
            "--retriever", "mine:search", *words, folder=folder,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "correct answers" in done.stdout
    assert "graded by compatible:capable" in " ".join(done.stdout.split())
    assert (folder / "sheet.csv").exists()
    assert "exact+headers" in done.stdout.partition("answers from")[2]
    data = json.loads((folder / "judged" / "report.json").read_text("utf-8"))
    answerers = [one["answerer"] for one in data["judged"]["grades"]]
    assert answerers[:6] == ["bm25"] * 3 + ["exact+headers"] * 3
    assert answerers[6:] == [data["settings"]["retrievers"][2]] * 3
    again = spanwise("eval", "answered.jsonl", *words, folder=folder)
    assert again.returncode == 2
    assert "sheet.csv already exists" in again.stderr


def test_what_answers_would_take_is_told_and_nobody_is_asked(folder: Path) -> None:
    rows = [{**question_of(number), "answer": FACT.format(number, number)} for number in range(6)]
    (folder / "dry.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = "compatible:capable@http://127.0.0.1:9/v1"
    words = ("eval", "dry.jsonl", "--answers", "--llm", model, "--judge", model, "--dry-run",
             "--limit", "4", "--budget", "300", "--report", "dry.html")  # fmt: skip
    done = spanwise(*words, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    assert "answers: at most: 32 model calls (16 " in shown  # two rounds
    assert "grades: at most: 16 model calls (8 " in shown
    assert not (folder / "dry.html").exists()
    foreseen = json.loads(spanwise(*words, "--json", folder=folder).stdout)["estimate"]
    assert [foreseen[what]["calls"] for what in ("answers", "grades")] == [32, 16]
    refused = spanwise("eval", "dry.jsonl", "--dry-run", folder=folder)
    assert (refused.returncode, "--dry-run is of no use without --answers" in refused.stderr) == (
        2,
        True,
    )


def test_a_document_that_is_not_there_is_named(folder: Path) -> None:
    row = {"question": "Who?", "evidence": [{"document_id": "site-77", "start": 0, "end": 3}]}
    (folder / "wrong.jsonl").write_text(json.dumps(row), encoding="utf-8")
    done = spanwise("eval", "wrong.jsonl", folder=folder)
    assert done.returncode == 2
    assert "site-77" in done.stderr
    assert done.stdout == ""


def test_without_a_knowledge_base_it_says_so(folder: Path, tmp_path: Path) -> None:
    done = spanwise("eval", folder / "questions.jsonl", "--kb", "none.kb", folder=tmp_path)
    assert done.returncode != 0
    assert "none.kb" in done.stderr
    assert list(tmp_path.iterdir()) == []
