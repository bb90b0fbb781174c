"""Rate limits and retries of calls to one provider.

All code runs on the event loop of the model clients, so no locks are needed.

Rules:
    Retries use exponential backoff with jitter: the wait doubles after each retry, and a part of it
    is random, so that calls that failed together are not retried together.
    A wait that a provider requests (`Retry-After`) applies to all calls to this provider. If it is
    longer than `max_wait_seconds`, the call fails.
    A server is down if a call to it failed after all retries, unless it was only busy. For a
    minute, or until a call succeeds, the next calls to it are then made once, without retries: a
    failed operation waits for one series of retries only, whatever its number of calls.
    Each retry is logged at the level INFO by the logger "spanwise.waits", once per series.
"""

from __future__ import annotations

import asyncio
import logging
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
_DOWN_SECONDS = 60.0
_SELF_HOSTED_RETRIES = 2  # a self-hosted server is rarely restarted during the retries
_BUSY = frozenset({408, 409, 425, 429, 503, 529})
_log = logging.getLogger("spanwise.waits")


@dataclass(slots=True)
class SentCall:
    """Record of a sent call, for the limits per minute."""

    at: float
    """Time when the call was sent, in seconds of the event loop's clock."""
    tokens: int
    """Estimated tokens of the call; later replaced by the tokens that the provider reports."""


@dataclass(slots=True)
class RateLimiter:
    """Rate limiter of one provider.

    Each call passes its own limits, which are checked against all current calls to the provider and
    those of the last minute.
    """

    server: str = ""
    """Address of the server, or name of the vendor, for messages."""
    is_self_hosted: bool = False
    """Whether the provider is a self-hosted server."""
    _down_until: float = 0.0
    """Time on the event loop's clock until which calls to a server that is down get no retries."""
    _announced: int = 0
    """Number of the last retry that was logged since the last success."""
    _running: int = 0
    """Number of running calls."""
    _sent: deque[SentCall] = field(default_factory=deque)
    """Calls that were sent in the last minute."""
    _paused_until: float = 0.0
    """Time before which no call is sent, in seconds of the event loop's clock."""
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)
    """Futures of calls that wait until a running call ends."""

    @property
    def default_concurrency(self) -> int:
        """Maximum number of concurrent calls, if the options of a call set none."""
        return 4 if self.is_self_hosted else 16

    def max_retries(self, failure: Failure, options: ModelOptions) -> int:
        """Return the maximum number of retries of a call after a failure."""
        if not _is_outage(failure):
            return options.retries
        if _now() < self._down_until:
            return 0
        return (
            min(options.retries, _SELF_HOSTED_RETRIES) if self.is_self_hosted else options.retries
        )

    def record_failure(self, failure: Failure) -> None:
        """Record that a call failed after all its retries."""
        self._announced = 0
        if _is_outage(failure):
            self._down_until = _now() + _DOWN_SECONDS

    def record_success(self) -> None:
        """Record that a call succeeded."""
        self._down_until, self._announced = 0.0, 0

    def announce(self, retry: int, most: int) -> None:
        """Log a retry, unless another call has logged it already."""
        if retry > self._announced:
            self._announced = retry
            _log.info("waiting for %s: retry %d of %d", self.server, retry, most)

    @asynccontextmanager
    async def slot(self, options: ModelOptions, *, tokens: int) -> AsyncIterator[SentCall]:
        """Wait until a call may be sent, and count it as running during the block.

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
            # All waiting calls check again: their limits may differ, and some may be cancelled.
            for ended in self._waiting:
                if not ended.done():
                    ended.set_result(None)
            self._waiting.clear()

    def pause(self, seconds: float) -> None:
        """Send no calls for some seconds, because the provider requested it."""
        self._paused_until = max(self._paused_until, _now() + seconds)

    def _wait_seconds(self, options: ModelOptions, tokens: int) -> float:
        """Return the seconds to wait before the next check; 0 if a call may be sent now."""
        now = _now()
        while self._sent and self._sent[0].at <= now - _WINDOW_SECONDS:
            self._sent.popleft()
        seconds = self._paused_until - now
        calls, most = len(self._sent), options.requests_per_minute
        if most is not None and calls >= most:
            seconds = max(seconds, self._sent[calls - most].at + _WINDOW_SECONDS - now)
        if options.tokens_per_minute is not None:
            # A call with more tokens than the limit is sent when no other call counts.
            excess = sum(sent.tokens for sent in self._sent) + tokens - options.tokens_per_minute
            for sent in self._sent:
                if excess <= 0:
                    break
                seconds = max(seconds, sent.at + _WINDOW_SECONDS - now)
                excess -= sent.tokens
        return max(seconds, 0.0)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_outage(failure: Failure) -> bool:
    """Return whether a failure may mean that a server is down: not if it is busy."""
    return failure.error.retryable and failure.error.status not in _BUSY


_Result = TypeVar("_Result")
_FIRST_WAIT_SECONDS = 0.5
_JITTER = 0.5
"""Maximum share by which a wait is shortened at random."""
_REQUESTED_JITTER = 0.1
"""Maximum share by which a wait that the provider requested is lengthened at random."""
_random = SystemRandom()


@dataclass(slots=True, kw_only=True)
class RetryState:
    """Retry state of one call."""

    limiter: RateLimiter
    options: ModelOptions
    retries: int = 0
    """Number of retries so far."""
    timed_out: bool = False
    """Whether the call has timed out before."""

    async def wait_after(self, failure: Failure) -> None:
        """Wait until the call may be retried after a failure.

        Raises:
            ModelError: The error of the failure, if the call must not be retried.
        """
        most = self.limiter.max_retries(failure, self.options)
        is_spent = self.retries >= most or (failure.timed_out and self.timed_out)
        self.timed_out |= failure.timed_out
        if failure.is_final or is_spent or not failure.error.retryable:
            self.limiter.record_failure(failure)
            raise failure.error
        self.retries += 1
        self.limiter.announce(self.retries, most)
        requested, longest = failure.retry_after_seconds or 0.0, self.options.max_wait_seconds
        if requested > longest:
            raise _excessive_wait(failure.error, requested, longest) from failure.error.__cause__
        seconds = min(_FIRST_WAIT_SECONDS * 2 ** (self.retries - 1), longest)
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
        call: Function that makes the call, and may update the tokens of its record. Its
            `ModelError` is raised without a retry.
        state: Retry state of the call.
        tokens: Estimated tokens of the call, input and output.
        translate: Function that translates an exception of the client.

    Raises:
        ModelError: If the last retry fails.
    """
    while True:
        try:
            async with state.limiter.slot(state.options, tokens=tokens) as sent:
                async with asyncio.timeout(state.options.timeout_seconds):
                    result = await call(sent)
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001 - clients of vendors raise anything
            failure = translate(error)
        else:
            state.limiter.record_success()
            return result
        await state.wait_after(failure)


def _excessive_wait(error: ModelError, requested: float, most: float) -> ModelError:
    return ModelError(
        f"{error}; it requests a wait of {requested:,.0f} seconds, more than max_wait_seconds of "
        f"{most:g}",
        provider=error.provider,
        model=error.model,
        status=error.status,
        retryable=True,
    )
