from __future__ import annotations

import click
import pytest

from spanwise.cli.arguments import parse_metadata
from spanwise.types import MetadataValue


@pytest.mark.parametrize(
    ("pair", "name", "value"),
    [
        ("year=2018", "year", 2018),
        ("rate=0.5", "rate", 0.5),
        ("final=true", "final", True),
        ("company=3M", "company", "3M"),
        ('year="2018"', "year", "2018"),
        ("date=2018-01-31", "date", "2018-01-31"),
        ("code=007", "code", "007"),
        ("empty=", "empty", ""),
        ("formula=a=b", "formula", "a=b"),
        ("listed=[1]", "listed", (1,)),
        ('tags=["nda", "draft"]', "tags", ("nda", "draft")),
        ("nested=[[1]]", "nested", "[[1]]"),
        ("open=[1", "open", "[1"),
        ("nothing=null", "nothing", "null"),
        ("far=Infinity", "far", "Infinity"),
        ("huge=1e999", "huge", "1e999"),
    ],
)
def test_values_are_read_as_what_they_look_like(pair: str, name: str, value: MetadataValue) -> None:
    fields = parse_metadata([pair])
    assert fields == {name: value}
    assert type(fields[name]) is type(value)


@pytest.mark.parametrize("pair", ["year", "=2018", " =1"])
def test_a_pair_without_name_or_sign_is_refused(pair: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a NAME=VALUE pair"):
        parse_metadata([pair])


def test_a_name_that_comes_twice_is_a_list() -> None:
    assert parse_metadata(["tag=nda", "year=1", "tag=draft"]) == {
        "tag": ("nda", "draft"),
        "year": 1,
    }
