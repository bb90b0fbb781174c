"""The whole engine on real files: add, search, replace, remove."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import ChunkOptions, KnowledgeBase, SegmentOptions, field
from spanwise.errors import (
    ConflictError,
    DocumentNotFoundError,
    EmbedderMismatchError,
    FilterError,
    OptionError,
    ParseError,
    QueryError,
)
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import IngestProgress

MARGINS = """# Annual report 2018

## Results

Net sales grew by 3 percent to 32,765 million dollars.

Gross margin fell from 49.1 to 48.2 percent. Higher raw material costs and freight rates drove the
change; price increases made up for a part of it.

## People

We employ 93,516 people in 70 countries. Safety at work improved again this year.
"""
CONTRACT = """MASTER SERVICES AGREEMENT

1. DEFINITIONS

"Services" means the work described in each order.

2. TERM AND TERMINATION

Either party may terminate this agreement with ninety days' written notice.

3. GOVERNING LAW

This agreement is governed by the laws of the State of New York.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    reports = tmp_path / "reports"
    (reports / "deep").mkdir(parents=True)
    (reports / "acme_2018.md").write_text(MARGINS, encoding="utf-8")
    (reports / "deep" / "contract.txt").write_text(CONTRACT, encoding="utf-8")
    return reports


@pytest.fixture
def base(tmp_path: Path, folder: Path) -> KnowledgeBase:
    base = KnowledgeBase(tmp_path / "test.kb")
    base.add(folder)
    return base


def test_a_folder_goes_in_and_a_question_finds_its_place(base: KnowledgeBase) -> None:
    result = base.search("What drove the change in gross margin?", budget_tokens=300)
    best = min(result.segments, key=lambda segment: segment.rank)
    assert best.document_id == "acme_2018.md"
    assert "Higher raw material costs" in best.text
    assert best.text == MARGINS[best.start : best.end]
    assert best.citation.section_path[0] == "Annual report 2018"


def test_ids_are_paths_relative_to_the_folder(base: KnowledgeBase) -> None:
    assert [record.id for record in base.list()] == ["acme_2018.md", "deep/contract.txt"]


def test_text_is_kept_character_for_character(tmp_path: Path) -> None:
    text = "first\r\nsecond\rthird\n\n\ttable\t1\n\x0bend \U0001f600 e\u0301 "
    path = tmp_path / "odd name é.txt"
    path.write_bytes(text.encode())
    with KnowledgeBase(":memory:") as base:
        base.add(path)
        base.add_text(text, document_id="given")
        assert base.get(path.name).text == base.get("given").text == text
        assert "".join(chunk.text for chunk in base.chunks("given")) == text


def test_what_is_unchanged_is_left_alone_and_what_changed_is_replaced(
    base: KnowledgeBase, folder: Path
) -> None:
    assert base.add(folder).unchanged == ("acme_2018.md", "deep/contract.txt")
    (folder / "acme_2018.md").write_text(MARGINS.replace("freight", "shipping"), encoding="utf-8")
    report = base.add(folder)
    assert report.replaced == ("acme_2018.md",)
    assert report.unchanged == ("deep/contract.txt",)
    assert "shipping" in base.search("gross margin change").context


def test_an_id_from_elsewhere_is_a_conflict_that_names_both(
    base: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "acme_2018.md"
    other.write_text("Something else entirely.", encoding="utf-8")
    (failure,) = base.add(other).failed
    assert failure.code == "conflict"
    assert str(folder) in failure.message
    assert str(other) in failure.message
    assert base.add(other, replace=True).replaced == ("acme_2018.md",)


def test_a_text_does_not_take_the_place_of_a_file(base: KnowledgeBase) -> None:
    with pytest.raises(ConflictError):
        base.add_text("x y z", document_id="acme_2018.md")


def test_one_bad_file_does_not_keep_the_others_out(base: KnowledgeBase, folder: Path) -> None:
    (folder / "empty.txt").write_bytes(b"")
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 20)
    (folder / "blank.md").write_text(" \n\n ", encoding="utf-8")
    (folder / "new.md").write_text("# New\n\nA new document about tides.", encoding="utf-8")
    report = base.add(folder)
    assert report.added == ("new.md",)
    assert sorted((Path(f.source).name, f.code) for f in report.failed) == [
        ("blank.md", "no_text"),
        ("empty.txt", "empty"),
        ("noise.bin", "binary"),
    ]
    assert all(failure.source in failure.message for failure in report.failed)


def test_a_path_that_is_not_there_is_a_failure(base: KnowledgeBase, tmp_path: Path) -> None:
    (failure,) = base.add(tmp_path / "nowhere.pdf").failed
    assert failure.code == "unreadable"
    assert "nowhere.pdf" in failure.message


def test_removed_documents_are_not_found(base: KnowledgeBase) -> None:
    assert base.remove("acme_2018.md")
    assert not base.remove("acme_2018.md")
    assert "gross" not in base.search("gross margin").context.lower()
    with pytest.raises(DocumentNotFoundError, match=r"acme_2018\.md"):
        base.get("acme_2018.md")


def test_a_search_keeps_to_its_documents_and_filters(base: KnowledgeBase) -> None:
    for year in (2016, 2017, 2018):
        base.add_text(MARGINS, document_id=f"r{year}", metadata={"year": year, "company": "Acme"})
    question = "What drove the change in gross margin?"
    found = base.search(question, where=field("year") >= 2017)
    assert {s.document_id for s in found.segments} <= {"r2017", "r2018"}
    as_text = base.search(question, where='year >= 2017 and company = "Acme"')
    assert as_text.context == found.context
    scoped = base.search(question, documents=["r2016"])
    assert {s.document_id for s in scoped.segments} == {"r2016"}
    assert base.search(question, documents=[]).not_found
    with pytest.raises(FilterError, match="yaer"):
        base.search(question, where="yaer = 2017")
    with pytest.raises(FilterError):
        base.search(question, where='year = "2017"')
    with pytest.raises(DocumentNotFoundError, match="r1999"):
        base.search(question, documents=["r1999"])
    with pytest.raises(OptionError, match="give a list"):
        base.search(question, documents="r2016")


def test_every_budget_is_kept_as_the_reader_counts(base: KnowledgeBase) -> None:
    counter = make_tokenizer("o200k_base")
    for budget in (140, 200, 400, 1000):
        result = base.search("terminate the agreement", budget_tokens=budget)
        assert counter.count([result.context])[0] <= result.tokens <= budget
        assert result.segments


def test_another_reader_counts_its_own_tokens(base: KnowledgeBase) -> None:
    result = base.search("terminate the agreement", budget_tokens=200, tokenizer="chars:4")
    assert len(result.context) / 4 <= result.tokens <= 200


def test_without_headers_the_budget_is_for_text_alone(base: KnowledgeBase) -> None:
    result = base.search("terminate the agreement", budget_tokens=150, headers=False)
    assert result.context == "\n\n".join(segment.text for segment in result.segments)


@pytest.mark.parametrize("budget", [2, 5, 20, 40, 80, 120])
@pytest.mark.parametrize("arguments", [{}, {"headers": False}, {"preset": "precise"}])
def test_a_budget_below_one_chunk_gives_the_best_sentence(
    base: KnowledgeBase, budget: int, arguments: dict[str, Any]
) -> None:
    """As much as fits, with its exact place, whatever the documents."""
    result = base.search("gross margin", budget_tokens=budget, **arguments)
    assert result.segments
    assert sum(segment.tokens for segment in result.segments) == result.tokens <= budget
    for segment in result.segments:
        text = base.get(segment.document_id).text
        assert text[segment.start : segment.end] == segment.text
        assert segment.text.strip()
        assert segment.text.strip() in result.context
        assert base.locate(segment.citation).status == "current"
    if budget >= 20:
        assert any("margin" in segment.text for segment in result.segments)
    excerpts = base.excerpts("gross margin", excerpt_tokens=budget)
    assert excerpts.excerpts[0].tokens <= budget
    assert excerpts.tokens <= budget * len(excerpts.excerpts)
    assert excerpts.excerpts[0].text.strip() in excerpts.context
    base.explain("gross margin", budget_tokens=budget).to_html()
    base.search("gross margin", budget_tokens=budget, method="greedy")


def test_a_small_budget_is_said(base: KnowledgeBase) -> None:
    result = base.search("gross margin", budget_tokens=20)
    assert any("budget is 20" in warning for warning in result.warnings)
    with pytest.raises(OptionError, match="not even one word"):
        base.search("gross margin", budget_tokens=1)


@pytest.mark.parametrize(("budget", "is_cut"), [(5, True), (40, False)])
def test_the_warning_says_whether_the_best_sentence_is_complete(
    base: KnowledgeBase, budget: int, is_cut: bool
) -> None:
    """The first words of a sentence may not mean what the sentence says."""
    results = (
        base.search("gross margin", budget_tokens=budget),
        base.excerpts("gross margin", excerpt_tokens=budget),
    )
    for result in results:
        (warning,) = (text for text in result.warnings if f" is {budget}, too little" in text)
        assert ("first words" in warning) == is_cut


@pytest.mark.parametrize("question", ["", "   ", "\n"])
def test_an_empty_question_is_refused(base: KnowledgeBase, question: str) -> None:
    with pytest.raises(QueryError, match="at least one word"):
        base.search(question)


def test_a_question_of_signs_alone_is_refused(base: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match="at least one word"):
        base.search("?!")


def test_a_question_of_broken_bytes_is_refused(base: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match="not UTF-8"):
        base.search("caf\udcff")


def test_a_segment_is_cited_by_the_section_of_its_best_chunk() -> None:
    filler = "The weather was mild and the staff were content all through the year. " * 5
    text = f"1. LETTER\n\n{filler}\n\n2. MARGINS\n\nGross margin fell as freight rose. {filler}\n"
    with KnowledgeBase(":memory:") as base:
        base.add_text(text, document_id="d", title="Report")
        (segment,) = base.search("Why did gross margin fall?", preset="comprehensive").segments
    assert segment.start == 0
    assert segment.citation.section_path == ("2. MARGINS",)


def test_a_long_question_is_searched_by_its_telling_terms(base: KnowledgeBase) -> None:
    words = " ".join(f"word{at}" for at in range(12_000))
    result = base.search(f"gross margin raw material freight {words}"[:100_000])
    assert "Higher raw material costs" in result.context
    assert any("most informative" in warning for warning in result.warnings)


def test_an_unknown_preset_names_those_there_are(base: KnowledgeBase) -> None:
    with pytest.raises(OptionError, match="precise, balanced, comprehensive"):
        base.search("gross margin", preset="exact")


def test_nothing_worth_its_minimum_is_not_found_with_a_guess_apart(base: KnowledgeBase) -> None:
    options = SegmentOptions(min_segment_value=5.0)
    result = base.search("gross margin", segment_options=options)
    assert result.not_found
    assert result.best_guess is not None
    assert "Gross margin" in result.best_guess.text
    assert result.context == ""


def test_an_empty_knowledge_base_finds_nothing(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "empty.kb") as base:
        result = base.search("anything at all")
        assert result.not_found
        assert result.best_guess is None


def test_a_knowledge_base_without_an_embedder_says_so(folder: Path) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        assert any("keywords alone" in warning for warning in base.add(folder).warnings)
        result = base.search("What drove the change in gross margin?")
        assert "Higher raw material costs" in result.context
        assert any("keywords alone" in warning for warning in result.warnings)


def test_options_hold_from_the_day_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "test.kb"
    with KnowledgeBase(path, chunks=ChunkOptions(target=200, max=260, paragraph_min=100)):
        pass
    with KnowledgeBase(path) as base:
        assert '"target": 200' in base.info().settings["chunks"]
    with pytest.raises(OptionError, match="was made with"):
        KnowledgeBase(path, chunks=ChunkOptions())
    with pytest.raises(EmbedderMismatchError, match="was made with embedder"):
        KnowledgeBase(path, embedder=None)


class CountingEmbedder:
    """Remembers what it was asked to embed."""

    name = "counting"
    version = "1"
    dimension = 4

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return np.array([[len(t), t.count("e"), 1, 0] for t in texts], dtype=np.float32)


def test_of_a_changed_document_only_what_changed_is_embedded() -> None:
    embedder = CountingEmbedder()
    text = "\n\n".join(f"Paragraph {at}. " + "Words of it. " * 25 for at in range(20))
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        base.add_text(text, document_id="d")
        assert len(embedder.texts) >= 20
        embedder.texts.clear()
        base.add_text(text.replace("Paragraph 7.", "Chapter 7."), document_id="d")
        assert 1 <= len(embedder.texts) <= 2


def test_another_embedder_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "t.kb", embedder=CountingEmbedder()):
        pass
    with pytest.raises(EmbedderMismatchError, match="spanwise rebuild"):
        KnowledgeBase(tmp_path / "t.kb", embedder="wordllama")


def test_text_without_words_is_refused() -> None:
    with KnowledgeBase(":memory:") as base:
        with pytest.raises(ParseError, match="has no text"):
            base.add_text("  \n", document_id="d")
        with pytest.raises(OptionError, match="lone surrogate"):
            base.add_text("a \ud800", document_id="d")
        with pytest.raises(OptionError, match="document_id"):
            base.add_text("a", document_id="")
        with pytest.raises(OptionError, match="metadata field 'x'"):
            base.add_text("a", document_id="d", metadata={"x": float("nan")})
        assert base.list() == []


def test_a_text_without_metadata_keeps_the_stored_metadata(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "base.kb", embedder=None) as base:
        base.add_text("Sales grew.", document_id="d", metadata={"year": 2018})
        assert base.add_text("Sales grew.", document_id="d").unchanged == ("d",)
        base.add_text("Sales fell.", document_id="d")
        assert base.list()[0].metadata == {"year": 2018}
        base.add_text("Sales fell.", document_id="d", metadata={})
        assert base.list()[0].metadata == {}


def test_metadata_of_an_add_is_on_every_document(folder: Path) -> None:
    with KnowledgeBase(":memory:") as base:
        base.add(folder, metadata={"quarter": "Q3"})
        assert {record.metadata["quarter"] for record in base.list()} == {"Q3"}
        assert base.add(folder, metadata={"quarter": "Q3"}).unchanged
        assert len(base.add(folder, metadata={"quarter": "Q4"}).updated) == 2


def test_include_and_exclude_choose_files(folder: Path) -> None:
    with KnowledgeBase(":memory:") as base:
        assert base.add(folder, include=["*.md"]).added == ("acme_2018.md",)
        assert base.add(folder, exclude=["*.md"]).added == ("deep/contract.txt",)


def test_a_knowledge_base_inside_the_folder_is_not_taken_for_a_document(folder: Path) -> None:
    with KnowledgeBase(folder / "store") as base:
        assert not base.add(folder).failed
        assert len(base.list()) == 2


def test_progress_is_told_after_each_document(folder: Path) -> None:
    seen: list[IngestProgress] = []
    with KnowledgeBase(":memory:") as base:
        base.add(folder, on_document=seen.append)
    assert [progress.documents_done for progress in seen] == [1, 2]
    assert {progress.outcome for progress in seen} == {"added"}
    assert seen[-1].bytes_done == seen[-1].bytes_total > 0


def test_what_was_told_is_kept_when_it_is_interrupted(folder: Path, tmp_path: Path) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with KnowledgeBase(tmp_path / "test.kb") as base:
        with pytest.raises(KeyboardInterrupt):
            base.add(folder, on_document=interrupt)
        kept = tuple(record.id for record in base.list())
        assert "acme_2018.md" in kept
        assert {*kept, *base.add(folder).added} == {"acme_2018.md", "deep/contract.txt"}
        assert base.add(folder).added == ()


def test_the_same_question_gives_the_same_bytes_wherever_the_documents_lie(
    base: KnowledgeBase, folder: Path
) -> None:
    question = "Who may terminate the agreement and how?"
    before = base.search(question)
    base.compact()
    after = base.search(question)
    with KnowledgeBase(":memory:") as other:
        other.add(folder)
        elsewhere = other.search(question)
    assert before.context == after.context == elsewhere.context
    assert [s.value for s in before.segments] == [s.value for s in elsewhere.segments]


def test_a_listener_hears_the_steps(folder: Path) -> None:
    class Steps:
        names: list[str] = []  # noqa: RUF012

        def on_step(self, name: str, *, seconds: float, counts: object) -> None:
            assert seconds >= 0
            self.names.append(name)

    with KnowledgeBase(":memory:", listener=Steps()) as base:
        base.add(folder)
        result = base.search("gross margin")
    *ingest, add, weigh, extract, search = Steps.names
    assert set(ingest) <= {"parse", "embed"}
    assert (add, weigh, extract, search) == ("add", "weigh", "extract", "search")
    assert set(result.seconds) == {"weigh", "extract"}
