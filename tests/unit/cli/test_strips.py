"""Relevance plots of `spanwise explain`."""

from __future__ import annotations

from spanwise.cli.commands.explain import mark_line, relevance_lines
from spanwise.search.explanation import ChunkRun, DocumentExplanation
from spanwise.types import Citation, Segment


def document(*runs: tuple[int, tuple[float, ...]], chunks: int) -> DocumentExplanation:
    return DocumentExplanation(
        document_id="report.pdf",
        title="Report",
        chunks=chunks,
        runs=tuple(
            ChunkRun(start=start, tokens=(100,) * len(levels), shares=levels, relevances=levels)
            for start, levels in runs
        ),
        position=0,
    )


def segment(*, rank: int, first_chunk: int, last_chunk: int) -> Segment:
    citation = Citation(
        document_id="report.pdf",
        title="Report",
        start=0,
        end=1,
        pages=None,
        section_path=(),
        source="",
    )
    return Segment(
        document_id="report.pdf",
        start=0,
        end=1,
        first_chunk=first_chunk,
        last_chunk=last_chunk,
        text="",
        header="",
        tokens=1,
        relevance=0.5,
        value=0.5,
        rank=rank,
        citation=citation,
    )


def lines(
    one: DocumentExplanation, *, columns: int = 80, high: int = 1, is_unicode: bool = True
) -> list[str]:
    return relevance_lines(one, least=0.002, columns=columns, lines=high, is_unicode=is_unicode)


def test_height_is_the_root_of_relevance_and_worthless_chunks_have_the_lowest() -> None:
    one = document((0, (0.0, 0.002, 0.003, 0.25, 1.0)), chunks=5)
    assert lines(one) == ["▁▁▁▁▂▂▄▄██"]
    assert lines(one, high=2) == ["        ██", "▁▁▁▁▂▂████"]


def test_what_was_not_read_is_blank() -> None:
    assert lines(document((1, (1.0,)), (3, (1.0,)), chunks=4)) == ["  ██  ██"]


def test_a_column_of_many_chunks_shows_the_best() -> None:
    one = document((0, (0.0,) * 50 + (1.0,) + (0.0,) * 49), chunks=100)
    (line,) = lines(one, columns=10)
    assert line == "▁▁▁▁▁█▁▁▁▁"


def test_without_unicode_plots_use_ascii() -> None:
    (line,) = lines(document((0, (0.0, 1.0)), chunks=2), is_unicode=False)
    assert line == "..@@"


def test_segments_are_marked_by_their_place() -> None:
    one = document((0, (0.5,) * 8), chunks=8)
    segments = [
        segment(rank=1, first_chunk=0, last_chunk=2),
        segment(rank=0, first_chunk=4, last_chunk=7),
    ]
    assert mark_line(one, segments, columns=80, is_unicode=True) == "2━━━    1━━━━━"
    assert mark_line(one, segments, columns=8, is_unicode=False) == "2=  1=="


def test_a_place_of_two_digits_stays_inside_the_line() -> None:
    one = document((0, (0.5,) * 4), chunks=4)
    last = segment(rank=11, first_chunk=3, last_chunk=4)
    assert mark_line(one, [last], columns=4, is_unicode=True) == "  12"
