"""Addresses of models: base URLs, the API keys that may be sent to them, and private networks."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spanwise.config import Secret, find_secret, variable

if TYPE_CHECKING:
    from spanwise.models.providers.catalog import ModelSpec


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

    Args:
        address: A URL; empty for the default of a vendor.
    """
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".local", ".localhost")))
