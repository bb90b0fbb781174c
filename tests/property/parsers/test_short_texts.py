"""A short text that is read without the parsing process gives the answer of that process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.processes import request_header

from spanwise.errors import DocumentError
from spanwise.parsers.process.short_texts import read_short_text
from spanwise.parsers.process.worker import respond

PIECES = st.sampled_from(
    [b"text ", b"\n", b"\f", b"\r", b"\t", b"\x00", b"\x01", b"\xef\xbb\xbf", "ö".encode(), b"\xf6",
     b"<html>", b"<p>", b"%PDF-1.7", b"PK\x03\x04", b"{\\rtf", b"GIF89a", b"From a\nTo: b\n",
     b"MIME-Version: 1.0\n\n", b"<svg>", b"#!/bin/sh\n", b"BZh91AY", b"version https://git-lfs"]
)  # fmt: skip
NAMES = st.sampled_from(["a", "a.txt", "a.md", "a.html", "a.csv", "a.py", "a.json", "a.eml"])


@pytest.fixture(name="path", scope="module")
def make_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("short") / "file"


@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(PIECES, max_size=6), name=NAMES, limit=st.sampled_from([3, 1_000]))
@example(pieces=[b"text"], name="a.txt", limit=3)
@example(pieces=[b"\n"], name="a.txt", limit=3)
def test_the_answer_is_that_of_the_process(
    path: Path, pieces: list[bytes], name: str, limit: int
) -> None:
    """Document or error; only plain text is read."""
    data = b"".join(pieces)
    path.write_bytes(data)
    header = request_header(name, max_text_bytes=limit)
    found: object
    expected: object
    try:
        found = read_short_text(path, header, on_step=lambda _: None)
    except DocumentError as error:
        found = str(error)
    if found is None:
        return
    try:
        expected = respond(header, data, on_step=lambda _: None)
    except DocumentError as error:
        expected = str(error)
    assert found == expected
    assert isinstance(found, str) or found[0]["media_type"] == "text/plain"


@pytest.mark.parametrize("text", ["a note", "Größe\n\f2", "a < b, and %PDF is a format"])
def test_plain_text_is_read(path: Path, text: str) -> None:
    """A law about nothing would hold too."""
    path.write_bytes(text.encode())
    assert read_short_text(path, request_header("a.txt"), on_step=lambda _: None) is not None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
def test_what_is_no_file_is_left_to_the_process(tmp_path: Path) -> None:
    """A pipe without a writer, a folder, and a file that is not there."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "missing"):
        assert read_short_text(path, request_header("a.txt"), on_step=lambda _: None) is None
