"""Model usage as text."""

from __future__ import annotations

import pytest

from spanwise.cli.layout import usage_words
from spanwise.types import Usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage(), []),
        (Usage(cached_calls=3), ["no model call", "3 from the cache"]),
        (
            Usage(calls=1, input_tokens=1, output_tokens=2, cost=None, seconds=1.0),
            ["1 model call", "1 token in", "2 out", "price unknown", "1.0 s of model time"],
        ),
        (
            Usage(
                calls=2, retries=1, input_tokens=9, cached_input_tokens=4, cost=0.25, seconds=1.0
            ),
            [
                "2 model calls",
                "1 retried",
                "9 tokens in (4 from the provider's cache)",
                "0 out",
                "$0.2500",
                "1.0 s of model time",
            ],
        ),
    ],
)
def test_usage_parts_and_no_parts_without_calls(usage: Usage, expected: list[str]) -> None:
    assert usage_words(usage) == expected
