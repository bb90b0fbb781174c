"""Laws of trimmed segments, on documents of every shape."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.errors import OptionError
from spanwise.search.trim import sentence_places

_WORDS = st.sampled_from(
    "margin cost freight price sales Acme 2018 3.5 tax law notice party term safety of the".split()
)
_SENTENCES = st.tuples(
    st.lists(_WORDS, min_size=1, max_size=12), st.sampled_from([". ", "?\n", ".\n\n", "\n", " | "])
).map(lambda parts: " ".join(parts[0]) + parts[1])
_TEXTS = st.lists(_SENTENCES, min_size=1, max_size=30).map("".join)
_QUESTIONS = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(_TEXTS, min_size=1, max_size=5),
    question=_QUESTIONS,
    budget=st.integers(60, 600),
    price=st.floats(0, 10),
)
def test_cut_segments_are_sentences_of_the_whole_ones(
    texts: list[str], question: str, budget: int, price: float
) -> None:
    whole = SegmentOptions(segment_charge=0.005, token_price=price)
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        for number, text in enumerate(texts):
            base.add_text(text, document_id=f"d{number}")
        chunks = {f"d{number}": base.chunks(f"d{number}") for number in range(len(texts))}
        try:
            uncut, cut = (
                base.search(question, budget_tokens=budget, segment_options=options)
                for options in (whole, replace(whole, trim=True))
            )
        except OptionError:  # the budget holds no chunk
            return
    assert len(cut.context) / 4 <= cut.tokens <= budget
    # Trimmed segments are shorter, so others may fit into the budget than without trimming.
    chosen = [
        [(segment.document_id, segment.first_chunk, segment.last_chunk) for segment in found]
        for found in (cut.segments, uncut.segments)
    ]
    if chosen[0] != chosen[1]:
        return
    for segment in (*cut.segments, *uncut.segments):
        own = chunks[segment.document_id][segment.first_chunk : segment.last_chunk]
        if not own[0].start <= segment.start < segment.end <= own[-1].end:
            return  # extended by the rest of a sentence
    assert cut.tokens <= uncut.tokens
    for kept, full in zip(cut.segments, uncut.segments, strict=True):
        assert kept.text == texts[int(kept.document_id[1:])][kept.start : kept.end]
        assert full.start <= kept.start < kept.end <= full.end
        assert kept.tokens <= full.tokens
        places = {full.start + place for place in sentence_places(full.text)}
        assert {kept.start, kept.end} <= places
        assert (kept.rank, kept.value, kept.queries) == (full.rank, full.value, full.queries)
