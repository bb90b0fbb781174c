"""Embedders of vendors, with exchanges written from their published references.

OpenAI  https://platform.openai.com/docs/api-reference/embeddings (Ollama and others speak it too)
Google  https://ai.google.dev/api/embeddings
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.servers.scripted import Received, Reply, ScriptedServer, busy, failure

from spanwise import KnowledgeBase
from spanwise.errors import EmbedderMismatchError, ModelError, ModelKeyError, OptionError
from spanwise.models.ports import Embedder
from spanwise.models.registry import make_embedder
from spanwise.options import ModelOptions

KEY = "key-that-must-not-be-shown"
OPTIONS = ModelOptions(timeout_seconds=5, retries=2, max_wait_seconds=2)
DIMENSION = 8


def vector(text: str) -> list[float]:
    """Return a vector that is the same for texts of the same words."""
    out = [0.1] * DIMENSION
    for word in text.lower().split():
        out[sum(map(ord, word)) % DIMENSION] += 1.0
    return out


def openai(received: Received) -> Reply:
    assert received.path.endswith("/embeddings")
    data = [
        {"object": "embedding", "index": at, "embedding": vector(text)}
        for at, text in enumerate(received.body["input"])
    ]
    body = {
        "object": "list",
        "data": data,
        "model": received.body["model"],
        "usage": {"prompt_tokens": 5 * len(data), "total_tokens": 5 * len(data)},
    }
    return Reply(body=json.dumps(body).encode())


def google(received: Received) -> Reply:
    assert "batchEmbedContents" in received.path
    texts = [one["content"]["parts"][0]["text"] for one in received.body["requests"]]
    body = {"embeddings": [{"values": vector(text)} for text in texts]}
    return Reply(body=json.dumps(body).encode())


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "COMPATIBLE_API_KEY"):
        monkeypatch.setenv(name, KEY)


def embedder_at(server: ScriptedServer) -> Embedder:
    return make_embedder(f"compatible:bge-small@{server.url}/v1", options=OPTIONS)


@pytest.mark.parametrize("vendor", ["openai", "ollama", "compatible"])
def test_the_interface_of_openai_is_read(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(openai) as server:
        monkeypatch.setenv(f"{vendor.upper()}_BASE_URL", f"{server.url}/v1")
        embedder = make_embedder(f"{vendor}:model", options=OPTIONS)
        vectors = embedder.embed(["margins fell", "boil eggs"])
    assert np.allclose(vectors, [vector("margins fell"), vector("boil eggs")])
    assert server.received[0].body["model"] == "model"
    if vendor != "ollama":
        assert server.received[0].headers["authorization"] == f"Bearer {KEY}"


def test_vectors_in_another_order_get_to_their_texts() -> None:
    def reordered(received: Received) -> Reply:
        body = json.loads(openai(received).body)
        return Reply(body=json.dumps({**body, "data": body["data"][::-1]}).encode())

    texts = ["margins fell", "boil eggs", "a"]
    with ScriptedServer(reordered) as server:
        assert np.allclose(embedder_at(server).embed(texts), [vector(text) for text in texts])


def test_google_is_told_which_side_of_a_search_a_text_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(google) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        with KnowledgeBase(":memory:", embedder="google:embedding-of-any-length") as base:
            base.add_text("Margins fell.", document_id="a")
            base.search("Why did margins fall?")
        kinds = [one.body["requests"][0]["taskType"] for one in server.received]
    assert kinds[:2] == ["RETRIEVAL_DOCUMENT"] * 2  # the first to know its length
    assert set(kinds[2:]) == {"RETRIEVAL_QUERY"}


def test_a_knowledge_base_is_made_searched_and_opened_again(tmp_path: Path) -> None:
    texts = {f"note-{number}": f"Plant {number} had costs. " * 60 for number in range(3)}
    with ScriptedServer(openai) as server:
        name = f"compatible:bge-small@{server.url}/v1"
        with KnowledgeBase(tmp_path / "a.kb", embedder=name) as base:
            reports = [base.add_text(text, document_id=name) for name, text in texts.items()]
            report = reports[0]
            assert report.usage.calls >= 1
            assert report.usage_by_task["embed"].input_tokens > 0
            assert report.usage.cost == 0.0
            result = base.search("costs of plant 2")
            assert result.segments[0].document_id == "note-2"
            assert result.usage.calls >= 1
            assert any("uncalibrated" in said for said in result.warnings)
            asked = len(server.received)
            assert base.search("costs of plant 2").usage.calls == 0
            assert len(server.received) == asked
        with KnowledgeBase(tmp_path / "a.kb") as base:
            assert base.search("costs of plant 2").segments == result.segments
            base.remove("note-1")
            assert base.add_text(texts["note-1"], document_id="note-1").usage.calls == 0
        assert len(server.received) == asked
    with pytest.raises(EmbedderMismatchError):
        KnowledgeBase(tmp_path / "a.kb", embedder="wordllama")


def test_a_chunk_is_embedded_under_its_header_and_kept_while_both_stay() -> None:
    text = "# Costs\n\n" + "Freight cost more. " * 60 + "\n\n# Staff\n\n" + "Pay rose. " * 60
    with (
        ScriptedServer(openai) as server,
        KnowledgeBase(":memory:", embedder=f"compatible:m@{server.url}/v1") as base,
    ):
        base.add_text(text, document_id="a", title="Report", media_type="text/markdown")
        sent = [one for received in server.received[1:] for one in received.body["input"]]
        assert all(one.startswith("Report\n") for one in sent)
        assert any("\nStaff\n\n" in one for one in sent)
        again = base.add_text(
            text + "The end.", document_id="a", title="Report", media_type="text/markdown"
        )
        assert again.chunks > again.kept_vectors > 0
        other = base.add_text(text, document_id="a", title="Review", media_type="text/markdown")
        assert (other.kept_vectors, other.embedded_chunks) == (0, other.chunks)


def test_where_it_fails_a_search_goes_on_by_keywords_and_says_so() -> None:
    is_down = False
    with ScriptedServer(lambda received: failure(500) if is_down else openai(received)) as server:
        name = f"compatible:bge-small@{server.url}/v1"
        with KnowledgeBase(":memory:", embedder=name, models=ModelOptions(retries=0)) as base:
            base.add_text("Margins fell because freight cost more.", document_id="note")
            is_down = True
            result = base.search("Why did margins fall?")
    assert result.segments[0].document_id == "note"
    assert any("searched by keywords alone, as the embedder failed" in w for w in result.warnings)


def test_a_knowledge_base_that_is_there_is_opened_without_a_call(tmp_path: Path) -> None:
    with ScriptedServer(openai) as server:
        name = f"compatible:of-any-length@{server.url}/v1"
        KnowledgeBase(tmp_path / "a.kb", embedder=name).close()
        asked = len(server.received)
        with KnowledgeBase(tmp_path / "a.kb", embedder=name) as base:
            assert base.info().settings["dimension"] == str(DIMENSION)
        assert asked == len(server.received) == 1


def test_a_question_whose_vector_has_another_length_is_searched_by_keywords(
    tmp_path: Path,
) -> None:
    added = 0

    def longer(received: Received) -> Reply:
        answer = json.loads(openai(received).body)
        for one in answer["data"]:
            one["embedding"] += [0.5] * added
        return Reply(body=json.dumps(answer).encode())

    with ScriptedServer(longer) as server:
        name = f"compatible:of-any-length@{server.url}/v1"
        with KnowledgeBase(tmp_path / "a.kb", embedder=name) as base:
            base.add_text("Margins fell because freight cost more.", document_id="note")
        added = 4
        with KnowledgeBase(tmp_path / "a.kb") as base:
            result = base.search("Why did margins fall?")
    assert result.segments[0].document_id == "note"
    assert any("of the shape (1, 12), and (1, 8) is expected" in said for said in result.warnings)


def test_many_texts_go_in_several_calls() -> None:
    with (
        ScriptedServer(openai) as server,
        KnowledgeBase(":memory:", embedder=f"compatible:m@{server.url}/v1") as base,
    ):
        said = [f"Sentence {number} says what plant {number} cost. " for number in range(1500)]
        report = base.add_text("".join(said), document_id="long")
        sizes = [len(one.body["input"]) for one in server.received]
    assert report.chunks > 96
    assert max(sizes) == 96
    assert sum(sizes) == report.chunks + 1  # its length was asked for by one call


def test_a_busy_provider_is_asked_again() -> None:
    with ScriptedServer(
        lambda received: busy(0) if len(server.received) < 3 else openai(received)
    ) as server:
        assert embedder_at(server).embed(["why"]).shape == (1, DIMENSION)
    assert len(server.received) == 3


def test_a_provider_that_stays_down_fails_in_the_end() -> None:
    with ScriptedServer(failure(500)) as server, pytest.raises(ModelError, match="answered 500"):
        embedder_at(server).embed(["why"])
    assert len(server.received) == 3


def test_a_refused_key_is_named_and_not_shown() -> None:
    with (
        ScriptedServer(failure(401, f"Incorrect API key provided: {KEY}")) as server,
        pytest.raises(ModelKeyError) as raised,
    ):
        embedder_at(server).embed(["why"])
    assert KEY not in f"{raised.value!r} {raised.value.__cause__!r}"


def test_a_missing_key_is_told_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr("spanwise.config.settings._from_keyring", lambda name: "")
    with pytest.raises(ModelKeyError, match="set OPENAI_API_KEY"):
        make_embedder("openai:text-embedding-3-small")


def test_a_length_that_is_published_needs_no_call() -> None:
    assert make_embedder("openai:text-embedding-3-small").dimension == 1_536


def test_a_name_without_model_is_refused() -> None:
    with pytest.raises(OptionError, match="vendor:model"):
        make_embedder("openai")
