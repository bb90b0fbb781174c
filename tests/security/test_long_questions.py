"""A question, and the queries beside it, cost no more than their limits allow."""

from __future__ import annotations

import random
import string
import time
import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import KnowledgeBase, weigh_chunks
from spanwise.core.ranking.question import MAX_TERMS
from spanwise.errors import QueryError
from spanwise.testing.models import ScriptedModel

WORDS = 100_000
FACT = "Gross margin fell in 2018 because raw material and freight costs rose."
OTHER = "The board met four times and approved the accounts of the year."
ASKED = "raw material freight gross margin"


class RecordingEmbedder:
    """Embeds every text alike, and keeps the length of the longest one."""

    name = "recording"
    version = "1"
    dimension = 4
    is_local = True
    longest = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector for each text."""
        self.longest = max([self.longest, *map(len, texts)])
        return np.ones((len(texts), self.dimension), dtype=np.float32)


def filler(words: int) -> str:
    """Return different words that no document holds."""
    letters = random.Random(7)
    return " ".join("".join(letters.choices(string.ascii_lowercase, k=8)) for _ in range(words))


def filled(embedder: RecordingEmbedder | None) -> KnowledgeBase:
    """Return a knowledge base with two documents."""
    base = KnowledgeBase(":memory:", embedder=embedder)
    base.add_text(FACT, document_id="fact", title="Margins")
    base.add_text(OTHER, document_id="other", title="Board")
    return base


@pytest.mark.parametrize("command", ["search", "excerpts", "explain"])
def test_a_question_of_a_hundred_thousand_words_takes_little_memory(command: str) -> None:
    embedder = RecordingEmbedder()
    question = f"{filler(WORDS // 2)} {ASKED} {filler(WORDS // 2)}"
    with filled(embedder) as base:
        ask: Callable[..., object] = getattr(base, command)
        ask(ASKED)
        embedder.longest = 0
        tracemalloc.start()
        try:
            ask(question)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 100_000_000
    assert embedder.longest < 20_000


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_the_rarest_words_of_a_long_question_count_wherever_they_stand(place: str) -> None:
    before, after = {"first": (0, 20_000), "middle": (10_000, 10_000), "last": (20_000, 0)}[place]
    question = f"{filler(before)} {ASKED} {filler(after)}".strip()
    with filled(None) as base:
        result = base.search(question)
    assert "freight costs rose" in result.context
    assert result.question == question
    assert any("most informative" in warning for warning in result.warnings)


def test_a_long_question_of_few_words_has_no_warning() -> None:
    with filled(None) as base:
        assert base.search(f"{ASKED} " * 400).warnings == base.search(ASKED).warnings


def test_a_long_question_in_a_script_without_spaces_is_bounded_too() -> None:
    letters = random.Random(7)
    noise = "".join(chr(letters.randrange(0x4E00, 0x9000)) for _ in range(100_000))
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("運賃と原材料の値上がりで粗利益率が下がった。", document_id="事実")
        base.add_text("取締役会は四回開かれた。", document_id="他")
        result = base.search(f"{noise}。原材料の値上がり。{noise}")
    assert "原材料" in result.context


@pytest.mark.parametrize(("word", "gap"), [("毛", ""), ("毛", " "), ("la", " ")])
def test_a_phrase_of_equal_words_takes_linear_time(word: str, gap: str) -> None:
    """Each word of the document begins an occurrence of 2,000 words."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(gap.join([word] * 40_000), document_id="song")
        started = time.process_time()
        result = base.search(f'"{gap.join([word] * 2_000)}"')
        assert time.process_time() - started < 3
    assert result.context


def test_a_question_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with filled(None) as base:
        with pytest.raises(QueryError, match="1,000,000"):
            base.search("a " * 600_000)
        with pytest.raises(QueryError, match="1,000,000"):
            base.search("margin", more_queries=["b " * 400_000, "c " * 400_000])
        with pytest.raises(QueryError, match="17 queries"):
            base.excerpts("margin", more_queries=[f"query {number}" for number in range(16)])
        with pytest.raises(QueryError, match="1,000,000"):
            base.ask("a " * 600_000, llm=ScriptedModel(answer=lambda _: "{}"))
    with pytest.raises(QueryError, match="1,000,000"):
        weigh_chunks("a " * 600_000, [[FACT]])


def test_few_misspelt_words_of_a_long_question_are_compared_with_the_documents() -> None:
    """Every comparison reads all words of the documents."""
    rng = random.Random(3)
    known = ["".join(rng.choices(string.ascii_lowercase, k=12)) for _ in range(400)]
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(" ".join(known), document_id="words")
        result = base.search(" ".join(word[:6] + word[7:] for word in known), budget_tokens=5_000)
    mended = [warning for warning in result.warnings if "searched for" in warning]
    assert 0 < len(mended) <= MAX_TERMS
