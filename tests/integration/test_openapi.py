"""Requests made from the OpenAPI document: no crash, and responses as documented."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]


@pytest.fixture(scope="module")
def app() -> Iterator[FastAPI]:
    with KnowledgeBase(":memory:") as opened:
        opened.add(REPORTS)
        opened.update_metadata(["handbook.md"], {"team": "hr", "tags": ["a"], "year": 2023})
        yield app_of({"default": opened}, llm=ScriptedModel(capable_answer))


@pytest.fixture(scope="module")
def api(app: FastAPI) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_asgi("/v1/openapi.json", app)


LIMITS = settings(
    max_examples=10,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


OPEN = {"/healthz", "/readyz"}


def test_routes_that_need_a_key_name_its_scheme(app: FastAPI, tmp_path: Path) -> None:
    """A server without keys accepts requests with and without one."""
    file = tmp_path / "keys.json"
    add_key(file, "reader", role="read")
    guarded = app_of({}, keys=KeyRing(read_keys(file)))
    with_key: list[dict[str, list[str]]] = [{"key": []}]
    for described, security in ((guarded, with_key), (app, [*with_key, {}])):
        document = described.openapi()
        scheme = document["components"]["securitySchemes"]["key"]
        assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
        for path, operations in document["paths"].items():
            for operation in operations.values():
                assert operation.get("security") == (None if path in OPEN else security), path
                assert ("401" in operation["responses"]) == (path not in OPEN)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_requests_of_the_document(api: schemathesis.BaseSchema, mode: GenerationMode) -> None:
    count = 0
    for found in api.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]
        if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query):
            continue  # every text is a valid part of a path

        @LIMITS
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            if "kb" in case.path_parameters:
                case.path_parameters["kb"] = "default"
            response = case.call_and_validate(checks=CHECKS)
            # 502: the scripted model has no answer to this question.
            assert response.status_code < 500 or response.status_code == 502

        check()
        count += 1
    assert count > 10
