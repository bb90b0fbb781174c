"""What a document is made with: recorded, compared, kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.records import make_record

from spanwise.ingest.recipes import (
    has_given_chunks,
    has_given_vectors,
    has_parts,
    has_recipe,
    plain_title,
    reads_pages,
    recorded_recipe,
    requested_recipe,
    stored_recipe,
    with_parser,
)
from spanwise.options import ContextOptions
from spanwise.types import DocumentRecord, GivenParts

ALL = ContextOptions(sections=True, headers=True, chunk_contexts=True)
RECIPE = requested_recipe(model="a:b", options=ALL)


def record(recipe: str) -> DocumentRecord:
    return replace(make_record("a", root="/in"), recipe=recipe)


def test_nothing_asked_for_is_an_empty_recipe() -> None:
    assert requested_recipe() == {}
    assert recorded_recipe({}, plain_title="A", again=()) == ""
    assert plain_title(record("")) == "a"


def test_the_same_recipe_is_known_again() -> None:
    made = record(recorded_recipe(RECIPE, plain_title="Plain", again=()))
    assert has_recipe(made, requested_recipe(model="a:b", options=ALL))
    assert has_recipe(made, {}), "where nothing is asked for, it stays"
    assert stored_recipe(made) == RECIPE
    assert plain_title(made) == "Plain"


def test_a_document_of_no_recipe_has_none_that_is_asked_for() -> None:
    assert has_recipe(record(""), {})
    assert not has_recipe(record(""), RECIPE)


def test_what_is_to_be_asked_again_is_another_recipe() -> None:
    made = record(recorded_recipe(RECIPE, plain_title="A", again={"title", "sections"}))
    assert not has_recipe(made, RECIPE)
    assert json.loads(made.recipe)["again"] == ["sections", "title"]


@pytest.mark.parametrize(
    "changed",
    [
        {"read_pages": True},
        {"sections": False},
        {"headers": False},
        {"chunk_contexts": False},
        {"section_guidance": "by clause"},
        {"title_guidance": "short"},
        {"summary_guidance": "short"},
        {"section_summary_guidance": "short"},
        {"language": "de"},
        {"window_tokens": 4_000},
        {"title_tokens": 3_000},
        {"summary_tokens": 3_000},
    ],
)
def test_each_option_that_changes_what_is_made_changes_the_recipe(changed: dict[str, Any]) -> None:
    assert requested_recipe(model="a:b", options=replace(ALL, **changed)) != RECIPE


def test_model_and_given_parts_change_the_recipe_and_words_are_not_written_down() -> None:
    assert requested_recipe(model="a:c", options=ALL) != RECIPE
    given = requested_recipe(model="a:b", options=ALL, given=GivenParts(title="Secret plan"))
    assert given != RECIPE
    assert "Secret" not in json.dumps(given)


def test_whether_a_model_has_read_pages_is_known() -> None:
    read = requested_recipe(model="a:b", options=ContextOptions(read_pages=True))
    assert reads_pages(record(recorded_recipe(read, plain_title="A", again=("pages",))))
    assert not reads_pages(record(recorded_recipe(RECIPE, plain_title="A", again=())))
    assert not reads_pages(record(""))


def test_options_of_other_parts_do_not_count() -> None:
    headers = ContextOptions(headers=True)
    assert requested_recipe(model="a:b", options=replace(headers, window_tokens=300)) == (
        requested_recipe(model="a:b", options=headers)
    )


def test_a_parser_is_compared_apart_from_the_parts() -> None:
    """Neither the parts nor the parser of a document count if they are not requested."""
    made = record(recorded_recipe(with_parser(RECIPE, "notes 1"), plain_title="A", again=()))
    assert has_recipe(made, {})
    assert has_recipe(made, RECIPE)
    assert has_recipe(made, RECIPE, parser="notes 1")
    assert not has_recipe(made, {}, parser="notes 2")
    assert not has_recipe(record(""), {}, parser="notes 1")
    assert has_parts(made)
    parsed = record(recorded_recipe(with_parser({}, "notes 1"), plain_title="A", again=()))
    assert not has_parts(parsed)
    assert not has_recipe(parsed, RECIPE)
    assert with_parser(stored_recipe(parsed), "") == {}


def test_given_chunks_and_vectors_are_recorded() -> None:
    ends = GivenParts(chunk_ends=(4, 9))
    made = record(
        recorded_recipe(requested_recipe(given=ends), plain_title="A", again=()),
    )
    assert (has_given_chunks(made), has_given_vectors(made)) == (True, False)
    both = requested_recipe(given=ends, vectors=np.ones((2, 3)))
    assert has_given_vectors(record(recorded_recipe(both, plain_title="A", again=())))
    assert both != requested_recipe(given=ends, vectors=np.zeros((2, 3)))
    assert requested_recipe(given=ends) != requested_recipe(given=GivenParts(chunk_ends=(5, 9)))
