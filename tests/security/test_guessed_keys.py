"""Guesses of keys: hashes decide, every comparison takes constant time, and near misses fail."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import httpx
import pytest
from tests.servers.running import running

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys


def ring_of(folder: Path, *, keys: int) -> tuple[KeyRing, list[str]]:
    """Return a ring, and the texts of its keys."""
    file = folder / "keys.json"
    texts = [add_key(file, f"key{number}", role="read") for number in range(keys)]
    return KeyRing(read_keys(file)), texts


def test_constant_time_comparisons_of_hashes_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key is compared, also after a match, and no comparison sees the text of a key."""
    ring, texts = ring_of(tmp_path, keys=5)
    compared: list[tuple[str, str]] = []
    real = hmac.compare_digest

    def watched(one: str, other: str) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    stored = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    for token in (texts[0], texts[4], texts[2][:-1], "", "x" * 100_000):
        compared.clear()
        found = ring.find(token)
        assert (found is not None) == (token in texts)
        digest = hashlib.sha256(token.encode()).hexdigest()
        assert compared == [(one, digest) for one in stored]
    monkeypatch.setattr(hmac, "compare_digest", lambda *_: False)
    assert ring.find(texts[0]) is None
    monkeypatch.setattr(hmac, "compare_digest", lambda *_: True)
    assert ring.find("wrong") is not None


def test_near_misses_of_a_key_are_refused(tmp_path: Path) -> None:
    ring, (key, other) = ring_of(tmp_path, keys=2)
    stored = read_keys(tmp_path / "keys.json")[0]
    guesses = [
        "",
        "Bearer",
        "Bearer -",
        f"Bearer {key[:-1]}",
        f"Bearer {key}x",
        f"Bearer {key[:9]}",
        f"Bearer {key.swapcase()}",
        f"Bearer {key}, Bearer {other}",
        f"Bearer {key} {other}",
        f"Bearer {stored.hash}",
        f"Bearer {stored.name}",
        f"Bearer {key}\u00e9",
        f"Basic {key}",
        f"Bearer *{key[1:]}",
        key,
    ]
    with (
        KnowledgeBase(":memory:", embedder=None) as base,
        running(app_of({"shared": base}, keys=ring)) as url,
        httpx.Client(base_url=url) as client,
    ):
        path = "/v1/knowledge-bases"
        refused = [
            client.get(path, headers={b"Authorization": guess.encode("utf-8")}) for guess in guesses
        ]
        refused.append(client.get(path, params={"key": key, "authorization": f"Bearer {key}"}))
        refused.append(client.get(path, headers={"Cookie": f"Authorization=Bearer {key}"}))
        assert {response.status_code for response in refused} == {401}
        assert len({response.text for response in refused}) == 1, "no guess is told from another"
        assert client.get(path, headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_the_key_of_a_request_is_one(tmp_path: Path) -> None:
    """With two keys in a request, none of its checks may use another one than the others."""
    file = tmp_path / "keys.json"
    reader = add_key(file, "reader", role="read")
    writer = add_key(file, "writer", role="write")
    ring = KeyRing(read_keys(file))
    body = {"document_id": "a.md", "text": "A text. " * 200_000}
    with (
        KnowledgeBase(":memory:", embedder=None) as base,
        running(app_of({"shared": base}, keys=ring)) as url,
    ):
        for first, second in ((reader, writer), (writer, reader), (reader, "x"), ("x", reader)):
            headers = [("Authorization", f"Bearer {key}") for key in (first, second)]
            path = f"{url}/v1/knowledge-bases/shared/texts"
            response = httpx.put(path, json=body, headers=headers)
            assert response.status_code == 401
        assert base.list() == []
