"""What tokens cost, by the price list inside the package genai-prices."""

from __future__ import annotations

from spanwise.providers.vendors.addresses import is_own_server
from spanwise.providers.vendors.catalog import ModelSpec

__all__ = ["price"]


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
