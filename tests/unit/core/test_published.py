"""The published method: chunk values, choice of documents, and errors."""

from dataclasses import replace
from math import exp
from typing import Any, Literal

import pytest

from spanwise.core.extraction.published import extract_published, published_values
from spanwise.errors import OptionError
from spanwise.options import PublishedOptions

PLAIN = PublishedOptions(
    irrelevant_chunk_penalty=0.2, rank_decay=10.0, length_adjustment="none", min_segment_value=0.0
)


def values(options: PublishedOptions) -> list[float]:
    """Return the values of two chunks that were found and one that was not, all of 1,400 chars."""
    found = published_values([0.9, 0.5, 0.7], [0, 5, -1], [350, 1_400, 1_400], options=options)
    return [round(value, 12) for value in found.tolist()]


def test_value_is_decayed_relevance_less_the_penalty() -> None:
    assert values(PLAIN) == [0.7, round(0.5 * exp(-0.5) - 0.2, 12), -0.2]


@pytest.mark.parametrize(
    ("adjustment", "floor", "unretrieved", "factors"),
    [
        ("none", 700, "real", [1.0, 1.0, 1.0]),
        ("proportional", 700, "real", [0.5, 2.0, 2.0]),
        ("proportional", 700, "reference", [0.5, 2.0, 1.0]),
        ("proportional", 700, "zero", [0.5, 2.0, 0.0]),  # the first version: gaps cost nothing
        ("floor", 350, "zero", [0.5, 2.0, 0.5]),  # the second
        ("floor", 700, "zero", [1.0, 2.0, 1.0]),  # the third, of dsRAG 0.5.6
        ("floor", 700, "real", [1.0, 2.0, 2.0]),
    ],
)
def test_length_scales_value(
    adjustment: Literal["proportional", "floor", "none"],
    floor: int,
    unretrieved: Literal["real", "reference", "zero"],
    factors: list[float],
) -> None:
    options = replace(
        PLAIN,
        length_adjustment=adjustment,
        floor_chars=floor,
        unretrieved_length=unretrieved,
    )
    plain = [0.7, 0.5 * exp(-0.5) - 0.2, -0.2]
    expected = [value * factor for value, factor in zip(plain, factors, strict=True)]
    assert values(options) == pytest.approx(expected)


def test_reference_length_is_an_option() -> None:
    options = replace(PLAIN, length_adjustment="proportional", reference_chars=350)
    assert values(options)[0] == 0.7


def test_the_smallest_decay_leaves_the_first_rank_alone() -> None:
    assert values(replace(PLAIN, rank_decay=0.001)) == [0.7, -0.2, -0.2]


def test_documents_of_low_ranks_alone_are_omitted() -> None:
    """Excluded chunks keep their rank."""
    ranking = [(0, 0, 0.9), (1, 0, 0.8), (0, 2, 0.9)]
    lengths = [[700] * 3, [700]]
    runs = extract_published(
        [ranking], lengths, options=replace(PLAIN, document_ranks=1, max_segment_chunks=1)
    )
    assert [(run.document, run.start, run.end) for run in runs] == [(0, 0, 1), (0, 2, 3)]
    assert runs[1].value == pytest.approx(0.9 * exp(-0.2) - 0.2)


def test_each_further_query_lengthens_the_answer() -> None:
    options = replace(PLAIN, budget_chunks=1, further_query_chunks=1, max_segment_chunks=1)
    ranking = [(0, chunk, 0.9) for chunk in range(4)]
    counts = [
        len(extract_published([ranking] * queries, [700] * 4, options=options))
        for queries in (1, 2, 3)
    ]
    assert counts == [1, 2, 3]


def test_documents_keep_their_numbers() -> None:
    runs = extract_published([[(2, 1, 0.9)]], [[700], [700], [700, 700]], options=PLAIN)
    assert [(run.document, run.start, run.end) for run in runs] == [(2, 1, 2)]


def test_an_empty_ranking_gives_no_runs() -> None:
    assert extract_published([[]], [700], options=PLAIN) == []
    assert extract_published([], [], options=PLAIN) == []


@pytest.mark.parametrize(
    ("ranking", "said"),
    [
        ([(0, 1, 0.5)], "chunk 1 of document 0, which does not exist"),
        ([(1, 0, 0.5)], "chunk 0 of document 1, which does not exist"),
        ([(0, 0, 1.5)], r"has relevance 1\.5; it must be in \[0, 1\]"),
        ([(0, 0, 0.5), (0, 0, 0.4)], "chunk 0 of document 0 twice"),
    ],
)
def test_a_wrong_ranking_is_rejected(ranking: list[tuple[int, int, float]], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        extract_published([ranking], [700], options=PLAIN)


def test_lists_of_different_lengths_are_rejected() -> None:
    with pytest.raises(OptionError, match="give one of each for each chunk"):
        published_values([0.5], [0, 1], [700], options=PLAIN)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("dsrag-balanced", (15, 30, 0.5, 0.18, 5, 30.0, 10)),
        ("dsrag-precision", (15, 30, 0.7, 0.2, 5, 30.0, 10)),
        ("dsrag-find-all", (40, 200, 0.4, 0.18, 0, 200.0, 200)),
    ],
)
def test_presets_contain_the_published_numbers(name: str, numbers: tuple[float, ...]) -> None:
    preset = PublishedOptions.preset(name)
    assert numbers == (
        preset.max_segment_chunks,
        preset.budget_chunks,
        preset.min_segment_value,
        preset.irrelevant_chunk_penalty,
        preset.further_query_chunks,
        preset.rank_decay,
        preset.document_ranks,
    )
    assert (preset.length_adjustment, preset.floor_chars) == ("floor", 700)
    assert (preset.reference_chars, preset.unretrieved_length) == (700, "zero")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("irrelevant_chunk_penalty", 1.1),
        ("rank_decay", 0.0),
        ("min_segment_value", -0.1),
        ("min_segment_value", float("nan")),
        ("max_segment_chunks", 0),
        ("budget_chunks", 2.5),
        ("further_query_chunks", -1),
        ("document_ranks", 0),
        ("floor_chars", 0),
        ("reference_chars", 0),
        ("length_adjustment", "linear"),
        ("unretrieved_length", "none"),
    ],
)
def test_options_out_of_range_are_rejected(field: str, value: Any) -> None:
    with pytest.raises(OptionError, match=f"{field} is"):
        PublishedOptions(**{field: value})


def test_an_unknown_preset_is_rejected() -> None:
    with pytest.raises(OptionError, match="one of dsrag-balanced, dsrag-precision, dsrag-find-all"):
        PublishedOptions.preset("balanced")
