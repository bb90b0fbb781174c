"""Trimming of segments to sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from spanwise import KnowledgeBase, Segment, SegmentOptions
from spanwise.models.providers.tokenizer import make_tokenizer

QUESTION = "Why did the gross margin of the mill fall?"
ANSWER = "Gross margin of the mill fell because freight cost more than ever."
BEFORE = "Barges carry grain down the river to the port. The locks close in the winter months. "
AFTER = " Staff meet on Mondays in the office. Minutes are kept for seven years by the clerk."
PARAGRAPH = f"{BEFORE}{ANSWER}{AFTER}"
SHOPS = [
    f"The bakery of street {n} sells rye bread, oat cakes and a seeded loaf on market days. "
    f"Its oven number {n} was built by a mason from the north, who has long since retired. "
    f"The gross sales of shop {n} are counted on Fridays and kept by the clerk in a tin."
    for n in range(12)
]
WHOLE = replace(SegmentOptions.PRECISE, trim=False)


def filled(tokenizer: str, text: str = PARAGRAPH) -> KnowledgeBase:
    """Return a knowledge base in memory, one document of which answers the question."""
    base = KnowledgeBase(":memory:", embedder=None, tokenizer=tokenizer)
    for number, shop in enumerate(SHOPS):
        base.add_text(shop, document_id=f"shop{number}")
    base.add_text(text, document_id="mill", title="Yearbook")
    return base


@pytest.fixture(params=["chars:4", "o200k_base"])
def base(request: pytest.FixtureRequest) -> Iterator[KnowledgeBase]:
    with filled(request.param) as base:
        yield base


def found(base: KnowledgeBase, options: SegmentOptions, **more: object) -> tuple[Segment, ...]:
    return base.search(QUESTION, segment_options=options, **more).segments  # type: ignore[arg-type]


def test_the_sentences_around_the_answer_are_omitted(base: KnowledgeBase) -> None:
    (segment,) = found(base, SegmentOptions.PRECISE)
    assert segment.text.strip() == ANSWER
    assert segment.text == PARAGRAPH[segment.start : segment.end]


def test_balanced_shows_them(base: KnowledgeBase) -> None:
    assert any(PARAGRAPH in segment.text for segment in found(base, SegmentOptions.BALANCED))


def test_a_trimmed_segment_is_inside_the_whole_one(
    base: KnowledgeBase,
) -> None:
    (whole,) = found(base, WHOLE)
    (cut,) = found(base, SegmentOptions.PRECISE)
    assert whole.start <= cut.start < cut.end < whole.end
    assert cut.tokens < whole.tokens
    kept = {name: getattr(whole, name) for name in ("value", "relevances", "rank", "first_chunk")}
    assert {name: getattr(cut, name) for name in kept} == kept


@pytest.mark.parametrize("reader", ["chars:4", "o200k_base", "cl100k_base"])
def test_its_tokens_are_those_of_the_context(base: KnowledgeBase, reader: str) -> None:
    result = base.search(QUESTION, preset="precise", tokenizer=reader)
    counted = make_tokenizer(reader).count([result.context])[0]
    assert counted <= result.tokens <= counted + 20


def test_its_citation_is_that_of_the_sentences(base: KnowledgeBase) -> None:
    (segment,) = found(base, SegmentOptions.PRECISE)
    citation = segment.citation
    assert (citation.start, citation.end) == (segment.start, segment.end)
    assert citation.quote.strip() == ANSWER
    assert base.locate(citation).status == "current"
    base.add_text(f"Something new.\n\n{PARAGRAPH}", document_id="mill", replace=True)
    moved = base.locate(citation)
    assert (moved.status, moved.text) == ("moved", segment.text)


def test_runs_of_several_chunks_are_not_trimmed() -> None:
    long = " ".join(f"{ANSWER} This stands in note {n} of the report." for n in range(12))
    with filled("chars:4", long) as base:
        (segment,) = found(base, SegmentOptions.PRECISE)
        (whole,) = found(base, WHOLE)
    assert segment.last_chunk - segment.first_chunk > 1
    assert segment == whole


def test_a_trimmed_search_never_returns_a_whole_document() -> None:
    with filled("chars:4") as base:
        (cut,) = found(base, SegmentOptions.PRECISE, documents=["mill"])
        (whole,) = found(base, WHOLE, documents=["mill"])
    assert whole.text == PARAGRAPH
    assert cut.text.strip() == ANSWER


def test_an_explanation_contains_trim_and_price(base: KnowledgeBase) -> None:
    explanation = base.explain(QUESTION, preset="precise")
    (segment,) = explanation.result.segments
    assert segment.text.strip() == ANSWER
    assert explanation.terms.trim
    assert explanation.terms.token_price == SegmentOptions.PRECISE.token_price
    assert "cut to sentences" in explanation.to_html()
    inside = [one for one in explanation.candidates if one.segment is not None]
    assert [one.decision for one in inside] == ["segment"]
    assert not base.explain(QUESTION).terms.trim


def test_a_price_stops_where_the_best_chunk_is_far_ahead(base: KnowledgeBase) -> None:
    eager = SegmentOptions(segment_charge=0.0, token_price=0.0)
    assert len(found(base, eager)) > 1
    assert len(found(base, replace(eager, token_price=3.0))) == 1


def test_so_do_excerpts(base: KnowledgeBase) -> None:
    eager = SegmentOptions(segment_charge=0.0, token_price=0.0)
    sure = replace(eager, token_price=3.0)
    many, one = (
        base.excerpts(QUESTION, segment_options=options, excerpt_tokens=200).excerpts
        for options in (eager, sure)
    )
    assert len(many) > len(one) == 1


def test_each_query_keeps_its_best_chunk() -> None:
    """Also with one query answered in many places and one in a single place."""
    options = replace(SegmentOptions.PRECISE, token_price=0.5)
    animals = ("Otters", "Two herons", "Some eels", "No salmon", "Young pike", "Wild geese")
    with filled("chars:4") as base:
        for n, animal in enumerate(animals):
            rest = f"The park of {animal} is open on day {n}. " * 8
            base.add_text(f"{animal} live in lake {n}. {rest}", document_id=animal)
        result = base.search(
            QUESTION, more_queries=["Which animals live in a lake?"], segment_options=options
        )
    assert {query for segment in result.segments for query in segment.queries} == {0, 1}


def test_a_best_guess_is_not_trimmed(base: KnowledgeBase) -> None:
    """Among worthless sentences none is better than the others."""
    options = SegmentOptions(token_price=1_000.0, trim=True)
    cut, whole = (
        base.search(QUESTION, segment_options=one).best_guess
        for one in (options, replace(options, trim=False))
    )
    assert cut is not None
    assert cut == whole


def test_excerpts_are_filled_all_the_same(base: KnowledgeBase) -> None:
    result = base.excerpts(QUESTION, excerpts=1, excerpt_tokens=300, preset="precise")
    assert PARAGRAPH in result.excerpts[0].text


def test_a_segment_is_cut_for_the_query_that_it_serves(base: KnowledgeBase) -> None:
    """The question shares no word with the sentences of the answer."""
    result = base.search("oven 7 of the bakery", more_queries=[QUESTION], preset="precise")
    (text,) = (segment.text for segment in result.segments if segment.document_id == "mill")
    assert text.strip() == ANSWER


def test_the_words_of_other_languages_are_read_in_theirs() -> None:
    answer = "Die Bruttomargen der Mühlen sind wegen der Frachtkosten gefallen."
    text = f"Die Kähne fahren flussabwärts zum Hafen. {answer} Das Büro trifft sich montags dort."
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        for n in range(9):
            base.add_text(f"Die Bäckerei in der Straße {n} verkauft Brot.", document_id=str(n))
        base.add_text(text, document_id="m")
        base.add_text(PARAGRAPH, document_id="mill")
        (segment,) = base.search("Warum fiel die Bruttomarge der Mühle?", preset="precise").segments
    assert segment.text.strip() == answer
