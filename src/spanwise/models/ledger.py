"""What calls took, by task, and whether one more may be made for the money that is left."""

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
    """Counts what calls take, and lets none begin that may cost too much.

    A call that is let in holds back the most that it may cost until it is over. Where this is all
    that stands in the way of another one, the other one waits. Safe for use by several threads.
    """

    max_cost: float | None = None
    """US dollars; None for no limit."""
    listener: Listener | None = None
    """Hears each call, one at a time."""
    _usage: dict[str, Usage] = field(default_factory=dict)
    _spent: float = 0.0
    """Where the price of an answer is not known, at most."""
    _held: float = 0.0
    """What the calls that run may cost."""
    _ending: int = 0
    """Calls that hold something back and end by themselves."""
    _changed: Condition = field(default_factory=Condition)
    _telling: Lock = field(default_factory=Lock)

    @property
    def usage_by_task(self) -> dict[str, Usage]:
        """What the calls of each task took so far."""
        with self._changed:
            return dict(self._usage)

    @contextmanager
    def held(
        self, model: str, estimate: Callable[[], Usage], *, ends: bool = True
    ) -> Iterator[float]:
        """Hold back the most that a call may cost until the end of the block, and give it.

        Args:
            model: Vendor and model, which is called.
            estimate: Says what the call takes, at most; asked only where there is a limit.
            ends: Whether the block ends by itself; one that waits for a reader may never end, and
                nothing waits for it.

        Raises:
            CostLimitError: If it may cost more than is left, or its price is not known.
        """
        if self.max_cost is None:
            yield 0.0
            return
        cost = self._enter(model, estimate().cost, max_cost=self.max_cost, ends=ends)
        try:
            yield cost
        finally:
            with self._changed:
                self._held -= cost
                self._ending -= ends
                self._changed.notify_all()

    def count(self, task: str, usage: Usage, *, at_most: float = 0.0) -> None:
        """Count what a call took.

        Args:
            task: What it was for.
            usage: What it took.
            at_most: What it may have cost, where that is not known.
        """
        with self._changed:
            self._usage[task] = self._usage.get(task, Usage()) + usage
            self._spent += at_most if usage.cost is None else usage.cost
        if self.listener is not None:
            names = ("calls", "cached_calls", "retries", "input_tokens", "output_tokens")
            counts = {name: getattr(usage, name) for name in names}
            with self._telling:
                self.listener.on_step(f"model.{task}", seconds=usage.seconds, counts=counts)

    def _enter(self, model: str, cost: float | None, *, max_cost: float, ends: bool) -> float:
        provider, _, name = model.partition(":")
        if cost is None:
            raise CostLimitError(
                f"the price of {model} is not known, so that no limit on the cost can be "
                "kept; leave max_cost out, or use a model whose price is known",
                provider=provider,
                model=name,
            )
        with self._changed:
            while self._spent + self._held + cost > max_cost:
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
            self._held += cost
            self._ending += ends
        return cost
