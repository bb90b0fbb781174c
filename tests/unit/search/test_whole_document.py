"""A search in one document returns it whole if it fits and tokens have no price."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spanwise import KnowledgeBase, SegmentOptions

QUESTION = "Why did gross margin fall?"
WEATHER = " ".join(f"The weather of day {n} is described elsewhere." for n in range(60))
TEXT = f"{WEATHER}\n\nGross margin fell because of freight.\n\n{WEATHER}"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        base.add_text(TEXT, document_id="one")
        base.add_text(f"{WEATHER} {WEATHER}", document_id="two")
        yield base


def test_a_document_that_fits_is_given_whole(base: KnowledgeBase) -> None:
    result = base.search(QUESTION, documents=["one"], preset="comprehensive")
    assert [segment.text for segment in result.segments] == [TEXT]
    assert result.tokens <= result.budget_tokens


def test_it_must_fit_with_its_header(base: KnowledgeBase) -> None:
    whole = base.search(QUESTION, documents=["one"], preset="comprehensive").tokens
    result = base.search(
        QUESTION, documents=["one"], preset="comprehensive", budget_tokens=whole - 1
    )
    assert [segment.text for segment in result.segments] != [TEXT]
    again = base.search(QUESTION, documents=["one"], preset="comprehensive", budget_tokens=whole)
    assert [segment.text for segment in again.segments] == [TEXT]


def test_text_that_is_not_worth_its_tokens_is_left_out() -> None:
    """The budget holds the whole document; only the preset "comprehensive" fills it."""
    text = "\n\n".join([*[WEATHER] * 5, "Gross margin fell because of freight.", *[WEATHER] * 5])
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        base.add_text(text, document_id="one")
        precise, balanced, filled = (
            base.search(QUESTION, documents=["one"], budget_tokens=60_000, preset=preset)
            for preset in ("precise", "balanced", "comprehensive")
        )
    assert "Gross margin fell" in precise.context
    assert precise.tokens < balanced.tokens < filled.tokens / 2
    assert [segment.text for segment in filled.segments] == [text]


@pytest.mark.parametrize("documents", [None, ["one", "two"]])
def test_among_others_it_is_not(base: KnowledgeBase, documents: list[str] | None) -> None:
    options = SegmentOptions(token_price=1.0)
    result = base.search(QUESTION, documents=documents, segment_options=options)
    assert result.segments
    assert all(segment.text != TEXT for segment in result.segments)


def test_a_limit_on_segments_holds(base: KnowledgeBase) -> None:
    options = SegmentOptions(token_price=0.0, max_segment_tokens=300)
    result = base.search(QUESTION, documents=["one"], segment_options=options)
    assert all(len(segment.text) / 4 <= 310 for segment in result.segments)
