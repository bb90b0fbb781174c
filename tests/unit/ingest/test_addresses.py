"""Addresses inside a network are told from those outside."""

from __future__ import annotations

import pytest

from spanwise.config.network_addresses import is_public, resolve


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:4700::6810:84e5", "8.8.8.8"])
def test_public_addresses(address: str) -> None:
    """The internet may be fetched."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "feff::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2002:a00:1::",
    ],
)
def test_addresses_inside_are_not_public(address: str) -> None:
    """Private, loopback, local, shared, reserved, multicast, and those that carry one."""
    assert not is_public(address)


def test_literal_address_resolves_to_itself() -> None:
    """Also without a name service."""
    assert resolve("127.0.0.1", 80, timeout_seconds=5) == ["127.0.0.1"]


def test_name_that_cannot_be_encoded_has_no_address() -> None:
    """It fails like any unknown name."""
    with pytest.raises(OSError, match="label"):
        resolve("a" * 70 + ".invalid", 80, timeout_seconds=5)
