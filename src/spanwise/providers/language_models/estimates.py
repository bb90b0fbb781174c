"""About how many tokens a request takes, counted without asking its provider."""

from __future__ import annotations

import json
from functools import lru_cache
from math import ceil

from spanwise.ports import ModelRequest
from spanwise.providers.tokens import make_tokenizer
from spanwise.providers.vendors.catalog import Vendor

__all__ = ["input_tokens", "text_tokens"]

_TEMPLATE_TOKENS = 16
"""What stands around instructions and prompt: roles, ends of turns, the beginning of the answer."""
_IMAGE_TOKENS = 2_500
"""Of a page, at most: vendors take 258 to about 2,500 for one, by its size."""


def input_tokens(request: ModelRequest, vendor: Vendor) -> int:
    """Return the tokens of the input.

    Args:
        request: The request.
        vendor: Whose model is asked.
    """
    repeated = [request.instructions, request.shared]
    if request.schema is not None and not vendor.is_own:
        repeated.append(json.dumps(request.schema))
    counted = _count(request.prompt) + sum(map(_count_once, repeated))
    return (
        ceil(counted * vendor.tokens_ratio) + _TEMPLATE_TOKENS + _IMAGE_TOKENS * len(request.images)
    )


def text_tokens(text: str, vendor: Vendor) -> int:
    """Return the tokens of a text.

    Args:
        text: The text.
        vendor: Whose model reads or writes it.
    """
    return ceil(_count(text) * vendor.tokens_ratio)


def _count(text: str) -> int:
    return sum(make_tokenizer("o200k_base").count([text]))


_count_once = lru_cache(maxsize=64)(_count)
"""For what is the same in many requests, as a document is for each of its chunks."""
