"""Checks of what a caller gives."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise import KnowledgeBase
from spanwise.config import local_folder
from spanwise.errors import OptionError
from spanwise.knowledge_base.answer_requests import AskArguments
from spanwise.knowledge_base.arguments import (
    checked_list,
    checked_media_type,
    checked_metadata,
)
from spanwise.options import (
    AnswerOptions,
    ChunkOptions,
    ContextOptions,
    CrawlOptions,
    ExcerptOptions,
    ModelOptions,
    ParseOptions,
    SearchOptions,
    SegmentOptions,
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
    assert checked_metadata(None) is None


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


@pytest.mark.parametrize(
    "path",
    [
        "\0",
        "a\0b",
        "",
        " ",
        5,
        None,
        b"a.kb",
        "postgresql://x/y",
        "s3://b",
        "postgres:/x",
        Path("postgresql://x/y"),
    ],
)
def test_a_path_that_no_folder_can_have_is_refused(path: object) -> None:
    with pytest.raises(OptionError, match=r"name a (local )?folder|one slash"):
        local_folder(path)  # type: ignore[arg-type]


def test_a_path_may_be_a_text() -> None:
    assert local_folder("a.kb") == local_folder(Path("a.kb")) == Path("a.kb")
    for path in (":memory:", "C:/a.kb", "C:\\a.kb", "C:a.kb", "a/b:/c", "/a:/b", "notes: a"):
        assert local_folder(path) == Path(path)


@pytest.mark.parametrize("media_type", ["text/html", "", None, []])
def test_another_media_type_is_refused(media_type: object) -> None:
    with pytest.raises(OptionError, match="media_type is"):
        checked_media_type(media_type)  # type: ignore[arg-type]


def test_an_address_makes_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="'mysql' are not known"):
        KnowledgeBase("mysql://host/name")
    assert list(tmp_path.iterdir()) == []


def keywords(function: Callable[..., object]) -> dict[str, object]:
    """Return the defaults of the keyword-only parameters of a function."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def test_methods_that_differ_in_their_result_take_the_same_arguments() -> None:
    search, excerpts = keywords(KnowledgeBase.search), keywords(KnowledgeBase.excerpts)
    assert keywords(KnowledgeBase.explain) == search
    assert AskArguments.__annotations__.keys() == keywords(KnowledgeBase.ask).keys()
    shared = search.keys() & excerpts.keys()
    assert {name: search[name] for name in shared} == {name: excerpts[name] for name in shared}
    assert search.keys() - shared == {"budget_tokens", "max_documents", "method"}
    assert excerpts.keys() - shared == {"excerpts", "excerpt_tokens"}


def test_whole_options_equal_keywords() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        for number in range(4):
            base.add_text(f"Margins fell {number} times. " * 30, document_id=f"{number}")
        whole = base.search("Why margins?", options=SearchOptions(budget_tokens=200, headers=False))
        flat = base.search("Why margins?", budget_tokens=200, headers=False)
        assert whole.segments == flat.segments
        assert whole.segments != base.search("Why margins?").segments
        pieces = base.excerpts("Why margins?", options=ExcerptOptions(excerpts=2))
        assert pieces.excerpts == base.excerpts("Why margins?", excerpts=2).excerpts


def test_options_given_whole_and_as_keywords_are_refused() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("Margins fell.", document_id="a")
        with pytest.raises(OptionError, match="whole and as keywords"):
            base.search("Why?", options=SearchOptions(), budget_tokens=200)
        with pytest.raises(OptionError, match="give ExcerptOptions"):
            base.excerpts("Why?", options=SearchOptions())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (SegmentOptions, {"token_price": "x"}),
        (SegmentOptions, {"segment_charge": []}),
        (SearchOptions, {"headers": "no"}),
        (SearchOptions, {"segments": {}}),
        (SearchOptions, {"published": 5}),
        (ChunkOptions, {"target": "300"}),
        (AnswerOptions, {"temperature": "0"}),
        (ParseOptions, {"ocr": None}),
        (CrawlOptions, {"depth": None}),
        (ContextOptions, {"sections": "yes"}),
        (ModelOptions, {"max_cost": "1"}),
    ],
)
def test_options_name_values_of_a_wrong_type(kind: Any, arguments: dict[str, Any]) -> None:
    ((name, value),) = arguments.items()
    with pytest.raises(OptionError, match=re.escape(f"{name} is {value!r}; it must be")):
        kind(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"listener": print},
        {"models": {}},
        {"fetch": 5},
        {"parse": {"workers": 2}},
        {"chunks": 300},
        {"sections": {"max_chars": 5}},
    ],
)
def test_a_knowledge_base_with_a_wrong_argument_is_not_created(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(arguments))} is"):
        KnowledgeBase(tmp_path / "a.kb", **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("add", {"prefix": 2023}),
        ("add", {"crawl": 5}),
        ("add", {"context": 5}),
        ("ask", {"llm": "scripted:x", "query_options": 5}),
        ("search", {"rerank": "llm:scripted:x", "rerank_options": 5}),
        ("search", {"segment_options": 5}),
        ("write_queries", {"llm": "scripted:x", "options": 5}),
    ],
)
def test_wrong_arguments_of_methods_are_named(
    tmp_path: Path, method: str, arguments: dict[str, Any]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Freight rates rose.")
    with KnowledgeBase(":memory:", embedder=None) as base, pytest.raises(OptionError) as refusal:
        getattr(base, method)(str(tmp_path / "in"), **arguments)
    assert " is 5" in str(refusal.value) or " is 2023" in str(refusal.value)
