"""Laws of explanations."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explanations import chosen, chosen_again

from spanwise import KnowledgeBase, SegmentOptions

SENTENCES = st.sampled_from(
    [
        "Gross margin fell because freight cost more.",
        "The margin of the mill rose in spring.",
        "Barges carry grain down the river.",
        "The bakery sells rye bread and oat cakes on market days.",
        "Freight by road costs twice as much as by barge, and three times as much in winter.",
    ]
)
TEXTS = st.lists(st.lists(SENTENCES, min_size=1, max_size=30), min_size=1, max_size=4)
OPTIONS = st.builds(
    SegmentOptions,
    token_price=st.sampled_from([0.0, 0.015, 0.2, 2.0]),
    segment_charge=st.sampled_from([0.0, 0.0175, 0.2]),
    min_segment_value=st.sampled_from([0.0, 0.05]),
    max_segment_tokens=st.sampled_from([None, 150]),
)


@given(texts=TEXTS, options=OPTIONS, budget=st.sampled_from([200, 500, 4_000]))
@settings(max_examples=40)
def test_an_explanation_agrees_with_itself(
    texts: list[list[str]], options: SegmentOptions, budget: int
) -> None:
    """Its numbers reproduce its segments, and each chunk has a segment or a reason."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        for number, sentences in enumerate(texts):
            paragraphs = (f"{sentence} Note {place}." for place, sentence in enumerate(sentences))
            base.add_text("\n\n".join(paragraphs), document_id=str(number))
        explanation = base.explain(
            "Why did the gross margin fall?",
            budget_tokens=budget,
            segment_options=options,
        )
    assert chosen_again(explanation) == chosen(explanation)
    places = {
        (document, chunk)
        for document, first, end in chosen(explanation)
        for chunk in range(first, end)
    }
    inside = {
        (one.document_id, one.chunk)
        for one in explanation.candidates
        if one.decision in ("segment", "bridge")
    }
    assert inside == places
    for one in explanation.candidates:
        assert (one.segment is not None) == ((one.document_id, one.chunk) in places)
        assert (one.value > 0) == (one.decision not in ("bridge", "price", "copy"))
    limits = {one.decision for one in explanation.candidates}
    assert "longest" not in limits or options.max_segment_tokens is not None
    assert "minimum" not in limits or options.min_segment_value > 0
