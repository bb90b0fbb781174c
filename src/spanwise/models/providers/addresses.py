"""Addresses of models: base URLs, the API keys that may be sent to them, and private networks.

Rules
    1. A key goes to its vendor's own address, and to the address that the environment names beside
       the key.
    2. Another address, named in the name of a model, gets a key only if all IP addresses of its
       host are loopback or private ones. A host that cannot be resolved gets none.
    3. The host is read as the HTTP client reads it. The client resolves it again when it connects:
       whoever controls the name can change its address in between (DNS rebinding).
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spanwise.config import Secret, find_secret, variable
from spanwise.config.network_addresses import canonical_origin, is_inside, resolve

if TYPE_CHECKING:
    from spanwise.models.providers.catalog import ModelSpec


_RESOLVER_SECONDS = 3.0
_DECISION_SECONDS = 300.0
_MAX_DECISIONS = 256


def find_place(spec: ModelSpec) -> tuple[str, Secret | None]:
    """Return the base URL of a model (empty for the client's default) and its API key, if any.

    An address in the name of a model may come from an untrusted file. A key is sent to it only if
    it is in a private network or the environment sets the same address.

    Args:
        spec: The parsed name of the model.
    """
    vendor = spec.vendor
    set_address = variable(vendor.address_variable) if vendor.address_variable else ""
    set_address = set_address.rstrip("/")
    address = spec.address or set_address or vendor.address
    if spec.address and spec.address != set_address and not is_own_server(spec.address):
        return address, None
    return address, next(filter(None, map(find_secret, vendor.keys)), None)


def is_own_server(address: str) -> bool:
    """Return whether an address is on this machine or in its private network.

    A host name is resolved at most once in five minutes, because each call needs the decision.

    Args:
        address: A URL; empty for the default of a vendor.
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
    """Return whether all addresses of the host of an origin are loopback or private ones."""
    del period  # the cache forgets a decision when the next period begins
    host = urlsplit(origin).hostname or ""
    try:
        return all(map(is_inside, resolve(host, 0, timeout_seconds=_RESOLVER_SECONDS)))
    except OSError:
        return False
