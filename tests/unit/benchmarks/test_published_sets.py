"""Local copies of datasets, made up here in the layout in which each is published."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.lib.published_sets import DATASETS, read_dataset
from tests.dataset_folders import MADE, write

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Dataset, Evidence
from spanwise.types import Page


def _read(name: str, folder: Path) -> Dataset:
    MADE[name](folder)
    return read_dataset(name, folder)


def _changed(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8", newline="")


def test_every_dataset_has_a_reader_words_and_a_test() -> None:
    assert set(DATASETS) == set(MADE)
    assert all(DATASETS.values())


def test_a_folder_of_the_benchmarks(tmp_path: Path) -> None:
    dataset = _read("spanwise", tmp_path / "letters")

    assert dataset.name == "letters"
    text, file = dataset.documents
    assert (text.id, text.title, text.path) == ("a", "Letter A", None)
    assert text.text == "First line\r\nsecond line"
    assert text.pages == (Page(start=0, end=10), Page(start=12, end=23))
    assert (file.id, file.title, file.text) == ("b", "Filing B", None)
    assert file.path is not None
    assert file.path.name == "b.pdf"
    first, second = dataset.questions
    assert first.evidence == (Evidence(document_id="a", start=12, end=18, page=2, text="second"),)
    assert (first.answer, first.metadata, first.scope) == ("a line", {"kind": "order"}, None)
    assert second.evidence == (Evidence(document_id="b", page=1),)
    assert second.scope == ("b",)


def test_chroma_counts_a_line_end_as_one_character(tmp_path: Path) -> None:
    dataset = _read("chroma", tmp_path)

    assert [(one.id, one.text) for one in dataset.documents] == [
        ("tides", "The moon pulls.\nThe sea, it follows."),
        ("winds", "Winds blow."),
    ]
    (question,) = dataset.questions
    assert question.text == "What follows,\nand why?"
    assert question.evidence == (
        Evidence(document_id="tides", start=16, end=36, text="The sea, it follows."),
    )
    assert question.scope is None


def test_financebench_takes_the_filings_of_its_questions_and_counts_pages_from_one(
    tmp_path: Path,
) -> None:
    dataset = _read("financebench", tmp_path)

    (document,) = dataset.documents
    assert (document.id, document.title) == ("ACME_2020_10K", "Acme 10k 2020")
    (question,) = dataset.questions
    assert question.id == "financebench_id_1"
    assert question.evidence == (Evidence(document_id="ACME_2020_10K", page=1, text="Sales 3"),)
    assert question.answer == "$3"
    assert question.metadata == {
        "question_type": "metrics-generated",
        "company": "Acme",
        "doc_name": "ACME_2020_10K",
    }


def test_legalbench_rag_takes_the_texts_that_its_snippets_name(tmp_path: Path) -> None:
    dataset = _read("legalbench-rag", tmp_path)

    (document,) = dataset.documents
    assert (document.id, document.text) == ("nda/one.txt", "Terms.\nEach party shall keep it.")
    (question,) = dataset.questions
    assert question.id == "nda-00000"
    assert question.evidence == (
        Evidence(document_id="nda/one.txt", start=7, end=17, text="Each party"),
    )
    assert question.metadata == {"benchmark": "nda"}


@pytest.mark.parametrize("named", [".", "data", "data/CUADv1.json"])
def test_cuad_asks_each_contract_also_for_what_it_does_not_have(tmp_path: Path, named: str) -> None:
    MADE["cuad"](tmp_path)

    dataset = read_dataset("cuad", tmp_path / named)

    (document,) = dataset.documents
    assert (document.id, document.title) == ("ACME_LEASE", "ACME_LEASE")
    term, audit = dataset.questions
    assert term.evidence == (Evidence(document_id="ACME_LEASE", start=11, end=19, text="ten days"),)
    assert (term.answer, term.scope) == ("ten days", ("ACME_LEASE",))
    assert term.metadata == {"category": "Term"}
    assert (audit.evidence, audit.answer, audit.scope) == ((), "", ("ACME_LEASE",))
    assert audit.metadata == {"category": "Audit", "answerable": False}


def test_qmsum_has_a_turn_a_line_and_spans_with_their_last_turn(tmp_path: Path) -> None:
    dataset = _read("qmsum", tmp_path)

    (document,) = dataset.documents
    assert document.id == "Meet1"
    assert document.text == "Ann: Hello .\nBo: The lamp glows .\nAnn: Good ."
    general, specific = dataset.questions
    assert (general.evidence, general.metadata) == ((), {"kind": "general"})
    assert [document.text[one.start : one.end] for one in specific.evidence] == [
        "Bo: The lamp glows .\nAnn: Good .",
        "Ann: Hello .",
    ]
    assert specific.scope == general.scope == ("Meet1",)


def test_qmsum_is_read_from_a_file_of_meetings_too(tmp_path: Path) -> None:
    MADE["qmsum"](tmp_path)
    meeting = (tmp_path / "data/ALL/val/Meet1.json").read_text()
    write(tmp_path / "jsonl/val.jsonl", meeting, meeting)

    dataset = read_dataset("qmsum", tmp_path / "jsonl/val.jsonl")

    assert [document.id for document in dataset.documents] == ["val-000", "val-001"]
    assert len(dataset.questions) == 4


def test_qmsum_is_read_from_a_folder_of_meetings_too_and_turns_a_span_round(
    tmp_path: Path,
) -> None:
    MADE["qmsum"](tmp_path)
    _changed(tmp_path / "data/ALL/val/Meet1.json", '["1", "2"]', '["2", "1"]')

    dataset = read_dataset("qmsum", tmp_path / "data/ALL/val")

    piece, _ = dataset.questions[1].evidence
    assert (piece.start, piece.end) == (13, 45)


def test_a_golden_chunk_is_where_it_stands_also_where_its_text_stands_twice(
    tmp_path: Path,
) -> None:
    dataset = _read("contextual-retrieval", tmp_path)

    (question,) = dataset.questions
    assert question.evidence == (
        Evidence(document_id="doc_1", start=20, end=30, text="fn a() {}\n"),
    )
    assert (question.answer, question.scope) == ("At the end.", None)


def test_kite_asks_each_set_of_its_own_folder_and_has_no_evidence(tmp_path: Path) -> None:
    dataset = _read("kite", tmp_path)

    (document,) = dataset.documents
    assert document.id == "sourcegraph-company-handbook/team/who.md"
    assert document.path == tmp_path.resolve() / "knowledge-base-content" / document.id
    (question,) = dataset.questions
    assert (question.answer, question.rubric) == ("A team.", "Name the team.")
    assert question.scope == (document.id,)
    assert question.evidence == ()


def test_a_single_store_asks_the_documents_of_the_evidence_and_keeps_a_scope(
    tmp_path: Path,
) -> None:
    MADE["spanwise"](tmp_path)

    first, second = read_dataset("spanwise", tmp_path, store="single").questions

    assert (first.scope, second.scope) == (("a",), ("b",))


@pytest.mark.parametrize("name", list(MADE))
def test_a_folder_that_is_something_else_names_what_was_looked_for(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "else").mkdir()

    with pytest.raises(OptionError, match=rf"is no checkout of {name}: there is no \w+"):
        read_dataset(name, tmp_path / "else")


def test_what_is_no_dataset_no_store_and_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="dataset is 'squad'; the datasets are spanwise, chroma"):
        read_dataset("squad", tmp_path)
    with pytest.raises(OptionError, match='store is \'own\'; give "shared" or "single"'):
        read_dataset("cuad", tmp_path, store="own")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="name the folder that cuad was cloned or unpacked to"):
        read_dataset("cuad", tmp_path / "none")


@pytest.mark.parametrize("named", ["../secret.txt", "/etc/hostname", "a\0b", "x" * 5_000, "link"])
def test_a_path_in_a_data_file_cannot_leave_its_folder(tmp_path: Path, named: str) -> None:
    folder = tmp_path / "letters"
    MADE["spanwise"](folder)
    write(tmp_path / "secret.txt", "secret")
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    write(folder / "documents.jsonl", {"doc_id": "a", "path": named, "title": "A"}, "")

    refused = r"documents\.jsonl:1: .*(leads out of|names no file|there is no file)"
    with pytest.raises(OptionError, match=refused):
        read_dataset("spanwise", folder)


def test_faults_of_a_dataset_are_told_together(tmp_path: Path) -> None:
    MADE["spanwise"](tmp_path)
    row = {"doc_id": "a", "path": "documents/a.txt", "title": "A", "chars": 22}
    write(tmp_path / "documents.jsonl", row, {**row, "path": "none.txt"}, {**row, "chars": 23})

    with pytest.raises(OptionError) as raised:
        read_dataset("spanwise", tmp_path)

    assert "there are 2 faults" in str(raised.value)
    assert "documents.jsonl:1: the text has 23 characters, and 22 are stated" in str(raised.value)
    assert "documents.jsonl:2: there is no file 'none.txt'" in str(raised.value)


def test_pages_may_be_missing_where_no_evidence_is_a_page(tmp_path: Path) -> None:
    MADE["spanwise"](tmp_path)
    (tmp_path / "pages.jsonl").unlink()

    with pytest.raises(OptionError, match="'a' has no pages"):
        read_dataset("spanwise", tmp_path)
    _changed(tmp_path / "queries.jsonl", ', "page": 1', "")
    assert read_dataset("spanwise", tmp_path).documents[0].pages == ()


def test_a_copy_without_questions_is_told(tmp_path: Path) -> None:
    MADE["cuad"](tmp_path)
    write(tmp_path / "data/CUADv1.json", {"data": []})

    with pytest.raises(OptionError, match="has no questions of cuad; name a whole copy"):
        read_dataset("cuad", tmp_path)


def test_two_documents_of_one_id_are_told(tmp_path: Path) -> None:
    MADE["spanwise"](tmp_path)
    row = {"doc_id": "a", "path": "documents/a.txt", "title": "A"}
    write(tmp_path / "documents.jsonl", row, row, {**row, "doc_id": "b"})

    with pytest.raises(OptionError, match="2 documents have the id 'a'"):
        read_dataset("spanwise", tmp_path)


@pytest.mark.parametrize(
    ("name", "file", "before", "after", "words"),
    [
        (
            "spanwise",
            "pages.jsonl",
            '"page": 1',
            '"page": 2',
            "pages.jsonl:2: 'page' is 2, and the next is 1",
        ),
        (
            "spanwise",
            "pages.jsonl",
            '"start": 12',
            '"start": 9',
            "pages.jsonl:2: page 1 is at 9-23, and the one before ends at 10",
        ),
        (
            "spanwise",
            "pages.jsonl",
            '"start": 12',
            '"start": 24',
            "pages.jsonl:2: page 1 is at 24-23, and the one before ends at 10",
        ),
        (
            "spanwise",
            "pages.jsonl",
            '"end": 23',
            '"end": 24',
            "the last page of 'a' ends at 24, and its text has 23 characters",
        ),
        ("chroma", "questions_df.csv", "corpus_id", "corpus", "no column is named 'corpus_id'"),
        ("chroma", "questions_df.csv", ",tides", ",tide", "the corpus 'tide' is not among"),
        ("chroma", "questions_df.csv", "[{", "[", "'references' is no JSON"),
        ("chroma", "questions_df.csv", ": 36", ": 99", "the range 16-99 is empty or not inside"),
        ("chroma", "questions_df.csv", '"What', '"What"x"', "no CSV"),
        (
            "financebench",
            "financebench_open_source.jsonl",
            '"evidence_page_num": 0',
            '"evidence_page_num": "1"',
            "'evidence_page_num' is '1'; give a whole number",
        ),
        (
            "financebench",
            "financebench_open_source.jsonl",
            "ACME_2020_10K",
            "../pdfs/none",
            "there is no file '../pdfs/none.pdf'",
        ),
        ("legalbench-rag", "nda.json", "[7, 17]", "[7]", "'span' is [7]; give two characters"),
        ("legalbench-rag", "nda.json", "Each party", "Every one", "not 'Every one'"),
        ("legalbench-rag", "nda.json", "nda/one", "nda/two", "no file 'nda/two.txt'"),
        ("cuad", "CUADv1.json", '"answer_start": 11', '"answer_start": 3', ", not "),
        ("cuad", "CUADv1.json", '{"version"', "{", "not JSON"),
        ("qmsum", "Meet1.json", '["1", "2"]', '["1", "3"]', "and the meeting has 3 turns"),
        ("qmsum", "Meet1.json", '["1", "2"]', '["1", "x"]', "give the first and the last turn"),
        ("qmsum", "Meet1.json", '["1", "2"]', "7", "a span is 7"),
        ("qmsum", "Meet1.json", '["1", "2"]', '"12"', "a span is '12'"),
        ("qmsum", "Meet1.json", "meeting_transcripts", "transcripts", "there is no text"),
        ("contextual-retrieval", "evaluation_set.jsonl", '"u1", 2', '"u2", 2', "no file of that"),
        (
            "contextual-retrieval",
            "evaluation_set.jsonl",
            '"u1", 2',
            '"u1", 9',
            "chunk 9 of 'doc_1'",
        ),
        (
            "contextual-retrieval",
            "codebase_chunks.json",
            '2, "content": "fn a',
            '2, "content": "fn z',
            "chunk 2 of 'doc_1' is golden, and is not a part",
        ),
        ("kite", "sourcegraph.json", '"query"', '"ask"', "'query' is missing"),
    ],
)
def test_a_data_file_that_is_not_as_published_is_named(
    tmp_path: Path, name: str, file: str, before: str, after: str, words: str
) -> None:
    MADE[name](tmp_path)
    (path,) = tmp_path.rglob(file)
    _changed(path, before, after)

    with pytest.raises(OptionError) as raised:
        read_dataset(name, tmp_path)

    assert words in str(raised.value)


def test_a_copy_whose_files_are_with_git_lfs_says_so(tmp_path: Path) -> None:
    MADE["kite"](tmp_path)
    (paper,) = tmp_path.rglob("who.md")
    write(paper, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")

    with pytest.raises(OptionError, match=r"who\.md is a Git LFS pointer.*`git lfs pull`"):
        read_dataset("kite", tmp_path)
