"""An explanation as a figure, and in a notebook."""

import re
from pathlib import Path

import pytest
from tests.explanations import QUESTION, filled_base

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.errors import OptionError
from spanwise.search.explanation import Explanation


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    with filled_base() as base:
        return base.explain(QUESTION, budget_tokens=800)


def test_a_figure_has_a_row_for_each_document_and_shades_what_was_chosen(
    explanation: Explanation, tmp_path: Path
) -> None:
    figure = explanation.plot(documents=2)
    assert len(figure.axes) == 2
    for axes, document in zip(figure.axes, explanation.documents, strict=False):
        heights = [bar.get_height() for bar in axes.containers[0]]
        assert heights == list(document.runs[0].relevances)
        shaded = [s for s in explanation.result.segments if s.document_id == document.document_id]
        assert len(axes.patches) == len(heights) + len(shaded)
        assert axes.get_title(loc="left") == document.title
    figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5_000


def test_an_empty_explanation_cannot_be_plotted(explanation: Explanation) -> None:
    with pytest.raises(OptionError, match="documents is 0"):
        explanation.plot(documents=0)
    with KnowledgeBase(":memory:") as base, pytest.raises(OptionError, match="no chunk was scored"):
        base.explain("Why?").plot()


def test_a_notebook_shows_the_best_documents_from_end_to_end(explanation: Explanation) -> None:
    html = explanation._repr_html_()
    for document in explanation.documents:
        assert document.title in html
        assert f"{document.document_id}, {document.chunks} chunks" in html
    assert "<script" not in html


@pytest.mark.parametrize("charge", [0.0, 0.1])
def test_a_notebook_names_the_chunks_of_each_segment(charge: float) -> None:
    """A segment of one chunk without a charge, of several with a high one."""
    options = SegmentOptions(segment_charge=charge, token_price=0.0)
    with filled_base() as base:
        explanation = base.explain(QUESTION, budget_tokens=800, segment_options=options)
    html = explanation._repr_html_()
    lengths = set()
    for segment in explanation.result.segments:
        first, last = segment.first_chunk, segment.last_chunk - 1
        lengths.add(min(2, last - first + 1))
        named = f"chunks {first} to {last}" if last > first else f"chunk {first}"
        assert re.search(f"chosen: [^<]*{named}[,<]", html)
    assert max(lengths) == 2 if charge else 1 in lengths
