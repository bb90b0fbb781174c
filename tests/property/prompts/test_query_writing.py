"""Laws of what is used of an answer, whatever a model writes and documents hold."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.records import make_record

from spanwise.core.ranking.question_fields import folded_words, question_fields
from spanwise.errors import ModelAnswerError
from spanwise.filters import Comparison, Filter, Membership, children, parse_filter
from spanwise.models.caller import ModelCaller
from spanwise.models.prompts.queries import QueryTask, request_queries
from spanwise.options import QueryOptions
from spanwise.testing.models import ScriptedModel

_WORDS = st.sampled_from(
    ["3M", "Apple", "apple", "10-K", "10K", "2016", "2018", "capital", "Why", "spending", "?", "."]
)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=8).map(" ".join) | st.text(max_size=20)
_QUESTIONS = st.lists(_WORDS, min_size=1, max_size=8).map(" ".join).filter(str.strip)
_NAMES = st.sampled_from(["company", "form", "fiscal_year", "day", "HACKED"])
_VALUES = (
    _TEXTS
    | st.integers(2010, 2020)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.dates().map(str)
)
_METADATA = st.lists(st.dictionaries(_NAMES, _VALUES, max_size=4), max_size=6)
_CONDITIONS = st.fixed_dictionaries(
    {
        "field": _NAMES,
        "operator": st.sampled_from(["=", ">=", "<=", "!=", "<", "in", "or"]),
        "values": st.lists(_TEXTS | st.integers(2010, 2020), max_size=3),
    }
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def leaves(where: Filter) -> list[Filter]:
    below = [leaf for child in children(where) for leaf in leaves(child)]
    return below or [where]


@given(
    question=_QUESTIONS,
    metadata=_METADATA,
    queries=st.lists(_TEXTS, max_size=8),
    conditions=st.lists(_CONDITIONS, max_size=6),
    most=st.integers(1, 6),
)
def test_what_is_used_is_bounded_and_checked(
    question: str,
    metadata: list[dict[str, str | int | float | bool]],
    queries: list[str],
    conditions: list[dict[str, object]],
    most: int,
) -> None:
    answer = json.dumps({"standalone": "", "queries": queries, "conditions": conditions})
    records = [
        replace(make_record(str(number), root="/in"), metadata=fields)
        for number, fields in enumerate(metadata)
    ]
    asked = QueryTask(question=question, options=QueryOptions(queries=most), records=records)
    try:
        found = request_queries(asked, caller=ModelCaller(model=ScriptedModel(lambda _: answer)))
    except ModelAnswerError:
        return
    folded = [query.casefold() for query in found.queries]
    assert len(set(folded)) == len(folded) <= most
    assert question.casefold() not in folded
    assert all(query == " ".join(query.split()) != "" for query in found.queries)
    if found.where is None:
        return
    # It may leave no document, such as that of a year between those of the documents; the search
    # then drops its conditions.
    assert parse_filter(str(found.where)) == found.where
    said = {about.name: about for about in asked.fields}
    for leaf in leaves(found.where):
        assert isinstance(leaf, Comparison | Membership)
        about = said[leaf.name]
        if about.kind != "day":
            values = leaf.values if isinstance(leaf, Membership) else (leaf.value,)
            assert set(values) <= set(about.mentioned)


@given(question=_TEXTS, earlier=st.lists(_TEXTS, max_size=2), metadata=_METADATA)
def test_fields_are_of_half_of_the_documents_and_their_values_are_said(
    question: str, earlier: list[str], metadata: list[dict[str, str | int | float | bool]]
) -> None:
    for about in question_fields(question, earlier=earlier, documents=metadata):
        held = [fields[about.name] for fields in metadata if about.name in fields]
        assert 2 * len(held) >= len(metadata)
        if about.kind == "text":
            assert set(about.mentioned) <= set(held)
        for value in about.mentioned:
            texts = (question, *earlier)
            if isinstance(value, str):
                assert any(folded_words(value)[0] in folded_words(text) for text in texts)
            else:
                assert any(f"{value:g}" in text.replace(",", "") for text in texts)


@given(answer=_JSON.map(json.dumps) | st.text(max_size=50))
def test_no_answer_does_more_than_fail(answer: str) -> None:
    asked = QueryTask(question="What did 3M spend?", options=QueryOptions(), records=())
    try:
        found = request_queries(asked, caller=ModelCaller(model=ScriptedModel(lambda _: answer)))
    except ModelAnswerError:
        return
    assert found.queries or found.warnings == ()
