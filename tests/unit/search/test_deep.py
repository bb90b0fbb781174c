"""Comparison of the best candidates by a transformer: scores, time limit, stored vectors."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tests.reports import REPORT as STATEMENTS

from spanwise import KnowledgeBase
from spanwise.errors import ModelError
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.models.ports import ContextualEmbedder, EmbedReply
from spanwise.options import SearchOptions
from spanwise.search.deep import DEEP_CHUNKS, DeepReader
from spanwise.search.lifts import MINILM
from spanwise.search.pipeline import Searcher, SearchRequest
from spanwise.search.queries import search_queries
from spanwise.search.question_limits import read_questions
from spanwise.search.scoring import Scope
from spanwise.search.shipped_model import shipped_model
from spanwise.types import SearchResult, Usage
from spanwise.types.output_cache import CachedOutput

QUESTION = "What moved the margin?"
REPORT = "# Costs\n\n" + "".join(
    f"The margin of plant {number} moved by {number} points in the year.\n\n" * 4
    for number in range(30)
)


class Likes:
    """Embedder whose vector of the question is similar to that of texts with a word."""

    name = "scripted:likes"
    version = "1"
    is_local = True
    batch_texts = 8
    concurrency = 1
    dimension = 2

    def __init__(self, word: str, *, seconds: float = 0.0) -> None:
        self.word, self.seconds = f" {word} ", seconds
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return self.embed_texts(texts, kind="document").vectors

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        if kind == "document":
            self.texts += texts
            time.sleep(self.seconds)
        likes = [kind == "query" or self.word in text for text in texts]
        vectors = np.array([[1.0, 0.1] if like else [0.1, 1.0] for like in likes], dtype="f4")
        return EmbedReply(vectors=vectors, usage=Usage())

    def estimate(self, texts: Sequence[str]) -> Usage:
        return Usage()


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "reports.kb", embedder=None) as base:
        base.add_text(REPORT, document_id="report.md", media_type="text/markdown")
        yield base


def searcher(base: KnowledgeBase, load: Callable[[], ContextualEmbedder]) -> Searcher:
    plain = searcher_of(base, shipped_model())
    return replace(plain, deep=DeepReader(load=load, cache=store_of(base)))


def search(searcher: Searcher, *queries: str, **options: float) -> SearchResult:
    request = SearchRequest(question=QUESTION, more_queries=queries)
    chosen = SearchOptions(budget_tokens=200, **options)  # type: ignore[arg-type]
    return searcher.search(request, options=chosen)


def test_similar_candidates_are_found(base: KnowledgeBase) -> None:
    assert "plant 27 " not in base.search(QUESTION, budget_tokens=200).context
    result = search(searcher(base, lambda: Likes("27")))
    assert "plant 27 " in result.context
    assert 0 < result.deep_chunks <= DEEP_CHUNKS
    assert "deep" in result.seconds


def test_a_similar_candidate_makes_an_answer_more_probable(base: KnowledgeBase) -> None:
    different = Likes("2700")
    different.name = "scripted:different"
    less = search(searcher(base, lambda: different)).evidence
    more = search(searcher(base, lambda: Likes("27"))).evidence
    assert less < more


def test_the_only_candidate_is_compared_too() -> None:
    with KnowledgeBase(":memory:", embedder=None) as one:
        one.add_text("The margin of plant 27 moved.", document_id="note")
        result = search(searcher(one, lambda: Likes("27")))
    assert result.deep_chunks == 1
    assert len(result.segments) == 1


def test_a_stored_vector_that_is_damaged_is_computed_again(base: KnowledgeBase) -> None:
    class Damaged:
        def __init__(self, output: str) -> None:
            self.output = output

        def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
            return dict.fromkeys(keys, self.output)

        def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
            return None

        def remove_output(self, key: str) -> None:
            return None

    expected = search(searcher(base, lambda: Likes("27")))
    not_finite = np.array([np.nan, 1.0], dtype="<f2").tobytes()
    for content in (b"", b"abc", bytes(6), bytes(4000), not_finite):
        output = b64encode(content).decode()
        for damaged in (output, f"{output}!", "\N{SNOWMAN}"):
            reader = DeepReader(load=lambda: Likes("27"), cache=Damaged(damaged))
            reading = replace(searcher_of(base, shipped_model()), deep=reader)
            assert search(reading).segments == expected.segments


def test_additions_to_the_first_scores_keep_their_size() -> None:
    """Also a great one, although the features of the second model are limited."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        for name in ("Aldera", "Birchwood"):
            base.add_text(REPORT, document_id=name, title=f"{name} annual report")
        reader = DeepReader(load=lambda: Likes("2700"), cache=store_of(base))
        searcher = searcher_of(base, shipped_model())
        with searcher.store.snapshot() as snapshot:
            (query,) = search_queries(
                read_questions(["How did the margin of Aldera move?"], snapshot),
                snapshot=snapshot,
                embedder=None,
                model=searcher.model,
                scope=Scope(),
            )
            scored = query.scored
            assert scored is not None
            (addition,) = scored.lifts.values()
            lifted = scored._replace(
                scores=scored.scores + 9 * addition,
                lifts={"named": 10 * addition},
            )
            plain = scored._replace(scores=scored.scores - addition, lifts={})
            both = [
                reader.read([query._replace(scored=one)], snapshot=snapshot, seconds=60.0).hits[0]
                for one in (lifted, plain)
            ]
    first, second = (one.scored.scores for one in both if one.scored is not None)
    is_named = addition > 0
    gain = first - second
    gaps = gain[is_named].mean() - gain[~is_named].mean()
    assert gaps == pytest.approx(10 * addition.max() * 0.5, rel=0.1)  # no text is similar


def test_a_question_that_a_pack_leads_to_a_statement_is_not_compared() -> None:
    """Other questions about the same report are."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(STATEMENTS, document_id="alder.txt")
        plain = searcher_of(base, shipped_model())
        reading = searcher(base, lambda: Likes("Alder"))
        for question, is_compared in (
            ("What was the net income in the income statement?", False),
            ("What depends on the weather?", True),
        ):
            request = SearchRequest(question=question)
            options = SearchOptions(budget_tokens=300)
            found, without = (one.search(request, options=options) for one in (reading, plain))
            assert (found.deep_chunks > 0) is is_compared
            assert (found.segments == without.segments) is not is_compared


def test_it_can_be_turned_off(base: KnowledgeBase) -> None:
    embedder = Likes("17")
    result = search(searcher(base, lambda: embedder), deep=False)
    assert result.segments == base.search(QUESTION, budget_tokens=200).segments
    assert (result.deep_chunks, embedder.texts) == (0, [])


def test_each_chunk_is_embedded_once_under_its_header(base: KnowledgeBase) -> None:
    embedder = Likes("17")
    first = search(searcher(base, lambda: embedder))
    header = first.segments[0].header
    assert all(text.startswith(f"{header}\n\n") for text in embedder.texts)
    assert len(set(embedder.texts)) == len(embedder.texts) == first.deep_chunks
    again = search(searcher(base, lambda: embedder))  # another process has other memory
    assert len(embedder.texts) == first.deep_chunks
    assert again.segments == first.segments


def test_reading_ends_at_the_time_limit_and_goes_on_in_the_next_search(base: KnowledgeBase) -> None:
    slow = searcher(base, lambda: Likes("17", seconds=0.01))
    read = [search(slow, deep_seconds=0).deep_chunks for _ in range(3)]
    assert 0 < read[0] < read[1] < read[2]


def test_several_queries_share_the_vectors(base: KnowledgeBase) -> None:
    embedder = Likes("17")
    result = search(searcher(base, lambda: embedder), "margin of plant 3", "margin of plant 4")
    assert len(set(embedder.texts)) == len(embedder.texts) == result.deep_chunks


def test_searches_on_several_threads_find_the_same(base: KnowledgeBase) -> None:
    reading = searcher(base, lambda: Likes("17"))
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: search(reading, deep_seconds=60), range(8)))
    assert all(result.segments == results[0].segments for result in results)


def test_a_model_that_fails_is_a_warning(base: KnowledgeBase) -> None:
    def fail() -> ContextualEmbedder:
        raise ModelError("the file is damaged", provider="minilm", model="")

    result = search(searcher(base, fail))
    assert result.segments == base.search(QUESTION, budget_tokens=200).segments
    assert any("not compared by MiniLM: the file is damaged" in said for said in result.warnings)


def test_vectors_stay_in_memory_if_they_cannot_be_stored(base: KnowledgeBase) -> None:
    class ReadOnly:
        def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
            return {}

        def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
            return None

        def remove_output(self, key: str) -> None:
            return None

    embedder = Likes("17")
    reader = DeepReader(load=lambda: embedder, cache=ReadOnly())
    reading = replace(searcher_of(base, shipped_model()), deep=reader)
    first = search(reading)
    assert search(reading).segments == first.segments
    assert len(embedder.texts) == first.deep_chunks


def test_explain_shows_what_it_added(base: KnowledgeBase) -> None:
    reading = searcher(base, lambda: Likes("17"))
    explanation = reading.explain(SearchRequest(question=QUESTION), options=SearchOptions())
    for one in explanation.candidates:
        assert MINILM in one.scores[0].contributions
        assert sum(one.scores[0].contributions.values()) == pytest.approx(one.scores[0].score)
