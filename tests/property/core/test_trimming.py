"""Laws of trimming a chunk to sentences."""

from __future__ import annotations

from itertools import pairwise
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.search.trim import select_sentences, sentence_places

_PIECES = st.sampled_from(
    [
        "Margin fell. ",
        "Why?\n",
        "no stop\n",
        "\n\n",
        "| a | b. |\n",
        "3.5 ",
        "e.g. rye ",
        "毛利。",
        "x",
        " ",
    ]
)
_TEXTS = st.lists(_PIECES, min_size=1, max_size=12).map("".join)
_SENTENCES = st.lists(st.tuples(st.integers(1, 400), st.floats(0, 1)), min_size=1, max_size=9)
_SHARES = st.floats(0, 1)


@given(text=_TEXTS)
def test_sentences_partition_the_text_and_end_with_a_stop(text: str) -> None:
    places = sentence_places(text)
    assert places[0] == 0
    assert places[-1] == len(text)
    assert all(a < b for a, b in pairwise(places))
    assert all(text[:place].rstrip()[-1] in ".?。" for place in places[1:-1])


@given(sentences=_SENTENCES, share=_SHARES, cost=_SHARES)
def test_the_kept_range_is_not_empty_and_optimal(
    sentences: list[tuple[int, float]], share: float, cost: float
) -> None:
    lengths = [length for length, _ in sentences]
    coverages = [coverage for _, coverage in sentences]
    first, last = select_sentences(lengths, coverages, share=share, cost=cost)
    assert 0 <= first < last <= len(sentences)

    def worth(start: int, end: int) -> float:
        held = sum(length * exp(5 * coverage) for length, coverage in sentences[start:end])
        total = sum(length * exp(5 * coverage) for length, coverage in sentences)
        return share * held / total - cost * sum(lengths[start:end]) / sum(lengths)

    every = [
        worth(start, end)
        for start in range(len(sentences))
        for end in range(start + 1, len(sentences) + 1)
    ]
    assert worth(first, last) == pytest.approx(max(every), abs=1e-9)


@given(sentences=_SENTENCES, share=_SHARES, cost=_SHARES, more=st.floats(0, 1))
def test_a_higher_cost_never_keeps_a_longer_text(
    sentences: list[tuple[int, float]], share: float, cost: float, more: float
) -> None:
    lengths = [length for length, _ in sentences]
    coverages = [coverage for _, coverage in sentences]
    first, last = select_sentences(lengths, coverages, share=share, cost=cost)
    start, end = select_sentences(lengths, coverages, share=share, cost=cost + more + 1e-6)
    assert sum(lengths[start:end]) <= sum(lengths[first:last])
