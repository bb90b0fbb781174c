"""Network addresses: canonical origins, name resolution and public or private ranges."""

from __future__ import annotations

import socket
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_NAT64 = ip_network("64:ff9b::/96")
_PRIVATE_NETWORKS = tuple(
    map(
        ip_network,
        ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"),
    )
)


def canonical_origin(address: str) -> str:
    """Return scheme, host and port of a URL in canonical form, as the HTTP client parses them.

    Capitals, full-width dots and a default port are normalised: "HTTP://GPU:80/v1" gives
    "http://gpu".

    Raises:
        ValueError: If the address is not an http or https URL, or the client cannot parse it.
    """
    import httpx  # imported late: most commands use no address

    try:
        url = httpx.URL(address)
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ValueError(str(error)) from error
    if url.scheme not in ("http", "https") or not host:
        raise ValueError("an address has the form http://host:8000")
    bracketed = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{bracketed}" + (f":{url.port}" if url.port is not None else "")


def resolve(host: str, port: int, *, timeout_seconds: float) -> list[str]:
    """Return the IP addresses of a host without duplicates, in the order of the resolver.

    Raises:
        OSError: If the host has no address, or the resolver does not answer in time.
    """
    addresses: list[str] = []
    failure: list[OSError] = []

    def look_up() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:  # UnicodeError: a name that cannot be encoded
            failure.append(exc if isinstance(exc, OSError) else OSError(str(exc)))
            return
        addresses.extend(dict.fromkeys(str(answer[4][0]) for answer in answers))

    # getaddrinfo has no timeout, so it runs in a thread.
    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    if failure:
        raise failure[0]
    if not addresses:
        raise TimeoutError("the name service does not answer")
    return addresses


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet.

    False for private, loopback, link-local, site-local, shared, reserved and multicast addresses,
    and for IPv6 addresses that embed such an IPv4 address (mapped, 6to4, Teredo, NAT64).
    """
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        inner = _embedded(parsed)
        if inner is not None:
            return is_public(str(inner))
        if parsed.is_site_local:  # deprecated by RFC 3879; Python calls them global
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def is_inside(address: str) -> bool:
    """Return whether an IP address is loopback or in a private network (RFC 1918, RFC 4193).

    This is not the opposite of `is_public`: both are False for link-local addresses (cloud metadata
    services) and for shared, reserved and multicast addresses. An IPv4-mapped IPv6 address is
    treated as its IPv4 address; other IPv6 addresses with an embedded IPv4 address (6to4, Teredo,
    NAT64) are not private.
    """
    parsed = ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return any((mapped or parsed) in network for network in _PRIVATE_NETWORKS)


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that is embedded in an IPv6 address; None if there is none."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or int(address) >> 32 == 0:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
