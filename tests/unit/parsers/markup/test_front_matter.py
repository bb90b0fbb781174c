"""Front matter: plain YAML and TOML become fields of the document."""

from __future__ import annotations

import pytest

from spanwise.parsers.markup.markdown import (
    FrontMatter,
    front_matter_end,
    front_matter_fields,
    read_front_matter,
)
from spanwise.parsers.text import Lines


def read(text: str) -> tuple[FrontMatter, int]:
    return read_front_matter(Lines(text))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Title: A  # no", {"title": ["A"]}),
        ("title: 'A # b'", {"title": ["A # b"]}),
        ('tags: [a, "b, c", d]', {"tags": ["a", "b, c", "d"]}),
        ("tags:\n  - a\n  - 'b'\nx: 1", {"tags": ["a", "b"], "x": ["1"]}),
        ("a: 1\na: 2", {"a": ["1"]}),
        ("a: |\n  text\nb: {x: 1}\n# c: 3", {}),
    ],
)
def test_yaml_is_read_as_far_as_it_is_plain(written: str, expected: FrontMatter) -> None:
    """Scalars and lists of the first level."""
    assert read(f"---\n{written}\n---\ntext") == (expected, written.count("\n") + 3)


def test_toml_is_read() -> None:
    """Tables apart."""
    written = 'title = "A"\ndate = 2024-01-02\ntags = ["a", "b"]\n[x]\ny = 1'
    matter, lines = read(f"+++\n{written}\n+++\n")
    assert matter == {"title": ["A"], "date": ["2024-01-02"], "tags": ["a", "b"]}
    assert lines == 7


@pytest.mark.parametrize(
    "text",
    ["---\ntitle: x\n", "text\n---\n", "+++\nno toml\n+++\n", f"+++\na = {'[' * 9999}\n+++"],
)
def test_what_is_no_front_matter_is_text(text: str) -> None:
    """It has an end and can be read."""
    assert read(text) == ({}, 0)


def test_fields_are_those_of_filters() -> None:
    """Days as ISO 8601, languages by their code, lists as one value."""
    matter = {
        "authors": ["Ada", "Ben"],
        "date": ["2024-01-02T10:00"],
        "lang": ["de-DE"],
        "tags": ["a", "b"],
        "other": ["x"],
    }
    assert front_matter_fields(matter) == {
        "author": "Ada, Ben",
        "date": "2024-01-02",
        "language": "de",
        "tags": "a, b",
    }


@pytest.mark.parametrize(
    ("text", "body"),
    [("---\na: 1\n---\nb", "b"), ("+++\na = 1\n+++\nb", "b"), ("---\nb", "---\nb"), ("b", "b")],
)
def test_the_body_follows_the_front_matter(text: str, body: str) -> None:
    assert text[front_matter_end(text) :] == body
