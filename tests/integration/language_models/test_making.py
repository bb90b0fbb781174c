"""Language models are made by name, with a key, before anything is sent."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points

import pytest

from spanwise.errors import ModelKeyError, OptionError
from spanwise.models.fallback import FallbackModel
from spanwise.models.providers.catalog import VENDORS
from spanwise.models.registry import make_language_model
from spanwise.options import ModelOptions


def test_every_vendor_is_registered() -> None:
    registered = {entry.name for entry in entry_points(group="spanwise.language_models")}
    assert registered >= set(VENDORS)


@pytest.mark.parametrize("name", sorted(VENDORS))
def test_a_language_model_of_every_vendor_is_made_without_a_call(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in VENDORS[name].keys:
        monkeypatch.setenv(variable, "sk-test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("COMPATIBLE_BASE_URL", "http://127.0.0.1:9/v1")
    model = make_language_model(f"{name}:maker/some-model", options=ModelOptions(concurrency=7))
    assert model.name == f"{name}:maker/some-model"
    assert model.concurrency == 7


@pytest.mark.parametrize("name", sorted(name for name in VENDORS if VENDORS[name].needs_key))
def test_a_missing_key_is_named_before_any_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VENDORS[name].keys:
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelKeyError, match=VENDORS[name].keys[0]):
        make_language_model(f"{name}:maker/some-model", options=ModelOptions())


def test_missing_credentials_of_bedrock_are_named_before_any_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
    with pytest.raises(ModelKeyError, match="AWS_ACCESS_KEY_ID"):
        make_language_model("bedrock:some-model", options=ModelOptions())


def test_a_fallback_is_made_with_its_model() -> None:
    options = ModelOptions(fallback="ollama:other")
    model = make_language_model("ollama:some", options=options)
    assert isinstance(model, FallbackModel)
    assert (model.model.name, model.second.name) == ("ollama:some", "ollama:other")


@pytest.mark.parametrize("name", ["", "gpt-5", "oracle:9"])
def test_an_unknown_language_model_names_the_vendors_there_are(name: str) -> None:
    with pytest.raises(OptionError, match=f"language model is {name!r}.*known: .*openai"):
        make_language_model(name, options=ModelOptions())


def test_a_client_that_is_not_installed_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-test-of-a-missing-client")
    monkeypatch.setitem(sys.modules, "pydantic_ai.providers.mistral", None)
    with pytest.raises(OptionError, match=r"pip install 'spanwise\[mistral\]'") as refused:
        make_language_model("mistral:some-model", options=ModelOptions())
    assert "None" not in str(refused.value), "pydantic-ai tells it without the name of the package"
