"""What a model is called, and where it is."""

from __future__ import annotations

import pytest

from spanwise.errors import OptionError
from spanwise.models.providers.addresses import is_own_server
from spanwise.models.providers.catalog import parse_model_spec


@pytest.mark.parametrize(
    ("name", "vendor", "model", "address"),
    [
        ("openai:gpt-5-mini", "openai", "gpt-5-mini", ""),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b", ""),
        ("bedrock:us.amazon.nova-lite-v1:0", "bedrock", "us.amazon.nova-lite-v1:0", ""),
        ("openrouter:openai/gpt-5-mini", "openrouter", "openai/gpt-5-mini", ""),
        ("compatible:a@b@http://host:8000/v1/", "compatible", "a@b", "http://host:8000/v1"),
        ("ollama:qwen3@https://[::1]:11434/v1", "ollama", "qwen3", "https://[::1]:11434/v1"),
    ],
)
def test_a_name_has_a_vendor_a_model_and_maybe_an_address(
    name: str, vendor: str, model: str, address: str
) -> None:
    spec = parse_model_spec(name)
    assert (spec.vendor.name, spec.model, spec.address) == (vendor, model, address)
    assert spec.name == name.rstrip("/")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-5-mini", "begins with a vendor"),
        ("openai:", '"vendor:model"'),
        ("openai: ", '"vendor:model"'),
        ("compatible:@http://host/v1", '"vendor:model"'),
        ("compatible:m@http://", "is not an address"),
        ("compatible:m@http://host:99999999/v1", "is not an address"),
        ("compatible:m@http://[host/v1", "is not an address"),
        ("openai:gpt-5@http://host/v1", "only models of compatible and ollama"),
    ],
)
def test_a_name_that_is_not_usable_says_why(name: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        parse_model_spec(name)


@pytest.mark.parametrize(
    "address", ["http://user:hunter2@host/v1", "http://hunter2@host/v1", "http://host/v1?k=hunter2"]
)
def test_an_address_holds_no_secret_and_none_is_shown(address: str) -> None:
    with pytest.raises(OptionError, match="set the key in the environment") as caught:
        parse_model_spec(f"compatible:m@{address}")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:8000", True),
        ("http://[::1]:8000", True),
        ("http://192.168.1.4/v1", True),
        ("https://8.8.8.8/v1", False),
        ("", False),
    ],
)
def test_a_server_of_ones_own_is_known_by_its_address(address: str, own: bool) -> None:
    assert is_own_server(address) is own
