"""A model server cannot redirect an API key, or the text of a request, to another host."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from tests.servers.scripted import Received, Reply, ScriptedServer

from spanwise.errors import ModelError
from spanwise.models.ports import ContextualEmbedder, ModelRequest
from spanwise.models.registry import make_embedder, make_language_model, make_reranker
from spanwise.options import ModelOptions

KEY = "of-no-use"
ONCE = ModelOptions(retries=0, timeout_seconds=20)
REQUEST = ModelRequest(task="title", instructions="Give a title.", prompt="Some text.")


def generate(url: str) -> object:
    return make_language_model(f"compatible:m@{url}/v1", options=ONCE).generate(REQUEST)


def stream(url: str) -> object:
    return list(make_language_model(f"compatible:m@{url}/v1", options=ONCE).stream(REQUEST))


def embed(url: str) -> object:
    embedder = make_embedder(f"compatible:m@{url}/v1", options=ONCE)
    return cast("ContextualEmbedder", embedder).embed_texts(["Some text."], kind="document")


def rerank(url: str) -> object:
    return make_reranker(f"server:m@{url}/v1", options=ONCE).rerank("Why?", ["Some text."])


@pytest.mark.parametrize("call", [generate, stream, embed, rerank])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_and_is_not_followed(
    call: Callable[[str], object], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    monkeypatch.setenv("RERANK_API_KEY", KEY)
    with ScriptedServer(Reply(body=b"{}")) as other:
        target = other.url.replace("127.0.0.1", "localhost")

        def redirect(received: Received) -> Reply:
            return Reply(body=b"{}", status=status, headers={"Location": target + received.path})

        with ScriptedServer(redirect) as server, pytest.raises(ModelError):
            call(server.url)
    (received,) = server.received
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert other.received == []
