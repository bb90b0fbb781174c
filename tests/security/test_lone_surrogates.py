"""Texts with lone surrogates, which UTF-8 cannot represent: refused at each entry.

They come from JSON ("\\ud800"), from bytes that Python read with `surrogateescape`, such as
arguments of a command, and from codecs such as UTF-7. Parsers replace them by U+FFFD.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.security.test_tenants import call
from tests.servers.applications import serving

from spanwise import (
    GivenChunk,
    GivenContext,
    GivenParts,
    KnowledgeBase,
    connect,
    parse_text,
)
from spanwise.errors import DocumentNotFoundError, OptionError
from spanwise.server.app import app_of

TEXT = "The pier of Ostend is 30 m long."
HALF = st.integers(0xD800, 0xDFFF).map(chr)
BROKEN = st.builds(
    lambda before, half, after: before + half + after,
    st.text("abc \n", max_size=5),
    HALF,
    st.text("abc", max_size=5),
)
"""Texts with exactly one surrogate."""


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    """Return a knowledge base with an embedder whose tokenizer refuses lone surrogates."""
    with KnowledgeBase(":memory:", embedder="minilm") as opened:
        opened.add_text(TEXT, document_id="a?b", metadata={"town": "Ostend"})
        yield opened


REFUSED: dict[str, Callable[[KnowledgeBase, str], object]] = {
    "text": lambda kb, bad: kb.add_text(bad, document_id="new"),
    "id": lambda kb, bad: kb.add_text(TEXT, document_id=bad),
    "title": lambda kb, bad: kb.add_text(TEXT, document_id="new", title=bad),
    "metadata": lambda kb, bad: kb.add_text(TEXT, document_id="new", metadata={"a": bad}),
    "list": lambda kb, bad: kb.add_text(TEXT, document_id="new", metadata={"a": ["b", bad]}),
    "field": lambda kb, bad: kb.add_text(TEXT, document_id="new", metadata={bad: "b"}),
    "given title": lambda kb, bad: kb.add_text(
        TEXT, document_id="new", given=GivenParts(title=bad)
    ),
    "given context": lambda kb, bad: kb.add_text(
        TEXT,
        document_id="new",
        given=GivenParts(contexts=(GivenContext(start=0, end=len(TEXT), text=bad),)),
    ),
    "chunk": lambda kb, bad: kb.add_chunks("new", [TEXT, bad]),
    "heading of a chunk": lambda kb, bad: kb.add_chunks(
        "new", [GivenChunk(text=TEXT, headings=(bad,))]
    ),
    "title of chunks": lambda kb, bad: kb.add_chunks("new", [TEXT], title=bad),
    "id of a stream": lambda kb, bad: kb.add(io.BytesIO(TEXT.encode()), document_id=bad),
    "new title": lambda kb, bad: kb.update_metadata(["a?b"], {}, title=bad),
    "new value": lambda kb, bad: kb.update_metadata(["a?b"], {"town": bad}),
    "question": lambda kb, bad: kb.search(bad),
    "further query": lambda kb, bad: kb.search("pier", more_queries=[bad]),
    "question for excerpts": lambda kb, bad: kb.excerpts(bad),
    "question to explain": lambda kb, bad: kb.explain(bad),
    "thread": lambda kb, bad: kb.ask("Where?", thread=bad),
    "quote": lambda kb, bad: kb.locate(
        {"document_id": "a?b", "start": 0, "end": len(bad), "quote": bad}
    ),
    "title of a parsed text": lambda _, bad: parse_text(TEXT, title=bad),
}


@pytest.mark.parametrize("entry", REFUSED)
@settings(max_examples=8, deadline=None)
@given(bad=BROKEN)
def test_every_entry_refuses_a_lone_surrogate(base: KnowledgeBase, entry: str, bad: str) -> None:
    with pytest.raises(OptionError):
        REFUSED[entry](base, bad)
    assert [record.id for record in base.list()] == ["a?b"]


PATHS: dict[str, Callable[[KnowledgeBase, Path], object]] = {
    "knowledge base": lambda _, path: KnowledgeBase(path),
    "backup": lambda kb, path: kb.backup(path),
    "copy": lambda kb, path: kb.copy_to(path),
    "export": lambda kb, path: kb.export_to(path),
    "import": lambda kb, path: kb.import_from(path),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has files with such names")
@pytest.mark.parametrize("name", ["a\ud800", "a\0"], ids=["surrogate", "NUL"])
@pytest.mark.parametrize("entry", PATHS)
def test_a_path_that_no_file_can_have_is_refused(entry: str, name: str, tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "own.kb", embedder=None) as own, pytest.raises(OptionError):
        PATHS[entry](own, tmp_path / name)


def test_a_client_refuses_them_too_and_means_no_other_document(base: KnowledgeBase) -> None:
    """Their replacement by "?" would name the document "a?b"."""
    bad = "a\ud800b"
    with serving(app_of({"default": base})) as url, connect(url) as remote:
        refused: list[Callable[[], object]] = [
            lambda: remote.add_text(TEXT, document_id=bad),
            lambda: remote.add_text(TEXT, document_id="new", title=bad),
            lambda: remote.add_chunks("new", [TEXT], title=bad),
            lambda: remote.add(io.BytesIO(TEXT.encode()), document_id=bad),
            lambda: remote.search(bad),
        ]
        for send in refused:
            with pytest.raises(OptionError):
                send()
        with pytest.raises(DocumentNotFoundError):
            remote.get(bad)
        assert remote.remove(bad) == ()
        assert [record.id for record in remote.list()] == ["a?b"]
        with pytest.raises(OptionError, match="give an address"):
            connect(f"{url}/\ud800")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "texts", {"document_id": "new", "text": TEXT, "title": "a\ud800"}),
        ("PUT", "chunks", {"document_id": "new", "chunks": [TEXT], "title": "a\ud800"}),
        ("PUT", "texts", {"document_id": "new", "text": "a\ud800"}),
        ("POST", "search", {"question": "a\ud800"}),
        ("POST", "metadata", {"documents": ["a?b"], "fields": {"a": "\ud800"}}),
    ],
)
def test_escapes_in_json_are_refused_by_the_server(
    base: KnowledgeBase, method: str, path: str, body: dict[str, Any]
) -> None:
    response = call(
        app_of({"default": base}),
        "",
        method,
        f"/v1/knowledge-bases/default/{path}",
        content=json.dumps(body),
        headers={"Content-Type": "application/json"},
    )
    assert response.status_code in (400, 422)
    assert "surrogate" in response.text or "UTF-8" in response.text
    assert "TypeError" not in response.text


def test_escapes_in_the_arguments_of_an_agent_are_refused(base: KnowledgeBase) -> None:
    arguments = {"document_id": "new", "text": TEXT, "title": "a\ud800"}
    params = {"name": "add_text", "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with serving(app_of({"default": base})) as url:
        accept = "application/json, text/event-stream"
        answer = httpx.post(f"{url}/mcp", content=json.dumps(message), headers={"Accept": accept})
    assert answer.status_code < 500
    assert "TypeError" not in answer.text
    assert [record.id for record in base.list()] == ["a?b"]


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are not bytes there")
@pytest.mark.parametrize(
    "arguments",
    [
        [b"add", b"-", b"--id", b"a\xff"],
        [b"add", b"-", b"--id", b"a", b"--metadata", b"a=\xff"],
        [b"search", b"pier \xff"],
    ],
)
def test_bytes_of_a_command_that_are_no_text_are_refused(
    arguments: list[bytes], tmp_path: Path
) -> None:
    with KnowledgeBase(tmp_path / "own.kb", embedder=None) as own:
        own.add_text(TEXT, document_id="a")
    place = os.fsencode(tmp_path / "own.kb")
    command = [os.fsencode(sys.executable), b"-m", b"spanwise", *arguments, b"--kb", place]
    ended = subprocess.run(command, input=b"A text.", capture_output=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"spanwise: ")
    assert b"Traceback" not in ended.stderr


MAILS = {
    "word of UTF-7": b"Subject: Pier =?utf-7?Q?+2AA-?=\n\nThe pier is long.",
    "word of escapes": b"Subject: Pier =?unicode_escape?Q?=5Cud800?=\n\nThe pier is long.",
    "body in UTF-7": b"Subject: Pier\nContent-Type: text/plain; charset=utf-7\n\nPier +2AA-",
    "body of escapes": b"Subject: Pier\nContent-Type: text/plain; charset=unicode_escape\n\n"
    b"Pier \\ud800",
}


@pytest.mark.parametrize("data", MAILS.values(), ids=MAILS)
def test_a_parser_returns_none_of_any_charset(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "pier.eml").write_bytes(data)
    with KnowledgeBase(":memory:", embedder="minilm") as own:
        report = own.add(tmp_path / "pier.eml")
        assert report.added == ("pier.eml",)
        own.get("pier.eml").text.encode()
        own.record("pier.eml").title.encode()
