"""Options of jobs that the server could not show again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.security.test_tenants import call
from tests.servers.applications import stop_queues

from spanwise import KnowledgeBase
from spanwise.server.app import app_of

KB = "/v1/knowledge-bases/shared"
PLACEHOLDER = 12345.5


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "1e300"])
@pytest.mark.parametrize("field", ["delay_seconds", "max_seconds"])
def test_a_number_that_is_no_time_is_refused(tmp_path: Path, number: str, field: str) -> None:
    """JSON has no form of it, so no list of jobs could be read again."""
    with KnowledgeBase(tmp_path / "shared.kb") as base:
        app = app_of({"shared": base})
        body = {"url": "https://docs.invalid/", "crawl": {field: PLACEHOLDER}}
        text = json.dumps(body).replace(str(PLACEHOLDER), number)
        headers = {"Content-Type": "application/json"}
        response = call(app, "", "POST", f"{KB}/documents", content=text, headers=headers)
        stop_queues(app)
        assert response.status_code == 422
        assert call(app, "", "GET", f"{KB}/jobs").json()["jobs"] == []
