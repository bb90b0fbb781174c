"""Statements of an answer that is still being written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.answers.composer import complete_statements

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ['"', "\\", '"}, {"', '], "conflicts": [', '"statements"', "{", "a: 1, b"]
)
STATEMENTS = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "quotes": st.lists(
            st.fixed_dictionaries({"segment": st.integers(-5, 30), "quote": TEXTS}), max_size=3
        ),
    }
)
FIELDS = st.fixed_dictionaries(
    {
        "answered": st.just(value=True),
        "statements": st.lists(STATEMENTS, max_size=4),
        "conflicts": st.lists(STATEMENTS, max_size=2),
        "missing": TEXTS,
    }
)


@given(
    answer=FIELDS,
    order=st.permutations(["answered", "statements", "conflicts", "missing"]),
    size=st.integers(1, 30),
    indent=st.sampled_from([None, 2]),
    ascii_only=st.booleans(),
    before=st.sampled_from(["", "Here it is:\n```json\n"]),
)
def test_every_prefix_gives_only_statements_of_the_whole_answer(
    answer: dict[str, object],
    order: list[str],
    size: int,
    indent: int | None,
    *,
    ascii_only: bool,
    before: str,
) -> None:
    """Statements are complete, in order, and never fewer for a longer prefix."""
    ordered = {name: answer[name] for name in order}
    text = before + json.dumps(ordered, indent=indent, ensure_ascii=ascii_only)
    statements = answer["statements"]
    assert isinstance(statements, list)
    count = 0
    for end in [*range(0, len(text), size), len(text)]:
        complete = [json.loads(statement) for statement in complete_statements(text[:end])]
        assert complete == statements[: len(complete)]
        assert len(complete) >= count
        count = len(complete)
    assert count >= len(statements) - 1


def test_a_statement_is_complete_once_something_follows_it() -> None:
    start = '{"answered": true, "statements": [{"text": "a, ]} b"}'
    first = json.dumps({"text": "a, ]} b"})
    assert complete_statements(start) == []
    assert complete_statements(start + ', {"te') == [first]
    assert complete_statements(start + '], "conflicts": [') == [first]


def test_statements_wait_until_answered_is_true() -> None:
    start = '{"statements": [{"text": "a"}], "answered": '
    assert complete_statements(start) == []
    assert complete_statements(start + "false") == []
    assert complete_statements(start + "true") == ['{"text": "a"}']


def test_a_duplicate_field_gives_no_partial_statement() -> None:
    start = '{"answered": true, "statements": [], "missing": "", "statements": '
    assert complete_statements(start + '[{"text": "a"') == []


@pytest.mark.parametrize("text", ["", "no JSON", "]]]", "}{", '{"a" 1]', "[1, 2]", '"{"', "{" * 99])
def test_text_that_is_no_object_has_no_statements(text: str) -> None:
    assert complete_statements(text) == []
