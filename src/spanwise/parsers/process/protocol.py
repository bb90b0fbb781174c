"""Protocol between a parsing process and its parent: frames of a JSON header and a payload.

A frame is two unsigned big-endian lengths (header 4 bytes, payload 8 bytes), the header as JSON,
and the raw payload, so that text of any size needs no escaping.

The header of a request has `kind` ("path": the payload is the path; "bytes": the payload is the
document), `task`, `name`, `media_type`, `charset` and the limits. Before its answer the process
reports its next steps in frames whose header has `step`. The header of the answer to a failed
request has `error` with the result of `encode_error`. Otherwise it depends on the task:

    parse     result of `encode_parsed`; the payload is the text
    look      `format`
    unpack    result of `encode_unpacked`; the request has the target folder (`into`)
    member    `content_hash`; the payload is the picture `member` of an Office file
    draw      `content_hash`; the payload is the `page` as a PNG file; the request has
              `dots_per_inch`, `for_model`, `highlight` (`text` of the page, `start` and `end` of
              the range in it; or null) and `box` (sides of a part; or null)
    links     fields of `PageLinks`
    sitemap   fields of `Sitemap`
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict
from typing import IO, Any, cast

from spanwise.errors import DocumentError, DocumentErrorCode, FetchError, ParseError
from spanwise.parsers.containers import ContainerError, LostMember, Member, Unpacked
from spanwise.parsers.parsed import PagesToRead, Parsed
from spanwise.types import Block, Figure, Heading, Page
from spanwise.types.plain import from_plain

Header = Mapping[str, Any]
"""JSON object."""

_LENGTHS = struct.Struct(">IQ")
_ERROR_KINDS: Mapping[str, type[DocumentError]] = {
    "container": ContainerError,
    "fetch": FetchError,
    "parse": ParseError,
}


def write_frame(stream: IO[bytes], *, header: Header, payload: bytes) -> None:
    """Write one frame and flush it."""
    encoded = json.dumps(header, separators=(",", ":")).encode("ascii")
    stream.write(_LENGTHS.pack(len(encoded), len(payload)))
    stream.write(encoded)
    stream.write(payload)
    stream.flush()


def read_frame(stream: IO[bytes], *, max_bytes: int | None = None) -> tuple[Header, bytes] | None:
    """Return the next frame, or None at the end of the stream, also inside a frame.

    Args:
        stream: Stream that the other side writes.
        max_bytes: Maximum size of the header and of the payload; None for no limit.

    Raises:
        ValueError: If one of them is larger, or the header is no JSON object.
    """
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header_bytes, payload_bytes = _LENGTHS.unpack(lengths)
    if max_bytes is not None and max(header_bytes, payload_bytes) > max_bytes:
        raise ValueError(
            f"a frame has {header_bytes} and {payload_bytes} bytes; the limit is {max_bytes}"
        )
    encoded = stream.read(header_bytes)
    if len(encoded) < header_bytes:
        return None
    payload = stream.read(payload_bytes)
    if len(payload) < payload_bytes:
        return None
    return _read_header(encoded), payload


def _read_header(encoded: bytes) -> Header:
    try:
        header = json.loads(encoded)
    except RecursionError as exc:
        raise ValueError("its header is nested too deep") from exc
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")  # noqa: TRY004 - callers catch it
    return header


def encode_parsed(parsed: Parsed, *, content_hash: str) -> Header:
    """Return the header of an answer, whose payload is the text in UTF-8."""
    return {
        "content_hash": content_hash,
        "media_type": parsed.media_type,
        "title": parsed.title,
        "pages": [[page.start, page.end, page.label] for page in parsed.pages],
        "headings": [[item.start, item.end, item.level, item.title] for item in parsed.headings],
        "blocks": [[block.start, block.end, block.kind] for block in parsed.blocks],
        "figures": [figure.to_dict() for figure in parsed.figures],
        "metadata": dict(parsed.metadata),
        "status": parsed.status,
        "warnings": list(parsed.warnings),
        "to_read": asdict(parsed.to_read),
    }


def decode_parsed(header: Header, text: str) -> Parsed:
    """Return the document from its text and a header that `encode_parsed` returned.

    Raises:
        ValueError: If the header is invalid. A document may control the process.
    """
    try:
        return _decode_parsed(header, text)
    except (LookupError, TypeError, AttributeError) as exc:
        raise ValueError(f"its header is invalid: {exc!r}") from exc


def _decode_parsed(header: Header, text: str) -> Parsed:
    return Parsed(
        text=text,
        media_type=header["media_type"],
        title=header["title"],
        pages=tuple(Page(start=s, end=e, label=label) for s, e, label in header["pages"]),
        headings=tuple(
            Heading(start=start, end=end, level=level, title=title)
            for start, end, level, title in header["headings"]
        ),
        blocks=tuple(Block(start=s, end=e, kind=kind) for s, e, kind in header["blocks"]),
        figures=tuple(from_plain(Figure, figure) for figure in header["figures"]),
        metadata=header["metadata"],
        status=header["status"],
        warnings=tuple(header["warnings"]),
        to_read=PagesToRead(**{kind: tuple(n) for kind, n in header["to_read"].items()}),
    )


def encode_unpacked(unpacked: Unpacked) -> Header:
    """Return the header of an answer with members."""
    return asdict(unpacked)


def decode_unpacked(header: Header) -> Unpacked:
    """Return the members from a header that `encode_unpacked` returned."""
    stopped = header["stopped"]
    return Unpacked(
        is_container=header["is_container"],
        is_document=header["is_document"],
        members=tuple(Member(**member) for member in header["members"]),
        lost=tuple(LostMember(**lost) for lost in header["lost"]),
        remarks=tuple(header["remarks"]),
        stopped=None if stopped is None else LostMember(**stopped),
    )


def encode_error(error: DocumentError) -> Header:
    """Return the header of an error."""
    kind = next(name for name, found in _ERROR_KINDS.items() if isinstance(error, found))
    return {"kind": kind, "code": error.code, "message": str(error)}


def decode_error(header: Header, name: str) -> DocumentError:
    """Return the error from a header that `encode_error` returned; `name` is the source."""
    code = cast("DocumentErrorCode", header["code"])
    return _ERROR_KINDS[header["kind"]](header["message"], source=name, code=code)
