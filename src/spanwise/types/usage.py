"""Calls, tokens, cost and time of models."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.types.plain import PlainForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(PlainForm):
    """Calls, tokens, cost and time of models; instances can be added."""

    calls: int = 0
    """Number of calls answered by a provider, including unusable answers."""
    repeated_calls: int = 0
    """Number of the calls that requested an unusable answer again; in an estimate, the maximum."""
    cached_calls: int = 0
    """Number of calls answered from the knowledge base's cache."""
    retries: int = 0
    """Number of retries because a provider was busy, failed or could not be reached."""
    input_tokens: int = 0
    """Input tokens as counted by the provider, including those read from its cache."""
    output_tokens: int = 0
    """Output tokens as counted by the provider."""
    cached_input_tokens: int = 0
    """Input tokens read from the provider's cache at a lower price."""
    cost: float | None = 0.0
    """Cost in US dollars; None if the price of a model is unknown."""
    seconds: float = 0.0
    """Sum of the durations of all calls, in seconds; concurrent calls count in full."""

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; its cost is None if either cost is None."""
        known = self.cost is not None and other.cost is not None
        return Usage(
            calls=self.calls + other.calls,
            repeated_calls=self.repeated_calls + other.repeated_calls,
            cached_calls=self.cached_calls + other.cached_calls,
            retries=self.retries + other.retries,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
            seconds=self.seconds + other.seconds,
        )
