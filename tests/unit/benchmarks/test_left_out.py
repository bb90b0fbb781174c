"""Questions of published datasets that cannot be used: left out, counted, and too many refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.lib.published_sets import read_dataset
from tests.dataset_folders import MADE, write

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Dataset, DocumentText, LeftOut
from spanwise.evaluation.datasets import usable_questions

Row = dict[str, Any]


def multiplied(path: Path, spoil: Callable[[Row], None], *, copies: int, bad: int) -> None:
    """Write the one question of a file of JSON lines so many times, some of them spoiled."""
    (row,) = [json.loads(line) for line in path.read_text().splitlines()]
    rows = []
    for number in range(copies):
        one = json.loads(json.dumps(row))
        if "financebench_id" in one:
            one["financebench_id"] = f"id_{number}"
        if number < bad:
            spoil(one)
        rows.append(one)
    write(path, *rows)


def spoil_page(row: Row) -> None:
    row["evidence"][0]["evidence_page_num"] = "first"


def spoil_file(row: Row) -> None:
    row["doc_name"] = row["evidence"][0]["doc_name"] = "GONE"


def spoil_chunk(row: Row) -> None:
    row["golden_chunk_uuids"] = [["u1", 9]]


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("financebench", spoil_page, "'evidence_page_num' is 'first'"),
        ("financebench", spoil_file, "there is no file 'GONE.pdf'"),
        ("contextual-retrieval", spoil_chunk, "chunk 9 of 'doc_1' is golden"),
    ],
)
def test_a_tenth_of_the_questions_may_be_unusable(
    name: str, spoil: Callable[[Row], None], said: str, tmp_path: Path
) -> None:
    MADE[name](tmp_path)
    (path,) = (one for one in tmp_path.rglob("*.jsonl") if "information" not in one.name)
    multiplied(path, spoil, copies=1, bad=0)
    row = path.read_text()
    multiplied(path, spoil, copies=20, bad=2)
    dataset = read_dataset(name, tmp_path)
    assert dataset.left_out is not None
    assert (len(dataset.questions), dataset.left_out.count) == (18, 2)
    assert all(said in reason for reason in dataset.left_out.reasons)
    write(path, row)
    multiplied(path, spoil, copies=20, bad=3)
    with pytest.raises(OptionError, match="there are 3 faults in") as refused:
        read_dataset(name, tmp_path)
    assert "more than a tenth of its 20 questions cannot be used" in str(refused.value)
    assert len(refused.value.faults) == 3
    assert said in refused.value.faults[0]


def test_of_json_and_csv_the_others_are_read_too(tmp_path: Path) -> None:
    """Evidence that is not in its text, in the layouts that hold several questions a file."""
    MADE["legalbench-rag"](tmp_path / "legal")
    (path,) = tmp_path.rglob("nda.json")
    held = json.loads(path.read_text())
    tests = [json.loads(json.dumps(held["tests"][0])) for _ in range(10)]
    tests[4]["snippets"][0]["answer"] = "Every party"
    write(path, {"tests": tests})
    assert left_out("legalbench-rag", tmp_path / "legal").count == 1
    MADE["cuad"](tmp_path / "cuad")
    (path,) = tmp_path.rglob("CUADv1.json")
    held = json.loads(path.read_text())
    asked = held["data"][0]["paragraphs"][0]["qas"]
    asked += [{**asked[1], "id": f"ACME_LEASE__{number}"} for number in range(10)]
    asked[0]["answers"][0]["answer_start"] = "late"
    write(path, held)
    assert left_out("cuad", tmp_path / "cuad").count == 1
    MADE["chroma"](tmp_path / "chroma")
    (path,) = tmp_path.rglob("questions_df.csv")
    head, *body = path.read_text().splitlines()
    path.write_text("\n".join([head, *body * 9, *body]).replace(",tides", ",tide", 1))
    assert left_out("chroma", tmp_path / "chroma").count == 1


def left_out(name: str, folder: Path) -> LeftOut:
    found = read_dataset(name, folder).left_out
    assert found is not None
    return found


def test_a_meeting_without_a_text_loses_its_questions_alone(tmp_path: Path) -> None:
    MADE["qmsum"](tmp_path)
    (path,) = tmp_path.rglob("Meet1.json")
    for number in range(2, 31):
        write(path.with_name(f"Meet{number}.json"), path.read_text())
    write(path, {**json.loads(path.read_text()), "meeting_transcripts": []})
    dataset = read_dataset("qmsum", tmp_path)
    assert dataset.left_out == LeftOut(
        count=2,
        reasons=("Meet1.json: 'meeting_transcripts' is missing or empty; there is no text",),
    )
    assert len(dataset.questions) == 58
    assert len(dataset.documents) == 29


def test_a_single_question_too_many_says_why_it_is_refused(tmp_path: Path) -> None:
    MADE["financebench"](tmp_path)
    (path,) = tmp_path.rglob("*source.jsonl")
    multiplied(path, spoil_page, copies=5, bad=1)
    with pytest.raises(OptionError) as refused:
        read_dataset("financebench", tmp_path)
    assert str(refused.value).startswith(
        f"there is 1 fault in {tmp_path}: more than a tenth of its 5 questions cannot be used; "
        "check that the copy"
    )
    assert len(refused.value.faults) == 1


def test_a_folder_of_ones_own_is_refused_with_one_fault(tmp_path: Path) -> None:
    MADE["spanwise"](tmp_path)
    row = json.loads((tmp_path / "queries.jsonl").read_text().splitlines()[0])
    rows = [{**row, "query_id": str(number)} for number in range(30)]
    rows[7]["evidence"] = [{"doc_id": "a", "start": 0, "end": 99}]
    write(tmp_path / "queries.jsonl", *rows)
    with pytest.raises(OptionError, match="the range 0-99 is empty or not inside"):
        read_dataset("spanwise", tmp_path)


def test_what_the_parsed_documents_do_not_hold_is_added(tmp_path: Path) -> None:
    """Pages of files are known when these are parsed: both times count together."""
    MADE["financebench"](tmp_path)
    (path,) = tmp_path.rglob("*source.jsonl")
    multiplied(path, spoil_page, copies=20, bad=1)
    dataset = read_dataset("financebench", tmp_path)
    there = {"ACME_2020_10K": DocumentText(text="Sales 3")}
    with pytest.raises(OptionError, match="there are 20 faults in"):
        usable_questions(dataset, there, called="it")
    some = with_document(dataset, number=3, document_id="else")
    checked = usable_questions(some, {"ACME_2020_10K": None}, called="it")
    assert checked.left_out is not None
    assert (checked.left_out.count, len(checked.questions)) == (2, 18)
    assert "no document has the id 'else'" in checked.left_out.reasons[1]


def with_document(dataset: Dataset, *, number: int, document_id: str) -> Dataset:
    """Return a dataset whose question of this number names another document."""
    questions = list(dataset.questions)
    (evidence,) = questions[number].evidence
    questions[number] = replace(
        questions[number], evidence=(replace(evidence, document_id=document_id),)
    )
    return replace(dataset, questions=tuple(questions))
