"""Further calls where a provider is busy, fails or cannot be reached.

Rules:
    The wait doubles from call to call; a share of it is chance, so that calls that failed together
    do not come back together.
    A provider that asks for more is obeyed, by all calls to it.
    A provider that asks for more than is allowed has failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import SystemRandom
from typing import TypeVar

from spanwise.errors import ModelError
from spanwise.options import ModelOptions
from spanwise.providers.vendors.failures import Failure
from spanwise.providers.vendors.traffic import Sent, Traffic

__all__ = ["Attempts", "call_with_retries"]

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
