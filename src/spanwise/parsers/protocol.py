"""How a parsing process and its parent talk: frames of a JSON header and a payload of bytes.

A frame is two unsigned big-endian lengths (header 4 bytes, payload 8 bytes), the header as JSON,
and the payload as it is: text of any size crosses without being escaped.

A request's header holds `kind` ("path": the payload is the path; "bytes": the payload is the
document), `name`, `media_type`, `charset` and the limits. An answer's header is either that of
`encode_parsed` with the text as payload, or `error` with `code` and `message`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

from spanwise.parsers.parsed import Parsed
from spanwise.types import Block, Heading, Page

__all__ = ["Header", "decode_parsed", "encode_parsed", "read_frame", "write_frame"]

Header = Mapping[str, Any]
"""A JSON object."""

_LENGTHS = struct.Struct(">IQ")


def write_frame(stream: IO[bytes], *, header: Header, payload: bytes) -> None:
    """Write one frame and flush it."""
    encoded = json.dumps(header, separators=(",", ":")).encode("ascii")
    stream.write(_LENGTHS.pack(len(encoded), len(payload)))
    stream.write(encoded)
    stream.write(payload)
    stream.flush()


def read_frame(stream: IO[bytes]) -> tuple[Header, bytes] | None:
    """Return the next frame, or None where the stream ends, inside a frame too."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header_bytes, payload_bytes = _LENGTHS.unpack(lengths)
    encoded = stream.read(header_bytes)
    if len(encoded) < header_bytes:
        return None
    payload = stream.read(payload_bytes)
    if len(payload) < payload_bytes:
        return None
    return json.loads(encoded), payload


def encode_parsed(parsed: Parsed, *, content_hash: str) -> Header:
    """Return the header of an answer; the text is its payload, in UTF-8."""
    return {
        "content_hash": content_hash,
        "media_type": parsed.media_type,
        "title": parsed.title,
        "pages": [[page.start, page.end, page.label] for page in parsed.pages],
        "headings": [[item.start, item.end, item.level, item.title] for item in parsed.headings],
        "blocks": [[block.start, block.end, block.kind] for block in parsed.blocks],
        "metadata": dict(parsed.metadata),
        "warnings": list(parsed.warnings),
    }


def decode_parsed(header: Header, text: str) -> Parsed:
    """Return what `encode_parsed` was given, with its text."""
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
        metadata=header["metadata"],
        warnings=tuple(header["warnings"]),
    )
