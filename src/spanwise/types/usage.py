"""What calls to models took: counts, tokens, money and time."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.types.plain import PlainForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(PlainForm):
    """What calls to models took; two of them can be added."""

    calls: int = 0
    """Answered by a provider, those whose answer was not usable among them."""
    cached_calls: int = 0
    """Answered from what the knowledge base had kept."""
    retries: int = 0
    """Further calls where a provider was busy, failed or could not be reached."""
    input_tokens: int = 0
    """As the provider counts them, those read from its cache among them."""
    output_tokens: int = 0
    cached_input_tokens: int = 0
    """Of the input, read from the provider's cache at a lower price."""
    cost: float | None = 0.0
    """US dollars; None where the price of a model is not known."""
    seconds: float = 0.0
    """Sum over all calls: more than passed by the clock, where several ran at once."""

    def __add__(self, other: Usage) -> Usage:
        """Return both together; the cost is not known where one is not."""
        known = self.cost is not None and other.cost is not None
        return Usage(
            calls=self.calls + other.calls,
            cached_calls=self.cached_calls + other.cached_calls,
            retries=self.retries + other.retries,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
            seconds=self.seconds + other.seconds,
        )
