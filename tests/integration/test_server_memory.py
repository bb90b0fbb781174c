"""Memory of a server does not grow with the number of requests."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from itertools import permutations

import httpx

from spanwise import KnowledgeBase
from spanwise.server.app import app_of

REQUESTS = 40
MAX_BYTES = 100_000
"""Limit of growth: 2.5 kB a question. A result has more, and so has a word that is not cached."""
KB = "/v1/knowledge-bases/notes"
WORDS = ("freight", "pier", "lease", "bond", "audit", "steel", "grid", "tax")
QUESTIONS = [f"What did the {' and the '.join(some)} cost?" for some in permutations(WORDS, 3)]
"""Different questions with the same words: caches of words grow to their limits."""


async def send(client: httpx.AsyncClient, numbers: range) -> None:
    """Send different questions, and requests for things that do not exist."""
    for number in numbers:
        body = {"question": QUESTIONS[number], "deep": False}
        assert (await client.post(f"{KB}/search", json=body)).is_success
        body["where"] = f"year > {number}"
        assert (await client.post(f"{KB}/search", json=body)).is_success
        assert (await client.get(f"{KB}/documents/missing{number}")).is_client_error
        assert (await client.get(f"/v1/knowledge-bases/missing{number}")).is_client_error
        assert (await client.get(f"/missing/{number}")).is_client_error


async def growth_of(client: httpx.AsyncClient) -> tuple[int, int]:
    """Return the bytes and the lines of metrics that requests leave behind, after warming up."""
    await send(client, range(REQUESTS // 2))
    lines = len((await client.get("/metrics")).text.splitlines())
    gc.collect()
    tracemalloc.start()
    try:
        await send(client, range(REQUESTS // 2, REQUESTS // 2 + 5))
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await send(client, range(REQUESTS, 2 * REQUESTS))
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    return grown, len((await client.get("/metrics")).text.splitlines()) - lines


async def measure() -> tuple[int, int]:
    """Return the growth of a server with four documents."""
    with KnowledgeBase(":memory:") as base:
        for number in range(4):
            text = "\n\n".join(
                f"The {word} of {1900 + number} cost {number} dollars." for word in WORDS
            )
            base.add_text(text, document_id=f"note-{number}", metadata={"year": number})
        transport = httpx.ASGITransport(app=app_of({"notes": base}))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as one:
            return await growth_of(one)


def test_memory_does_not_grow_with_requests() -> None:
    """In a process of its own: threads of other tests allocate memory too."""
    code = (
        "import asyncio; from tests.integration.test_server_memory import measure;"
        "print(*asyncio.run(measure()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    grown, lines = map(int, done.stdout.split())
    assert grown < MAX_BYTES
    assert lines == 0, "labels of metrics name routes, not addresses"
