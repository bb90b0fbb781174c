"""How much goes to one provider at once and in a minute, whichever models of it are asked.

Everything here runs on the one loop of the clients, so that nothing needs a lock.

Further calls where a provider is busy, fails or cannot be reached.

Rules:
    The wait doubles from call to call; a share of it is chance, so that calls that failed together
    do not come back together.
    A provider that asks for more is obeyed, by all calls to it.
    A provider that asks for more than is allowed has failed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import SystemRandom
from typing import TypeVar

from spanwise.errors import ModelError
from spanwise.models.providers.failures import Failure
from spanwise.options import ModelOptions

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


_Result = TypeVar("_Result")
_FIRST_WAIT_SECONDS = 0.5
_CHANCE = 0.5
"""Share of a wait that is chance, where the provider asks for none."""
_ASKED_CHANCE = 0.1
"""What is added to a wait that the provider asks for, at most."""
_random = SystemRandom()


@dataclass(slots=True, kw_only=True)
class Attempts:
    """The further calls of one call."""

    traffic: Traffic
    options: ModelOptions
    retries: int = 0
    """So far."""
    was_late: bool = False
    """Whether one of them was not answered in time."""

    async def wait_after(self, failure: Failure) -> None:
        """Wait until a further call may be made.

        Raises:
            ModelError: The one of the failure, if there is to be no further call.
        """
        spent = self.retries >= self.options.retries or (failure.is_late and self.was_late)
        self.was_late |= failure.is_late
        if failure.is_final or spent or not failure.error.retryable:
            raise failure.error
        self.retries += 1
        asked, most = failure.asked_seconds or 0.0, self.options.max_wait_seconds
        if asked > most:
            raise _asks_too_much(failure.error, asked, most) from failure.error.__cause__
        seconds = min(_FIRST_WAIT_SECONDS * 2 ** (self.retries - 1), most)
        seconds *= 1 - _CHANCE * _random.random()
        if asked > 0:  # some ask for no wait at all while they are busy, or for what is no number
            self.traffic.close_for(asked)
            seconds = max(seconds, asked * (1 + _ASKED_CHANCE * _random.random()))
        await asyncio.sleep(seconds)


async def call_with_retries(
    call: Callable[[Sent], Awaitable[_Result]],
    *,
    attempts: Attempts,
    tokens: int,
    translate: Callable[[Exception], Failure],
) -> _Result:
    """Return what a call returns, which is made again where it is worth it.

    Args:
        call: Makes the call; may note how many tokens it took in what was sent. A `ModelError` that
            it raises is final.
        attempts: Counts the further calls.
        tokens: About what the call takes, input and output.
        translate: Says what an exception of the client means.

    Raises:
        ModelError: If the last call fails.
    """
    while True:
        try:
            async with attempts.traffic.place(attempts.options, tokens=tokens) as sent:
                async with asyncio.timeout(attempts.options.timeout_seconds):
                    return await call(sent)
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the client of a vendor raises
            failure = translate(error)
        await attempts.wait_after(failure)


def _asks_too_much(error: ModelError, asked: float, most: float) -> ModelError:
    return ModelError(
        f"{error}; it asks to wait {asked:,.0f} seconds, more than max_wait_seconds of {most:g}",
        provider=error.provider,
        model=error.model,
        status=error.status,
        retryable=True,
    )
