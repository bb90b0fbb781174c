"""What calls of models took, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.cli.layout import count, duration

if TYPE_CHECKING:
    from spanwise.types import Usage


def usage_words(usage: Usage, *, at_most: bool = False) -> list[str]:
    """Return what calls took, in parts of a line; nothing where there was none.

    Args:
        usage: What they took.
        at_most: Whether they were foreseen: output and cost are upper bounds then.
    """
    if not usage.calls and not usage.cached_calls:
        return []
    most = "at most " if at_most else ""
    words = [
        count(usage.calls, "model call") if usage.calls else "no model call",
        f"{usage.cached_calls:,} kept from before" if usage.cached_calls else "",
        f"{usage.retries:,} tried again" if usage.retries else "",
    ]
    if usage.calls:
        kept = usage.cached_input_tokens
        words += [
            f"{count(usage.input_tokens, 'token')} in"
            + (f" ({kept:,} from the provider's cache)" if kept else ""),
            f"{most}{usage.output_tokens:,} out",
            "price not known" if usage.cost is None else f"{most}${usage.cost:.4f}",
            "" if at_most else f"{duration(usage.seconds)} of model time",
        ]
    return [word for word in words if word]
