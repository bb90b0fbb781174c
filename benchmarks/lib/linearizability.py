"""Check that a history of concurrent operations is linearizable.

A history is linearizable if each operation can be given one moment between its beginning and its
end, so that the operations in the order of these moments are a correct sequential run (Herlihy and
Wing 1990). The check is the search of Wing and Gong (1993) over the events of the history in order,
with the just-in-time linearization of Lowe (2017): an operation is placed only when the end of an
operation requires it. All configurations that explain the events so far are kept, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

__all__ = ["first_violation"]


class Timed(Protocol):
    """Operation with the times at which it was called and returned."""

    @property
    def began(self) -> float:
        """Time of the call."""

    @property
    def ended(self) -> float:
        """Time of the return."""


_Operation = TypeVar("_Operation", bound=Timed)
_State = TypeVar("_State", bound=Hashable)
_Configuration = tuple[_State, frozenset[int]]
"""State, and the positions of the operations that have been placed and have not ended."""


def first_violation(
    operations: Sequence[_Operation],
    *,
    initial: _State,
    step: Callable[[_State, _Operation], _State | None],
    is_read: Callable[[_Operation], bool] = lambda _: False,
) -> _Operation | None:
    """Return the first operation whose result no sequential run explains; None if there is none.

    Operations of which one ends at the time at which another begins count as concurrent.

    Args:
        operations: Finished operations, in any order.
        initial: State before the first operation.
        step: Function that returns the state after an operation; None if the operation cannot have
            its result in the given state.
        is_read: Function that returns whether an operation never changes a state. The check is
            faster if it finds the reads.
    """
    search = _Search(operations, step, [is_read(operation) for operation in operations])
    configurations: set[_Configuration[_State]] = {(initial, frozenset())}
    running: set[int] = set()
    for _, is_end, place in _events(operations):
        if not is_end:
            running.add(place)
            continue
        configurations = search.with_placed(place, configurations, running)
        if not configurations:
            return operations[place]
        running.remove(place)
    return None


def _events(operations: Iterable[Timed]) -> list[tuple[float, bool, int]]:
    """Return time, kind (whether it is an end) and operation of each event, in order."""
    events = [
        event
        for place, operation in enumerate(operations)
        for event in ((operation.began, False, place), (operation.ended, True, place))
    ]
    return sorted(events)


@dataclass(frozen=True, slots=True)
class _Search(Generic[_State, _Operation]):
    operations: Sequence[_Operation]
    step: Callable[[_State, _Operation], _State | None]
    reads: Sequence[bool]
    """Whether each operation is a read."""

    def with_placed(
        self, wanted: int, configurations: Iterable[_Configuration[_State]], running: set[int]
    ) -> set[_Configuration[_State]]:
        """Return all configurations in which an operation is placed, without this operation."""
        found: set[_Configuration[_State]] = set()
        stack = [self._with_reads(one, running) for one in configurations]
        seen = set(stack)
        while stack:
            state, placed = stack.pop()
            if wanted in placed:
                found.add((state, placed - {wanted}))
                continue
            for place in running - placed:
                after = self.step(state, self.operations[place])
                if after is None:
                    continue
                following = self._with_reads((after, placed | {place}), running)
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
        return found

    def _with_reads(
        self, configuration: _Configuration[_State], running: set[int]
    ) -> _Configuration[_State]:
        """Place all running reads that fit the state: this excludes no run."""
        state, placed = configuration
        reads = {
            place
            for place in running - placed
            if self.reads[place] and self.step(state, self.operations[place]) is not None
        }
        return state, placed | reads
