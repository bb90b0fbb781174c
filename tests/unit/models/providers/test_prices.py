"""What calls cost, by the list inside the package."""

from __future__ import annotations

import pytest

from spanwise.models.providers.catalog import parse_model_spec
from spanwise.models.providers.prices import price


def cost(name: str, *, cached: int = 0, in_batch: bool = False) -> float | None:
    spec = parse_model_spec(name)
    return price(
        spec,
        address=spec.address,
        input_tokens=1_000_000,
        output_tokens=1_000_000,
        cache_tokens=(cached, 0),
        in_batch=in_batch,
    )


@pytest.mark.parametrize(
    "name",
    [
        "openai:gpt-5-mini",
        "anthropic:claude-sonnet-4-6",
        "google:gemini-2.5-flash",
        "cohere:command-a-03-2025",
        "mistral:mistral-small-latest",
        "bedrock:us.amazon.nova-lite-v1:0",
        "deepseek:deepseek-chat",
        "openrouter:openai/gpt-5-mini",
    ],
)
def test_the_price_of_a_known_model_is_known(name: str) -> None:
    found = cost(name)
    assert found is not None
    assert 0.01 < found < 100


def test_input_from_the_cache_costs_less() -> None:
    whole, cached = cost("openai:gpt-5-mini"), cost("openai:gpt-5-mini", cached=900_000)
    assert whole is not None
    assert cached is not None
    assert cached < whole


@pytest.mark.parametrize("name", ["openai:gpt-5-mini", "anthropic:claude-sonnet-4-6"])
def test_a_batch_costs_half(name: str) -> None:
    whole, batch = cost(name), cost(name, in_batch=True)
    assert whole is not None
    assert batch == pytest.approx(whole / 2)


def test_a_server_of_ones_own_costs_nothing() -> None:
    assert cost("compatible:qwen3@http://localhost:8000/v1") == 0


@pytest.mark.parametrize(
    "name", ["openai:no-such-model", "compatible:qwen3@https://models.example.com/v1"]
)
def test_an_unknown_price_is_not_zero(name: str) -> None:
    assert cost(name) is None
