"""The process that parses: `python -m spanwise.parsers.worker`, started by `isolation`.

It answers one request after the other on its standard streams (`protocol`) until its input ends.
A defect in a parser, or memory that runs out, ends it: the parent sees that, says so and starts
another one. It imports only the parsers that it needs.
"""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from spanwise.errors import DocumentError, FetchError
from spanwise.parsers.detect import detect_format
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.protocol import Header, encode_parsed, read_frame, write_frame

__all__ = ["answer", "main"]

_ALARM_MARGIN_SECONDS = 30


def main(arguments: list[str]) -> None:
    """Answer requests until the input ends.

    Args:
        arguments: Limit of the address space in bytes.
    """
    _limit_memory(int(arguments[0]))
    requests, answers = _take_streams()
    write_frame(answers, header={"ready": True}, payload=b"")
    while (frame := read_frame(requests)) is not None:
        header, payload = frame
        _set_alarm(header["timeout_seconds"] + _ALARM_MARGIN_SECONDS)
        found, text = answer(header, payload)
        _set_alarm(0)
        write_frame(answers, header=found, payload=text)
        del frame, payload, found, text  # a large document is not held while it waits


def _limit_memory(max_memory_bytes: int) -> None:
    """Limit the address space, where the platform can, and leave no core files."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for limit, value in ((resource.RLIMIT_AS, max_memory_bytes), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # macOS refuses it, and so does a lower limit set outside
            continue


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the streams of the protocol, and send whatever a library prints to the log."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, answers


def _set_alarm(seconds: float) -> None:
    """End this process after so many seconds, should the parent be gone; 0 ends the wait."""
    if hasattr(signal, "alarm"):
        signal.alarm(int(seconds))


def answer(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Return the header and the text that answer a request (`protocol`)."""
    try:
        data = _read_file(header, payload) if header["kind"] == "path" else payload
        source = Source(
            data=data,
            name=header["name"],
            media_type=header["media_type"],
            charset=header["charset"],
            max_unpacked_bytes=header["max_unpacked_bytes"],
            max_pages=header["max_pages"],
        )
        parsed = _parse(source)
        content_hash = hashlib.sha256(data).hexdigest()
        del data, source
        return encode_parsed(parsed, content_hash=content_hash), parsed.text.encode("utf-8")
    except DocumentError as error:
        kind = "fetch" if isinstance(error, FetchError) else "parse"
        return {"error": {"kind": kind, "code": error.code, "message": str(error)}}, b""


def _read_file(header: Header, path: bytes) -> bytes:
    """Return the bytes of a file.

    Raises:
        FetchError: "unreadable" where it cannot be opened, "too_large".
    """
    name, limit = header["name"], header["max_file_bytes"]
    try:
        status = os.stat(path)  # noqa: PTH116 - the path is bytes
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
            raise FetchError(f"{name}: it is {what}; name a file", source=name, code="unreadable")
        if status.st_size <= limit:
            with Path(os.fsdecode(path)).open("rb") as file:
                return file.read()
    except (OSError, ValueError) as exc:  # a path may hold a NUL
        reason = (exc.strerror if isinstance(exc, OSError) else None) or str(exc)
        raise FetchError(
            f"{name}: cannot be opened: {reason}; check path and permissions",
            source=name,
            code="unreadable",
        ) from exc
    raise FetchError(
        f"{name}: it has {status.st_size} bytes, more than {limit}; raise max_file_bytes",
        source=name,
        code="too_large",
    )


def _parse(source: Source) -> Parsed:
    """Parse a source by what its content is; only the parser it needs is imported."""
    match detect_format(source):
        case "pdf":
            from spanwise.parsers.pdf import parse_pdf

            return parse_pdf(source)
        case "docx":
            from spanwise.parsers.docx import parse_docx

            return parse_docx(source)
        case "html":
            from spanwise.parsers.html import parse_html

            return parse_html(source)
        case "markdown":
            from spanwise.parsers.markdown import parse_markdown

            return parse_markdown(source)
        case "text":
            from spanwise.parsers.text import parse_text

            return parse_text(source)


if __name__ == "__main__":
    main(sys.argv[1:])
