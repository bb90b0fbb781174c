"""Segments begin and end with whole sentences, although chunks cut long sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import SearchResult

_SUBJECTS = "licensor franchisee supplier distributor tenant carrier lender insurer".split()
_MATTERS = "royalty territory warranty inspection audit insurance assignment renewal".split()


def _sentence(number: int) -> str:
    """Return a sentence that is longer than a chunk."""
    subject, matter = _SUBJECTS[number % 8], _MATTERS[number // 8 % 8]
    clauses = ", ".join(
        f"and the {subject} shall keep records of the {matter} in the form that schedule "
        f"{number} part {part} describes"
        for part in range(6)
    )
    return f"Clause {number} concerns the {matter} of the {subject}, {clauses}, without delay. "


_SENTENCES = [_sentence(number) for number in range(40)]
_TEXT = "".join(_SENTENCES)
_STARTS = {match.start() for match in re.finditer("Clause ", _TEXT)}
_QUESTION = "records of the royalty of the tenant"


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as base:
        base.add_text(_TEXT, document_id="agreement")
        assert any(chunk.start not in _STARTS for chunk in base.chunks("agreement"))
        yield base


def _cut_borders(result: SearchResult) -> list[int]:
    """Return the offsets inside a sentence where a segment begins or ends."""
    borders = [place for segment in result.segments for place in (segment.start, segment.end)]
    return [place for place in borders if place not in _STARTS | {len(_TEXT)}]


@pytest.mark.parametrize("preset", ["precise", "balanced", "comprehensive"])
def test_segments_are_whole_sentences(base: KnowledgeBase, preset: Any) -> None:
    result = base.search(_QUESTION, budget_tokens=4_000, preset=preset)
    assert result.segments
    assert _cut_borders(result) == []
    for segment in result.segments:
        assert segment.text == _TEXT[segment.start : segment.end]
        assert segment.text.strip() in result.context
        assert segment.citation.start == segment.start
        assert segment.citation.end == segment.end


@pytest.mark.parametrize("tokenizer", [None, "cl100k_base", "chars:4"])
@pytest.mark.parametrize("budget_tokens", [200, 300, 500, 1_000, 2_000])
def test_whole_sentences_fit_into_the_budget(
    base: KnowledgeBase, budget_tokens: int, tokenizer: str | None
) -> None:
    result = base.search(_QUESTION, budget_tokens=budget_tokens, tokenizer=tokenizer)
    counted = make_tokenizer(tokenizer or "o200k_base").count([result.context])[0]
    assert counted <= result.tokens <= budget_tokens
    ends = [0]
    for segment in result.segments:
        assert segment.text == _TEXT[segment.start : segment.end]
        assert segment.start >= ends[-1]
        ends.append(segment.end)


def test_a_segment_does_not_exceed_its_maximum_length(base: KnowledgeBase) -> None:
    options = SegmentOptions(max_segment_tokens=90)
    result = base.search(_QUESTION, segment_options=options, headers=False)
    count = make_tokenizer("o200k_base").count
    assert result.segments
    assert all(count([segment.text])[0] <= 90 for segment in result.segments)


@pytest.mark.parametrize("budget_tokens", [150, 250, 400, 800])
def test_a_segment_with_a_required_phrase_keeps_it(base: KnowledgeBase, budget_tokens: int) -> None:
    result = base.search('"schedule 4 part 3"', budget_tokens=budget_tokens)
    assert result.segments
    assert all("schedule 4 part 3" in segment.text for segment in result.segments)
