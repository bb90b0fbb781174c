"""Functions as retrievers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation.retrieval import Retrieval, Retrieved
from spanwise.evaluation.retrievers import FunctionRetriever, adapt
from spanwise.types import Usage


def test_a_function_gets_what_it_takes() -> None:
    """Budget and documents are handed over where the function has arguments of these names."""
    heard: list[object] = []

    def plain(question: str) -> list[str]:
        heard.append(question)
        return ["text"]

    def full(question: str, budget_tokens: int, documents: Sequence[str] | None) -> list[str]:
        heard.append((question, budget_tokens, documents))
        return []

    def some(question: str, *, documents: Sequence[str] | None, k: int = 3) -> list[str]:
        heard.append((question, documents, k))
        return []

    def all_of_it(question: str, **rest: object) -> list[str]:
        heard.append((question, rest))
        return []

    for function in (plain, full, some, all_of_it):
        FunctionRetriever(function).retrieve("why?", budget_tokens=7, documents=["a"])
    assert heard == [
        "why?",
        ("why?", 7, ["a"]),
        ("why?", ["a"], 3),
        ("why?", {"budget_tokens": 7, "documents": ["a"]}),
    ]


def test_a_function_returns_places_and_texts_in_any_form() -> None:
    """Texts, ranges, dicts and objects become what is measured."""
    given = [
        "a text",
        ("a.txt", 3, 9),
        {"document_id": "a.txt", "start": 1, "end": 2, "score": 0.5},
        {"doc_id": "b", "text": "of b"},
        Retrieved(document_id="c", pages=(1, 2)),
    ]
    found = FunctionRetriever(lambda question: given, "mine").retrieve(
        "why?", budget_tokens=1, documents=None
    )
    assert found.found == (
        Retrieved(document_id="", text="a text"),
        Retrieved(document_id="a.txt", start=3, end=9),
        Retrieved(document_id="a.txt", start=1, end=2),
        Retrieved(document_id="b", text="of b"),
        Retrieved(document_id="c", pages=(1, 2)),
    )


def test_a_function_may_say_what_it_cost() -> None:
    """A whole retrieval passes as it is."""
    whole = Retrieval(found=(), usage=Usage(calls=2, cost=0.1), warnings=("slow",))
    assert (
        FunctionRetriever(lambda _: whole).retrieve("q", budget_tokens=1, documents=None) == whole
    )


@pytest.mark.parametrize(
    "returned", [None, "one text", {"text": "x"}, [3], [("a", 1)], [{"start": 1, "end": 2}], 7]
)
def test_what_is_no_list_of_places_is_refused(returned: object) -> None:
    """The message names the retriever and shows what came back."""
    retriever = FunctionRetriever(lambda _: returned, "mine")
    with pytest.raises(OptionError, match="the retriever 'mine' returned"):
        retriever.retrieve("why?", budget_tokens=1, documents=None)


def test_a_function_that_wants_more_is_refused_at_once() -> None:
    """It could not be called for any question."""

    def search(question: str, index: str) -> list[str]:
        return [question, index]

    with pytest.raises(OptionError, match="index"):
        FunctionRetriever(search)


def test_a_function_is_found_by_module_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules of the working folder are found; what is missing is named."""
    (tmp_path / "own_search.py").write_text(
        "def search(question):\n    return [question]\n", encoding="utf-8"
    )
    (tmp_path / "own_broken.py").write_text("import not_there_at_all\n", encoding="utf-8")
    (tmp_path / "own_slip.py").write_text("def search(:\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    retriever = adapt("own_search:search")
    assert retriever.name == "own_search:search"
    found = retriever.retrieve("why?", budget_tokens=1, documents=None).found
    assert found == (Retrieved(document_id="", text="why?"),)
    with pytest.raises(OptionError, match="did you mean 'search'"):
        adapt("own_search:serch")
    with pytest.raises(OptionError, match="the module 'own_missing' cannot be imported"):
        adapt("own_missing:search")
    with pytest.raises(OptionError, match="No module named 'not_there_at_all'"):
        adapt("own_broken:search")
    with pytest.raises(OptionError, match="SyntaxError"):
        adapt("own_slip:search")
    with pytest.raises(OptionError, match="cannot be imported"):
        adapt(":search")


def test_a_retriever_stays_itself_and_can_be_renamed() -> None:
    """What has a name and retrieves is taken as it is."""
    own = FunctionRetriever(lambda question: [question], "own")
    assert adapt(own) is own
    renamed = adapt(own, "other")
    assert renamed.name == "other"
    asked = renamed.retrieve("q", budget_tokens=1, documents=None)
    assert asked == own.retrieve("q", budget_tokens=1, documents=None)


def test_what_cannot_retrieve_is_refused() -> None:
    """Numbers and the like are no retrievers."""
    with pytest.raises(OptionError, match="give a method by name"):
        adapt(3)
