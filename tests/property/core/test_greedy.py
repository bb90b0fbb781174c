"""Laws of the published extraction, compared with brute force."""

from itertools import cycle

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.extraction.published import extract_greedily

Place = tuple[int, int, int]
"""Document, start and end."""


def every_run(sizes: list[int]) -> list[Place]:
    """Return all runs of documents of these sizes, by document, start and end."""
    return [
        (document, start, end)
        for document, size in enumerate(sizes)
        for start in range(size)
        for end in range(start + 1, size + 1)
    ]


def by_trying(
    values: list[list[list[int]]], longest: int, budget: int, least: int
) -> list[tuple[int, Place]]:
    """Return query and place of each run, in the order of choice; values are whole numbers."""
    runs = every_run([len(document) for document in values[0]])
    chosen: list[tuple[int, Place]] = []
    waiting = set(range(len(values)))
    for query in cycle(range(len(values))):
        left = budget - sum(end - start for _, (_, start, end) in chosen)
        if not waiting or left <= 0:
            return chosen
        best: tuple[int, Place] | None = None
        for document, start, end in runs:
            row = values[query][document]
            overlaps = any(
                document == other and start < other_end and end > other_start
                for _, (other, other_start, other_end) in chosen
            )
            fits = end - start <= min(longest, left) and not overlaps
            if fits and row[start] >= 0 and row[end - 1] >= 0:
                value = sum(row[start:end])
                if best is None or value > best[0]:
                    best = (value, (document, start, end))
        if query in waiting and best is not None and best[0] >= least:
            chosen.append((query, best[1]))
        else:
            waiting.discard(query)
    raise AssertionError("queries come in turn without end")


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[list[int]]], int, int, int]:
    """Draw values of some queries in thousandths, many of them equal, and limits."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
    value = draw(st.sampled_from((st.integers(-300, 800), st.sampled_from((-100, 0, 100)))))
    values = [
        [draw(st.lists(value, min_size=size, max_size=size)) for size in sizes]
        for _ in range(draw(st.integers(1, 3)))
    ]
    return values, draw(st.integers(1, 7)), draw(st.integers(0, 12)), draw(st.integers(0, 500))


@settings(max_examples=100)
@given(cases())
def test_each_turn_takes_the_best_run_that_is_left(
    case: tuple[list[list[list[int]]], int, int, int],
) -> None:
    """Runs, their order and their queries equal those found by trying every run."""
    values, longest, budget, least = case
    runs = extract_greedily(
        [[[value / 1000 for value in row] for row in query] for query in values],
        max_segment_chunks=longest,
        budget_chunks=budget,
        min_segment_value=least / 1000,
    )
    found = [(run.query, (run.document, run.start, run.end)) for run in runs]
    assert found == by_trying(values, longest, budget, least)
    worths = [sum(values[run.query][run.document][run.start : run.end]) / 1000 for run in runs]
    assert [run.value for run in runs] == worths
