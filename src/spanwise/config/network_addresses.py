"""Addresses of the network: resolving a host, and what its IP addresses belong to."""

from __future__ import annotations

import socket
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_NAT64 = ip_network("64:ff9b::/96")
_INSIDE = tuple(
    map(
        ip_network,
        ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"),
    )
)


def canonical_origin(address: str) -> str:
    """Return scheme, host and port of a URL in the one form that the HTTP client reads them in.

    Capitals, full-width dots and a port that goes without saying make no difference:
    "HTTP://GPU:80/v1" gives "http://gpu".

    Raises:
        ValueError: If it is no URL of http or https, or the client could not send to it.
    """
    import httpx  # most commands name no address

    try:
        url = httpx.URL(address)
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ValueError(str(error)) from error
    if url.scheme not in ("http", "https") or not host:
        raise ValueError("it is no address, as http://host:8000")
    shown = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{shown}" + (f":{url.port}" if url.port is not None else "")


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


def is_inside(address: str) -> bool:
    """Return whether an address is a loopback address or one of a private network (RFC 1918, 4193).

    This is narrower than "not public": link-local addresses (where clouds keep their metadata),
    shared, reserved and multicast addresses are neither. An IPv4 address that is mapped into IPv6
    counts as itself; one that a relay or translator would unpack (6to4, Teredo, NAT64) does not.
    """
    parsed = ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return any((mapped or parsed) in network for network in _INSIDE)


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
