"""Usage by task and the cost limit of one operation or one run.

Rules:
    A call begins only if the most that it may cost is left. This amount is reserved until the call
    ends, so calls that run at once cannot pass the limit together.
    A free call always begins. A call waits if only the reservations of running calls prevent it.
    A ledger with a parent counts in both, and both limits apply: one shared budget bounds several
    operations, each with a usage of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Condition, Lock

from spanwise.errors import CostLimitError, OptionError
from spanwise.types import Usage
from spanwise.types.listener import Listener


@dataclass(slots=True, kw_only=True)
class Ledger:
    """Counts the usage of calls and refuses calls that may pass a cost limit.

    Safe for use by several threads.
    """

    max_cost: float | None = None
    """Cost limit in US dollars; None for no limit."""
    listener: Listener | None = None
    """Listener that is notified of each call as the step "model.TASK", one call at a time."""
    parent: Ledger | None = None
    """Shared budget that counts and limits these calls too; None for none."""
    _usage: dict[str, Usage] = field(default_factory=dict)
    _spent: float = 0.0
    """US dollars spent; the reserved amount is taken for a call whose cost is unknown."""
    _reserved: float = 0.0
    """US dollars that the running calls may cost at most."""
    _ending: int = 0
    """Number of running calls that hold a reservation and end without a reader."""
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
        """Whether a cost limit applies, of this ledger or of a parent."""
        return any(ledger.max_cost is not None for ledger in self._chain())

    @contextmanager
    def reserve(
        self, model: str, estimate: Callable[[], Usage], *, ends: bool = True
    ) -> Iterator[float]:
        """Reserve the most that a call may cost until the end of the block, and yield the amount.

        Args:
            model: Vendor and model of the call.
            estimate: Returns the greatest usage of the call. Called only if a limit applies.
            ends: Whether the block ends by itself. A stream may wait for its reader forever, so no
                other call waits for one.

        Raises:
            CostLimitError: If the call may cost more than is left, or its price is unknown.
        """
        if not self.is_limited:
            yield 0.0
            return
        cost = estimate().cost
        if cost is None:
            raise _limit_error(_unknown_price(model), model)
        with ExitStack() as reservations:
            for ledger in self._chain():
                if ledger.max_cost is not None:
                    ledger._reserve(model, cost, max_cost=ledger.max_cost, ends=ends)
                    reservations.callback(ledger._release, cost, ends=ends)
            yield cost

    def count(self, task: str, usage: Usage, *, at_most: float = 0.0) -> None:
        """Count the usage of a call.

        Args:
            task: Purpose of the call, such as "sections".
            usage: Usage of the call.
            at_most: US dollars that count as spent if the cost of the call is unknown.
        """
        for ledger in self._chain():
            ledger._count(task, usage, at_most)

    def check_price(self, model: str, estimate: Callable[[], Usage]) -> None:
        """Check that a cost limit can be kept, before anything is spent.

        Args:
            model: Vendor and model.
            estimate: Returns the usage of some call. Called only if a limit applies.

        Raises:
            OptionError: If a limit applies and the price of the model is unknown.
        """
        if self.is_limited and estimate().cost is None:
            raise OptionError(_unknown_price(model))

    def _chain(self) -> Iterator[Ledger]:
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger.parent

    def _count(self, task: str, usage: Usage, at_most: float) -> None:
        with self._changed:
            self._usage[task] = self._usage.get(task, Usage()) + usage
            self._spent += at_most if usage.cost is None else usage.cost
        if self.listener is not None:
            names = ("calls", "cached_calls", "retries", "input_tokens", "output_tokens")
            counts = {name: getattr(usage, name) for name in names}
            with self._notifying:
                self.listener.on_step(f"model.{task}", seconds=usage.seconds, counts=counts)

    def _reserve(self, model: str, cost: float, *, max_cost: float, ends: bool) -> None:
        with self._changed:
            while cost > 0 and self._spent + self._reserved + cost > max_cost:
                if not self._ending:
                    raise _limit_error(
                        f"{self._spent:.4f} US dollars are spent and the next call of "
                        f"{model} may cost {cost:.4f}, more than max_cost of {max_cost} "
                        "allows; what was made is kept: raise the limit and run the same again "
                        "to go on",
                        model,
                    )
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
        f"the price of {model} is not known, so that no limit on the cost can be kept; "
        "leave max_cost out, or use a model whose price is known"
    )


def _limit_error(message: str, model: str) -> CostLimitError:
    provider, _, name = model.partition(":")
    return CostLimitError(message, provider=provider, model=name)
