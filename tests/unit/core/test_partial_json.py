"""Incremental parsing of JSON objects."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.answers.statements import PartialObject

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.text("abcdef_", min_size=1, max_size=6)


def expected(value: dict[str, object]) -> list[tuple[str, object]]:
    """Return the values of an object that are no list and no object, and elements of lists."""
    parts: list[tuple[str, object]] = []
    for key, one in value.items():
        if isinstance(one, list):
            parts += [(key, element) for element in one]
        elif not isinstance(one, dict):
            parts.append((key, one))
    return parts


@given(
    value=st.dictionaries(KEYS, VALUES, max_size=5),
    size=st.integers(1, 30),
    indent=st.sampled_from([None, 2]),
    before=st.sampled_from(["", "Here it is:\n```json\n"]),
)
def test_pieces_of_any_size_give_the_parts_of_the_object(
    value: dict[str, object], size: int, indent: int | None, before: str
) -> None:
    text = before + json.dumps(value, indent=indent)
    reader = PartialObject()
    parts = [
        (key, json.loads(part))
        for start in range(0, len(text), size)
        for key, part in reader.feed(text[start : start + size])
    ]
    assert parts == expected(value)


def test_an_element_is_returned_when_complete() -> None:
    reader = PartialObject()
    assert reader.feed('{"answered": tru') == []
    assert reader.feed('e, "statements": [{"text": "a, ]}') == [("answered", "true")]
    assert reader.feed(' b"}') == []
    assert reader.feed(",") == [("statements", '{"text": "a, ]} b"}')]


@pytest.mark.parametrize("text", ["", "no JSON", "]]]", "}{", '{"a" 1]', "[1, 2]", '"{"', "{" * 99])
def test_text_that_is_no_object_is_ignored(text: str) -> None:
    reader = PartialObject()
    assert isinstance(reader.feed(text) + reader.feed(text), list)
