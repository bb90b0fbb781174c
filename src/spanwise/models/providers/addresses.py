"""Base URLs of models, and the API keys that may be sent to them.

Rules
    1. A key may be sent to the vendor's default address, and to the address in the environment
       variable of the vendor.
    2. Any other address comes from the name of a model. A key is sent to it only if all IP
       addresses of its host are loopback or private. No key is sent to a host that cannot be
       resolved.
    3. Hosts are parsed as by the HTTP client. The client resolves the host again when it connects,
       so the owner of the host name can change the address in between (DNS rebinding).
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spanwise.config import Secret, find_secret, variable
from spanwise.config.network_addresses import canonical_origin, is_inside, resolve
from spanwise.errors import ModelKeyError, OptionError
from spanwise.models.providers.failures import key_advice

if TYPE_CHECKING:
    from spanwise.models.providers.catalog import ModelSpec


_RESOLVER_SECONDS = 3.0
_DECISION_SECONDS = 300.0
_MAX_DECISIONS = 256


def find_place(spec: ModelSpec) -> tuple[str, Secret | None]:
    """Return the base URL of a model, empty for the client's default, and its API key or None.

    There is no key for an address in the name of a model, which may come from an untrusted file,
    unless the address is in a private network or in the environment variable of the vendor.

    Args:
        spec: Parsed name of the model.
    """
    vendor = spec.vendor
    set_address = variable(vendor.address_variable) if vendor.address_variable else ""
    set_address = set_address.rstrip("/")
    address = spec.address or set_address or vendor.address
    if spec.address and spec.address != set_address and not is_own_server(spec.address):
        return address, None
    return address, next(filter(None, map(find_secret, vendor.keys)), None)


def find_access(spec: ModelSpec, *, kind: str, needs_key: bool = True) -> tuple[str, Secret | None]:
    """Return the base URL and the API key of a model, as `find_place`, after a check of both.

    Args:
        spec: Parsed name of the model.
        kind: Kind of model for the error message, such as "reranker".
        needs_key: Whether a missing key is an error; it is not if calls are only estimated.

    Raises:
        ModelKeyError: If the vendor needs a key, and there is none.
        OptionError: If a self-hosted server has no address.
    """
    vendor = spec.vendor
    address, secret = find_place(spec)
    if vendor.is_own and not address:
        example = f"{vendor.name}:MODEL@http://host:8000/v1"
        raise OptionError(
            f"{kind} is {spec.name!r}; it needs an address: {example}, or set "
            f"{vendor.address_variable}"
        )
    if secret is None and vendor.needs_key and needs_key:
        message = f"there is no key for {spec.name!r}: {key_advice(vendor)}"
        raise spec.error(message, kind=ModelKeyError)
    return address, secret


def is_own_server(address: str) -> bool:
    """Return whether the host of a URL is this machine or in a private network.

    The result for a host is cached for five minutes, because every call needs it.

    Args:
        address: URL; empty for the default of a vendor.
    """
    if not address:
        return False
    try:
        origin = canonical_origin(address)
    except ValueError:
        return False
    return _is_own_origin(origin, int(time.monotonic() / _DECISION_SECONDS))


@lru_cache(maxsize=_MAX_DECISIONS)
def _is_own_origin(origin: str, period: int) -> bool:
    """Return whether all IP addresses of the host of an origin are loopback or private."""
    del period  # part of the cache key, so that a result expires
    host = urlsplit(origin).hostname or ""
    try:
        return all(map(is_inside, resolve(host, 0, timeout_seconds=_RESOLVER_SECONDS)))
    except OSError:
        return False
