"""Parsing process: `python -m spanwise.parsers.process.worker`, started by `child`.

It answers requests on its standard streams (`protocol`) until its input ends. A defect in a parser
or exhausted memory ends it; the parent then reports the error and starts another process. It
imports only the parsers that it needs.
"""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from spanwise.errors import DocumentError, FetchError
from spanwise.parsers.containers import ContainerError, Limit, MemberFolder, UnpackBudget, Unpacked
from spanwise.parsers.detect import detect_format
from spanwise.parsers.formats import PARSERS, UNPACKERS
from spanwise.parsers.parsed import Parsed, Source, Step
from spanwise.parsers.plugins import OWN_PARSERS, OwnParser, call_parser, parse_with
from spanwise.parsers.process.landlock import restrict
from spanwise.parsers.process.protocol import (
    Header,
    encode_error,
    encode_parsed,
    encode_unpacked,
    read_frame,
    write_frame,
)
from spanwise.parsers.process.streams import take_streams

_MAX_LAYOUT = 1_000_000
"""Maximum number of headings, blocks and pages of one document."""
_IMAGE_STARTS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")
_MAX_PICTURE_BYTES = 10_000_000
_ALARM_MARGIN_SECONDS = 30


def main(arguments: list[str]) -> None:
    """Answer requests until the input ends.

    Args:
        arguments: Limit on the address space in bytes, and the folder for temporary files if this
            process may write nowhere else, "" for no such limit.
    """
    _limit_memory(int(arguments[0]))
    if arguments[1]:
        restrict(arguments[1])
    requests, answers = take_streams()
    write_frame(answers, header={"ready": True}, payload=b"")

    def report_step(step: Step) -> None:
        encoded = {"pages": step.pages, "of": step.of, "page": step.page}
        write_frame(answers, header={"step": encoded}, payload=b"")

    while (frame := read_frame(requests)) is not None:
        header, payload = frame
        _set_alarm(header["timeout_seconds"] + _ALARM_MARGIN_SECONDS)
        reply, text = answer(header, payload, on_step=report_step)
        _set_alarm(0)
        write_frame(answers, header=reply, payload=text)
        del frame, payload, reply, text  # free the memory of a large document while waiting


def _limit_memory(max_memory_bytes: int) -> None:
    """Limit the address space if the platform supports it, and disable core files."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for limit, value in ((resource.RLIMIT_AS, max_memory_bytes), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError, OverflowError):
            # refused by macOS, by a lower limit of the parent, or because the number is too large
            continue


def _set_alarm(seconds: float) -> None:
    """End this process after some seconds, in case the parent is gone; 0 cancels the alarm."""
    if hasattr(signal, "alarm"):
        signal.alarm(int(seconds))


def answer(
    header: Header, payload: bytes, *, on_step: Callable[[Step], None]
) -> tuple[Header, bytes]:
    """Return the header and payload that answer a request (`protocol`), and report each step."""
    try:
        return respond(header, payload, on_step=on_step)
    except DocumentError as error:
        return {"error": encode_error(error)}, b""


def respond(
    header: Header,
    payload: bytes,
    *,
    on_step: Callable[[Step], None],
    own_parser: OwnParser | None = None,
) -> tuple[Header, bytes]:
    """Return the header and payload that answer a request.

    Args:
        header: Header of the request.
        payload: Path or bytes of the document.
        on_step: Callback before each step.
        own_parser: Parser function of the caller; None for the parser of the request.

    Raises:
        DocumentError: If the request fails.
    """
    data = payload if header["kind"] == "bytes" else _read_file(header, payload)
    source = source_of(header, data, on_step=on_step)
    on_step(Step.of_bytes(len(data)))
    if header["task"] == "look":
        return {"format": detect_format(source)}, b""
    if header["task"] == "unpack":
        return encode_unpacked(_unpack(source, header, payload)), b""
    if header["task"] in ("links", "sitemap"):
        from spanwise.parsers.markup.page_links import read_page_links, read_sitemap

        is_page = header["task"] == "links"
        return asdict(read_page_links(source) if is_page else read_sitemap(source)), b""
    content_hash = hashlib.sha256(data).hexdigest()
    if header["task"] == "draw":
        return {"content_hash": content_hash}, _draw(source, header)
    if header["task"] == "member":
        return {"content_hash": content_hash}, _member(source, header["member"])
    if own_parser is None:
        parsed = _parse(source, header["parser"])
    else:
        parsed = call_parser(own_parser.parse, source, name=own_parser.name)
    return reply_of(parsed, source, content_hash=content_hash)


def source_of(header: Header, data: bytes, *, on_step: Callable[[Step], None]) -> Source:
    """Return the bytes of a request with its names and limits."""
    return Source(
        data=data,
        name=header["name"],
        media_type=header["media_type"],
        charset=header["charset"],
        max_unpacked_bytes=header["max_unpacked_bytes"],
        max_pages=header["max_pages"],
        max_text_bytes=header["max_text_bytes"],
        text_option=header["text_option"],
        skipped_pages=frozenset(header["skipped_pages"]),
        timeout_seconds=header["timeout_seconds"],
        ocr=header["ocr"],
        leaves_pictures=header["leaves_pictures"],
        leaves_figures=header["leaves_figures"],
        on_step=on_step,
    )


def reply_of(parsed: Parsed, source: Source, *, content_hash: str) -> tuple[Header, bytes]:
    """Return the header and payload of a parsed document.

    Raises:
        ParseError: "too_large" over a limit; "crashed" if the text is not valid Unicode.
    """
    text = _encode_text(parsed.text, source)
    _check_layout(parsed, source)
    return encode_parsed(parsed, content_hash=content_hash), text


def _encode_text(text: str, source: Source) -> bytes:
    """Return a text in UTF-8.

    Raises:
        ParseError: "too_large" over the limit; "crashed" if the text is not valid Unicode.
    """
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise source.error(
            "crashed", f"its parser returned a lone surrogate at character {exc.start}"
        ) from exc
    if len(encoded) > source.max_text_bytes:
        raise source.error(
            "too_large",
            f"its text has {len(encoded)} bytes, and the limit is {source.max_text_bytes} "
            f"({source.text_option}); raise that limit, or leave the file out",
        )
    return encoded


def _check_layout(parsed: Parsed, source: Source) -> None:
    """Refuse a document with more headings, blocks and pages than fit into memory.

    Raises:
        ParseError: "too_large" over the limit.
    """
    count = sum(map(len, (parsed.headings, parsed.blocks, parsed.pages, parsed.figures)))
    if count > _MAX_LAYOUT:
        raise source.error(
            "too_large",
            f"it has {count} headings, tables, code blocks, pages and figures; at most "
            f"{_MAX_LAYOUT} are read: split the file",
        )


def _read_file(header: Header, path: bytes) -> bytes:
    """Return the bytes of a file.

    Raises:
        FetchError: "unreadable" if it cannot be opened, "too_large".
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
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
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


def _draw(source: Source, header: Header) -> bytes:
    """Return the page of a PDF that a request names, as a PNG file, or an image file.

    Raises:
        ParseError: "unsupported" if there is no such page.
    """
    found = detect_format(source)
    if found == "image":
        from spanwise.parsers.images.image_file import draw_image

        return draw_image(
            source,
            page=header["page"],
            dots_per_inch=header["dots_per_inch"],
            for_model=header["for_model"],
        )
    if found != "pdf":
        raise source.error("unsupported", "it is not a PDF; only pages of PDFs can be rendered")
    from spanwise.parsers.pdf.highlight import read_highlight
    from spanwise.parsers.pdf.picture import draw_png

    return draw_png(
        source,
        page=header["page"],
        dots_per_inch=header["dots_per_inch"],
        for_model=header["for_model"],
        highlight=read_highlight(header["highlight"]),
        box=header["box"],
    )


def _member(source: Source, name: str) -> bytes:
    """Return a picture in an Office file.

    Raises:
        ParseError: "unsupported" if it is too large, or not an image that models accept.
    """
    from spanwise.parsers.office_zip import Archive

    data = Archive(source).read_bytes(name)
    if not data.startswith(_IMAGE_STARTS) or len(data) > _MAX_PICTURE_BYTES:
        raise source.error(
            "unsupported",
            f"its picture {name} is not a PNG, JPEG, GIF or WebP image of at most "
            f"{_MAX_PICTURE_BYTES} bytes",
        )
    return data


def _parse(source: Source, parser: str) -> Parsed:
    """Parse a source by its content; only the required parser is imported.

    A document that is a container too (an e-mail) is always read by the built-in parser, which
    lists the members.

    Raises:
        ContainerError: If the source is only a container.
    """
    found = detect_format(source)
    if found not in PARSERS:
        raise ContainerError(
            f"{source.name}: it is a container of documents, not a document; unpack it",
            source=source.name,
            code="unsupported",
        )
    if parser != OWN_PARSERS and found not in UNPACKERS:
        return parse_with(parser, source)
    module, _, function = PARSERS[found].partition(":")
    parse: Callable[[Source], Parsed] = getattr(import_module(module), function)
    return parse(source)


def _unpack(source: Source, header: Header, path: bytes) -> Unpacked:
    """Write the members of a source to a folder, if it is a container."""
    found = detect_format(source)
    if found not in UNPACKERS:
        return Unpacked(is_container=False)
    members = Limit(most=header["max_members"], option=header["members_option"])
    if found == "email" and header["max_attachments"] < members.most:
        most = header["max_attachments"]
        members = Limit(most=most, option=f"max_attachments={most}")
    folder = MemberFolder(
        path=Path(os.fsdecode(path)),
        source=source,
        budget=UnpackBudget(
            into=Path(header["into"]),
            members=members,
            unpacked=Limit(most=header["max_container_bytes"], option=header["container_option"]),
        ),
        max_member_bytes=header["max_file_bytes"],
        is_document=found in PARSERS,
    )
    module, _, function = UNPACKERS[found].partition(":")
    unpack: Callable[[MemberFolder], None] = getattr(import_module(module), function)
    return folder.filled_by(unpack)


if __name__ == "__main__":
    main(sys.argv[1:])
