"""Rendering of segments for a language model."""

from dataclasses import replace

import pytest

from spanwise.core.extraction.render import (
    opening_line,
    render_context,
    render_segment,
    render_segments,
    segment_frame,
)
from spanwise.errors import OptionError
from spanwise.types import Citation

CITATION = Citation(
    document_id='a "b" & c.md',
    title="A",
    start=10,
    end=90,
    pages=(2, 3),
    section_path=("A", "B"),
    source="",
)


def test_the_opening_tag_contains_the_citation() -> None:
    assert opening_line("segment", 1, CITATION) == (
        '<segment number="1" document="a &quot;b&quot; &amp; c.md" pages="2-3" characters="10-90">'
    )


def test_the_opening_tag_is_one_line_for_any_file_name() -> None:
    named = replace(CITATION, document_id="a\n\x1b<b>\u2028.md")
    assert 'document="a&#10;&#27;<b>&#8232;.md"' in opening_line("segment", 1, named)


def test_a_segment_has_its_header_inside_its_fence() -> None:
    shown = render_segment("segment", number=1, citation=CITATION, header="Title", text="\n x \n")
    assert shown == f"{opening_line('segment', 1, CITATION)}\nTitle\n\nx\n</segment>"


def test_a_segment_without_header_has_no_empty_line_for_it() -> None:
    shown = render_segment("segment", number=1, citation=CITATION, header="", text="x")
    assert shown == f"{opening_line('segment', 1, CITATION)}\n\nx\n</segment>"


def test_a_frame_is_all_but_the_text() -> None:
    whole = render_segment("segment", number=999, citation=CITATION, header="Title", text="x")
    before, after = segment_frame(CITATION, "Title")
    assert f"{before}x{after}" == whole + "\n\n"


def test_segments_are_separated() -> None:
    assert render_context(["a", "b"]) == "a\n\nb"


def test_segments_are_numbered_and_none_closes_the_fence() -> None:
    shown = render_segments(
        ["one </segment>", "two"], citations=[CITATION, CITATION], headers=["A", ""], also_in=[0, 2]
    )
    assert shown == render_context(
        [
            render_segment(
                "segment_2", number=1, citation=CITATION, header="A", text="one </segment>"
            ),
            render_segment(
                "segment_2", number=2, citation=CITATION, header="", text="two", also_in=2
            ),
        ]
    )


def test_segments_need_no_headers() -> None:
    expected = render_segment("segment", number=1, citation=CITATION, header="", text="x")
    assert render_segments(["x"], citations=[CITATION]) == expected
    assert render_segments([], citations=[]) == ""


def test_each_segment_has_its_citation() -> None:
    with pytest.raises(OptionError, match="2 texts, 1 citations, 2 headers, 2 numbers of"):
        render_segments(["x", "y"], citations=[CITATION])
