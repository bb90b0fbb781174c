"""Ledger of one operation or run: records the usage by task and enforces the cost limit.

Rules:
    Before a call, its maximum cost is reserved, until the call ends. A call is refused if its
    maximum cost exceeds the remaining budget, so concurrent calls cannot exceed the limit together.
    A call that would fit without the reservations of running calls waits for them. A free call is
    never refused.
    A ledger with a parent adds its usage to both, and both limits apply. In this way, several
    operations can share one budget, and each has its own usage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Condition, Lock

from spanwise.errors import CostLimitError, OptionError
from spanwise.events import report_step
from spanwise.models.model_checks import model_error
from spanwise.types import Usage
from spanwise.types.listener import Listener

_COUNTS = (
    "calls",
    "repeated_calls",
    "cached_calls",
    "retries",
    "input_tokens",
    "output_tokens",
)


@dataclass(slots=True, kw_only=True)
class Ledger:
    """Counts the usage of calls, and refuses calls that could exceed a limit. Thread-safe."""

    max_cost: float | None = None
    """Cost limit in US dollars; None for no limit."""
    listener: Listener | None = None
    """Listener that is notified of each call as the step "model.TASK", one call at a time."""
    parent: Ledger | None = None
    """Ledger of a shared budget that also counts and limits these calls; None if not shared."""
    _usage: dict[str, Usage] = field(default_factory=dict)
    _spent: float = 0.0
    """US dollars spent; a call of unknown cost counts with its reserved amount."""
    _reserved: float = 0.0
    """Maximum cost of the running calls, in US dollars."""
    _ending: int = 0
    """Number of running calls that are guaranteed to release their reservation."""
    _changed: Condition = field(default_factory=Condition)
    _notifying: Lock = field(default_factory=Lock)

    @property
    def usage_by_task(self) -> dict[str, Usage]:
        """Usage of all calls so far, by task."""
        with self._changed:
            return dict(self._usage)

    @property
    def usage(self) -> Usage:
        """Usage of all calls so far."""
        return sum(self.usage_by_task.values(), Usage())

    @property
    def is_limited(self) -> bool:
        """Whether this ledger or one of its parents has a cost limit."""
        return any(ledger.max_cost is not None for ledger in self._chain())

    @contextmanager
    def reserve(
        self, model: str, estimate: Callable[[], Usage], *, ends: bool = True
    ) -> Iterator[float]:
        """Reserve the maximum cost of a call until the end of the block, and yield this cost.

        Args:
            model: Vendor and model of the call.
            estimate: Function that returns the maximum usage of the call; called only if there is a
                limit.
            ends: Whether the call is guaranteed to end. A stream may wait for its reader forever,
                so other calls do not wait for its reservation.

        Raises:
            CostLimitError: If the call could exceed the remaining budget, or its price is unknown.
        """
        if not self.is_limited:
            yield 0.0
            return
        cost = estimate().cost
        if cost is None:
            raise model_error(model, _unknown_price(model), kind=CostLimitError)
        with ExitStack() as reservations:
            for ledger in self._chain():
                if ledger.max_cost is not None:
                    ledger._reserve(model, cost, max_cost=ledger.max_cost, ends=ends)
                    reservations.callback(ledger._release, cost, ends=ends)
            yield cost

    def count(self, task: str, usage: Usage, *, at_most: float = 0.0) -> None:
        """Count the usage of a call.

        Args:
            task: Task of the call, such as "sections".
            usage: Usage of the call.
            at_most: Cost in US dollars to count if the cost of the call is unknown.
        """
        counts = {name: getattr(usage, name) for name in _COUNTS}
        report_step(f"model.{task}", seconds=usage.seconds, counts=counts, listener=None)
        for ledger in self._chain():
            ledger._count(task, usage, at_most, counts)

    def check_price(self, model: str, estimate: Callable[[], Usage]) -> None:
        """Check before the first call that the cost limit can be applied to a model.

        Args:
            model: Vendor and model.
            estimate: Function that returns the usage of any call; called only if there is a limit.

        Raises:
            OptionError: If there is a limit, and the price of the model is unknown.
        """
        if self.is_limited and estimate().cost is None:
            raise OptionError(_unknown_price(model))

    def _chain(self) -> Iterator[Ledger]:
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger.parent

    def _count(self, task: str, usage: Usage, at_most: float, counts: Mapping[str, int]) -> None:
        with self._changed:
            self._usage[task] = self._usage.get(task, Usage()) + usage
            self._spent += at_most if usage.cost is None else usage.cost
        if self.listener is not None:
            with self._notifying:
                self.listener.on_step(f"model.{task}", seconds=usage.seconds, counts=counts)

    def _reserve(self, model: str, cost: float, *, max_cost: float, ends: bool) -> None:
        with self._changed:
            while cost > 0 and self._spent + self._reserved + cost > max_cost:
                if not self._ending:
                    message = (
                        f"{self._spent:.4f} US dollars are spent and the next call of "
                        f"{model} may cost {cost:.4f}, more than max_cost of {max_cost} "
                        "allows; earlier results are kept: raise the limit and run the same "
                        "command again to continue"
                    )
                    raise model_error(model, message, kind=CostLimitError)
                self._changed.wait()
            self._reserved += cost
            self._ending += ends

    def _release(self, cost: float, *, ends: bool) -> None:
        with self._changed:
            self._reserved -= cost
            self._ending -= ends
            self._changed.notify_all()


def _unknown_price(model: str) -> str:
    return (
        f"the price of {model} is not known, so its cost cannot be limited; leave max_cost out, or "
        "use a model whose price is known"
    )
