"""Laws of segment extraction, compared with brute force."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spanwise.core.extraction import knapsack
from spanwise.core.extraction.exact import Extraction, extract_segments

UNITS = 1_000_000_000

Numbers = tuple[tuple[int, ...], ...]
Choice = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One problem; values, charge, minimum and border costs in thousandths."""

    values: Numbers
    lengths: Numbers
    borders: Numbers
    budget: int
    charge: int
    least: int
    longest: int | None
    header: int
    required: tuple[tuple[int, int], ...]

    def arrays(self) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        values = [np.array(row, dtype=np.float64) / 1000 for row in self.values]
        return values, [np.array(row, dtype=np.int64) for row in self.lengths]

    def extract(self, budget: int | None = None) -> Extraction:
        values, lengths = self.arrays()
        return extract_segments(
            values,
            lengths,
            budget_tokens=self.budget if budget is None else budget,
            segment_charge=self.charge / 1000,
            min_segment_value=self.least / 1000,
            max_segment_tokens=self.longest,
            header_tokens=self.header,
            required=self.required,
            border_costs=[np.array(row, dtype=np.float64) / 1000 for row in self.borders],
        )

    def value(self, document: int, start: int, end: int) -> int:
        """Return the value of a run: its chunks less the costs of the borders inside."""
        costs = self.borders[document][start + 1 : end]
        return sum(self.values[document][start:end]) - sum(costs)


CHUNK_FAMILIES = (
    st.tuples(st.integers(-300, 800), st.integers(1, 9)),
    st.tuples(st.sampled_from((-100, 0, 100, 200)), st.integers(1, 3)),  # many ties
    st.integers(1, 9).map(lambda tokens: (50 * tokens, tokens)),  # exactly proportional
    st.sampled_from(((100, 3), (100, 3), (-50, 3), (0, 3))),  # all equal, with gaps
    st.tuples(st.sampled_from((0, 0, 1, 20, 300)), st.integers(1, 9)),  # shares, no penalty
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw up to three small documents and limits near their sizes."""
    chunk = draw(st.sampled_from(CHUNK_FAMILIES))
    documents = draw(
        st.one_of(
            st.lists(st.lists(chunk, min_size=1, max_size=8), min_size=1, max_size=1),
            st.lists(st.lists(chunk, min_size=0, max_size=4), min_size=1, max_size=3),
        )
    )
    places = [(d, c) for d, document in enumerate(documents) for c in range(len(document))]
    total = sum(tokens for document in documents for _, tokens in document)
    charge = draw(st.sampled_from((0, 0, 50, 100, 300)))
    cost = st.sampled_from((0, 0, charge // 5, charge // 2, charge))
    borders = [draw(st.tuples(*[cost] * len(document))) for document in documents]
    return Case(
        borders=tuple(borders),
        values=tuple(tuple(value for value, _ in document) for document in documents),
        lengths=tuple(tuple(tokens for _, tokens in document) for document in documents),
        budget=draw(st.integers(0, total + 4)),
        charge=charge,
        least=draw(st.sampled_from((0, 0, 50, 200, 400))),
        longest=draw(st.one_of(st.none(), st.integers(1, 20))),
        header=draw(st.sampled_from((0, 0, 1, 4))),
        required=tuple(draw(st.lists(st.sampled_from(places), max_size=3)) if places else ()),
    )


def all_runs(case: Case) -> list[tuple[int, int, int, int, int, int]]:
    """Return document, start, end, value, tokens and required chunks of all runs allowed."""
    runs = []
    for document, (values, lengths) in enumerate(zip(case.values, case.lengths, strict=True)):
        for start in range(len(values)):
            for end in range(start + 1, len(values) + 1):
                value, tokens = case.value(document, start, end), sum(lengths[start:end])
                held = sum(d == document and start <= c < end for d, c in case.required)
                if tokens <= (case.longest or tokens) and (value >= case.least or held):
                    runs.append((document, start, end, value, tokens, held))
    return runs


def best_by_trying(case: Case) -> tuple[int, int, int, Choice]:
    """Return covered required chunks, value, tokens and runs of the best set of runs."""
    runs = all_runs(case)
    best: tuple[int, int, int, Choice] = (0, 0, 0, ())

    def extend(first: int, chosen: Choice, held: int, value: int, tokens: int) -> None:
        nonlocal best
        best = min(best, (-held, -value, tokens, chosen))
        for index in range(first, len(runs)):
            document, start, end, worth, length, count = runs[index]
            apart = not chosen or (document, start) >= (chosen[-1][0], -chosen[-1][2])
            if apart and tokens + length + case.header <= case.budget:
                extend(
                    index + 1,
                    (*chosen, (document, start, -end)),
                    held + count,
                    value + worth - case.charge,
                    tokens + length + case.header,
                )

    extend(0, (), 0, 0, 0)
    return best


def check_against_trying(case: Case) -> None:
    """Assert that extraction finds the best of all sets of runs."""
    _, negative_value, tokens, chosen = best_by_trying(case)
    extraction = case.extract()
    found = tuple((run.document, run.start, -run.end) for run in extraction.runs)
    assert (found, extraction.tokens) == (chosen, tokens)
    assert round(extraction.value * UNITS) == -negative_value * (UNITS // 1000)
    assert extraction.optimal
    assert extraction.bound == extraction.value


@settings(max_examples=100, deadline=None)
@given(cases())
def test_extraction_is_the_best_of_all_sets_of_runs(case: Case) -> None:
    """Runs, value, tokens and tie order equal those found by trying everything."""
    check_against_trying(case)


@pytest.mark.parametrize(
    "limits",
    [
        {"_FEW_LABELS": -1},
        {"_FEW_LABELS": -1, "_SOME_LABELS": -1, "_FEW_CELLS": -1},
        {"_FEW_LABELS": -1, "_MANY_CELLS": -1},
    ],
    ids=["table", "wide table", "labels alone"],
)
def test_every_way_of_searching_finds_the_best(limits: dict[str, int]) -> None:
    """The table and the labels give the same solution."""

    @settings(max_examples=60, deadline=None)
    @given(cases())
    def check(case: Case) -> None:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(knapsack, name, value)
            check_against_trying(case)

    check()


@settings(max_examples=60, deadline=None)
@given(cases())
def test_an_answer_that_gives_up_is_allowed_and_bounded(case: Case) -> None:
    """Without any work allowed, runs meet all limits and the bound is valid."""
    _, negative_value, _, _ = best_by_trying(case)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_FEW_LABELS", "_SOME_LABELS", "_MANY_LABELS", "_MANY_CELLS"):
            patch.setattr(knapsack, name, -1)
        extraction = case.extract()
    chosen = [(run.document, run.start, run.end) for run in extraction.runs]
    assert set(chosen) <= {run[:3] for run in all_runs(case)}
    assert all(one[0] < other[0] or one[2] <= other[1] for one, other in pairwise(chosen))
    assert extraction.tokens <= case.budget
    assert extraction.bound >= -negative_value / 1000
    assert not extraction.optimal or extraction.value == -negative_value / 1000


@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(1, 20))
def test_more_budget_never_lowers_the_value(case: Case, more: int) -> None:
    """A larger budget never lowers the value."""
    case = replace(case, required=())
    assert case.extract(case.budget + more).value >= case.extract().value


@settings(max_examples=60, deadline=None)
@given(cases(), st.data())
def test_document_order_does_not_change_value_and_tokens(case: Case, data: st.DataObject) -> None:
    """Shuffled documents give the same value and tokens."""
    order = data.draw(st.permutations(range(len(case.values))))
    shuffled = replace(
        case,
        values=tuple(case.values[document] for document in order),
        lengths=tuple(case.lengths[document] for document in order),
        borders=tuple(case.borders[document] for document in order),
        required=tuple((order.index(document), chunk) for document, chunk in case.required),
    )
    one, other = case.extract(), shuffled.extract()
    assert (one.value, one.tokens) == (other.value, other.tokens)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_runs_that_touch_are_too_long_together(case: Case) -> None:
    """Two runs of a document without a chunk between them exceed the cap together."""
    runs = case.extract().runs
    for one, other in pairwise(runs):
        if one.document == other.document and one.end == other.start:
            assert case.longest is not None
            assert one.tokens + other.tokens > case.longest


@settings(max_examples=60, deadline=None)
@given(cases())
def test_value_and_tokens_are_sums_over_the_runs(case: Case) -> None:
    """Value and tokens of runs and of the whole are sums over the chunks."""
    extraction = case.extract()
    held = [
        (
            case.value(run.document, run.start, run.end) / 1000,
            sum(case.lengths[run.document][run.start : run.end]),
        )
        for run in extraction.runs
    ]
    assert [(run.value, run.tokens) for run in extraction.runs] == held
    assert extraction.tokens == sum(tokens + case.header for _, tokens in held)
    charges = len(held) * case.charge / 1000
    assert extraction.value == pytest.approx(sum(value for value, _ in held) - charges, abs=1e-9)
