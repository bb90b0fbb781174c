"""Chunks and vectors of another engine (`KnowledgeBase.add_chunks`)."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import GivenChunk, GivenParts, KnowledgeBase, ParseOptions, Section
from spanwise.errors import ConflictError, OptionError

CHUNKS = (
    "Gross margin fell from 49.1 to 48.2 percent.",
    "Higher freight rates and raw material costs drove the change.",
    "We employ 93,516 people in 70 countries.",
)


class Letters:
    """Embedder that counts letters, and how many texts it embeds."""

    name = "test:letters"
    version = "1"
    dimension = 26

    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the number of each letter."""
        self.texts += len(texts)
        letters = "abcdefghijklmnopqrstuvwxyz"
        rows = [[text.lower().count(letter) for letter in letters] for text in texts]
        return np.array(rows, dtype=np.float32)


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "a.kb") as base:
        yield base


def stored(base: KnowledgeBase, document_id: str = "a") -> list[str]:
    return [chunk.text for chunk in base.chunks(document_id)]


def check_whole(base: KnowledgeBase, document_id: str = "a") -> None:
    """Check that chunks, sections and pages partition the text, and that the store is sound."""
    document = base.get(document_id)
    assert "".join(stored(base, document_id)) == document.text
    sections = base.sections(document_id)
    assert "".join(document.text[s.start : s.end] for s in sections) == document.text
    assert base.check().sound


def test_chunks_are_stored_as_given_and_found(base: KnowledgeBase) -> None:
    """The text is their concatenation; a search, a citation and an excerpt work on it."""
    report = base.add_chunks("a", CHUNKS, title="Report", metadata={"year": 2018})
    assert (report.added, report.chunks, report.embedded_chunks) == (("a",), 3, 3)
    assert stored(base) == [CHUNKS[0] + "\n\n", CHUNKS[1] + "\n\n", CHUNKS[2]]
    check_whole(base)
    result = base.search("What drove the change in gross margin?", where="year = 2018")
    best = min(result.segments, key=lambda segment: segment.rank)
    assert CHUNKS[1] in best.text
    assert best.citation.title == "Report"
    assert base.locate(best.citation).status == "current"
    assert "freight" in base.excerpts("What drove the change?").excerpts[0].text


def test_a_long_chunk_is_not_divided(base: KnowledgeBase) -> None:
    long = " ".join(f"Sentence {number} is about freight." for number in range(300))
    base.add_chunks("a", [long, "Short."], separator="")
    assert stored(base) == [long, "Short."]


def test_sections_and_pages_come_from_the_chunks(base: KnowledgeBase) -> None:
    """Consecutive chunks with the same headings are one section; pages need not be complete."""
    base.add_chunks(
        "a",
        [
            GivenChunk(text="Cover page of the report.", page=1),
            GivenChunk(text=CHUNKS[0], page=3, headings=("Report", "Margin")),
            GivenChunk(text=CHUNKS[1]),
            GivenChunk(text=CHUNKS[2], page=4, headings=("Report", "People")),
        ],
    )
    check_whole(base)
    sections = base.sections("a")
    assert [section.path for section in sections[1:]] == [
        ("Report", "Margin"),
        ("Report", "People"),
    ]
    assert sections[0].extracted_title
    assert [chunk.section for chunk in base.chunks("a")] == [0, 1, 1, 2]
    text = base.get("a").text
    pages = [text[page.start : page.end] for page in base.get("a").pages]
    assert pages[1] == ""
    assert pages[3] == CHUNKS[2]
    (segment,) = base.search("How many people are employed?", budget_tokens=80).segments
    assert segment.citation.pages == (4, 4)
    assert "People" in segment.header


def test_any_iterable_and_any_whole_number_will_do(base: KnowledgeBase) -> None:
    """Chunks may come from a generator, and numbers from an array."""
    page: Any = np.int64(2)
    base.add_chunks("a", (GivenChunk(text=text, page=page) for text in CHUNKS))
    assert len(base.get("a").pages) == 2
    base.add_chunks("b", np.array(CHUNKS))
    assert len(stored(base, "b")) == 3


def test_given_vectors_are_used_and_the_embedder_is_not_called() -> None:
    """A chunk is found by its vector although it shares no word with the question."""
    embedder = Letters()
    vectors = embedder.embed(["zzz qqq", "xxx vvv", "jjj kkk"])
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        embedder.texts = 0
        report = base.add_chunks("a", CHUNKS, vectors.tolist())
        assert (embedder.texts, report.embedded_chunks, report.kept_vectors) == (0, 0, 3)
        result = base.search("xxvv", abstain=False, budget_tokens=60)
        assert [segment.first_chunk for segment in result.segments][:1] == [1]


def test_adding_again_replaces_and_the_same_is_unchanged() -> None:
    embedder = Letters()
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        vectors = np.eye(3, 26) * 5
        base.add_chunks("a", CHUNKS, vectors)
        assert base.add_chunks("a", list(CHUNKS), vectors).unchanged == ("a",)
        assert base.add_chunks("a", CHUNKS, vectors[::-1]).replaced == ("a",)
        embedder.texts = 0
        report = base.add_chunks("a", CHUNKS)
        assert (report.replaced, report.embedded_chunks, embedder.texts) == (("a",), 3, 3)
        same_text = ["".join(stored(base)[:2]), CHUNKS[2]]
        assert base.add_chunks("a", same_text, separator="").replaced == ("a",)
        assert stored(base) == same_text
        assert base.add_chunks("a", CHUNKS[:2]).replaced == ("a",)
        assert len(stored(base)) == 2


def test_metadata_is_kept_and_changes_without_new_vectors() -> None:
    """Chunks and given vectors stay if the same text is added with other fields."""
    embedder = Letters()
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        base.add_chunks("a", CHUNKS, np.eye(3, 26), metadata={"year": 1})
        base.add_chunks("a", CHUNKS[:2], np.eye(2, 26))
        assert base.record("a").metadata == {"year": 1}
        embedder.texts = 0
        text = base.get("a").text
        base.add_text(text, document_id="a", title="Other", metadata={"year": 2})
        assert embedder.texts == 0
        assert base.record("a").title == "Other"
        assert len(stored(base)) == 2
        assert "vectors" in json.loads(base.record("a").recipe)


def test_synchronising_a_folder_keeps_the_document(base: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "b.txt").write_text("Freight.", encoding="utf-8")
    base.add_chunks("a", CHUNKS)
    base.sync(folder)
    assert [record.id for record in base.list()] == ["a", "b.txt"]
    with pytest.raises(ConflictError):
        base.add_chunks("b.txt", CHUNKS)
    assert base.add_chunks("b.txt", CHUNKS, replace=True).replaced == ("b.txt",)


def test_it_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb") as base:
        base.add_chunks("a", CHUNKS)
        before = base.search("Why did the margin fall?").segments
        base.compact()
    with KnowledgeBase(tmp_path / "a.kb") as base:
        check_whole(base)
        assert base.search("Why did the margin fall?").segments == before


OVERLAPPING = (
    "The margin fell. Higher freight rates drove the change.",
    "Higher freight rates drove the change. Prices rose in the spring.",
    "Prices rose in the spring.",
    "We employ 93,516 people.",
)


def test_overlapping_chunks_are_refused_with_the_remedies(base: KnowledgeBase) -> None:
    with pytest.raises(
        OptionError, match=r"2 of 4 chunks .*chunk 1: 'Higher.*\"remove\".*\"keep\""
    ):
        base.add_chunks("a", OVERLAPPING)
    assert base.list() == []


def test_overlaps_are_removed(base: KnowledgeBase) -> None:
    """Repeated text is stored once, without a separator before the rest of its chunk."""
    vectors = np.eye(4, 256)
    report = base.add_chunks("a", OVERLAPPING, vectors, overlap="remove")
    assert base.get("a").text == (
        "The margin fell. Higher freight rates drove the change. Prices rose in the spring.\n\n"
        "We employ 93,516 people."
    )
    assert len(stored(base)) == 3
    assert any("left out: 1 chunks" in warning for warning in report.warnings)
    check_whole(base)


def test_overlaps_are_kept_if_the_caller_wants_that(base: KnowledgeBase) -> None:
    base.add_chunks("a", OVERLAPPING, overlap="keep", separator=" ")
    assert stored(base) == [*(text + " " for text in OVERLAPPING[:-1]), OVERLAPPING[-1]]


def test_a_splitter_with_overlap_gives_the_text_again(base: KnowledgeBase) -> None:
    """Windows of words over a text are joined to the text."""
    words = [f"word{number}" for number in range(500)]
    windows = [" ".join(words[at : at + 50]) for at in range(0, 460, 40)]
    base.add_chunks("a", windows, overlap="remove")
    assert base.get("a").text == " ".join(words[:490])


@pytest.mark.parametrize(
    "pair",
    [
        ("It was the end of", "of the beginning."),
        ("Costs\n--------------------------", "--------------------------\nSales"),
        ("| 0 | 0 | 0 | 0 | 0 | 0 | 0 |", "| 0 | 0 | 0 | 0 | 0 | 0 | 0 |\n| 1 |"),
    ],
    ids=["words", "rule", "table"],
)
def test_chance_repetitions_are_no_overlap(base: KnowledgeBase, pair: tuple[str, str]) -> None:
    base.add_chunks("a", pair)
    assert len(stored(base)) == 2


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({"chunks": []}, "no chunks; give 1 to 1,000,000"),
    "text": ({"chunks": "one text"}, "give a list of texts"),
    "dict": ({"chunks": {"a": 1}}, "give a list of texts"),
    "too many": ({"chunks": repeat("a")}, "more than 1,000,000 chunks"),
    "no headings": ({"chunks": [GivenChunk(text="a", headings=None)]}, "give a tuple of titles"),  # type: ignore[arg-type]
    "true": ({"chunks": [GivenChunk(text="a", page=True)]}, "chunk 0 is on page True"),
    "number": ({"chunks": ["a", 3]}, "chunk 1 is 3"),
    "blank": ({"chunks": ["a", " \n"]}, "chunk 1 has 2 characters"),
    "long": ({"chunks": ["a" * 100_001]}, "chunk 0 has 100,001 characters"),
    "surrogate": ({"chunks": ["a\ud800"]}, "chunk 0 has a lone surrogate"),
    "page 0": ({"chunks": [GivenChunk(text="a", page=0)]}, "chunk 0 is on page 0"),
    "far page": ({"chunks": [GivenChunk(text="a", page=10**9)]}, "max_pages=20000"),
    "order": (
        {"chunks": [GivenChunk(text="a", page=2), GivenChunk(text="b", page=1)]},
        "page 1 follows one of page 2",
    ),
    "headings": ({"chunks": [GivenChunk(text="a", headings="Part")]}, "give a tuple of titles"),  # type: ignore[arg-type]
    "separator": ({"separator": "--"}, "separator is '--'"),
    "overlap": ({"overlap": "cut"}, "overlap is 'cut'"),
    "id": ({"document_id": " "}, "document_id"),
    "rows": ({"vectors": np.ones((2, 256))}, r"shape \(2, 256\); give \(3, 256\)"),
    "dimension": ({"vectors": np.ones((3, 255))}, r"shape \(3, 255\)"),
    "ragged": ({"vectors": [[1.0], [1.0, 2.0], [1.0]]}, "cannot be read as numbers"),
    "words": ({"vectors": [["a"] * 256] * 3}, "cannot be read as numbers"),
    "infinite": ({"vectors": np.full((3, 256), np.inf)}, "vector of chunk 0 has a value"),
    "missing": ({"vectors": [[0.0] * 256, [None] * 256, [0.0] * 256]}, "vector of chunk 1"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_refused(
    base: KnowledgeBase, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        base.add_chunks(**{"document_id": "a", "chunks": CHUNKS, **arguments})
    assert base.list() == []


def test_vectors_need_an_embedder_and_sizes_a_limit() -> None:
    with KnowledgeBase(":memory:", embedder=None, parse=ParseOptions(max_text_bytes=50)) as base:
        with pytest.raises(OptionError, match="no embedder for questions"):
            base.add_chunks("a", ["a"], [[1.0]])
        with pytest.raises(OptionError, match="max_text_bytes=50"):
            base.add_chunks("a", CHUNKS)


def test_ends_of_chunks_can_be_given_for_any_document(base: KnowledgeBase) -> None:
    """`GivenParts.chunk_ends` replaces the division into chunks; a section ends a chunk too."""
    text = "One two three. Four five six."
    sections = (
        Section(start=0, end=15, title="A", path=()),
        Section(start=15, end=29, title="B", path=()),
    )
    base.add_text(
        text, document_id="a", given=GivenParts(sections=sections, chunk_ends=(4, 20, 29))
    )
    assert stored(base) == ["One ", "two three. ", "Four ", "five six."]
    for ends in ((0, 29), (5, 4, 29), (5, 28), (5, 30)):
        with pytest.raises(OptionError, match="chunk_ends must ascend"):
            base.add_text(text, document_id="b", given=GivenParts(chunk_ends=ends))


def test_recipes_of_earlier_versions_are_recognised(base: KnowledgeBase) -> None:
    """A new field of GivenParts does not change the recipe of documents without it."""
    base.add_text("Some text.", document_id="a", given=GivenParts(summary="About text."))
    earlier = {"title": "", "summary": "About text.", "sections": [], "contexts": []}
    expected = hashlib.sha256(json.dumps([json.dumps(earlier)]).encode()).hexdigest()[:12]
    assert json.loads(base.record("a").recipe)["given"] == expected
