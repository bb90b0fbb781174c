"""Model usage as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.cli.layout import count, duration

if TYPE_CHECKING:
    from spanwise.types import Usage


def usage_words(usage: Usage, *, at_most: bool = False) -> list[str]:
    """Return calls, tokens, cost and time as parts of a line; empty if there were no calls.

    Args:
        usage: Usage of models.
        at_most: Whether the usage is an estimate, with upper bounds of output and cost.
    """
    if not usage.calls and not usage.cached_calls:
        return []
    most = "at most " if at_most else ""
    words = [
        count(usage.calls, "model call") if usage.calls else "no model call",
        f"{usage.cached_calls:,} from the cache" if usage.cached_calls else "",
        f"{usage.retries:,} retried" if usage.retries else "",
    ]
    if usage.calls:
        cached = usage.cached_input_tokens
        words += [
            f"{count(usage.input_tokens, 'token')} in"
            + (f" ({cached:,} from the provider's cache)" if cached else ""),
            f"{most}{usage.output_tokens:,} out",
            "price unknown" if usage.cost is None else f"{most}${usage.cost:.4f}",
            "" if at_most else f"{duration(usage.seconds)} of model time",
        ]
    return [word for word in words if word]
