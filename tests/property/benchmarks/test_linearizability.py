"""The checker accepts exactly the histories that some sequential run explains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import pytest
from benchmarks.lib.linearizability import first_violation
from hypothesis import given
from hypothesis import strategies as st


@dataclass(frozen=True, slots=True)
class Access:
    """Write of a value, or a read that returned it."""

    writes: bool
    value: int
    began: float
    ended: float


def step(state: int, access: Access) -> int | None:
    """Return the state of a register after an access; None if it cannot have this result."""
    return access.value if access.writes or access.value == state else None


def violation(accesses: list[Access]) -> Access | None:
    """Return the first violation; it is the same whether reads are recognised or not."""
    found = first_violation(accesses, initial=0, step=step)
    assert found == first_violation(
        accesses, initial=0, step=step, is_read=lambda access: not access.writes
    )
    return found


def explained(accesses: list[Access]) -> bool:
    """Return whether a sequential run explains a history, by trying all orders."""
    for order in permutations(accesses):
        if any(
            later.ended < earlier.began
            for place, earlier in enumerate(order)
            for later in order[place + 1 :]
        ):
            continue
        state: int | None = 0
        for access in order:
            state = None if state is None else step(state, access)
        if state is not None:
            return True
    return False


@st.composite
def any_histories(draw: st.DrawFn) -> list[Access]:
    """Return few accesses with any results, so that all orders can be tried."""
    accesses = []
    for _ in range(draw(st.integers(1, 6))):
        began = draw(st.integers(0, 8))
        ended = began + draw(st.integers(0, 5))
        accesses.append(Access(draw(st.booleans()), draw(st.integers(0, 3)), began, ended))
    return accesses


@st.composite
def correct_histories(draw: st.DrawFn) -> list[Access]:
    """Return accesses that take effect one after another, at moments inside of their times."""
    accesses, state = [], 0
    for moment in range(1, draw(st.integers(1, 40)) + 1):
        writes = draw(st.booleans())
        state = moment if writes else state
        before, after = (draw(st.floats(0, 3)) for _ in range(2))
        accesses.append(Access(writes, state, moment - before, moment + after))
    return draw(st.permutations(accesses))


@given(any_histories())
def test_the_checker_agrees_with_trying_all_orders(accesses: list[Access]) -> None:
    assert (violation(accesses) is None) == explained(accesses)


@given(correct_histories())
def test_correct_histories_are_accepted(accesses: list[Access]) -> None:
    assert violation(accesses) is None


@given(correct_histories(), st.data())
def test_a_read_of_what_was_never_written_is_found(
    accesses: list[Access], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(accesses) - 1))
    accesses[place] = replace(accesses[place], writes=False, value=-1)
    assert violation(accesses) is not None


@given(correct_histories())
def test_a_lost_write_is_found(accesses: list[Access]) -> None:
    """A read after the end of all accesses returns a value that was overwritten before."""
    end = max(access.ended for access in accesses)
    last = Access(True, 1_000, end + 1, end + 2)
    stale = Access(False, 0, end + 3, end + 4)
    assert violation([*accesses, last, stale]) == stale
    assert violation([*accesses, last, replace(stale, value=1_000)]) is None


@pytest.mark.parametrize(
    ("first", "second", "correct"),
    [(1, 2, True), (2, 1, False)],
)
def test_two_reads_during_a_write_see_values_in_order(
    first: int, second: int, *, correct: bool
) -> None:
    """The old value may not follow the new one, although both are possible during the write."""
    accesses = [
        Access(True, 1, 0, 1),
        Access(True, 2, 2, 9),
        Access(False, first, 3, 4),
        Access(False, second, 5, 6),
    ]
    assert (violation(accesses) is None) == correct
