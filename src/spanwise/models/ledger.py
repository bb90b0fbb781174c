"""Usage of model calls by task, and a limit on their cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Lock

from spanwise.errors import CostLimitError
from spanwise.types import Usage
from spanwise.types.listener import Listener


@dataclass(slots=True, kw_only=True)
class Ledger:
    """Counts the usage of calls and admits no call that could exceed the cost limit. Thread-safe.

    Each call in flight reserves the most that it may cost. A call that is blocked by reservations
    alone waits until one of them is released.
    """

    max_cost: float | None = None
    """Cost limit in US dollars; None for no limit."""
    listener: Listener | None = None
    """Listener that is notified of each call, one call at a time."""
    _usage: dict[str, Usage] = field(default_factory=dict)
    _spent: float = 0.0
    """Cost so far in US dollars; a call of unknown cost counts with its upper bound."""
    _reserved: float = 0.0
    """Upper bound on the cost of the calls in flight, in US dollars."""
    _ending: int = 0
    """Number of reservations that end without a reader."""
    _changed: Condition = field(default_factory=Condition)
    _notifying: Lock = field(default_factory=Lock)

    @property
    def usage_by_task(self) -> dict[str, Usage]:
        """Usage so far by task."""
        with self._changed:
            return dict(self._usage)

    @contextmanager
    def reserve(
        self, model: str, estimate: Callable[[], Usage], *, ends: bool = True
    ) -> Iterator[float]:
        """Reserve the most that a call may cost for the block, and yield it in US dollars.

        Args:
            model: Vendor and model of the call.
            estimate: Returns an upper bound on the usage of the call; only called with a limit.
            ends: Whether the block ends without a reader. A block that waits for a reader may
                never end, so no other call waits for it.

        Raises:
            CostLimitError: If the call could exceed the limit, or its price is unknown.
        """
        if self.max_cost is None:
            yield 0.0
            return
        cost = self._reserve(model, estimate().cost, max_cost=self.max_cost, ends=ends)
        try:
            yield cost
        finally:
            with self._changed:
                self._reserved -= cost
                self._ending -= ends
                self._changed.notify_all()

    def count(self, task: str, usage: Usage, *, at_most: float = 0.0) -> None:
        """Count the usage of a call and notify the listener.

        Args:
            task: Task of the call.
            usage: Its usage.
            at_most: Upper bound on its cost in US dollars, used if its cost is unknown.
        """
        with self._changed:
            self._usage[task] = self._usage.get(task, Usage()) + usage
            self._spent += at_most if usage.cost is None else usage.cost
        if self.listener is not None:
            names = ("calls", "cached_calls", "retries", "input_tokens", "output_tokens")
            counts = {name: getattr(usage, name) for name in names}
            with self._notifying:
                self.listener.on_step(f"model.{task}", seconds=usage.seconds, counts=counts)

    def _reserve(self, model: str, cost: float | None, *, max_cost: float, ends: bool) -> float:
        provider, _, name = model.partition(":")
        if cost is None:
            raise CostLimitError(
                f"the price of {model} is not known, so that no limit on the cost can be "
                "kept; leave max_cost out, or use a model whose price is known",
                provider=provider,
                model=name,
            )
        with self._changed:
            while self._spent + self._reserved + cost > max_cost:
                if not self._ending:
                    raise CostLimitError(
                        f"{self._spent:.4f} US dollars are spent and the next call of "
                        f"{model} may cost {cost:.4f}, more than max_cost of {max_cost} "
                        "allows; what was made is kept: raise the limit and run the same again "
                        "to go on",
                        provider=provider,
                        model=name,
                    )
                self._changed.wait()
            self._reserved += cost
            self._ending += ends
        return cost
