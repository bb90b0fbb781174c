"""Laws of context expansion, on texts and evidence of every shape."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.extraction.context_expansion import Part, Window, fill_excerpt, merge_parts
from spanwise.core.extraction.render import ExcerptPart, render_parts

_PIECES = st.sampled_from(
    [
        "Freight rose. ",
        "It was dear, ",
        "Sales fell by 3.5 percent in 2018. ",
        "a\tb\t1\n",
        "| a | b |\n",
        "# Head\n",
        "\n\n",
        "市場は上昇した。",
        "word ",
        "x" * 60,
    ]
)
_TEXTS = st.lists(_PIECES, min_size=1, max_size=60).map("".join)


@st.composite
def _problems(draw: st.DrawFn) -> tuple[str, list[Part], list[Part], int]:
    """Return a text, windows on it, evidence inside the windows, and a budget in characters."""
    text = draw(_TEXTS)
    places = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=12)))
    ranges = list(zip(places[::2], places[1::2], strict=False))
    windows = [
        (draw(st.integers(low, start)), draw(st.integers(end, high)))
        for (start, end), low, high in zip(
            ranges,
            [0, *(end for _, end in ranges)],
            [*(start for start, _ in ranges[1:]), len(text)],
            strict=False,
        )
    ]
    merged = merge_parts(windows)
    return text, ranges, merged, draw(st.integers(0, 2 * len(text) + 50))


def _measure(text: str, parts: Sequence[Part]) -> int:
    return len(render_parts([ExcerptPart(start=a, text=text[a:b]) for a, b in parts]))


def _count(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


@settings(max_examples=150, deadline=None)
@given(_problems())
def test_filling_keeps_evidence_and_budget_and_shows_no_character_twice(
    problem: tuple[str, list[Part], list[Part], int],
) -> None:
    text, evidence, ranges, budget = problem
    windows = [Window(start=a, text=text[a:b]) for a, b in ranges]
    parts = fill_excerpt(
        evidence,
        windows,
        budget_tokens=budget,
        measure=lambda parts: _measure(text, parts),
        count_tokens=_count,
    )
    assert parts == merge_parts(parts)
    for start, end in evidence:
        assert any(a <= start and end <= b for a, b in parts)
    bounds = merge_parts(ranges)
    for a, b in parts:
        assert any(low <= a and b <= high for low, high in bounds)
    assert _measure(text, parts) <= budget or parts == merge_parts(evidence)
    if _measure(text, merge_parts(evidence)) <= budget:
        assert _measure(text, parts) <= budget


@settings(max_examples=60, deadline=None)
@given(
    sentences=st.lists(st.integers(1, 12), min_size=30, max_size=60),
    at=st.integers(0, 200),
    budget=st.integers(200, 900),
)
def test_prose_fills_the_budget_and_is_cut_between_sentences(
    sentences: list[int], at: int, budget: int
) -> None:
    text = " ".join("Words " + "word " * (n - 1) + "end." for n in sentences)
    start = text.index("Words", min(at, len(text) - 100))
    evidence = [(start, text.index(".", start) + 1)]
    (part,) = fill_excerpt(
        evidence,
        [Window(start=0, text=text)],
        budget_tokens=budget,
        measure=lambda parts: _measure(text, parts),
        count_tokens=_count,
    )
    shown = text[slice(*part)]
    assert shown.strip() == text or len(shown.strip()) >= 0.75 * budget - 1
    if budget > 4 * 70:  # no sentence is longer than a quarter of the budget
        assert shown.strip().startswith("Words")
        assert shown.strip().endswith("end.")
    assert part[0] == 0 or text[part[0] - 1].isspace()
    assert part[1] == len(text) or text[part[1] - 1].isspace() or text[part[1]].isspace()
