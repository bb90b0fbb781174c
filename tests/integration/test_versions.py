"""A new version of a document: what is embedded again, and where citations of the old one lead."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import Document, KnowledgeBase
from spanwise.core.documents.versions import text_version
from spanwise.knowledge_base.internals import add_parsed, store_of
from spanwise.types import DocumentStatus

SUBJECTS = ("The mill", "The board", "A customer", "The harbour", "Our plant in Austin", "Freight")
VERBS = ("expects", "reports", "denies", "regrets", "measures", "describes", "postpones")
OBJECTS = ("a rise of costs", "the lease", "two contracts", "weak orders", "the new line", "a loss")
FEW = 8
"""Chunks that a change of one sentence may touch, of about a thousand."""


class CountingEmbedder:
    """Remembers what it was asked to embed."""

    name = "test:counting"
    version = "1"
    dimension = 8

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        digests = [hashlib.sha256(text.encode()).digest()[: self.dimension] for text in texts]
        return np.array([list(digest) for digest in digests], dtype=np.float32)


def prose(sentences: int) -> str:
    """Return sentences in paragraphs of several lengths, no two paragraphs alike."""
    parts = []
    for number in range(sentences):
        digest = hashlib.sha256(str(number).encode()).digest()
        subject, verb, thing = SUBJECTS[digest[0] % 6], VERBS[digest[1] % 7], OBJECTS[digest[2] % 6]
        end = "\n\n" if digest[3] % 7 == 0 else " "
        parts.append(f"{subject} {verb} {thing} in the {number}th week of the plan.{end}")
    return "".join(parts)


@pytest.fixture(scope="module")
def text() -> str:
    """Return a document of about a thousand chunks, without headings."""
    return prose(6_000)


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def base(tmp_path: Path, embedder: CountingEmbedder) -> KnowledgeBase:
    return KnowledgeBase(tmp_path / "a.kb", embedder=embedder, tokenizer="chars:4")


@pytest.mark.parametrize("place", [0, 3_001, 5_999])
def test_a_sync_after_one_changed_sentence_embeds_a_handful(
    place: int, base: KnowledgeBase, embedder: CountingEmbedder, text: str, tmp_path: Path
) -> None:
    """And says so; the vectors of the others are the same bits as before."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "long.txt").write_text(text, encoding="utf-8")
    first = base.sync(folder)
    assert first.chunks > 900
    assert (first.embedded_chunks, first.kept_vectors) == (first.chunks, 0)
    assert len(embedder.texts) == first.chunks
    before = dict(zip(*embedded(base, "long.txt"), strict=True))
    embedder.texts.clear()
    changed = text.replace(f"in the {place}th week", f"in week {place}, or the one after it,")
    (folder / "long.txt").write_text(changed, encoding="utf-8")
    report = base.sync(folder)
    assert report.replaced == ("long.txt",)
    assert 0 < report.embedded_chunks <= FEW
    assert report.embedded_chunks + report.kept_vectors == report.chunks
    assert len(embedder.texts) == report.embedded_chunks
    after = dict(zip(*embedded(base, "long.txt"), strict=True))
    assert all(after[chunk] == before[chunk] for chunk in after if chunk in before)


def embedded(base: KnowledgeBase, document_id: str) -> tuple[list[str], list[bytes]]:
    """Return the chunks of a document and the bits of their vectors."""
    found = store_of(base).get_embedded(document_id)
    assert found is not None
    chunks, vectors = found
    return [chunk.text for chunk in chunks], [vector.tobytes() for vector in vectors]


def test_a_sentence_put_in_front_shifts_few_chunks(
    base: KnowledgeBase, embedder: CountingEmbedder, text: str
) -> None:
    """Boundaries fall where they fell, a few chunks after the place of the change."""
    base.add_text(text, document_id="a")
    embedder.texts.clear()
    report = base.add_text("A new sentence stands in front. " + text, document_id="a")
    assert len(embedder.texts) == report.embedded_chunks <= FEW


def test_without_an_embedder_nothing_is_embedded(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "words.kb", embedder=None) as base:
        for text in ("One text.", "Another text."):
            report = base.add_text(text, document_id="a")
            assert (report.chunks, report.embedded_chunks, report.kept_vectors) == (1, 0, 0)


def test_a_new_version_is_another_text_not_other_metadata(base: KnowledgeBase) -> None:
    base.add_text("The lease ends.", document_id="a")
    first = base.record("a").version
    assert first == text_version("The lease ends.")
    base.add_text("The lease ends.", document_id="a", metadata={"year": 2018})
    assert base.record("a").version == first
    base.add_text("The lease goes on.", document_id="a")
    assert base.record("a").version != first


def test_citations_of_a_search_follow_their_text(base: KnowledgeBase, text: str) -> None:
    """Through a change in front, of the text itself, a renaming and a removal."""
    base.add_text(text, document_id="a")
    segment = base.search("What is in the 3000th week?", budget_tokens=300).segments[0]
    quote = segment.text
    assert segment.citation.version == base.record("a").version
    assert base.locate(segment).status == "current"
    base.add_text("A new sentence. " + text, document_id="a")
    moved = base.locate(segment.citation)
    assert moved.status == "moved"
    assert moved.citation is not None
    assert base.get("a").text[moved.citation.start : moved.citation.end] == moved.text == quote
    base.add_text(text.replace(quote, quote.replace("plan", "scheme")), document_id="a")
    changed = base.locate(segment)
    assert changed.status == "changed"
    assert changed.similarity > 0.5
    assert "scheme" in changed.text
    base.remove("a")
    assert base.locate(segment).status == "removed"
    base.add_text(text, document_id="b")
    renamed = base.locate(segment.to_dict())
    assert (renamed.status, renamed.text) == ("moved", quote)
    assert renamed.citation is not None
    assert renamed.citation.document_id == "b"


def test_citations_of_excerpts_hold_their_text(base: KnowledgeBase, text: str) -> None:
    base.add_text(text, document_id="a")
    result = base.excerpts("What is in the 3000th week?", excerpt_tokens=400)
    spans = [span for excerpt in result.excerpts for span in excerpt.spans]
    assert {base.locate(span).text for span in spans} == {span.text for span in spans}
    for excerpt in result.excerpts:
        assert base.locate(excerpt.citation).status == "current"


def test_a_report_says_what_is_not_whole(base: KnowledgeBase) -> None:
    statuses: dict[str, DocumentStatus] = {"a": "ok", "b": "partial", "c": "needs_ocr"}
    for document_id, status in statuses.items():
        document = Document(
            id=document_id, text=f"Text of {document_id}.", status=status, warnings=("page 3",)
        )
        report = add_parsed(base, document)
        assert report.partial == (("b",) if status == "partial" else ())
        assert report.needs_ocr == (("c",) if status == "needs_ocr" else ())
        assert report.warnings == (f"{document_id}: page 3",)
    read_again = Document(id="b", text="Text of b.", warnings=())
    assert add_parsed(base, read_again).replaced == ("b",), "now it is whole"
    assert base.info().partial == 0
