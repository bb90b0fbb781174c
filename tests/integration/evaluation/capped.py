"""The small real model, whose answers end early: it would write on until its limit."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from tests.servers.llama import LlamaServer
from tests.servers.scripted import Received, Reply

__all__ = ["capped"]


def capped(llama: LlamaServer, *, max_tokens: int = 100) -> Callable[[Received], Reply]:
    """Return what hands requests on to the model, for answers of at most so many tokens."""

    def reply(received: Received) -> Reply:
        limits = {
            name: min(received.body[name], max_tokens)
            for name in ("max_tokens", "max_completion_tokens")
            if name in received.body
        }
        body = {**received.body, **limits}
        said = httpx.post(f"{llama.url}{received.path}", json=body, timeout=600)
        return Reply(body=said.content, status=said.status_code)

    return reply
