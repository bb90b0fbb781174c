"""The form for JSON, and the way back."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import shown
from spanwise.testing.store_records import make_turn
from spanwise.types import Answer, AnswerCitation, Chunk, Citation, Thread, ThreadInfo, Turn, Usage
from spanwise.types.plain import from_plain, to_plain

texts = st.text(st.characters(), max_size=8)
counts = st.integers(0, 1 << 40)
numbers = st.floats(0, 1e9)
citations = st.builds(
    Citation,
    document_id=texts,
    title=texts,
    start=counts,
    end=counts,
    pages=st.none() | st.tuples(counts, counts),
    page_labels=st.none() | st.tuples(texts, texts),
    section_path=st.lists(texts, max_size=3).map(tuple),
    source=texts,
    version=texts,
    quote=texts,
    text_hash=texts,
)
quoted = st.builds(
    AnswerCitation,
    number=counts,
    quote=texts,
    status=st.sampled_from(["exact", "near", "failed"]),
    similarity=numbers,
    citation=st.none() | citations,
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
answers = st.builds(
    Answer,
    question=texts,
    text=texts,
    citations=st.lists(quoted, max_size=3).map(tuple),
    refused=st.booleans(),
    queries=st.lists(texts, max_size=3).map(tuple),
    sources=st.lists(citations, max_size=2).map(tuple),
    data=st.none() | st.dictionaries(texts, plain, max_size=3),
    usage=st.builds(Usage, calls=counts, cost=st.none() | numbers, seconds=numbers),
    seconds=st.dictionaries(texts, numbers, max_size=2),
)
turns = st.builds(Turn, question=texts, standalone=texts, answer=answers, asked_at=texts)


@given(turns)
def test_a_turn_round_trips_through_json(turn: Turn) -> None:
    """Every field with its type, whatever the texts hold."""
    back = from_plain(Turn, json.loads(json.dumps(turn.to_dict())))
    assert back == turn
    assert repr(back) == repr(turn), "1 and 1.0 and True are not the same"


def test_nested_values_round_trip() -> None:
    info = ThreadInfo(id="a", title="b", turns=1, created_at="c", changed_at="d")
    thread = Thread(info=info, turns=(make_turn("Who?"),))
    assert from_plain(Thread, to_plain(thread)) == thread


def test_an_integer_is_read_as_a_float_field() -> None:
    """Programs in other languages write 1 for 1.0."""
    usage = from_plain(Usage, {"seconds": 1, "cost": 2})
    assert (usage.seconds, usage.cost) == (1.0, 2.0)
    assert isinstance(usage.seconds, float)
    assert isinstance(usage.cost, float)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Chunk lacks index, start, end"),
        ([], r"Chunk is \[\], and must be an object"),
        ({"index": "0"}, "Chunk.index is '0', and must be a whole number"),
        ({"index": True}, "Chunk.index is true, and must be a whole number"),
        ({"index": 1.0}, "Chunk.index is 1.0, and must be a whole number"),
        ({"index": None}, "Chunk.index is null, and must be a whole number"),
        ({"text": ["a"]}, r'Chunk.text is \["a"\], and must be a text'),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(fields: object, message: str) -> None:
    whole = {"index": 0, "start": 0, "end": 1, "section": 0, "tokens": 1, "text": "a"}
    given_ = {**whole, **fields} if isinstance(fields, dict) and fields else fields
    with pytest.raises(ValueError, match=message):
        from_plain(Chunk, given_)


def test_a_long_value_is_shortened_in_the_message() -> None:
    with pytest.raises(ValueError, match=r"Usage\.calls is 'x+\.\.\.x+', and must") as raised:
        from_plain(Usage, {"calls": "x" * 10_000})
    assert len(str(raised.value)) < 200


def test_a_value_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="JSON"):
        to_plain({"a": object()})
    assert math.isinf(from_plain(Usage, {"seconds": math.inf}).seconds)


def test_a_value_without_a_repr_is_shown_by_its_kind() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert shown(10**5000) == "a number"
    assert shown(Silent()) == "a value of type Silent"
    assert shown("text") == "'text'"
