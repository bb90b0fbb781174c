"""A key goes to this machine and its private network, to no other host that an address names."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from spanwise.models.providers.addresses import find_place, is_own_server
from spanwise.models.providers.catalog import parse_model_spec

KEY = "of-no-use"
Resolver = Callable[..., list[tuple[object, ...]]]


def resolver(known: dict[str, list[str]]) -> Resolver:
    """Return a resolver that knows these names, and reads numbers as the C library does."""
    real = socket.getaddrinfo

    def look_up(host: str, port: int, **options: int) -> list[tuple[object, ...]]:
        if host in known:
            return [(2, 1, 6, "", (address, port)) for address in known[host]]
        if host.replace(".", "").replace("x", "").isalnum() and host[:1].isdigit():
            return list(real(host, port, **options))
        if ":" in host:
            return list(real(host, port, **options))
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    return look_up


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Return the names that the resolver knows; they can be changed."""
    known = {
        "evil.com": ["8.8.8.8"],
        "evil": ["8.8.8.8"],
        "gpu-a": ["192.168.1.4"],
        "gpu-a.local": ["10.0.0.8"],
        "localhost": ["127.0.0.1", "::1"],
        "two-faced": ["10.0.0.8", "8.8.8.8"],
        "metadata": ["169.254.169.254"],
        "relayed": ["2002:a00:1::"],
    }
    monkeypatch.setattr(socket, "getaddrinfo", resolver(known))
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    monkeypatch.delenv("COMPATIBLE_BASE_URL", raising=False)
    return known


PUBLIC = [
    "evil.com",
    "evil。com",
    "evil．com",
    "evil｡com",
    "evil%2ecom",
    "evil",
    "EVIL.com",
    "evil.com.",
    "134744072",  # 8.8.8.8
    "0x08080808",
    "0x8.0x8.0x8.0x8",
    "01002004010",
    "8.8.2056",
    "8.8.8.8",
    "[::ffff:8.8.8.8]",
    "[2001:4860:4860::8888]",
    "two-faced",
    "unknown",
    "unknown.local",
    "unknown.localhost",
    "metadata",
    "relayed",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "198.18.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "224.0.0.1",
    "[2002:a00:1::]",
    "[64:ff9b::a00:1]",
    "[::10.0.0.1]",
    "[fe80::1]",
    "[2001:db8::1]",
]
OWN = [
    "localhost",
    "127.0.0.1",
    "127.1",
    "2130706433",  # 127.0.0.1
    "0x7f000001",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.7",
    "[fd12:3456::1]",
    "gpu-a",
    "gpu-a.local",
]


@pytest.mark.parametrize("host", PUBLIC)
def test_no_spelling_of_a_public_host_gets_a_key(host: str) -> None:
    """Nor does a host without an address, or one with a public address among its addresses."""
    spec = parse_model_spec(f"compatible:m@http://{host}:8000/v1")
    _, secret = find_place(spec)
    assert secret is None
    assert not is_own_server(spec.address)


@pytest.mark.parametrize("host", OWN)
def test_this_machine_and_its_network_get_the_key(host: str) -> None:
    spec = parse_model_spec(f"compatible:m@http://{host}:8000/v1")
    _, secret = find_place(spec)
    assert secret is not None
    assert is_own_server(spec.address)


@pytest.mark.parametrize(
    "address", ["http://0177.0.0.1/v1", "http://８.8.8.8/v1", "http://[::1/", ""]
)
def test_what_the_client_cannot_reach_is_nobodys_own(address: str) -> None:
    assert not is_own_server(address)


def test_a_public_host_gets_the_key_where_the_environment_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COMPATIBLE_BASE_URL", "https://evil.com/v1/")
    for name in ("compatible:m", "compatible:m@https://evil.com/v1"):
        assert find_place(parse_model_spec(name))[1] is not None
    for other in ("https://evil.com/v2", "http://evil.com/v1", "https://evil.com:444/v1"):
        assert find_place(parse_model_spec(f"compatible:m@{other}"))[1] is None


def test_a_name_is_resolved_once_for_many_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices are asked for with every call."""
    asked: list[str] = []

    def look_up(host: str, port: int, **_: int) -> list[tuple[object, ...]]:
        asked.append(host)
        return [(2, 1, 6, "", ("10.0.0.8", port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert all(is_own_server("http://asked-often:8000/v1") for _ in range(50))
    assert asked == ["asked-often"]
