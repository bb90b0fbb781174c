"""Rate limits and retries of calls to one provider.

Everything here runs on the one event loop of the clients, so no locks are needed.

Rules:
    Exponential backoff with jitter: the wait doubles from retry to retry, and a share of it is
    random, so that calls that failed together are not retried together.
    A wait that a provider requests (`Retry-After`) applies to all calls to it. A longer wait than
    `max_wait_seconds` is an error.
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
class SentCall:
    """A call that was sent."""

    at: float
    """Time of the event loop, in seconds."""
    tokens: int
    """Estimated tokens; replaced by the tokens that the provider reports."""


@dataclass(slots=True)
class RateLimiter:
    """Limits the calls to one provider. The limits come with each call and count all calls."""

    default_concurrency: int = 16
    """Maximum number of concurrent calls, if the options of a call give none."""
    _running: int = 0
    _sent: deque[SentCall] = field(default_factory=deque)
    """Calls of the last minute."""
    _paused_until: float = 0.0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)
    """Calls that wait until another call ends."""

    @asynccontextmanager
    async def slot(self, options: ModelOptions, *, tokens: int) -> AsyncIterator[SentCall]:
        """Wait until a call may be sent, and hold its slot for the block.

        Args:
            options: The limits.
            tokens: Estimated tokens of the call, input and output.
        """
        while self._running >= (options.concurrency or self.default_concurrency):
            ended = asyncio.get_running_loop().create_future()
            self._waiting.append(ended)
            await ended
        self._running += 1
        try:
            while (seconds := self._wait_seconds(options, tokens)) > 0:
                await asyncio.sleep(seconds)
            sent = SentCall(at=_now(), tokens=tokens)
            self._sent.append(sent)
            yield sent
        finally:
            self._running -= 1
            # All of them check again: their limits may differ, and some may be cancelled.
            for ended in self._waiting:
                if not ended.done():
                    ended.set_result(None)
            self._waiting.clear()

    def pause(self, seconds: float) -> None:
        """Send nothing for some seconds, because the provider requested it."""
        self._paused_until = max(self._paused_until, _now() + seconds)

    def _wait_seconds(self, options: ModelOptions, tokens: int) -> float:
        """Return the seconds until the limits are checked again; 0 if a call may be sent now."""
        now = _now()
        while self._sent and self._sent[0].at <= now - _WINDOW_SECONDS:
            self._sent.popleft()
        seconds = self._paused_until - now
        calls, most = len(self._sent), options.requests_per_minute
        if most is not None and calls >= most:
            seconds = max(seconds, self._sent[calls - most].at + _WINDOW_SECONDS - now)
        if options.tokens_per_minute is not None:
            # A call with more tokens than the limit is sent alone.
            over = sum(sent.tokens for sent in self._sent) + tokens - options.tokens_per_minute
            for sent in self._sent:
                if over <= 0:
                    break
                seconds = max(seconds, sent.at + _WINDOW_SECONDS - now)
                over -= sent.tokens
        return max(seconds, 0.0)


def _now() -> float:
    return asyncio.get_running_loop().time()


def make_rate_limiter(*, is_self_hosted: bool) -> RateLimiter:
    """Return the limiter of a provider; a self-hosted server gets fewer concurrent calls."""
    return RateLimiter(default_concurrency=4) if is_self_hosted else RateLimiter()


_Result = TypeVar("_Result")
_FIRST_WAIT_SECONDS = 0.5
_JITTER = 0.5
"""Random share of a wait that the provider did not request."""
_REQUESTED_JITTER = 0.1
"""Maximum share that is added to a wait that the provider requested."""
_random = SystemRandom()


@dataclass(slots=True, kw_only=True)
class RetryState:
    """Retries of one call."""

    limiter: RateLimiter
    options: ModelOptions
    retries: int = 0
    """Number of retries so far."""
    timed_out: bool = False
    """Whether the call timed out once already."""

    async def wait_after(self, failure: Failure) -> None:
        """Wait until the call may be retried.

        Raises:
            ModelError: The error of the failure, if there is no retry.
        """
        spent = self.retries >= self.options.retries or (failure.timed_out and self.timed_out)
        self.timed_out |= failure.timed_out
        if failure.is_final or spent or not failure.error.retryable:
            raise failure.error
        self.retries += 1
        requested, most = failure.retry_after_seconds or 0.0, self.options.max_wait_seconds
        if requested > most:
            raise _excessive_wait(failure.error, requested, most) from failure.error.__cause__
        seconds = min(_FIRST_WAIT_SECONDS * 2 ** (self.retries - 1), most)
        seconds *= 1 - _JITTER * _random.random()
        if requested > 0:  # some busy providers request 0 seconds, or NaN
            self.limiter.pause(requested)
            seconds = max(seconds, requested * (1 + _REQUESTED_JITTER * _random.random()))
        await asyncio.sleep(seconds)


async def call_with_retries(
    call: Callable[[SentCall], Awaitable[_Result]],
    *,
    state: RetryState,
    tokens: int,
    translate: Callable[[Exception], Failure],
) -> _Result:
    """Return the result of a call, retried with exponential backoff.

    Args:
        call: Makes the call; may set the tokens of its `SentCall`. A `ModelError` from it is final.
        state: Counts the retries.
        tokens: Estimated tokens of the call, input and output.
        translate: Translates an exception of the client.

    Raises:
        ModelError: If the last retry fails.
    """
    while True:
        try:
            async with state.limiter.slot(state.options, tokens=tokens) as sent:
                async with asyncio.timeout(state.options.timeout_seconds):
                    return await call(sent)
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001 - clients of vendors raise anything
            failure = translate(error)
        await state.wait_after(failure)


def _excessive_wait(error: ModelError, requested: float, most: float) -> ModelError:
    return ModelError(
        f"{error}; it asks to wait {requested:,.0f} seconds, more than max_wait_seconds of "
        f"{most:g}",
        provider=error.provider,
        model=error.model,
        status=error.status,
        retryable=True,
    )
