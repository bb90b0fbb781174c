"""Results in a notebook, and as dicts."""

import json
import re
from collections.abc import Iterator

import pytest

from spanwise import KnowledgeBase
from spanwise.types.notebook import Card, cards_html, strip_svg

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as made:
        made.add_text(
            f"# Margins {HOSTILE}\n\nGross margin fell in spring because freight costs rose.",
            document_id="a",
            title=f"Report {HOSTILE}",
        )
        yield made


def test_a_result_shows_its_segments_and_escapes_them(base: KnowledgeBase) -> None:
    html = base.search("Why did gross margin fall?")._repr_html_()
    assert "Why did gross margin fall?" in html
    assert "freight costs rose" in html
    assert "1 segment, " in html
    assert "<script" not in html
    assert "<img" not in html
    assert not re.search(r"https?://(?!www\.w3\.org)", html)


def test_a_result_is_json(base: KnowledgeBase) -> None:
    result = base.search("Why did gross margin fall?")
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["segments"][0]["citation"]["document_id"] == "a"
    assert plain["segments"][0]["text"] == result.segments[0].text
    assert plain["not_found"] is False
    assert json.loads(json.dumps(base.info().to_dict()))["documents"] == 1
    assert base.get("a").to_dict()["id"] == "a"


def test_bars_are_as_many_as_chunks_and_few_of_many() -> None:
    assert strip_svg([], label="") == ""
    assert strip_svg([0.1, 0.9, 0.0], label="three").count("<rect") == 3
    many = strip_svg([0.0] * 999 + [1.0], label="many")
    assert many.count("<rect") <= 160
    assert 'y="0.0"' in many


def test_bars_have_a_square_root_scale() -> None:
    assert 'height="11.0"' in strip_svg([0.25], label="a quarter")


def test_one_item_has_a_singular_noun(base: KnowledgeBase) -> None:
    explanation = base.explain("Why did gross margin fall?")
    html = explanation._repr_html_()
    assert "1 chunk of 1 document weighed" in html
    assert "a, 1 chunk<" in html
    assert "chosen: chunk 0<" in html
    assert "relevance of 1 chunk, at most" in html


def test_a_long_text_is_folded_at_a_word() -> None:
    card = Card(title="t", place="p", relevance=0.5, relevances=(0.5,), text="lorem " * 200)
    html = cards_html("q", summary="s", cards=[card])
    assert "<details>" in html
    assert re.search(r"lorem …</summary>", html)
