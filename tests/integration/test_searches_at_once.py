"""Searches on several threads: they compute in turn, and wait for models at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import KnowledgeBase
from spanwise.models.ports import RerankReply
from spanwise.types import Usage

QUESTIONS = (
    "How long does the lease of the harbour office last?",
    "What does the lease say about the harbour?",
)


class MeetingEmbedder:
    """Static embedder that waits, if asked to, until two threads embed at the same time."""

    name = "meeting"
    version = "1"
    dimension = 8

    def __init__(self) -> None:
        self.meeting: Barrier | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.meeting is not None:
            self.meeting.wait(4)
        rows = [[text.count(letter) + 0.1 for letter in "aeioulrn"] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)


class MeetingReranker:
    """Reranker that waits until two threads rerank at the same time."""

    name = "meeting"

    def __init__(self) -> None:
        self._meeting = Barrier(2)

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        self._meeting.wait(4)
        return RerankReply(scores=tuple(0.5 for _ in texts), usage=Usage())


@pytest.fixture
def embedder() -> MeetingEmbedder:
    return MeetingEmbedder()


@pytest.fixture
def base(embedder: MeetingEmbedder, tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "leases.kb", embedder=embedder) as made:
        made.add_text("The lease of the harbour office lasts ten years.", document_id="lease")
        yield made


def test_two_searches_embed_their_questions_at_the_same_time(
    base: KnowledgeBase, embedder: MeetingEmbedder
) -> None:
    embedder.meeting = Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(base.search, QUESTIONS))
    assert all("ten years" in result.context for result in results)
    warnings = [warning for result in results for warning in result.warnings]
    assert all(warning.startswith("uncalibrated") for warning in warnings), warnings


def test_two_searches_wait_for_a_reranker_at_the_same_time(base: KnowledgeBase) -> None:
    reranker = MeetingReranker()
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda question: base.search(question, rerank=reranker), QUESTIONS))
    assert all("ten years" in result.context for result in results)
    warnings = [warning for result in results for warning in result.warnings]
    assert all(warning.startswith("uncalibrated") for warning in warnings), warnings
