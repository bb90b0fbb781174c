"""Segments from chunks and scores of another search engine."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import ScoredSegment, SegmentOptions, segments_from_scores
from spanwise.errors import OptionError

Chunk = tuple[str, int, float | None, int]
"""Document, position, score and tokens."""

chunk = st.tuples(
    st.sampled_from("abc"),
    st.integers(-3, 12),
    st.none() | st.floats(-4, 4).map(lambda number: round(number, 2)),
    st.integers(1, 300),
)
chunk_lists = st.lists(chunk, max_size=16, unique_by=lambda one: one[:2])
presets = st.sampled_from(["precise", "balanced", "comprehensive"])


def select(
    chunks: list[Chunk], *, preset: str = "balanced", budget: int = 1_000, header: int = 0
) -> tuple[ScoredSegment, ...]:
    return segments_from_scores(
        [f"<{document}{position}>" for document, position, _, _ in chunks],
        [score for _, _, score, _ in chunks],
        documents=[document for document, _, _, _ in chunks],
        positions=[position for _, position, _, _ in chunks],
        tokens=[tokens for _, _, _, tokens in chunks],
        budget_tokens=budget,
        preset=preset,
        header_tokens=header,
    )


@settings(max_examples=80)
@given(chunk_lists, presets, st.integers(320, 2_000), st.integers(0, 20))
def test_segments_are_runs_of_consecutive_chunks_within_the_budget(
    chunks: list[Chunk], preset: str, budget: int, header: int
) -> None:
    found = select(chunks, preset=preset, budget=budget, header=header)
    assert sum(segment.tokens + header for segment in found) <= budget
    taken = [at for segment in found for at in segment.chunks]
    assert len(taken) == len(set(taken))
    for segment in found:
        places = [chunks[at][:2] for at in segment.chunks]
        positions = range(segment.first_chunk, segment.last_chunk)
        assert places == [(segment.document_id, position) for position in positions]
        assert segment.text == "\n\n".join(f"<{name}{position}>" for name, position in places)
        assert segment.tokens == sum(chunks[at][3] for at in segment.chunks)
        scores = [score for at in segment.chunks if (score := chunks[at][2]) is not None]
        assert segment.score == max(scores, default=0.0)


@settings(max_examples=60)
@given(chunk_lists, presets)
def test_ranks_follow_the_shares_and_documents_the_ranks(chunks: list[Chunk], preset: str) -> None:
    found = select(chunks, preset=preset)
    by_rank = sorted(found, key=lambda segment: segment.rank)
    assert [segment.rank for segment in by_rank] == list(range(len(found)))
    assert all(a.share >= b.share for a, b in pairwise(by_rank))
    assert sum(segment.share for segment in found) <= 1 + 1e-9
    order = list(dict.fromkeys(segment.document_id for segment in found))
    assert order == list(dict.fromkeys(segment.document_id for segment in by_rank))
    for document in order:
        firsts = [one.first_chunk for one in found if one.document_id == document]
        assert firsts == sorted(firsts)


@settings(max_examples=60)
@given(chunk_lists, st.randoms(use_true_random=False))
def test_the_order_of_the_chunks_of_a_document_does_not_matter(
    chunks: list[Chunk], chance: object
) -> None:
    mixed = list(chunks)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    mixed.sort(key=lambda one: [name for name, _, _, _ in chunks].index(one[0]))

    def places(found: tuple[ScoredSegment, ...]) -> list[ScoredSegment]:
        return [replace(segment, chunks=()) for segment in found]

    assert places(select(mixed)) == places(select(chunks))


@settings(max_examples=60)
@given(chunk_lists, st.floats(0.5, 20), st.floats(10, 50))
def test_the_scale_of_the_scores_does_not_matter(
    chunks: list[Chunk], factor: float, shift: float
) -> None:
    """Scores in [0, 1] might be probabilities; others count by their order and their distances."""
    apart = [(name, at, None if s is None else s + 10, n) for name, at, s, n in chunks]
    scaled = [(name, at, None if s is None else s * factor + shift, n) for name, at, s, n in apart]

    def places(found: tuple[ScoredSegment, ...]) -> list[tuple[object, ...]]:
        return sorted((one.document_id, one.first_chunk, one.last_chunk) for one in found)

    assert places(select(scaled)) == places(select(apart))


@settings(max_examples=60)
@given(chunk_lists.filter(lambda chunks: any(one[2] is not None for one in chunks)), presets)
def test_a_chunk_of_the_highest_score_is_in_a_segment(chunks: list[Chunk], preset: str) -> None:
    """The chunk with the greatest share is; the nearest competitor may be its neighbour."""
    chunks = [(name, at * 10, score, tokens) for name, at, score, tokens in chunks]
    scores = [score for _, _, score, _ in chunks if score is not None]
    found = select(chunks, preset=preset)
    assert not found or max(segment.score for segment in found) == max(scores)


def test_a_weak_chunk_between_strong_ones_joins_them() -> None:
    texts = [f"Paragraph {number} of the report." for number in range(12)]
    scores = [0.1] * 12
    scores[4] = scores[6] = 0.9
    (segment,) = segments_from_scores(
        texts, scores, tokens=[100] * 12, segment_options=SegmentOptions(token_price=0.3)
    )
    assert set(range(4, 7)) <= set(segment.chunks)


def test_chunks_without_a_score_fill_gaps() -> None:
    found = segments_from_scores(
        ["first", "between", "last", "far"], [0.9, None, 0.8, None], positions=[0, 1, 2, 30]
    )
    assert [segment.chunks for segment in found] == [(0, 1, 2)]


def test_text_that_overlapping_chunks_repeat_occurs_once() -> None:
    repeated = "Freight rates rose by a tenth in spring."
    found = segments_from_scores(
        [f"Margins fell. {repeated}", f"{repeated} Wages stayed."], [0.9, 0.8]
    )
    assert [segment.text for segment in found] == [f"Margins fell. {repeated} Wages stayed."]


def test_small_probabilities_give_no_segment() -> None:
    texts, tokens = ["Unrelated text."] * 5, [400] * 5
    assert not segments_from_scores(texts, [0.001] * 5, tokens=tokens, scale="probability")
    likely = segments_from_scores(
        texts, [0.001, 0.9, 0.7, 0.001, 0.001], tokens=tokens, scale="probability"
    )
    assert next(segment.chunks for segment in likely)[:2] == (1, 2)


@pytest.mark.parametrize("scores", [[], [None, None]])
def test_without_scores_there_are_no_segments(scores: list[None]) -> None:
    assert segments_from_scores(["text"] * len(scores), scores) == ()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": [1.0]}, "2 chunks and 1 scores"),
        ({"scores": [1.0, float("nan")]}, "finite"),
        ({"scores": ["a", "b"]}, "give numbers"),
        ({"chunks": "text"}, "give a list of texts"),
        ({"documents": ["a"]}, "2 chunks and 1 documents"),
        ({"positions": [1, 1]}, "position 1"),
        ({"positions": [0.5, 1.5]}, "whole numbers"),
        ({"tokens": [0, 5]}, "length"),
        ({"scale": "percent"}, "must be one of"),
        ({"scale": "probability", "scores": [0.5, 2.0]}, "2.0"),
        ({"preset": "tiny"}, "tiny"),
        ({"budget_tokens": 3, "tokens": [50, 50]}, "budget_tokens is 3"),
    ],
)
def test_invalid_arguments_are_refused(changed: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"chunks": ["one", "two"], "scores": [2.0, 1.0], **changed}
    with pytest.raises(OptionError, match=message):
        segments_from_scores(**arguments)  # type: ignore[arg-type]


@settings(max_examples=40)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_any_finite_scores_are_accepted(scores: list[float]) -> None:
    found = segments_from_scores(["text"] * len(scores), scores)
    assert max(scores) in {segment.score for segment in found}


def test_iterators_are_read_once() -> None:
    texts, scores = ["Freight rose.", "Boats."], [0.9, 0.1]
    lists = segments_from_scores(texts, scores)
    iterators = segments_from_scores(iter(texts), (score for score in scores))  # type: ignore[arg-type]
    assert lists == iterators
    assert lists
