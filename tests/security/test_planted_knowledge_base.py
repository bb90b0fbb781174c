"""A knowledge base that somebody else made sends nothing to the address of its embedder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.servers.scripted import Received, Reply, ScriptedServer

from spanwise import KnowledgeBase
from spanwise.cli.main import main
from spanwise.errors import FormatError, OptionError, UntrustedAddressError

KEY = "key-of-the-user"


def vectors(received: Received) -> Reply:
    data = [
        {"object": "embedding", "index": at, "embedding": [1.0, 0.5, float(len(text) % 7)]}
        for at, text in enumerate(received.body["input"])
    ]
    body = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1}}
    return Reply(
        body=json.dumps(body | {"usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode()
    )


@dataclass
class NamedEmbedder:
    """An embedder on this machine that bears any name."""

    name: str
    version: str = "1"
    dimension: int = 3

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), 3), dtype=np.float32)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(vectors) as server:
        yield server


def become(user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / user))


@pytest.fixture(autouse=True)
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ScriptedServer) -> Path:
    """Return a knowledge base of a stranger, and work beside it as another user."""
    for name in [name for name in os.environ if name.startswith("SPANWISE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    become("stranger", tmp_path, monkeypatch)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    path = tmp_path / "work" / "spanwise.kb"
    with KnowledgeBase(path, embedder=f"compatible:x@{server.url}/v1") as base:
        base.add_text("Margins fell because freight cost more.", document_id="note")
    server.received.clear()
    become("user", tmp_path, monkeypatch)
    return path


def test_a_planted_knowledge_base_receives_nothing(
    planted: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (planted.parent / "salaries.txt").write_text("Salaries of all.", encoding="utf-8")
    for words in (
        ["search", "why did margins fall"],
        ["excerpts", "why did margins fall"],
        ["explain", "why did margins fall"],
        ["add", "salaries.txt"],
        ["sync", "."],
    ):
        assert main([*words, "--json"]) == 1
        error = json.loads(capsys.readouterr().out)["error"]
        assert error["code"] == "untrusted_address"
        assert f"spanwise config trust {server.url}" in error["message"]
    assert server.received == []


def test_what_contacts_nothing_works(planted: Path, server: ScriptedServer) -> None:
    """Whoever looks into it before trusting it can do so."""
    for words in (["list"], ["info"], ["show", "note"], ["doctor"]):
        assert main([*words, "--json"]) == 0
    assert server.received == []


def test_the_library_refuses_it_with_the_address(planted: Path, server: ScriptedServer) -> None:
    with KnowledgeBase(planted) as base:
        with pytest.raises(UntrustedAddressError) as raised:
            base.search("why did margins fall")
        with pytest.raises(UntrustedAddressError):
            base.add_text("Salaries of all.", document_id="salaries")
    assert raised.value.address == server.url
    assert server.received == []


def test_naming_the_embedder_approves_its_address(planted: Path, server: ScriptedServer) -> None:
    with KnowledgeBase(planted, embedder=f"compatible:x@{server.url}/v1") as base:
        assert base.search("why did margins fall").segments
    with KnowledgeBase(planted) as base:
        assert base.search("why did margins fall").segments
    assert server.received


def test_the_command_approves_the_address(
    planted: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "trust", f"{server.url}/v1"]) == 0
    capsys.readouterr()
    assert main(["search", "why did margins fall"]) == 0
    assert main(["config", "--json"]) == 0
    assert server.url in capsys.readouterr().out
    assert main(["config", "untrust", server.url]) == 0
    assert main(["search", "why did margins fall"]) == 1


def test_the_environment_approves_addresses(
    planted: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container, whose user has no folder."""
    for name in ("XDG_CONFIG_HOME", "APPDATA", "HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    with KnowledgeBase(planted) as base, pytest.raises(UntrustedAddressError):
        base.search("why did margins fall")
    monkeypatch.setenv("SPANWISE_TRUSTED_ADDRESSES", f"http://gpu:8000, {server.url.upper()}/v1")
    with KnowledgeBase(planted) as base:
        assert base.search("why did margins fall").segments
    monkeypatch.setenv("SPANWISE_TRUSTED_ADDRESSES", "gpu")
    with KnowledgeBase(planted) as base, pytest.raises(OptionError, match="TRUSTED_ADDRESSES"):
        base.search("why did margins fall")


@pytest.mark.parametrize(
    "other", ["https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://localhost:{port}"]
)
def test_another_origin_approves_nothing(
    planted: Path, server: ScriptedServer, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = server.url.rpartition(":")[2]
    monkeypatch.setenv("SPANWISE_TRUSTED_ADDRESSES", other.format(port=port))
    with KnowledgeBase(planted) as base, pytest.raises(UntrustedAddressError):
        base.search("why did margins fall")
    assert server.received == []


def test_what_cannot_be_recorded_is_a_warning(
    planted: Path,
    tmp_path: Path,
    server: ScriptedServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "user").write_text("no folder")
    with KnowledgeBase(planted, embedder=f"compatible:x@{server.url}/v1") as base:
        assert base.search("why did margins fall").segments
    assert "SPANWISE_TRUSTED_ADDRESSES" in caplog.text
    with KnowledgeBase(planted) as base, pytest.raises(UntrustedAddressError):
        base.search("why did margins fall")


@pytest.mark.parametrize("first", ["@http://trusted:1", "@https://trusted"])
def test_the_address_that_is_checked_is_the_one_that_is_called(
    tmp_path: Path, server: ScriptedServer, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name with two addresses is refused, also if one of them is trusted."""
    become("stranger", tmp_path, monkeypatch)
    path = tmp_path / "other.kb"
    embedder = NamedEmbedder(name=f"compatible:x{first}@{server.url}/v1")
    with KnowledgeBase(path, embedder=embedder) as base:
        base.add_text("Margins fell.", document_id="note")
    become("user", tmp_path, monkeypatch)
    monkeypatch.setenv("SPANWISE_TRUSTED_ADDRESSES", first.removeprefix("@"))
    server.received.clear()
    with KnowledgeBase(path) as base, pytest.raises((OptionError, UntrustedAddressError)):
        base.search("why did margins fall")
    assert server.received == []


def test_the_command_that_an_error_proposes_is_safe_to_paste(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger chose the host that it names."""
    become("stranger", tmp_path, monkeypatch)
    host = "http://a$(touch,theirs)"
    embedder = NamedEmbedder(name=f"compatible:x@{host}")
    with KnowledgeBase(tmp_path / "other.kb", embedder=embedder) as base:
        base.add_text("Margins fell.", document_id="note")
    with (
        KnowledgeBase(tmp_path / "other.kb") as base,
        pytest.raises(UntrustedAddressError) as raised,
    ):
        base.search("why did margins fall")
    assert f"spanwise config trust '{host}'" in str(raised.value)


@pytest.mark.parametrize("vendor", ["sentence-transformers", "fastembed", "minilm"])
def test_a_recorded_folder_is_not_loaded_as_a_model(vendor: str, tmp_path: Path) -> None:
    """Libraries of local models may run code that lies in such a folder."""
    path = tmp_path / "folder.kb"
    for model in ("./model", str(tmp_path), "~/model"):
        embedder = NamedEmbedder(f"{vendor}:{model}")
        with KnowledgeBase(path, embedder=embedder) as base:
            base.add_text("Margins fell.", document_id="note")
            assert base.search("margins").segments
        with KnowledgeBase(path) as base:
            with pytest.raises(UntrustedAddressError, match="could run code"):
                base.search("margins")
            assert base.get("note").text
        shutil.rmtree(path)


def test_an_index_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Files that the index does not name are deleted; those of another folder must stay."""
    path, other = tmp_path / "linked.kb", tmp_path / "other"
    with KnowledgeBase(path, embedder=None) as base:
        base.add_text("Margins fell.", document_id="note")
        base.compact()
    other.mkdir()
    (other / "1-2-abc.part").write_text("kept")
    shutil.rmtree(path / "index")
    (path / "index").symlink_to(other, target_is_directory=True)
    with pytest.raises(FormatError, match="is a link"):
        KnowledgeBase(path)
    assert (other / "1-2-abc.part").read_text() == "kept"
