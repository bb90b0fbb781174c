"""Which keys go where."""

from __future__ import annotations

import pytest

from spanwise.models.providers.addresses import find_place
from spanwise.models.providers.catalog import parse_model_spec

KEY = "of-no-use"


@pytest.mark.parametrize(
    ("name", "goes"),
    [
        ("compatible:m@http://127.0.0.1:8000/v1", True),
        ("compatible:m@http://192.168.0.7:8000/v1", True),
        ("compatible:m@https://api.example.com/v1", True),  # the environment names it
        ("compatible:m@https://api.example.com/v2", False),
        ("compatible:m@https://evil.example/v1", False),
        ("compatible:m@http://8.8.8.8/v1", False),
        ("compatible:m", True),
    ],
)
def test_a_key_goes_to_no_public_address_that_a_name_brings(
    name: str, goes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    monkeypatch.setenv("COMPATIBLE_BASE_URL", "https://api.example.com/v1/")
    spec = parse_model_spec(name)
    address, secret = find_place(spec)
    assert address == (spec.address or "https://api.example.com/v1")
    assert (secret is not None) == goes


def test_the_address_of_a_vendor_gets_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    address, secret = find_place(parse_model_spec("openai:gpt-5-mini"))
    assert address == ""
    assert secret is not None
    assert secret.reveal() == KEY
