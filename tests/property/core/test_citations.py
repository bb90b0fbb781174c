"""Laws of citations: after any edit, no citation points at other words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.records import make_whole

from spanwise.core.answers.citations import cite_range, locate
from spanwise.types import CitationLocation

WORDS = st.sampled_from(
    ["lease", "margin", "# Part", "fell", ".", "\n", "\n# Notes\n", "費用", "2018"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=120).map(" ".join)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), TEXTS | st.just("")), max_size=4)
RANGES = st.tuples(st.floats(0, 1), st.floats(0, 1))


def edited(text: str, edits: list[tuple[float, int, str]]) -> str:
    """Return a text with some characters cut out and others put in, at places given as shares."""
    for share, cut, put in edits:
        place = int(share * len(text))
        text = text[:place] + put + text[place + cut :]
    return text or "nothing"


def located(
    text: str, ends: tuple[float, float], edits: list[tuple[float, int, str]]
) -> tuple[str, str, CitationLocation]:
    """Return a cited text, its document after the edits, and its location."""
    start, end = sorted(int(share * len(text)) for share in ends)
    end = max(end, start + 1) if start < len(text) else len(text)
    start = min(start, end - 1)
    cited = cite_range(make_whole(text), start, end)
    now = edited(text, edits)
    return text[start:end], now, locate(make_whole(now), cited)


@given(TEXTS, RANGES, EDITS)
def test_a_confirmed_location_contains_the_cited_text(
    text: str, ends: tuple[float, float], edits: list[tuple[float, int, str]]
) -> None:
    quote, now, found = located(text, ends, edits)
    if found.status in ("current", "moved"):
        assert found.citation is not None
        assert now[found.citation.start : found.citation.end] == quote
        assert (found.text, found.similarity) == (quote, 1.0)


@given(TEXTS, RANGES, EDITS)
def test_a_text_that_exists_is_located(
    text: str, ends: tuple[float, float], edits: list[tuple[float, int, str]]
) -> None:
    quote, now, found = located(text, ends, edits)
    assert (quote in now) == (found.status in ("current", "moved"))
    assert (found.status == "changed") == (found.occurrences == 0)


@given(TEXTS, RANGES, EDITS)
def test_the_new_citation_is_current(
    text: str, ends: tuple[float, float], edits: list[tuple[float, int, str]]
) -> None:
    _, now, found = located(text, ends, edits)
    if found.citation is not None:
        again = locate(make_whole(now), found.citation)
        assert again.status == "current"
        assert again.citation == found.citation
        assert again.text == found.text


@given(TEXTS, RANGES)
def test_an_unchanged_document_has_every_citation(text: str, ends: tuple[float, float]) -> None:
    _, _, found = located(text, ends, [])
    assert found.status == "current"
    assert found.citation == found.cited


@given(TEXTS, RANGES, EDITS)
def test_a_similar_passage_is_returned_verbatim(
    text: str, ends: tuple[float, float], edits: list[tuple[float, int, str]]
) -> None:
    _, now, found = located(text, ends, edits)
    if found.status == "changed" and found.citation is not None:
        assert now[found.citation.start : found.citation.end] == found.text
        assert 0 < found.similarity <= 1
