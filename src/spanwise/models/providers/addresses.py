"""Where models are reached, which keys may go there, and what is a server of one's own."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spanwise.config import Secret, find_secret, variable

if TYPE_CHECKING:
    from spanwise.models.providers.catalog import ModelSpec


def find_place(spec: ModelSpec) -> tuple[str, Secret | None]:
    """Return where a model is reached, and the key that goes there, if there is one.

    An address behind a model may come from a file that somebody else wrote. It gets a key only
    where it is a server of one's own, or the environment names the same address.

    Args:
        spec: The model; an empty address that is returned is that of the vendor's client.
    """
    vendor = spec.vendor
    set_address = variable(vendor.address_variable) if vendor.address_variable else ""
    set_address = set_address.rstrip("/")
    address = spec.address or set_address or vendor.address
    if spec.address and spec.address != set_address and not is_own_server(spec.address):
        return address, None
    return address, next(filter(None, map(find_secret, vendor.keys)), None)


def is_own_server(address: str) -> bool:
    """Return whether an address lies on this machine or in its private network.

    Args:
        address: A URL; empty for that of a vendor.
    """
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".local", ".localhost")))
