"""Every language model keeps its promises: the double, the adapter, a model with a fallback."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.servers.scripted import ScriptedServer, chat, failure

from spanwise.models.ports import LanguageModel
from spanwise.models.registry import make_language_model
from spanwise.options import ModelOptions
from spanwise.testing.language_models import LanguageModelSuite
from spanwise.testing.models import ScriptedModel

ANSWER = json.dumps({"title": "Dues"})


class TestScriptedModel(LanguageModelSuite):
    @pytest.fixture
    def model(self) -> LanguageModel:
        return ScriptedModel(lambda _: ANSWER)


class TestVendorModel(LanguageModelSuite):
    @pytest.fixture
    def model(self) -> Iterator[LanguageModel]:
        with ScriptedServer(chat(ANSWER)) as server:
            yield make_language_model(
                f"compatible:small@{server.url}/v1", options=ModelOptions(concurrency=4)
            )


class TestFallbackModel(LanguageModelSuite):
    @pytest.fixture
    def model(self) -> Iterator[LanguageModel]:
        with ScriptedServer(failure(500)) as broken, ScriptedServer(chat(ANSWER)) as server:
            options = ModelOptions(retries=0, fallback=f"compatible:small@{server.url}/v1")
            yield make_language_model(f"compatible:large@{broken.url}/v1", options=options)
