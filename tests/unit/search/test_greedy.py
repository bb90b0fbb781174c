"""The published method over a knowledge base."""

from collections.abc import Iterator

import pytest

from spanwise import KnowledgeBase, PublishedOptions, SegmentOptions
from spanwise.errors import OptionError

EAGER = PublishedOptions(irrelevant_chunk_penalty=0.05, min_segment_value=0.0)


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    """Return a knowledge base of three reports, of which two have a page in common."""
    shared = "Forward-looking statements about margins involve risks that are hard to foresee. " * 4
    with KnowledgeBase(":memory:") as base:
        for year, cause in ((2021, "freight"), (2022, "energy"), (2023, "wages")):
            filler = "\n\n".join(
                f"Chapter {number} is about staff, offices and other things of {year}. " * 5
                for number in range(6)
            )
            margin = f"Gross margin fell in {year} because of the cost of {cause}. " * 4
            closing = shared if year < 2023 else ""
            base.add_text(
                f"{filler}\n\n{margin}\n\n{filler}\n\n{closing}",
                document_id=str(year),
                title=f"Report {year}",
            )
        yield base


def test_segments_keep_the_limits_in_chunks(base: KnowledgeBase) -> None:
    options = PublishedOptions(
        irrelevant_chunk_penalty=0.0,
        length_adjustment="none",
        min_segment_value=0.0,
        max_segment_chunks=2,
        budget_chunks=3,
    )
    result = base.search("Why did gross margin fall?", method="greedy", segment_options=options)
    sizes = [segment.last_chunk - segment.first_chunk for segment in result.segments]
    assert max(sizes) <= 2
    assert sum(sizes) == 3


def test_segments_are_presented_as_those_of_the_exact_method(base: KnowledgeBase) -> None:
    result = base.search(
        "Why did gross margin fall in 2022?", method="greedy", segment_options=EAGER
    )
    best = min(result.segments, key=lambda segment: segment.rank)
    assert best.document_id == "2022"
    assert "cost of energy" in best.text
    assert best.value == max(segment.value for segment in result.segments)
    assert result.tokens == sum(segment.tokens for segment in result.segments)
    assert best.header in result.context
    assert result.warnings == ()


def test_value_grows_with_the_length_of_chunks(base: KnowledgeBase) -> None:
    plain, adjusted = (
        base.search(
            "Why did gross margin fall in 2022?",
            method="greedy",
            segment_options=PublishedOptions(
                length_adjustment=adjustment,
                max_segment_chunks=1,
                budget_chunks=1,
                irrelevant_chunk_penalty=0.0,
                min_segment_value=0.0,
            ),
        ).segments[0]
        for adjustment in ("none", "proportional")
    )
    assert adjusted.start == plain.start
    assert adjusted.value == pytest.approx(plain.value * len(plain.text) / 700)


def test_each_query_has_its_turn_and_more_room(base: KnowledgeBase) -> None:
    options = PublishedOptions(
        irrelevant_chunk_penalty=0.0,
        length_adjustment="none",
        min_segment_value=0.0,
        max_segment_chunks=1,
        budget_chunks=1,
        further_query_chunks=1,
    )
    result = base.search(
        "cost of freight in 2021",
        more_queries=["cost of wages in 2023"],
        method="greedy",
        segment_options=options,
    )
    assert {segment.document_id for segment in result.segments} == {"2021", "2023"}


def test_text_that_recurs_comes_once(base: KnowledgeBase) -> None:
    result = base.search(
        "Which forward-looking statements involve risks?", method="greedy", segment_options=EAGER
    )
    found = [s for s in result.segments if "Forward-looking statements" in s.text]
    assert len(found) == 1
    assert {found[0].document_id, *found[0].also_in} == {"2021", "2022"}


def test_segments_over_the_budget_are_a_warning(base: KnowledgeBase) -> None:
    question = "Why did gross margin fall?"
    whole = base.search(question, method="greedy", segment_options=EAGER)
    assert len(whole.segments) > 1
    budget = whole.tokens - 1
    part = base.search(question, method="greedy", segment_options=EAGER, budget_tokens=budget)
    assert part.tokens <= budget
    left = {s.citation for s in whole.segments} - {s.citation for s in part.segments}
    assert left
    (warning,) = part.warnings
    assert f"did not fit into {budget} tokens" in warning
    for citation in left:
        assert f"{citation.document_id} characters {citation.start}-{citation.end}" in warning


def test_a_budget_below_every_segment_gives_the_best_sentence(base: KnowledgeBase) -> None:
    result = base.search(
        "Why did gross margin fall?", method="greedy", segment_options=EAGER, budget_tokens=10
    )
    assert len(result.segments) == 1
    assert result.tokens <= 10


def test_without_segments_the_best_chunk_is_a_guess(base: KnowledgeBase) -> None:
    options = PublishedOptions(min_segment_value=900)
    result = base.search(
        "Why did gross margin fall in 2022?", method="greedy", segment_options=options
    )
    assert result.segments == ()
    assert result.best_guess is not None
    assert result.best_guess.document_id == "2022"


@pytest.mark.parametrize("preset", ["dsrag-balanced", "dsrag-precision", "dsrag-find-all"])
def test_each_preset_can_be_named(base: KnowledgeBase, preset: str) -> None:
    result = base.search("Why did gross margin fall?", method="greedy", preset=preset)
    options = PublishedOptions.preset(preset)
    by_name = base.search("Why did gross margin fall?", method="greedy", segment_options=options)
    assert result.segments == by_name.segments


def test_without_a_preset_the_balanced_one_of_the_method_holds(base: KnowledgeBase) -> None:
    question = "Why did gross margin fall?"
    balanced = base.search(question, method="greedy", preset="dsrag-balanced")
    assert base.search(question, method="greedy").segments == balanced.segments
    explanation = base.explain(question, method="greedy")
    assert explanation.result.segments == balanced.segments


def test_the_same_search_gives_the_same_result(base: KnowledgeBase) -> None:
    results = [
        base.search("Why did gross margin fall?", method="greedy", segment_options=EAGER)
        for _ in range(2)
    ]
    assert results[0].segments == results[1].segments


def test_presets_and_options_of_the_other_method_are_rejected(base: KnowledgeBase) -> None:
    with pytest.raises(OptionError, match=r'one of precise, balanced, .* with method "exact"'):
        base.search("margin", preset="dsrag-balanced")
    with pytest.raises(OptionError, match=r'one of dsrag-balanced, .* with method "greedy"'):
        base.search("margin", method="greedy", preset="balanced")
    with pytest.raises(OptionError, match='method "exact" takes SegmentOptions'):
        base.search("margin", segment_options=PublishedOptions())
    with pytest.raises(OptionError, match='method "greedy" takes PublishedOptions'):
        base.search("margin", method="greedy", segment_options=SegmentOptions())
    with pytest.raises(OptionError, match="method is 'optimal'; it must be one of exact, greedy"):
        base.search("margin", method="optimal")
