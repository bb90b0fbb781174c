"""Choice of excerpts, with chunks of ten tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from spanwise.core.extraction.context_expansion import Part
from spanwise.core.ranking.question import Question
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.core.ranking.scan import PassageRange
from spanwise.options import ExcerptOptions, SegmentOptions
from spanwise.search.evidence import Evidence
from spanwise.search.excerpt_selection import ExcerptEvidence, ExcerptSelector

if TYPE_CHECKING:
    from spanwise.search.excerpts import ExcerptRenderer

MODEL = RelevanceModel(
    features=(),
    means=np.zeros(0),
    deviations=np.ones(0),
    weights=np.zeros(0),
    table=np.array([[0.0, 1.0], [0.0, 1.0]]),
)


class Tens:
    """Sizes without overhead: ten tokens per chunk."""

    def __init__(self, chunks: Sequence[int], whole: Sequence[int]) -> None:
        self._chunks = chunks
        self._whole = whole

    def overhead(self, handle: int, chunk: int) -> tuple[int, int]:
        return 0, 0

    def chunks(self, handle: int) -> int:
        return self._chunks[handle]

    def count_evidence(self, handle: int, runs: Sequence[Part]) -> int:
        return sum(10 * (end - start) for start, end in runs)

    def fits_whole(self, handle: int) -> bool:
        return handle in self._whole


class OneQuery(Evidence):
    """Evidence of queries whose best rows are given."""

    best: list[int]

    def best_rows(self) -> dict[int, int]:
        return dict(enumerate(self.best))


def chosen(
    shares: Sequence[Sequence[float]],
    *,
    excerpts: int,
    excerpt_tokens: int = 30,
    best: Sequence[int] = (),
    whole: Sequence[int] = (),
    charge: float = 0.0,
) -> list[tuple[int, tuple[Part, ...]]]:
    """Return document and runs of each excerpt, given the shares of the chunks of documents."""
    lengths = [len(row) for row in shares]
    flat = np.array([share for row in shares for share in row])
    evidence = OneQuery(
        questions=(Question.__new__(Question),),
        scored=(None,),
        positions=(np.arange(len(flat)),),
        ranges=tuple(PassageRange(at, 0, size) for at, size in enumerate(lengths)),
        starts=np.cumsum([0, *lengths[:-1]]),
        lengths=np.full(len(flat), 10),
        relevances=flat[None],
        relevance=flat,
        shares=flat,
        copy_of=np.arange(len(flat)),
        openings=np.zeros(len(flat), dtype=np.bool_),
    )
    object.__setattr__(evidence, "best", list(best) or [int(np.argmax(flat))])
    options = ExcerptOptions(
        excerpts=excerpts,
        excerpt_tokens=excerpt_tokens,
        segments=SegmentOptions(token_price=0.01, segment_charge=charge),
    )
    scales = Tens(lengths, whole)
    picks: list[ExcerptEvidence] = ExcerptSelector(
        evidence, options=options, sizes=cast("ExcerptRenderer", scales)
    ).select()
    return [(pick.handle, pick.runs) for pick in picks]


def test_the_documents_worth_most_give_one_each() -> None:
    shares = [[0.1, 0.0], [0.3, 0.0], [0.2, 0.0]]
    assert chosen(shares, excerpts=2, excerpt_tokens=10) == [(1, ((0, 1),)), (2, ((0, 1),))]


def test_a_second_excerpt_comes_where_it_is_worth_more() -> None:
    shares = [[0.3, 0.0, 0.25, 0.0], [0.2]]
    assert chosen(shares, excerpts=2, excerpt_tokens=10) == [(0, ((0, 1),)), (0, ((2, 3),))]


def test_a_document_that_fits_whole_gives_one_excerpt() -> None:
    shares = [[0.3, 0.0, 0.25, 0.0], [0.2]]
    found = chosen(shares, excerpts=2, excerpt_tokens=10, whole=[0, 1])
    assert [handle for handle, _ in found] == [0, 1]


def test_the_best_chunk_of_each_query_has_priority() -> None:
    shares = [[0.1] * 6, [0.02]]
    assert [handle for handle, _ in chosen(shares, excerpts=2)] == [0, 0]
    assert [handle for handle, _ in chosen(shares, excerpts=2, best=[0, 6])] == [0, 1]


def test_what_one_excerpt_bridges_two_bridge_too() -> None:
    """The runs of two excerpts are chosen together: a gap that is worth bridging is bridged."""
    shares = [[0.1, 0.1, 0.0, 0.1, 0.1, 0.1]]
    found = chosen(shares, excerpts=2, charge=0.05)
    assert found == [(0, ((0, 3),)), (0, ((3, 6),))]


def test_excerpts_of_one_document_follow_each_other() -> None:
    shares = [[0.1, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.15]]
    assert chosen(shares, excerpts=2, excerpt_tokens=20) == [
        (0, ((0, 1), (2, 3))),
        (0, ((8, 9), (10, 11))),
    ]


@pytest.mark.parametrize("excerpts", [1, 3])
def test_worthless_chunks_give_no_excerpts(excerpts: int) -> None:
    assert chosen([[0.0, 0.0]], excerpts=excerpts) == []


def test_the_first_run_of_an_excerpt_costs_no_charge() -> None:
    found = chosen([[0.3], [0.02], [0.03]], excerpts=2, charge=0.1)
    assert [handle for handle, _ in found] == [0, 2]


@pytest.mark.parametrize("charge", [0.0, 0.1])
def test_there_are_fewer_where_there_is_no_more_evidence(charge: float) -> None:
    assert len(chosen([[0.3, 0.0, 0.0, 0.0]], excerpts=4, charge=charge)) == 1
