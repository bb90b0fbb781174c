"""Reworded questions and facts: how they are read, weighed and scored."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.lib.corpus import reworded
from benchmarks.lib.datasets import Query, first_documents, read_dataset
from benchmarks.lib.question_rows import Row, mean, read_rows, render_differences, write_rows
from benchmarks.lib.scoring import states_fact
from benchmarks.lib.training import example_weights, labelled

from spanwise.evaluation.tuning.examples import Example, Rows


def _write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _query(name: str, document: str, **more: object) -> dict[str, object]:
    evidence = [{"doc_id": document, "start": 0, "end": 3}]
    return {"query_id": name, "query": "What?", "evidence": evidence, "scope": None, **more}


def _documents(folder: Path, *names: str) -> None:
    rows: list[dict[str, object]] = [
        {"doc_id": name, "title": name, "path": f"{name}.txt"} for name in names
    ]
    _write_lines(folder / "documents.jsonl", rows)


def test_reworded_questions_are_added_whole_to_a_limited_number_of_originals(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "set"
    _documents(folder, "a")
    _write_lines(folder / "queries.jsonl", [_query(f"q{n}", "a") for n in range(4)])
    _write_lines(folder / "queries.reworded.jsonl", [_query(f"q{n}-r", "a") for n in range(3)])

    read = read_dataset(folder, limit=2, reworded=True)

    assert [query.id for query in read.queries] == ["q0", "q2", "q0-r", "q1-r", "q2-r"]
    assert [query.kind for query in read.queries] == ["original"] * 2 + ["reworded"] * 3
    assert len(read_dataset(folder).queries) == 4


def test_facts_are_about_the_filings_and_know_whether_they_share_words(tmp_path: Path) -> None:
    _documents(tmp_path / "financebench_txt", "a")
    facts = [_query(name, "a", meta={"wording": name}) for name in ("own", "other")]
    _write_lines(tmp_path / "facts_filings" / "queries.jsonl", facts)

    read = read_dataset(tmp_path / "facts_filings")

    assert [document.path for document in read.documents] == [
        tmp_path / "financebench_txt" / "a.txt"
    ]
    assert [(query.kind, query.asks_fact) for query in read.queries] == [
        ("own", True),
        ("other", True),
    ]


def test_a_limit_of_documents_keeps_those_with_evidence_and_their_questions(
    tmp_path: Path,
) -> None:
    _documents(tmp_path, "a", "b", "c")
    queries = [_query("q1", "b", scope=["b", "c"]), _query("q2", "c")]
    _write_lines(tmp_path / "queries.jsonl", queries)

    limited = first_documents(read_dataset(tmp_path), 1)

    assert [document.id for document in limited.documents] == ["b"]
    assert [(query.id, query.scope) for query in limited.queries] == [("q1", ("b",))]


@pytest.mark.parametrize(
    ("ranges", "stated"),
    [
        ([("a", 0, 4), ("a", 5, 9)], 1.0),  # a space is missing
        ([("a", 0, 4), ("a", 6, 9)], 0.0),  # a letter is missing
        ([("b", 3, 7)], 1.0),  # the other place
        ([("a", 1, 9)], 0.0),
        ([], 0.0),
    ],
)
def test_a_fact_is_stated_if_one_place_is_returned_whole(
    ranges: list[tuple[str, int, int]], stated: float
) -> None:
    query = Query("q", "What?", {"a": [(0, 9)], "b": [(3, 7)]}, None, kind="other")
    assert states_fact(query, ranges, {"a": "Four five", "b": "It is nine."}) == stated


def _example(kind: str) -> Example:
    (question,) = labelled([Query("q", "What?", {"a": [(0, 3)]}, None, kind=kind)])
    whole = np.zeros(1, dtype=np.int64)
    rows = Rows(starts=whole, tokens=whole, evidence=np.ones(1), all_evidence=1)
    return Example(
        question=question,
        features=np.zeros((1, 1), dtype=np.float32),
        lifts=np.zeros(1),
        evidence=np.ones(1),
        documents=whole,
        compares=False,
        candidates=whole,
        rows=rows,
    )


def test_half_of_the_weight_of_a_set_is_on_its_reworded_questions() -> None:
    found = [_example(kind) for kind in ("original", "original", "original", "reworded")]
    assert example_weights(found) == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
    assert example_weights(found[:3]) == pytest.approx([1 / 3, 1 / 3, 1 / 3])


def _row(name: str, score: float, *, set_name: str = "a", method: str = "new") -> Row:
    return Row(
        method=method,
        set=set_name,
        kind="reworded",
        id=name,
        scores=(score, 1.0),
        tokens=(10.0, 20.0),
        seconds=0.5,
    )


def test_rows_survive_a_file_and_sets_weigh_the_same_in_a_mean(tmp_path: Path) -> None:
    rows = [_row("1", 1.0), _row("2", 1.0), _row("3", 0.0, set_name="b")]
    write_rows(tmp_path / "rows.json", rows)
    again = read_rows(tmp_path / "rows.json")
    assert again == rows
    assert mean(again) == "50.0/100.0"


def test_differences_are_paired_by_question() -> None:
    new = [_row("1", 1.0), _row("2", 0.5)]
    old = [_row("2", 0.5), _row("1", 0.5), _row("3", 0.0)]
    *_, line = render_differences(new, old)
    assert "+25.0 [0.0, 50.0] / +0.0 [0.0, 0.0], n = 2" in line
    assert "+50.0" in render_differences(new, [_row("1", 0.5, method="old")], by="new")[-1]


def test_generated_questions_are_reworded_with_other_words_of_the_texts() -> None:
    pool = ["The cellar and the basement hold wine.", "A doctor is a physician."]
    (found,) = reworded(["the physician, physicians"], pool)
    assert found == "the doctor, doctor"
