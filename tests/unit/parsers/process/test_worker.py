"""A request is answered with a document or with the reason why there is none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.documents import build_docx, build_pdf, paragraph
from tests.processes import request_header

from spanwise.parsers.parsed import Step
from spanwise.parsers.process.worker import answer


def ask(data: bytes, name: str, **fields: object) -> tuple[dict[str, Any], bytes]:
    found, text = answer(request_header(name, **fields), data, on_step=lambda step: None)
    return dict(found), text


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (b"text", "a", "text/plain"),
        (b"text", "a.md", "text/markdown"),
        (b"<html>text", "a", "text/html"),
        (build_pdf(["text"]), "a", "application/pdf"),
        (
            build_docx(paragraph("text")),
            "a",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
    ],
)
def test_each_format_has_its_parser(data: bytes, name: str, media_type: str) -> None:
    """The text is the payload, all else the header."""
    found, text = ask(data, name)
    assert (found["media_type"], text) == (media_type, b"text")
    assert len(found["content_hash"]) == 64


def test_refusal_is_an_answer() -> None:
    """With its code and the message for people."""
    found, text = ask(b"", "a.pdf")
    error = found["error"]
    assert (error["kind"], error["code"], text) == ("parse", "empty", b"")
    assert error["message"].startswith("a.pdf: ")


def test_file_is_read_by_its_path(tmp_path: Path) -> None:
    """A path crosses as bytes."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"text")
    assert ask(os.fsencode(path), "a.txt", kind="path")[1] == b"text"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("missing", "unreadable"),
        (".", "unreadable"),
        ("a\0b", "unreadable"),
        ("a.txt", "too_large"),
    ],
)
def test_file_that_cannot_be_read_is_a_fetch_error(tmp_path: Path, name: str, code: str) -> None:
    """Missing, no file, over the limit."""
    (tmp_path / "a.txt").write_bytes(b"text")
    found, _ = ask(os.fsencode(tmp_path / name), name, kind="path", max_file_bytes=3)
    assert (found["error"]["kind"], found["error"]["code"]) == ("fetch", code)


def test_text_over_the_limit_is_refused() -> None:
    """In bytes of UTF-8: what goes in may be small."""
    found, text = ask("ää".encode(), "a.txt", max_text_bytes=3)
    assert (found["error"]["code"], text) == ("too_large", b"")
    assert ask("ää".encode(), "a.txt", max_text_bytes=4)[1] == "ää".encode()


def test_work_is_told_before_it_is_done() -> None:
    """A document without pages counts by its bytes."""
    steps: list[Step] = []
    answer(request_header("a"), b"text " * 50_000, on_step=steps.append)
    assert steps == [Step(pages=3, of=3)]
