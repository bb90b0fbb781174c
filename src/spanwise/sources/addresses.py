"""Which network addresses may be fetched, so that a document's URL cannot reach inside."""

from __future__ import annotations

import socket
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

__all__ = ["is_public", "resolve"]

_NAT64 = ip_network("64:ff9b::/96")


def resolve(host: str, port: int, *, timeout_seconds: float) -> list[str]:
    """Return the addresses of a host, in the order of the resolver, each once.

    Raises:
        OSError: If there are none, or the resolver does not answer in time.
    """
    found: list[str] = []
    failure: list[OSError] = []

    def look_up() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:  # a name that cannot be encoded has no address
            failure.append(exc if isinstance(exc, OSError) else OSError(str(exc)))
            return
        found.extend(dict.fromkeys(str(answer[4][0]) for answer in answers))

    # The resolver takes no time limit, so it is waited for in a thread of its own.
    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    if failure:
        raise failure[0]
    if not found:
        raise TimeoutError("the name service does not answer")
    return found


def is_public(address: str) -> bool:
    """Return whether an address belongs to the public internet, also where it hides another one.

    Private, loopback, link-local, shared, reserved and multicast addresses do not, nor do IPv6
    addresses that carry such an IPv4 address inside (mapped, 6to4, Teredo, NAT64).
    """
    parsed = ip_address(address.partition("%")[0])
    inner = _embedded(parsed) if isinstance(parsed, IPv6Address) else None
    if inner is not None:
        return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def _embedded(address: IPv6Address) -> IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or int(address) >> 32 == 0:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
