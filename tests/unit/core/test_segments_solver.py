"""Segment extraction against an independent solver of integer programs."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix
from tests.chunk_values import Documents, random_documents, share_documents

from spanwise.core.extraction.exact import extract_segments


def solve_runs(
    documents: Documents, *, budget: int, charge: float, least: float, longest: int, header: int
) -> float:
    """Return the best value by integer programming, a variable for each run that is allowed."""
    rows: list[int] = []
    columns: list[int] = []
    gains: list[float] = []
    sizes: list[float] = []
    offset = 0
    for values, lengths in zip(*documents, strict=True):
        value_sums = np.concatenate([[0], np.cumsum(np.rint(values * 1e6))])
        token_sums = np.concatenate([[0], np.cumsum(lengths)])
        for start in range(len(values)):
            for end in range(start + 1, len(values) + 1):
                tokens = int(token_sums[end] - token_sums[start])
                if tokens > longest:
                    break
                value = float(value_sums[end] - value_sums[start]) / 1e3
                if value >= least * 1e3 - 1e-6:
                    rows += range(offset + start, offset + end)
                    columns += [len(gains)] * (end - start)
                    gains.append(value - charge * 1e3)
                    sizes.append(tokens + header)
        offset += len(values)
    once = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(offset, len(gains)))
    solution = milp(
        -np.array(gains),
        constraints=[
            LinearConstraint(once, ub=1),
            LinearConstraint(csr_matrix([sizes]), ub=budget),
        ],
        integrality=np.ones(len(gains)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    assert solution.success
    return -float(solution.fun) / 1e3


def solve_chain(documents: Documents, *, budget: int, charge: float, header: int) -> float:
    """Return the best value by integer programming, two variables for each chunk: held, begun."""
    values = np.concatenate(documents[0])
    lengths = np.concatenate(documents[1])
    count = len(values)
    first = np.cumsum([0, *map(len, documents[0])])[:-1]
    follows = np.setdiff1d(np.arange(count), first)
    held = csr_matrix((np.ones(count), (range(count), range(count))), shape=(count, 2 * count))
    begun = csr_matrix(
        (np.ones(count), (range(count), range(count, 2 * count))), shape=(count, 2 * count)
    )
    before = csr_matrix((np.ones(len(follows)), (follows, follows - 1)), shape=(count, 2 * count))
    sizes = np.concatenate([lengths, np.full(count, header)])
    solution = milp(
        np.concatenate([-values, np.full(count, charge)]) * 1e3,
        constraints=[
            LinearConstraint(held - before - begun, ub=0),
            LinearConstraint(csr_matrix([sizes]), ub=budget),
        ],
        integrality=np.concatenate([np.ones(count), np.zeros(count)]),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    assert solution.success
    return -float(solution.fun) / 1e3


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("documents", "chunks", "budget"), [(1, 120, 4_000), (6, 30, 3_000), (12, 15, 3_000)]
)
@pytest.mark.parametrize("charge", [0.0, 0.2])
def test_value_equals_that_of_an_independent_solver(
    seed: int, documents: int, chunks: int, budget: int, charge: float
) -> None:
    """Integer programming over runs, with cap, minimum and header, finds no better value."""
    case = random_documents(seed, documents=documents, chunks=chunks)
    extraction = extract_segments(
        *case,
        budget_tokens=budget,
        segment_charge=charge,
        min_segment_value=0.4,
        max_segment_tokens=700,
        header_tokens=15,
    )
    expected = solve_runs(case, budget=budget, charge=charge, least=0.4, longest=700, header=15)
    assert extraction.optimal
    assert extraction.value == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("documents", "chunks"), [(1, 300), (20, 15)])
@pytest.mark.parametrize("charge", [0.0, 0.005])
def test_value_of_shares_equals_that_of_an_independent_solver(
    seed: int, documents: int, chunks: int, charge: float
) -> None:
    """Integer programming over chunks finds no better value on shares."""
    case = share_documents(seed, documents=documents, chunks=chunks)
    extraction = extract_segments(
        *case, budget_tokens=1_500, segment_charge=charge, header_tokens=20
    )
    expected = solve_chain(case, budget=1_500, charge=charge, header=20)
    assert extraction.optimal
    assert extraction.value == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(
    ("documents", "chunks", "budget"), [(1, 500, 6_000), (10, 100, 6_000), (80, 20, 20_000)]
)
@pytest.mark.parametrize("charge", [0.2, 0.4])
def test_large_values_equal_those_of_an_independent_solver(
    documents: int, chunks: int, budget: int, charge: float
) -> None:
    """On the sizes of real questions integer programming finds no better value."""
    case = random_documents(101, documents=documents, chunks=chunks)
    extraction = extract_segments(
        *case, budget_tokens=budget, segment_charge=charge, header_tokens=15
    )
    expected = solve_chain(case, budget=budget, charge=charge, header=15)
    assert extraction.optimal
    assert extraction.value == pytest.approx(expected, abs=2e-5)
