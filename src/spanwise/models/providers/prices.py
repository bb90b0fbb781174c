"""What tokens cost, by the price list inside the package genai-prices.

About how many tokens a request takes, counted without asking its provider.
"""

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
    """Return US dollars; 0 for a server of one's own, None where the price is not known.

    Args:
        spec: Which model it is.
        address: Where it was reached; empty for the vendor's own.
        input_tokens: All of the input.
        output_tokens: All of the output.
        cache_tokens: Of the input, read from the provider's cache, and written to it.
        in_batch: Whether it was asked by the batch interface.
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
    # A server of another's is known by its address alone.
    by_address = spec.vendor.name in ("compatible", "ollama")
    try:
        if by_address:
            found = calc_price(used, spec.model, provider_api_url=address, price_context=how)
        else:
            found = calc_price(used, spec.model, provider_id=spec.vendor.name, price_context=how)
    except (LookupError, ValueError):  # not in the list, or it counts in another way
        return None
    return float(found.total_price)


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
