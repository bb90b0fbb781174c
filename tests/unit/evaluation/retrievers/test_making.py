"""Every method on a small knowledge base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.core.ranking.vectors import unit_rows
from spanwise.errors import EmbedderMismatchError, ModelError, OptionError
from spanwise.evaluation.retrieval import Retriever
from spanwise.evaluation.retrievers import METHODS, EvaluationContext, make_retriever, read_method
from spanwise.evaluation.retrievers.context import copy_without_headers
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.models.ports import EmbedReply
from spanwise.options import SegmentOptions
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import Measured, Tuning
from spanwise.testing.models import ScriptedReranker
from spanwise.types import Chunk, Usage

_QUESTION = "How much did freight by rail cost in 2018?"


@pytest.fixture(scope="module")
def context(base: KnowledgeBase) -> Iterator[EvaluationContext]:
    """Return what the retrievers share, with a reranker that likes the year 2016."""
    reranker = ScriptedReranker(lambda _, text: float(text.count("In 2016")))
    with EvaluationContext(base, reranker=reranker) as made:
        yield made


@pytest.mark.parametrize("added", ["", "+headers"])
@pytest.mark.parametrize("way", METHODS)
def test_every_method_fills_the_budget_with_disjoint_texts(
    context: EvaluationContext, way: str, added: str
) -> None:
    """What is returned are places in documents, none twice, and what answers is among them."""
    retriever = make_retriever(f"{way}{added}", context)
    assert retriever.name == f"{way}{added}"
    found = retriever.retrieve(_QUESTION, budget_tokens=300, documents=None).found
    texts = {}
    taken: dict[str, set[int]] = {}
    for one in found:
        assert one.start is not None
        assert one.end is not None
        texts[one.document_id] = context.base.get(one.document_id).text
        assert 0 <= one.start < one.end <= len(texts[one.document_id])
        characters = set(range(one.start, one.end))
        assert taken.setdefault(one.document_id, set()).isdisjoint(characters)
        taken[one.document_id] |= characters
    chars = sum(map(len, taken.values()))
    assert chars >= (1_200 if way not in ("greedy", "exact", "excerpts") else 100)
    assert "reports/north.md" in texts


@pytest.mark.parametrize("way", METHODS)
def test_a_scope_is_kept(context: EvaluationContext, way: str) -> None:
    """Nothing is returned of other documents than those that are named."""
    retriever = make_retriever(way, context)
    scope = ["reports/south.md"]
    found = retriever.retrieve("What did freight cost?", budget_tokens=500, documents=scope).found
    assert {one.document_id for one in found} <= set(scope)


@pytest.mark.parametrize("way", ["bm25", "top-k", "sentence-window", "parent-document"])
def test_a_reranker_puts_first_what_it_likes(context: EvaluationContext, way: str) -> None:
    """The best text of a baseline with a reranker is the one that the reranker likes."""
    plain = make_retriever(f"{way}+headers", context)
    reranked = make_retriever(f"{way}+headers+rerank", context)
    question = "costs of freight by rail"

    def first(retriever: Retriever) -> str:
        best = retriever.retrieve(question, budget_tokens=400, documents=None).found[0]
        return context.base.get(best.document_id).text[best.start : best.end]

    result = reranked.retrieve(question, budget_tokens=400, documents=None)
    assert result.usage.calls + result.usage.cached_calls == 1
    assert "In 2016" in first(reranked)
    assert plain.retrieve(question, budget_tokens=400, documents=None).usage.calls == 0


def test_a_method_without_what_it_needs_is_refused(base: KnowledgeBase) -> None:
    """A reranker, a tuning and an embedder are asked for before anything is made."""
    with EvaluationContext(base) as context:
        with pytest.raises(OptionError, match="no reranker is given"):
            make_retriever("exact+rerank", context)
        with pytest.raises(OptionError, match="no tuning file is given"):
            make_retriever("exact+tuned", context)
    with (
        KnowledgeBase(":memory:", embedder=None) as words_alone,
        EvaluationContext(words_alone) as context,
    ):
        for way in ("sentence-window", "parent-document"):
            with pytest.raises(OptionError, match="needs an embedder"):
                make_retriever(way, context)


def test_without_headers_titles_find_nothing() -> None:
    """A word that stands in a title alone is found with headers and not without."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("Freight rose by a tenth.", document_id="x", title="Annual review")
        base.add_text("Rents fell by a tenth.", document_id="y", title="Monthly letter")
        with EvaluationContext(base) as context:
            for way in ("bm25", "top-k", "exact"):
                headed, plain = (
                    make_retriever(f"{way}{added}", context).retrieve(
                        "the annual review", budget_tokens=50, documents=None
                    )
                    for added in ("+headers", "")
                )
                assert [one.document_id for one in headed.found] == ["x"]
                assert plain.found == ()


def test_names_of_files_count_for_bm25_with_headers() -> None:
    """A word of the name of a file alone finds its document, as in Spanwise's own search."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("Freight rose.", document_id="zebra-2018.txt", title="Annual review")
        base.add_text("Rents fell.", document_id="other.txt", title="Annual review")
        with EvaluationContext(base) as context:
            for name, ids in (("bm25+headers", ["zebra-2018.txt"]), ("bm25", [])):
                found = make_retriever(name, context).retrieve(
                    "zebra", budget_tokens=50, documents=None
                )
                assert [one.document_id for one in found.found] == ids


@pytest.mark.parametrize("way", ["sentence-window", "parent-document"])
def test_baselines_by_embedding_fill_the_budget_whatever_the_cosine(way: str) -> None:
    """What points away from the question comes last, and is shown while there is room."""
    with KnowledgeBase(":memory:", embedder=_Signs()) as base:
        base.add_text("Up we go.", document_id="up")
        base.add_text("Down we go.", document_id="down")
        with EvaluationContext(base) as context:
            found = make_retriever(way, context).retrieve("Up?", budget_tokens=50, documents=None)
    assert [one.document_id for one in found.found] == ["up", "down"]


@pytest.mark.parametrize("way", ["exact", "exact:comprehensive", "excerpts"])
def test_where_no_chunk_fits_the_best_one_is_cut(context: EvaluationContext, way: str) -> None:
    """A budget that a search refuses is no reason to stop: the best chunk comes, and it is said."""
    found = make_retriever(f"{way}+headers", context).retrieve(
        _QUESTION, budget_tokens=10, documents=None
    )
    best = make_retriever("top-k+headers", context).retrieve(
        _QUESTION, budget_tokens=10, documents=None
    )
    assert found.found == best.found != ()
    assert any("no chunk fits into the budget" in warning for warning in found.warnings)


def test_a_reranker_or_embedder_that_fails_fails_the_search() -> None:
    """What is found without them is what another method finds."""

    def broken(query: str, text: str) -> float:
        raise ModelError("the server is down", provider="p", model="m")

    embedder = _Signs()
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        base.add_text("Up we go. And so on.", document_id="up")
        with EvaluationContext(base, reranker=ScriptedReranker(broken)) as context:
            for way in ("exact", "top-k", "excerpts", "bm25"):
                retriever = make_retriever(f"{way}+headers+rerank", context)
                with pytest.raises(ModelError, match="the server is down"):
                    retriever.retrieve("where is up?", budget_tokens=50, documents=None)
            ways = ("exact", "top-k", "excerpts", "sentence-window")
            retrievers = [make_retriever(f"{way}+headers", context) for way in ways]
            embedder.is_down = True
            for retriever in retrievers:
                with pytest.raises(ModelError, match="no vectors today"):
                    retriever.retrieve("who goes up?", budget_tokens=50, documents=None)


def test_the_published_method_is_cut_and_not_refused(context: EvaluationContext) -> None:
    """Its segments are longer than a small budget: they are returned, and cut by who measures."""
    found = make_retriever("greedy", context).retrieve(_QUESTION, budget_tokens=20, documents=None)
    assert sum((one.end or 0) - (one.start or 0) for one in found.found) > 80


def test_vectors_without_headers_are_those_of_the_texts() -> None:
    """Where the head of a table was embedded with a chunk, the copy has the vector of its text."""
    rows = "".join(f"| Row {number} | {number * 7} |\n" for number in range(120))
    with KnowledgeBase(":memory:", packs=[]) as base:
        base.add_text(
            f"# Costs\n\n| Kind | Euros |\n|---|---|\n{rows}",
            document_id="t",
            media_type="text/markdown",
        )
        assert any(chunk.table_head for chunk in base.chunks("t"))
        with copy_without_headers(base, None) as copy:
            chunks, vectors = _embedded(copy)
            assert not any(chunk.table_head for chunk in chunks)
            embedder = searcher_of(base, shipped_model()).embedder
            assert embedder is not None
            expected = unit_rows(embedder.embed([chunk.text for chunk in chunks]))
            assert np.array_equal(vectors, expected.astype(np.float32))
            assert not np.array_equal(vectors, _embedded(base)[1])


def _embedded(base: KnowledgeBase) -> tuple[tuple[Chunk, ...], NDArray[np.float32]]:
    found = store_of(base).get_embedded("t")
    assert found is not None
    return found


class _Letters:
    """Embeds a text with its header as the counts of its letters."""

    name = "letters:abc"
    version = "1"
    dimension = 26
    is_local = True
    batch_texts = 8
    concurrency = 1

    def estimate(self, texts: Sequence[str]) -> Usage:
        return Usage(calls=1)

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        return EmbedReply(vectors=self.embed(texts), usage=Usage(calls=1))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        letters = "abcdefghijklmnopqrstuvwxyz"
        counts = [[text.lower().count(letter) for letter in letters] for text in texts]
        return np.array(counts, dtype=np.float32)


class _Signs:
    """Embeds what goes up one way and all else the other way, unless its server is down."""

    name = "signs:up"
    version = "1"
    dimension = 2

    def __init__(self) -> None:
        self.is_down = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.is_down:
            raise ModelError("no vectors today", provider="signs", model="up")
        rows = [[1.0 if "up" in text.lower() else -1.0, 0.1] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_what_was_embedded_under_headers_is_embedded_again() -> None:
    """The vectors of an embedder that reads headers are made of the texts alone in the copy."""
    with KnowledgeBase(":memory:", embedder=_Letters()) as base:
        base.add_text("Freight rose by a tenth.", document_id="t", title="Zebras")
        with copy_without_headers(base, None) as copy:
            chunks, vectors = _embedded(copy)
            expected = unit_rows(_Letters().embed([chunk.text for chunk in chunks]))
            assert np.array_equal(vectors, expected.astype(np.float32))
            assert not np.array_equal(vectors, _embedded(base)[1])


def test_tuned_methods_use_the_tuning(base: KnowledgeBase) -> None:
    """Tuned settings stand for the balanced preset, and for no other."""
    embedder = searcher_of(base, shipped_model()).embedder
    tuning = Tuning(
        model=shipped_model(),
        segments=SegmentOptions(max_segment_tokens=150),
        embedder="none" if embedder is None else embedder.name,
        measured=Measured(questions=20, source="labelled", is_shown=True, figures=()),
    )

    with EvaluationContext(base, tuning=tuning) as tuned:

        def longest(name: str) -> int:
            retriever = make_retriever(name, tuned)
            result = retriever.retrieve(_QUESTION, budget_tokens=900, documents=None)
            return max((one.end or 0) - (one.start or 0) for one in result.found)

        assert longest("exact+headers+tuned") <= 600 < longest("exact+headers")
        assert longest("exact:balanced+headers+tuned") <= 600
        assert longest("exact:comprehensive+headers+tuned") > 600
        assert longest("excerpts+tuned") > 0
        judging = tuned.searcher_of(read_method("exact+tuned")).assessment_model
        assert judging == shipped_model()  # as `search` judges with a tuning
    with pytest.raises(EmbedderMismatchError, match="tuned with the embedder 'another'"):
        EvaluationContext(base, tuning=replace(tuning, embedder="another"))


def test_the_copy_without_headers_is_kept_and_brought_up_to_date(tmp_path: Path) -> None:
    """A second run takes the copy as it is; what was added, changed or deleted is followed."""
    with KnowledgeBase(":memory:", tokenizer="chars:4") as base:
        base.add_text("# Heading\n\nFreight rose.", document_id="a", media_type="text/markdown")
        base.add_text("Rents fell. Nothing else did.", document_id="b", title="Rents of all")
        with EvaluationContext(base, work=tmp_path) as context:
            assert (
                make_retriever("top-k", context)
                .retrieve("freight", budget_tokens=5, documents=None)
                .found
            )
        (folder,) = tmp_path.glob("*.kb")
        with KnowledgeBase(folder, create=False) as copy:
            assert [(one.id, one.title, one.summary) for one in copy.list()] == [
                ("a", "", ""),
                ("b", "", ""),
            ]
            assert {one.title for one in copy.sections("a")} == {""}
            assert copy.get("a").text == base.get("a").text
            assert [one.end for one in copy.chunks("a")] == [one.end for one in base.chunks("a")]
        base.remove("a")
        base.add_text("Rents rose again.", document_id="b")
        base.add_text("Wages stayed.", document_id="c")
        with EvaluationContext(base, work=tmp_path) as context:
            found = make_retriever("exact", context).retrieve(
                "rents", budget_tokens=100, documents=None
            )
            assert {one.document_id for one in found.found} <= {"b", "c"}
        with KnowledgeBase(folder, create=False) as copy:
            assert [one.id for one in copy.list()] == ["b", "c"]
            assert copy.get("b").text == "Rents rose again."
