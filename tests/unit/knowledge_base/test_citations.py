"""Citations that are given to a knowledge base."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spanwise import Citation, KnowledgeBase
from spanwise.answers.citation_lookup import given_citations
from spanwise.core.answers.citations import QUOTE_CHARS
from spanwise.errors import DocumentNotFoundError, OptionError

TEXT = "Margins fell because freight cost more. " * 20


@pytest.fixture
def base() -> KnowledgeBase:
    made = KnowledgeBase(":memory:", embedder=None)
    made.add_text(TEXT, document_id="a")
    return made


def test_the_citation_comes_back_as_it_was_given(base: KnowledgeBase) -> None:
    """Not with the text that it was looked for by."""
    result = base.search("Why did margins fall?")
    located = base.locate(result.segments[0])
    assert located.cited == result.segments[0].citation
    assert len(located.cited.quote) == QUOTE_CHARS


def test_a_place_alone_is_a_citation_if_its_text_is_quoted(base: KnowledgeBase) -> None:
    """As other programs may give it: nothing is said of what has changed."""
    located = base.locate({"document_id": "a", "start": 0, "end": 12, "quote": "Margins fell"})
    assert (located.status, located.occurrences) == ("current", 20)
    assert located.message == "the text is at the cited place; it occurs in 20 places"
    elsewhere = base.locate({"document_id": "a", "start": 5, "end": 17, "quote": "Margins fell"})
    assert elsewhere.status == "moved"


def test_a_whole_excerpt_is_followed_by_the_hash_of_its_range(base: KnowledgeBase) -> None:
    """Its text is not the range: it says what was left out."""
    (excerpt,) = base.excerpts("Why did margins fall?", excerpts=1, excerpt_tokens=400).excerpts
    plain = {**excerpt.to_dict(), "text": "Margins fell ... [...]"}
    assert base.locate(plain).status == "current"


def test_a_range_beyond_the_end_is_never_the_text(base: KnowledgeBase) -> None:
    """Whatever the hash says: what stands there is shorter."""
    rest = base.cite("a", len(TEXT) - 9, len(TEXT))
    located = base.locate(replace(rest, end=len(TEXT) + 50, quote="cost"))
    assert located.status == "changed"


@pytest.mark.parametrize(
    "value", ["a", 3, None, [], {}, {"segments": []}, [[["a"]]], {"title": "no place"}]
)
def test_what_holds_no_citation_is_refused(value: object) -> None:
    with pytest.raises(OptionError, match="holds no citation"):
        given_citations(value)


def test_citations_are_found_in_results_of_any_kind(base: KnowledgeBase) -> None:
    result = base.search("Why did margins fall?").to_dict()
    excerpts = base.excerpts("Why did margins fall?").to_dict()
    for value in (result, [result, excerpts], {"citations": [result]}):
        found = given_citations(value)
        assert found
        assert all(base.locate(one).status == "current" for one in found)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"start": -1}, "give a place"),
        ({"start": True}, "give a place"),
        ({"end": 2**70}, "give a place"),
        ({"pages": [1]}, "pages are"),
        ({"pages": ["1", "2"]}, "pages are"),
        ({"page_labels": ["i"]}, "page_labels are"),
        ({"section_path": [1]}, "list of texts"),
        ({"version": 7}, "version of"),
        ({"quote": ""}, "does not hold the text"),
        ({"text_hash": ""}, "does not hold the text"),
    ],
)
def test_a_field_of_another_kind_is_refused_by_name(
    changed: dict[str, object], said: str, base: KnowledgeBase
) -> None:
    given = {**base.cite("a", 0, 400).to_dict(), **changed}
    with pytest.raises(OptionError, match=said):
        base.locate(given)


def test_what_is_no_citation_at_all_is_refused(base: KnowledgeBase) -> None:
    with pytest.raises(OptionError, match="'a' is no citation"):
        base.locate("a")  # type: ignore[arg-type]


def test_a_range_of_an_unknown_document_cannot_be_cited(base: KnowledgeBase) -> None:
    with pytest.raises(DocumentNotFoundError, match="'b'"):
        base.cite("b", 0, 5)
    with pytest.raises(DocumentNotFoundError, match="'b'"):
        base.record("b")


def test_the_longest_text_of_a_document_is_one_citation(base: KnowledgeBase) -> None:
    cited = base.cite("a", 0, len(TEXT))
    assert isinstance(cited, Citation)
    assert base.locate(cited).text == TEXT
