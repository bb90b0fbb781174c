"""JSON and JSON Lines: records, conversations, notebooks; what is none is plain text."""

from __future__ import annotations

import json

import pytest

from spanwise.errors import ParseError
from spanwise.parsers.json_records import parse_json
from spanwise.parsers.parsed import Parsed, Source


def parse(text: str, name: str = "a.json") -> Parsed:
    return parse_json(Source(data=text.encode(), name=name))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{"a": 1.50, "b": true, "c": null, "d": ""}', "a: 1.50\nb: true"),
        ('{"a": {"b": {"c": "x"}}}', "a.b.c: x"),
        ('{"a": ["x", "y"], "b": [[1, 2], [3]]}', "a: x, y\nb: [1, 2], [3]"),
        ('{"a": 1, "b": [{"c": 1}, 2]}', "a: 1\nb[0].c: 1\nb[1]: 2"),
        ('[{"a": 1}, {"a": 2}]', "a: 1\n\na: 2"),
        ('[{"a": 1}, "x"]', "a: 1\n\nx"),
        ('{"x": {"a": 1}, "y": {"a": 2}}', "x\n\na: 1\n\ny\n\na: 2"),
        ('{"n": 1, "rows": [{"a": 1}]}', "n: 1\n\nrows\n\na: 1"),
        ('{"a": "one\\ntwo"}', "a:\none\ntwo"),
        ('"text"', "text"),
        ("false", "false"),
        ("[1, 2]", "1, 2"),
        ('{"a": 1e999, "b": NaN}', "a: 1e999\nb: NaN"),
        ('{"a": "\\ud83d\\ude00"}', "a: \U0001f600"),
    ],
)
def test_values_are_lines(source: str, expected: str) -> None:
    """Under their paths; what says nothing is left out."""
    parsed = parse(source)
    assert (parsed.text, parsed.status, parsed.warnings) == (expected, "ok", ())


def test_long_records_are_sections() -> None:
    """Headed by their title; their text is not named."""
    body = "word " * 100
    parsed = parse(json.dumps([{"id": 1, "title": "Of ships", "text": body, "year": 2}]))
    assert parsed.text == f"Of ships\n\nid: 1\n\n{body.strip()}\n\nyear: 2"
    assert [(h.level, h.title) for h in parsed.headings] == [(1, "Of ships")]
    assert parsed.title == "a.json"


def test_one_object_names_the_document() -> None:
    """Title, author and date are its own."""
    parsed = parse('{"title": "Of ships", "author": {"name": "Ada"}, "date": "2024-01-02T10:00"}')
    assert parsed.title == "Of ships"
    assert parsed.metadata == {"author": "Ada", "date": "2024-01-02"}


def test_lists_of_objects_are_sections_of_an_object() -> None:
    """Under their names, one level deeper than the object."""
    parsed = parse('{"title": "x", "items": [{"a": 1}], "more": [{"a": 2}]}')
    assert [(h.level, h.title) for h in parsed.headings] == [(2, "items"), (2, "more")]


def test_conversation_is_told_by_who_speaks() -> None:
    """With what else is known of a message, and the parts that it is made of."""
    parsed = parse(
        '[{"role": "user", "content": "Hi"},'
        ' {"role": "assistant", "content": [{"type": "text", "text": "Ho\\nyou"}], "time": 3}]'
    )
    assert parsed.text == "user: Hi\n\nassistant (time: 3):\nHo\nyou"


def test_lines_are_records() -> None:
    """Also with conversations in them."""
    parsed = parse(
        '{"id": 1, "messages": [{"from": "a", "value": "x"}]}\n\n{"id": 2}\r\n', "a.jsonl"
    )
    assert (parsed.text, parsed.media_type) == ("id: 1\n\na: x\n\nid: 2", "application/x-ndjson")


def test_bad_lines_stand_as_they_are() -> None:
    """And the document is partial."""
    parsed = parse('{"a": 1}\nbad line\n{"a": 2}')
    assert (parsed.text, parsed.status) == ("a: 1\n\nbad line\n\na: 2", "partial")
    assert parsed.warnings == ("1 lines are not valid JSON and were read as plain text",)


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ('{"a": 1', "delimiter"),
        ("[" * 100_000, "nested too deeply"),
        ("prose\nand prose", "Expecting value"),
    ],
)
def test_what_is_no_json_is_plain_text(source: str, cause: str) -> None:
    """Partial, with the reason."""
    parsed = parse(source)
    assert (parsed.text, parsed.status) == (source, "partial")
    assert cause in parsed.warnings[0]


def test_names_that_come_again_keep_their_values() -> None:
    """Most readers of JSON keep the last one."""
    parsed = parse('{"a": 1, "a": 2}')
    assert parsed.text == "a: 1, 2"
    assert "1 names are repeated" in parsed.warnings[0]


def test_half_a_character_is_replaced() -> None:
    """JSON can name it, UTF-8 cannot."""
    parsed = parse('{"title": "x\\ud800"}')
    assert (parsed.text, parsed.title) == ("title: x\ufffd", "x\ufffd")


@pytest.mark.parametrize("source", ["{}", "[]", "null", '{"a": []}', '""'])
def test_nothing_is_refused(source: str) -> None:
    """A file without any value."""
    with pytest.raises(ParseError) as caught:
        parse(source)
    assert caught.value.code == "no_text"


def test_paths_in_deep_trees_stay_short() -> None:
    """Text does not grow faster than what it is made from."""
    parsed = parse('{"level":' * 400 + "1" + "}" * 400)
    assert parsed.text.startswith("…")
    assert len(parsed.text) < 120


def test_notebook_is_read_as_markdown() -> None:
    """Code in fences, output in short, pictures left out."""
    printed = "".join(f"{number}\n" for number in range(50))
    notebook = {
        "nbformat": 4,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Of ships\n", "They float."]},
            {
                "cell_type": "code",
                "source": "print('```')",
                "outputs": [
                    {"output_type": "stream", "text": [printed]},
                    {"output_type": "display_data", "data": {"text/plain": "<Figure size 1>"}},
                    {"output_type": "error", "ename": "ValueError", "evalue": "no"},
                ],
            },
            {"cell_type": "code", "source": [], "outputs": 3},
            "no cell",
        ],
    }
    parsed = parse(json.dumps(notebook), "a.ipynb")
    shown = "".join(f"{number}\n" for number in range(20))
    assert parsed.text == (
        "# Of ships\nThey float.\n\n````python\nprint('```')\n````\n\n"
        f"```\n{shown}…\n```\n\n```\nValueError: no\n```"
    )
    assert [h.title for h in parsed.headings] == ["Of ships"]
    assert [b.kind for b in parsed.blocks] == ["code"] * 3
