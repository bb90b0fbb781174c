"""How much goes to one provider at once and in a minute, whichever models of it are asked.

Everything here runs on the one loop of the clients, so that nothing needs a lock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from spanwise.options import ModelOptions

__all__ = ["Sent", "Traffic", "traffic_of"]

_WINDOW_SECONDS = 60.0


@dataclass(slots=True)
class Sent:
    """A call that was sent."""

    at: float
    tokens: int
    """As counted before; as the provider says, when it has answered."""


@dataclass(slots=True)
class Traffic:
    """The calls to one provider. Limits come with each call; what runs counts for all."""

    usual: int = 16
    """Calls at once, where the options of a call name no number."""
    _running: int = 0
    _sent: deque[Sent] = field(default_factory=deque)
    """Those of the last minute."""
    _closed_until: float = 0.0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)
    """Calls that wait until another one ends."""

    @asynccontextmanager
    async def place(self, options: ModelOptions, *, tokens: int) -> AsyncIterator[Sent]:
        """Wait until a call may be sent, and hold its place while it runs.

        Args:
            options: The limits.
            tokens: About what it takes, input and output.
        """
        while self._running >= (options.concurrency or self.usual):
            ended = asyncio.get_running_loop().create_future()
            self._waiting.append(ended)
            await ended
        self._running += 1
        try:
            while (seconds := self._seconds_closed(options, tokens)) > 0:
                await asyncio.sleep(seconds)
            sent = Sent(at=_now(), tokens=tokens)
            self._sent.append(sent)
            yield sent
        finally:
            self._running -= 1
            # All of them look again: their limits may differ, and some may have been cancelled.
            for ended in self._waiting:
                if not ended.done():
                    ended.set_result(None)
            self._waiting.clear()

    def close_for(self, seconds: float) -> None:
        """Send nothing for a while: the provider asked for it."""
        self._closed_until = max(self._closed_until, _now() + seconds)

    def _seconds_closed(self, options: ModelOptions, tokens: int) -> float:
        """Return after how many seconds to look again; 0 if a call may be sent now."""
        now = _now()
        while self._sent and self._sent[0].at <= now - _WINDOW_SECONDS:
            self._sent.popleft()
        seconds = self._closed_until - now
        calls, most = len(self._sent), options.requests_per_minute
        if most is not None and calls >= most:
            seconds = max(seconds, self._sent[calls - most].at + _WINDOW_SECONDS - now)
        if options.tokens_per_minute is not None:
            # A call that takes more than all that is allowed goes alone.
            over = sum(sent.tokens for sent in self._sent) + tokens - options.tokens_per_minute
            for sent in self._sent:
                if over <= 0:
                    break
                seconds = max(seconds, sent.at + _WINDOW_SECONDS - now)
                over -= sent.tokens
        return max(seconds, 0.0)


def _now() -> float:
    return asyncio.get_running_loop().time()


def traffic_of(*, own: bool) -> Traffic:
    """Return the calls to a provider; a server of one's own answers few at once, others wait."""
    return Traffic(usual=4) if own else Traffic()
