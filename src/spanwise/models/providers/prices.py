"""Prices of calls, from the package genai-prices, and estimated token counts of requests."""

from __future__ import annotations

import json
from functools import lru_cache
from math import ceil

from spanwise.models.ports import ModelRequest
from spanwise.models.providers.addresses import is_own_server
from spanwise.models.providers.catalog import ModelSpec, Vendor
from spanwise.models.providers.tokenizer import make_tokenizer


def price(
    spec: ModelSpec,
    *,
    address: str,
    input_tokens: int,
    output_tokens: int,
    cache_tokens: tuple[int, int] = (0, 0),
    in_batch: bool = False,
) -> float | None:
    """Return the price of a call in US dollars; 0 for a self-hosted server, None if unknown.

    Args:
        spec: Parsed name of the model.
        address: Base URL; empty for the vendor's default.
        input_tokens: Number of input tokens.
        output_tokens: Number of output tokens.
        cache_tokens: Numbers of input tokens read from the provider's prompt cache, and written to
            it.
        in_batch: Whether the batch interface was used.
    """
    if is_own_server(address):
        return 0.0
    from genai_prices import Usage, calc_price

    used = Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cache_tokens[0],
        cache_write_tokens=cache_tokens[1],
    )
    how = {"processing": "batch"} if in_batch else None
    # For a compatible server, only the address identifies the vendor.
    by_address = spec.vendor.name in ("compatible", "ollama")
    try:
        if by_address:
            result = calc_price(used, spec.model, provider_api_url=address, price_context=how)
        else:
            result = calc_price(used, spec.model, provider_id=spec.vendor.name, price_context=how)
    except (LookupError, ValueError):  # unknown model, or a price per another unit
        return None
    return float(result.total_price)


_TEMPLATE_TOKENS = 16
"""Tokens of the chat template: roles, ends of turns, and the beginning of the answer."""
_IMAGE_TOKENS = 2_500
"""Maximum tokens of the image of a page; vendors count 258 to about 2,500, depending on size."""


def input_tokens(request: ModelRequest, vendor: Vendor) -> int:
    """Return the estimated number of input tokens of a request to a vendor."""
    repeated = [request.instructions, request.shared]
    if request.schema is not None and not vendor.is_own:
        repeated.append(json.dumps(request.schema))
    counted = _count(request.prompt) + sum(map(_count_once, repeated))
    return (
        ceil(counted * vendor.tokens_ratio) + _TEMPLATE_TOKENS + _IMAGE_TOKENS * len(request.images)
    )


def text_tokens(text: str, vendor: Vendor) -> int:
    """Return the estimated number of tokens of a text with the tokenizer of a vendor."""
    return ceil(_count(text) * vendor.tokens_ratio)


def _count(text: str) -> int:
    return sum(make_tokenizer("o200k_base").count([text]))


_count_once = lru_cache(maxsize=64)(_count)
"""Cached token count, for texts that many requests share, such as a document."""
