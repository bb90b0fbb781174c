"""A dataset in a knowledge base: made, gone on with, and read back for its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.documents import build_pdf

from spanwise import KnowledgeBase
from spanwise.errors import DocumentError, DocumentNotFoundError, OptionError
from spanwise.evaluation.dataset import (
    Dataset,
    DatasetDocument,
    DocumentText,
    Evidence,
    LabelledQuestion,
)
from spanwise.evaluation.dataset_ingest import knowledge_base_of, texts
from spanwise.evaluation.datasets import check_questions
from spanwise.types import IngestProgress, Page

LETTER = "Dear Ann,\r\nthe lamp glows.\r\n\r\nYours, Bo\r\n"


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    """A PDF of two pages."""
    path = tmp_path / "lamp.pdf"
    path.write_bytes(build_pdf(["The lamp costs three coins.", "The wick costs one coin."]))
    return path


@pytest.fixture
def dataset(pdf: Path) -> Dataset:
    """A text with pages, and a file under an id of its own."""
    return Dataset(
        name="lamps",
        questions=(
            LabelledQuestion(
                id="q1",
                text="What glows?",
                evidence=(Evidence(document_id="letters/a", text="the lamp glows."),),
            ),
            LabelledQuestion(
                id="q2",
                text="What does the wick cost?",
                evidence=(Evidence(document_id="prices", page=2),),
            ),
        ),
        documents=(
            DatasetDocument(
                id="letters/a", title="A letter", text=LETTER, pages=(Page(start=0, end=43),)
            ),
            DatasetDocument(id="prices", title="Prices of lamps", path=pdf),
        ),
    )


@pytest.fixture
def base(dataset: Dataset, tmp_path: Path) -> Iterator[KnowledgeBase]:
    """The knowledge base of the dataset."""
    with knowledge_base_of(dataset, tmp_path / "lamps.kb", embedder=None) as made:
        yield made


def test_documents_have_the_ids_titles_and_characters_of_the_dataset(base: KnowledgeBase) -> None:
    assert {record.id: record.title for record in base.list()} == {
        "letters/a": "A letter",
        "prices": "Prices of lamps",
    }
    assert base.get("letters/a").text == LETTER
    assert len(base.get("prices").pages) == 2
    found = base.search("What does the wick cost?").segments
    assert (found[0].document_id, found[0].citation.pages) == ("prices", (1, 2))


def test_what_is_there_unchanged_is_not_made_again(
    base: KnowledgeBase, dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.close()
    heard: list[IngestProgress] = []

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("it was added again")

    monkeypatch.setattr(KnowledgeBase, "add", refused)
    monkeypatch.setattr(KnowledgeBase, "add_text", refused)
    again = knowledge_base_of(
        dataset, tmp_path / "lamps.kb", embedder=None, on_document=heard.append
    )

    again.close()
    assert [(one.document_id, one.outcome, one.documents_done) for one in heard] == [
        ("letters/a", "unchanged", 1),
        ("prices", "unchanged", 2),
    ]
    assert heard[-1].bytes_done == heard[-1].bytes_total


def test_a_run_that_was_stopped_goes_on_where_it_stopped(dataset: Dataset, tmp_path: Path) -> None:
    def stop(progress: IngestProgress) -> None:
        raise KeyboardInterrupt(progress.document_id)

    with pytest.raises(KeyboardInterrupt, match="letters/a"):
        knowledge_base_of(dataset, tmp_path / "lamps.kb", embedder=None, on_document=stop)

    heard: list[IngestProgress] = []
    with knowledge_base_of(
        dataset, tmp_path / "lamps.kb", embedder=None, on_document=heard.append
    ) as base:
        assert [one.outcome for one in heard] == ["unchanged", "added"]
        assert len(base.list()) == 2


def test_a_document_that_changed_or_has_another_title_is_replaced(
    base: KnowledgeBase, dataset: Dataset, tmp_path: Path
) -> None:
    base.close()
    letter, prices = dataset.documents
    changed = replace(
        dataset,
        documents=(replace(letter, text="The lamp is out."), replace(prices, title="Prices")),
    )

    heard: list[IngestProgress] = []
    with knowledge_base_of(
        changed, tmp_path / "lamps.kb", embedder=None, on_document=heard.append
    ) as again:
        assert [one.outcome for one in heard] == ["replaced", "replaced"]
        assert again.get("letters/a").text == "The lamp is out."
        assert again.record("prices").title == "Prices"


def test_documents_that_are_not_of_the_dataset_are_refused(
    base: KnowledgeBase, dataset: Dataset, tmp_path: Path
) -> None:
    base.add_text("Something else.", document_id="other")
    base.close()

    with pytest.raises(OptionError, match=r"contains 1 documents .* 'lamps', such as 'other'"):
        knowledge_base_of(dataset, tmp_path / "lamps.kb", embedder=None)


def test_documents_that_fail_are_told_when_the_others_are_in(
    dataset: Dataset, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing of a file")
    bad = (
        DatasetDocument(id="empty", text=""),
        DatasetDocument(id="broken", path=broken),
    )
    heard: list[IngestProgress] = []

    with pytest.raises(DocumentError, match=r"2 of 4 documents .* empty: .*; broken: ") as raised:
        knowledge_base_of(
            replace(dataset, documents=(*bad, *dataset.documents)),
            tmp_path / "lamps.kb",
            embedder=None,
            on_document=heard.append,
        )

    assert raised.value.source == "empty"
    assert [one.outcome for one in heard] == ["failed", "failed", "added", "added"]
    with KnowledgeBase(tmp_path / "lamps.kb", create=False) as base:
        assert [record.id for record in base.list()] == ["letters/a", "prices"]


def test_a_dataset_and_a_document_with_nothing_in_them_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="'none' has no documents"):
        knowledge_base_of(Dataset(name="none", questions=()), tmp_path / "none.kb")
    lacking = Dataset(name="none", questions=(), documents=(DatasetDocument(id="a"),))
    with pytest.raises(OptionError, match="'a' has neither a text nor a file"):
        knowledge_base_of(lacking, tmp_path / "none.kb", embedder=None)


def test_questions_are_checked_against_what_was_parsed(
    base: KnowledgeBase, dataset: Dataset
) -> None:
    first, second = check_questions(dataset.questions, texts(base))

    (piece,) = first.evidence
    assert LETTER[piece.start : piece.end] == "the lamp glows."
    assert second == dataset.questions[1]
    beyond = replace(second, evidence=(Evidence(document_id="prices", page=3),))
    with pytest.raises(OptionError, match="page is 3, and 'prices' has 2 pages"):
        check_questions([beyond], texts(base))


def test_texts_are_read_when_they_are_asked_for_and_those_of_a_dataset_keep_their_pages(
    base: KnowledgeBase, dataset: Dataset
) -> None:
    read = texts(base, ["prices", "gone"])
    known = texts(base, dataset=dataset)

    assert list(read) == ["prices", "gone"]
    assert "gone" in read
    assert "letters/a" not in read
    assert read["prices"] is read["prices"]
    assert read["prices"].text == base.get("prices").text
    with pytest.raises(DocumentNotFoundError):
        read["gone"]
    assert texts(base)["letters/a"] == DocumentText(text=LETTER)
    assert len(known) == 2
    assert known["letters/a"] == DocumentText(text=LETTER, pages=(Page(start=0, end=43),))
