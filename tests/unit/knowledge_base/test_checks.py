"""Checks of what a caller gives."""

from pathlib import Path

import pytest

from spanwise.errors import OptionError
from spanwise.knowledge_base.checks import (
    checked_list,
    checked_media_type,
    checked_metadata,
    checked_path,
)
from spanwise.types import Scalar


def test_metadata_of_each_kind_is_kept() -> None:
    given: dict[str, Scalar] = {
        "name": "Ünïcode \U0001f600",
        "year": 2018,
        "share": 0.5,
        "audited": True,
    }
    assert checked_metadata(given) == given
    assert checked_metadata(None) == {}


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"ab\ud800": 1}, r"name of metadata field 'ab\\ud800' has a lone surrogate at .* 2;"),
        ({"a": "b\udfff"}, r"metadata field 'a' has a lone surrogate at character 1; decode"),
        ({"": 1}, "is named ''"),
        ({"a": float("nan")}, "finite"),
    ],
)
def test_metadata_that_cannot_be_stored_is_refused(metadata: dict[str, Scalar], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        checked_metadata(metadata)


@pytest.mark.parametrize("metadata", ["year=2018", 5, ["year"]])
def test_metadata_that_is_no_mapping_is_refused(metadata: object) -> None:
    with pytest.raises(OptionError, match="give a mapping"):
        checked_metadata(metadata)  # type: ignore[arg-type]


@pytest.mark.parametrize("values", ["*.md", 5, [5], None])
def test_what_is_no_list_of_texts_is_refused(values: object) -> None:
    with pytest.raises(OptionError, match=r"include is .*; give a list of texts"):
        checked_list("include", values)  # type: ignore[arg-type]


def test_texts_may_come_one_by_one() -> None:
    assert checked_list("include", iter(["a", "b"])) == ("a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["\0", "a\0b", "", " ", 5, None, b"a.kb"])
def test_a_path_that_no_folder_can_have_is_refused(path: object) -> None:
    with pytest.raises(OptionError, match="the path of the knowledge base is"):
        checked_path(path)  # type: ignore[arg-type]


def test_a_path_may_be_a_text() -> None:
    assert checked_path("a.kb") == checked_path(Path("a.kb")) == Path("a.kb")


@pytest.mark.parametrize("media_type", ["text/html", "", None, []])
def test_another_media_type_is_refused(media_type: object) -> None:
    with pytest.raises(OptionError, match="media_type is"):
        checked_media_type(media_type)  # type: ignore[arg-type]
