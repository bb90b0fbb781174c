"""Segment extraction: hard instances, rules, known solutions, and errors."""

from collections.abc import Sequence

import numpy as np
import pytest
from tests.chunk_values import numbers, random_documents, share_documents

from spanwise.core.extraction import exact, knapsack
from spanwise.core.extraction.exact import Extraction, chunk_values, extract_segments
from spanwise.errors import OptionError


def extract(
    values: Sequence[Sequence[float]], lengths: Sequence[Sequence[int]], **limits: object
) -> Extraction:
    """Extract from plain lists."""
    return extract_segments(
        [np.array(row, dtype=np.float64) for row in values],
        [np.array(row, dtype=np.int64) for row in lengths],
        **limits,  # type: ignore[arg-type]
    )


def places(extraction: Extraction) -> list[tuple[int, int, int]]:
    """Return document, start and end of each run."""
    return [(run.document, run.start, run.end) for run in extraction.runs]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("charge", [0.0, 0.1])
def test_the_limits_of_runs_do_not_matter_where_they_do_not_bind(seed: int, charge: float) -> None:
    """The search among allowed runs finds the same as the search without their limits."""
    values, lengths = random_documents(seed, documents=5, chunks=60)
    values[2][30] = 5.0  # a run that the cap forbids at first, so that runs must be listed
    free = extract_segments(values, lengths, budget_tokens=5_000, segment_charge=charge)
    longest = max(run.tokens for run in free.runs)
    limited = extract_segments(
        values,
        lengths,
        budget_tokens=5_000,
        segment_charge=charge,
        max_segment_tokens=longest,
        min_segment_value=min(run.value for run in free.runs),
    )
    assert limited == free


# Hard families


@pytest.mark.parametrize("cells", [knapsack._MANY_CELLS, -1])
@pytest.mark.parametrize("header", [0, 7])
def test_proportional_values_fill_the_budget(
    header: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values exactly proportional to tokens: the budget is filled to the last token."""
    monkeypatch.setattr(knapsack, "_MANY_CELLS", cells)
    draw = numbers(5)
    lengths = np.array([20 + draw(100) for _ in range(120)], dtype=np.int64)
    values = np.where(np.arange(120) % 2 == 0, lengths / 1000, -1.0)
    extraction = extract_segments([values], [lengths], budget_tokens=1_500, header_tokens=header)
    assert extraction.optimal
    if header == 0:
        assert extraction.tokens == 1_500
        assert extraction.value == 1.5


def test_equal_chunks_give_the_first_that_fit() -> None:
    """Of chunks that are all equal, the first ones are taken, as one run."""
    extraction = extract(
        [[0.1] * 60, [0.1] * 60], [[30] * 60, [30] * 60], budget_tokens=1_000, segment_charge=0.01
    )
    assert places(extraction) == [(0, 0, 33)]


def test_equal_chunks_apart_give_the_first_that_fit() -> None:
    """Of equal chunks between losses, the first ones are taken, one run each."""
    row = [0.1, -1.0] * 100
    extraction = extract([row, row], [[30] * 200] * 2, budget_tokens=1_000, segment_charge=0.01)
    assert places(extraction) == [(0, 2 * place, 2 * place + 1) for place in range(33)]


def test_many_items_are_handled() -> None:
    """More than 2,048 positive chunks in one document are solved exactly."""
    draw = numbers(11)
    values = np.array([draw(1 << draw(18)) / 1e6 for _ in range(5_000)])
    lengths = np.array([40 + draw(90) for _ in range(5_000)], dtype=np.int64)
    assert int((values > 0).sum()) > 2_048
    extraction = extract_segments(
        [values], [lengths], budget_tokens=30_000, segment_charge=0.02, header_tokens=30
    )
    assert extraction.optimal
    assert 29_000 < extraction.tokens <= 30_000


@pytest.mark.parametrize("cap", [None, pytest.param(2_000, marks=pytest.mark.slow)])
def test_budgets_of_a_million_tokens_work(cap: int | None) -> None:
    """A budget of a million tokens, binding or not, is searched exactly."""
    values, lengths = share_documents(3, documents=40, chunks=500)
    for budget in (1_100_000, 3_000_000):
        extraction = extract_segments(
            values,
            lengths,
            budget_tokens=budget,
            segment_charge=0.001,
            max_segment_tokens=cap,
            header_tokens=40,
        )
        assert extraction.optimal
        assert extraction.tokens <= budget


@pytest.mark.parametrize("labels", [-1, 1_000_000])
def test_wide_tables_are_made_where_labels_are_too_many(
    labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much work is allowed before a table, the answer is the same."""
    values, lengths = random_documents(9, documents=4, chunks=60)
    expected = extract_segments(values, lengths, budget_tokens=4_000, segment_charge=0.1)
    monkeypatch.setattr(knapsack, "_FEW_LABELS", -1)
    monkeypatch.setattr(knapsack, "_SOME_LABELS", labels)
    monkeypatch.setattr(knapsack, "_FEW_CELLS", 0)
    found = extract_segments(values, lengths, budget_tokens=4_000, segment_charge=0.1)
    assert found == expected


@pytest.mark.parametrize("seed", range(4))
def test_many_allowed_runs_are_tried_in_steps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beginning with the runs that lose little gives the same answer as beginning with all."""
    case = random_documents(seed, documents=4, chunks=80)
    limits = {"budget_tokens": 5_000, "min_segment_value": 0.5, "max_segment_tokens": 900}
    expected = extract_segments(*case, **limits)  # type: ignore[arg-type]
    monkeypatch.setattr(exact, "_MANY_RUNS", 0)
    assert extract_segments(*case, **limits) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", [{}, {"min_segment_value": 0.6, "max_segment_tokens": 500}])
def test_exceeding_the_work_limit_returns_a_bound(
    limits: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the proof exceeds the work limit, the incumbent is returned with a bound."""
    case = random_documents(2, documents=4, chunks=60)
    best = extract_segments(*case, budget_tokens=3_000, segment_charge=0.1, **limits)  # type: ignore[arg-type]
    for name in ("_FEW_LABELS", "_SOME_LABELS", "_MANY_LABELS", "_MANY_CELLS"):
        monkeypatch.setattr(knapsack, name, -1)
    found = extract_segments(*case, budget_tokens=3_000, segment_charge=0.1, **limits)  # type: ignore[arg-type]
    assert not found.optimal
    assert 0.9 * best.value < found.value <= best.value <= found.bound
    assert found.tokens <= 3_000


def test_exceeding_the_work_limit_may_return_no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an incumbent there are no runs, and they are not called optimal."""
    for name in ("_FEW_LABELS", "_SOME_LABELS", "_MANY_LABELS", "_MANY_CELLS"):
        monkeypatch.setattr(knapsack, name, -1)
    found = extract([[0.2, 0.1, 0.2]], [[1, 2, 1]], budget_tokens=3, segment_charge=0.1)
    assert (found.runs, found.value, found.optimal) == ((), 0.0, False)
    assert found.bound >= 0.2


def test_an_answer_over_the_budget_at_the_best_price_is_passed_by() -> None:
    """If the first best path exceeds the budget, another one that meets the bound is found."""
    extraction = extract(
        [[0.5, -1, 0.5, -1, 0.5, -1, 0.2]], [[3, 1, 3, 1, 3, 1, 2]], budget_tokens=6
    )
    assert places(extraction) == [(0, 0, 1), (0, 2, 3)]
    assert extraction.bound == extraction.value == 1.0


# Rules


def test_a_gap_is_bridged_where_its_loss_is_less_than_the_charge() -> None:
    """Two chunks with a small loss between them are one run, with a large loss two."""
    lengths = [[10, 10, 10]]
    near = extract([[0.5, -0.1, 0.5]], lengths, budget_tokens=100, segment_charge=0.2)
    far = extract([[0.5, -0.3, 0.5]], lengths, budget_tokens=100, segment_charge=0.2)
    assert places(near) == [(0, 0, 3)]
    assert places(far) == [(0, 0, 1), (0, 2, 3)]
    assert (near.value, far.value) == (0.7, 0.6)


def test_a_gap_as_long_as_a_header_is_bridged_on_a_tie() -> None:
    """Of equal value and tokens, the run that ends last is taken."""
    extraction = extract([[0.5, 0.0, 0.5]], [[10, 4, 10]], budget_tokens=100, header_tokens=4)
    assert places(extraction) == [(0, 0, 3)]


def test_runs_do_not_cross_documents() -> None:
    """Chunks that touch across two documents are two runs."""
    extraction = extract([[0.1, 0.5], [0.5, 0.1]], [[5, 5], [5, 5]], budget_tokens=10)
    assert places(extraction) == [(0, 1, 2), (1, 0, 1)]


def test_runs_touch_where_their_union_is_too_long() -> None:
    """A stretch longer than the cap is taken as runs that touch."""
    extraction = extract(
        [[0.5] * 4], [[5] * 4], budget_tokens=100, max_segment_tokens=10, segment_charge=0.1
    )
    assert places(extraction) == [(0, 0, 2), (0, 2, 4)]


def test_a_chunk_above_the_cap_is_never_taken_nor_crossed() -> None:
    """The best chunk is excluded if it is too long."""
    extraction = extract([[0.4, 9.0, 0.4]], [[5, 50, 5]], budget_tokens=100, max_segment_tokens=49)
    assert places(extraction) == [(0, 0, 1), (0, 2, 3)]


def test_worthless_chunks_at_the_ends_are_dropped() -> None:
    """Chunks of value 0 bridge gaps if that is cheaper than a run; they never extend a run."""
    extraction = extract(
        [[0.0, 0.3, 0.0, 0.3, 0.0]], [[5] * 5], budget_tokens=100, segment_charge=0.01
    )
    assert places(extraction) == [(0, 1, 4)]


@pytest.mark.parametrize(
    ("values", "budget"),
    [([], 100), ([[]], 100), ([[-0.1, 0.0]], 100), ([[0.5, 0.5]], 14), ([[0.5, 0.5]], 0)],
    ids=["no document", "no chunk", "no positive chunk", "header leaves no room", "no budget"],
)
def test_no_run_is_chosen_if_none_fits_or_pays(values: list[list[float]], budget: int) -> None:
    """Without a run that is allowed and worth something, the answer is empty and optimal."""
    lengths = [[10] * len(row) for row in values]
    extraction = extract(values, lengths, budget_tokens=budget, header_tokens=5)
    assert extraction == Extraction(runs=(), value=0.0, tokens=0, bound=0.0, optimal=True)


@pytest.mark.parametrize("budget", [10, 1_000])
def test_no_run_is_chosen_below_the_minimum(budget: int) -> None:
    """Chunks that are worth something, but less than the minimum, are not taken."""
    extraction = extract(
        [[0.3, -0.1, 0.3]], [[10, 10, 10]], budget_tokens=budget, min_segment_value=0.6
    )
    assert extraction == Extraction(runs=(), value=0.0, tokens=0, bound=0.0, optimal=True)


def test_the_minimum_may_exceed_the_charge() -> None:
    """A run that is worth its charge but less than the minimum is bridged to others or left."""
    values = [[0.3, -0.1, 0.3, -0.9, 0.4]]
    extraction = extract(
        values, [[10] * 5], budget_tokens=100, min_segment_value=0.5, segment_charge=0.05
    )
    assert places(extraction) == [(0, 0, 3)]


# Required chunks


def test_a_required_chunk_has_priority_over_value() -> None:
    """A required chunk is taken even with a negative value."""
    values, lengths = [[0.9, -0.2], [-0.3]], [[10, 10], [10]]
    free = extract(values, lengths, budget_tokens=10)
    bound = extract(values, lengths, budget_tokens=10, required=[(1, 0)])
    assert places(free) == [(0, 0, 1)]
    assert places(bound) == [(1, 0, 1)]
    assert (bound.value, bound.bound) == (-0.3, -0.3)


def test_as_many_required_chunks_as_possible_are_covered() -> None:
    """Two short required chunks beat a long one; a chunk given twice counts twice."""
    values, lengths = [[0.1, -1, 0.1, -1, 0.9]], [[10, 5, 10, 5, 20]]
    both = extract(values, lengths, budget_tokens=20, required=[(0, 0), (0, 2), (0, 4)])
    twice = extract(
        values, lengths, budget_tokens=20, required=[(0, 0), (0, 2), (0, 4), (0, 4), (0, 4)]
    )
    assert places(both) == [(0, 0, 1), (0, 2, 3)]
    assert places(twice) == [(0, 4, 5)]


def test_a_required_chunk_need_not_be_worth_the_minimum() -> None:
    """The minimum is waived only for runs with a required chunk."""
    extraction = extract(
        [[0.1, -1.0, 0.2]],
        [[10, 10, 10]],
        budget_tokens=100,
        min_segment_value=0.5,
        segment_charge=0.05,
        required=[(0, 0)],
    )
    assert places(extraction) == [(0, 0, 1)]


# The same everywhere


def test_answers_are_the_same_on_every_platform() -> None:
    """Known answers of cases made of whole numbers."""
    clustered = extract_segments(
        *random_documents(7, documents=3, chunks=40), budget_tokens=1_200, segment_charge=0.2
    )
    shares = extract_segments(
        *share_documents(7, documents=6, chunks=12),
        budget_tokens=900,
        segment_charge=0.01,
        header_tokens=20,
    )
    assert places(clustered) == [
        (0, 9, 12),
        (0, 14, 17),
        (0, 29, 30),
        (0, 33, 34),
        (0, 38, 40),
        (1, 10, 12),
        (1, 17, 19),
        (2, 30, 31),
    ]
    assert (clustered.value, clustered.tokens) == (6.303, 1199)
    assert places(shares) == [(0, 0, 1), (1, 2, 6), (3, 8, 12)]
    assert (shares.value, shares.tokens) == (0.045455, 870)


# Refusals


@pytest.mark.parametrize(
    "limits",
    [
        {"budget_tokens": -1},
        {"budget_tokens": 1 << 40},
        {"budget_tokens": 10, "header_tokens": -1},
        {"budget_tokens": 10, "max_segment_tokens": 0},
        {"budget_tokens": 10, "segment_charge": -0.1},
        {"budget_tokens": 10, "segment_charge": float("nan")},
        {"budget_tokens": 10, "min_segment_value": float("inf")},
        {"budget_tokens": 10, "required": [(0, 2)]},
        {"budget_tokens": 10, "required": [(1, 0)]},
        {"budget_tokens": 10, "required": [(0, -1)]},
    ],
)
def test_limits_out_of_range_are_rejected(limits: dict[str, object]) -> None:
    """Each limit has a range, and required chunks must exist."""
    with pytest.raises(OptionError):
        extract([[0.5, 0.5]], [[3, 3]], **limits)


@pytest.mark.parametrize(
    ("values", "lengths"),
    [
        ([[0.5]], [[3, 3]]),
        ([[0.5], [0.5]], [[3]]),
        ([[float("nan")]], [[3]]),
        ([[float("inf")]], [[3]]),
        ([[1e12]], [[3]]),
        ([[5e8, 5e8]], [[3, 3]]),
        ([[0.5]], [[0]]),
        ([[0.5]], [[1 << 40]]),
    ],
)
def test_chunks_out_of_range_are_rejected(
    values: list[list[float]], lengths: list[list[int]]
) -> None:
    """Values must be finite and in range, lengths positive, one per value."""
    with pytest.raises(OptionError):
        extract(values, lengths, budget_tokens=10)


def test_required_chunks_narrow_the_range_of_values() -> None:
    """Values that are in range alone may be too large with required chunks."""
    values, lengths = [[1e8, 2e8]], [[3, 3]]
    assert extract(values, lengths, budget_tokens=10).value == 3e8
    with pytest.raises(OptionError, match="required"):
        extract(values, lengths, budget_tokens=10, required=[(0, 0)])


def test_fractional_lengths_are_rejected() -> None:
    """Lengths are counts."""
    with pytest.raises(OptionError, match="whole number"):
        extract_segments([np.array([0.5])], [np.array([3.5])], budget_tokens=10)


# Chunk values


def test_chunk_values_are_shares_less_the_price_of_their_tokens() -> None:
    """A chunk with the price's share for each 1,000 tokens has value 0."""
    values = chunk_values([0.02, 0.02, 0.0], [100, 50, 200], token_price=0.2)
    assert values.tolist() == [0.0, 0.01, -0.04]
    assert chunk_values([], [], token_price=0.1).tolist() == []


@pytest.mark.parametrize(
    ("shares", "lengths", "named"),
    [
        ([np.nan], [10], "nan"),
        ([0.1, -2.0], [10, 10], "-2.0"),
        ([np.inf], [10], "inf"),
        ([0.1], [0], "length"),
        ([0.1], [2.9], "length"),
    ],
)
def test_invalid_shares_and_lengths_are_errors(
    shares: list[float], lengths: list[float], named: str
) -> None:
    with pytest.raises(OptionError, match=named):
        chunk_values(shares, lengths, token_price=0.1)


def test_an_invalid_border_cost_is_named() -> None:
    with pytest.raises(OptionError, match=r"-1\.0"):
        extract_segments([[0.5, 0.5]], [[10, 10]], budget_tokens=20, border_costs=[[-1.0, 0.0]])


@pytest.mark.parametrize(
    ("lengths", "limits"),
    [
        ([1], {"token_price": 0.1}),
        ([1, 1], {"token_price": -0.1}),
        ([1, 1], {"token_price": float("nan")}),
    ],
)
def test_chunk_values_reject_different_lengths(
    lengths: list[int], limits: dict[str, float]
) -> None:
    """Lengths match shares, and numbers are in range."""
    with pytest.raises(OptionError):
        chunk_values([0.5, 0.5], lengths, **limits)


# Plain lists


def test_plain_lists_are_taken_as_arrays_are() -> None:
    values, lengths = random_documents(3, documents=3, chunks=20)
    plain = extract_segments(
        [row.tolist() for row in values], [row.tolist() for row in lengths], budget_tokens=900
    )
    assert plain == extract_segments(values, lengths, budget_tokens=900)


def test_a_flat_list_is_one_document() -> None:
    """The published example: two chunks worth taking, and no gap worth bridging."""
    found = extract_segments([-0.2, -0.2, 0.4, 0.8, -0.1], [1] * 5, budget_tokens=5)
    assert places(found) == [(0, 2, 4)]
    assert found.runs[0].value == 1.2


def test_a_document_may_be_an_empty_list() -> None:
    assert places(extract_segments([[], [1.0]], [[], [4]], budget_tokens=9)) == [(1, 0, 1)]
    assert extract_segments([], [], budget_tokens=9).runs == ()


def test_flat_lengths_must_be_whole_numbers() -> None:
    with pytest.raises(OptionError, match="a length is not a whole number of at least 1"):
        extract_segments([1.0, 1.0], [4.5, 1.0], budget_tokens=9)
