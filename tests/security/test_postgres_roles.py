"""Roles of PostgreSQL with few rights, and wrong passwords: clear errors without secrets."""

from __future__ import annotations

import logging
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from tests.security.test_tenants import call
from tests.servers.capable import capable_answer
from tests.servers.postgres import postgres_server

from spanwise import KnowledgeBase
from spanwise.errors import StorePermissionError, StoreUnavailableError
from spanwise.server.app import app_of
from spanwise.stores.postgres.store import open_postgres
from spanwise.testing.models import ScriptedModel

KB = "/v1/knowledge-bases/shared"
SECRET = "hunter2-of-the-database"


@pytest.fixture
def reader(postgres_url: str) -> Iterator[str]:
    """Return the address of a role that may only read."""
    suffix = secrets.token_hex(4)
    schema, name = f"roles_{suffix}", f"reader_{suffix}"
    with KnowledgeBase(f"{postgres_url}?schema={schema}", embedder=None) as base:
        base.add_text("The pier is 30 m long.", document_id="pier.md")
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        role, place = sql.Identifier(name), sql.Identifier(schema)
        admin.execute(sql.SQL("create role {} login bypassrls").format(role))
        admin.execute(sql.SQL("grant usage on schema {} to {}").format(place, role))
        grant = sql.SQL("grant select on all tables in schema {} to {}")
        admin.execute(grant.format(place, role))
        yield postgres_url.replace("postgres@", f"{name}@") + f"?schema={schema}"
        admin.execute(sql.SQL("drop schema {} cascade").format(place))
        admin.execute(sql.SQL("drop owned by {0}; drop role {0}").format(role))


def test_a_role_that_only_reads_answers_questions_and_refuses_changes(reader: str) -> None:
    with KnowledgeBase(reader, create=False) as base:
        app = app_of({"shared": base}, llm=ScriptedModel(capable_answer))
        question = {"question": "How long is the pier?"}
        for route in ("search", "excerpts", "explain", "ask"):
            answered = call(app, "", "POST", f"{KB}/{route}", json=question)
            assert answered.status_code == 200, answered.text
        text = {"document_id": "a.md", "text": "A text."}
        files = {"file": ("a.md", b"A text.")}
        refused = [
            call(app, "", "POST", f"{KB}/documents", files=files),
            call(app, "", "POST", f"{KB}/documents", json={"url": "http://192.0.2.1/"}),
            call(app, "", "PUT", f"{KB}/texts", json=text),
            call(app, "", "PUT", f"{KB}/chunks", json={"document_id": "a", "chunks": ["A."]}),
            call(app, "", "PATCH", f"{KB}/documents/pier.md", json={"fields": {"a": 1}}),
            call(app, "", "DELETE", f"{KB}/documents/pier.md"),
            call(app, "", "POST", f"{KB}/packs", json={"names": ["contracts"]}),
        ]
        for response in refused:
            assert response.status_code == 403, response.text
            assert response.json()["code"] == "store_permission"
            assert "reader_" not in response.text, "the role is not shown"
        with pytest.raises(StorePermissionError, match="grant"):
            base.add_text("A text.", document_id="a.md")
        assert [record.id for record in base.list()] == ["pier.md"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that the server can read, also where it runs as another user."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_wrong_password_is_named_and_not_shown(
    open_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rules = open_folder / "rules"
    rules.write_text(
        "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
    )
    rules.chmod(0o644)
    caplog.set_level(logging.DEBUG)
    with postgres_server(settings=(f"hba_file={rules}",)) as server:
        place = f"{server.address}/postgres"
        with psycopg.connect(place, autocommit=True) as admin:
            admin.execute("create extension vector")
            admin.execute(sql.SQL("create role app login password {}").format(SECRET))
            admin.execute("grant create on database postgres to app")
        right = place.replace("postgres@", f"app:{SECRET}@")
        with closing(open_postgres(right)) as store:
            for address, said in (
                (place.replace("postgres@", f"app:{SECRET}x@"), "password"),
                (place.replace("postgres@", "app@"), "password"),
            ):
                with pytest.raises(StoreUnavailableError, match=said) as caught:
                    open_postgres(address)
                error: BaseException | None = caught.value
                assert "login" in str(error)
                while error is not None:
                    assert SECRET not in f"{error} {error!r}"
                    error = error.__cause__ or error.__context__
            assert store.list_records() == []
    assert SECRET not in caplog.text
