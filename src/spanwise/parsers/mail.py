"""E-mails and mailboxes (mbox).

An e-mail is a document: headers and body as text, quoted messages as sections. It is also a
container of its attachments. A mailbox is a container of e-mails.

Rules of quoted messages
    1. A quoted message begins with a line of attribution ("On ... Ann wrote:", wrapped by some
       programs), a separator ("-----Original Message-----"), or the header lines of Outlook
       ("From:", "Sent:", "To:", "Subject:").
    2. The level of a message that is quoted by ">" is the number of marks. Messages after
       separators and headers are all on one level.

Rules of messages
    1. The message is parsed leniently (policy `compat32`): the modern policy parses each header
       by a grammar, fails on damaged ones and takes minutes for very long ones. Headers are
       truncated first, because parsing their parameters takes quadratic time.
    2. The body is the plain text of each part, or else its HTML, except parts that programs show
       as attachments. Embedded images, styles and cryptographic signatures are left out.
    3. Attached messages are members: their text is not part of this message.
    4. Messages of one conversation have the same field `thread`: the id of its first message.

Rules of mailboxes
    1. A message begins at a line "From ..." after an empty line or at the start of the file, and
       before a header. Any other such line is text that was not escaped.
    2. A line ">From " is escaped and loses one ">".
    3. A message is named by its Message-ID, so that it keeps its id when others are deleted. It is
       named by its number if the Message-ID is missing, repeated, a hidden name (".x"), or could
       be a number (without "@").
"""

from __future__ import annotations

import mimetypes
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import Compat32
from email.utils import getaddresses
from itertools import chain
from typing import IO, Literal, NamedTuple

from spanwise.errors import ParseError
from spanwise.parsers.containers import MemberFolder
from spanwise.parsers.markup.html import parse_html
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import iso_date, known_fields
from spanwise.parsers.text import decode_text
from spanwise.parsers.writer import TextWriter
from spanwise.types import Heading, Scalar

_MAX_LEVEL = 8
_MAX_LINE = 300
_QUOTE = re.compile(r"[>\s]*")
_OPENING = re.compile(r"(?:On|Am|Le|El|Il|Em|Op|Den)\s.{3,}", re.DOTALL)
_CLOSING = re.compile(
    r".{0,250}\b(?:wrote|writes|schrieb(?:\s.{1,120})?|a écrit|escribió|ha scritto|escreveu|schreef"
    r"(?:\s.{1,120})?|skrev(?:\s.{1,120})?)\s?:",
    re.DOTALL,
)
_RULED = re.compile(
    r"[-_]{2,}\s*(Original Message|Original Appointment|Forwarded message|Forwarded by .{1,150}|"
    r"Ursprüngliche Nachricht|Weitergeleitete Nachricht|Message d'origine|Message transféré|"
    r"Mensaje original|Messaggio originale)\s*[-_]{2,}"
)
_FORWARDED = re.compile(r"Begin forwarded message:")
_HEADER = re.compile(r"\*?(?:From|Von|De|Da|Van):\*?\s+(\S.*)")
_FURTHER = re.compile(
    r"\*?(?:Sent|Date|To|Subject|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado|Para|Asunto):"
)


def quoted_messages(text: str) -> Iterator[Heading]:
    """Yield a heading for each earlier message that a mail's text quotes, in order."""
    lines = list(_lines(text))
    at = 0
    while at < len(lines):
        line = lines[at]
        taken = _announced(lines, at)
        if taken:
            title, used = taken
            yield Heading(
                start=line.start,
                end=lines[at + used - 1].end,
                level=min(_MAX_LEVEL, 2 + line.depth),
                title=title,
            )
            at += used
            if _RULED.fullmatch(line.words) or _FORWARDED.fullmatch(line.words):
                at = _after_headers(lines, at)
        else:
            at += 1


class _Line(NamedTuple):
    """Line of a mail without the white space around it."""

    start: int
    """Offset of the first mark of quotation, or of the first word."""
    end: int
    """Offset after the last word."""
    depth: int
    """Number of marks."""
    words: str
    """Text after the marks."""


def _lines(text: str) -> Iterator[_Line]:
    place = 0
    for line in text.split("\n"):
        marks = _QUOTE.match(line)
        prefix = marks.group() if marks else ""
        words = line[len(prefix) :].rstrip()
        indent = len(prefix) - len(prefix.lstrip())
        end = place + len(prefix) + len(words)
        yield _Line(start=place + indent, end=end, depth=prefix.count(">"), words=words)
        place += len(line) + 1


def _announced(lines: list[_Line], at: int) -> tuple[str, int] | None:
    """Return the title of the message that begins at a line, and the number of its header lines."""
    line = lines[at].words
    if not line or len(line) > _MAX_LINE:
        return None
    if ruled := _RULED.fullmatch(line):
        return ruled.group(1), 1
    if _FORWARDED.fullmatch(line) or (_OPENING.fullmatch(line) and _CLOSING.fullmatch(line)):
        return line, 1
    for following in lines[at + 1 : at + 2]:
        both = f"{line} {following.words}"
        is_wrapped = following.depth == lines[at].depth and len(following.words) <= _MAX_LINE
        if is_wrapped and _OPENING.fullmatch(line) and _CLOSING.fullmatch(both):
            return both, 2
    if _HEADER.fullmatch(line):
        further = [further.words for further in lines[at + 1 : at + 5]]
        if sum(_FURTHER.match(words) is not None for words in further) >= 2:
            return line, 1
    return None


def _after_headers(lines: list[_Line], at: int) -> int:
    """Return the line after the headers below a separator; they belong to the same message."""
    while at < len(lines) and not lines[at].words:
        at += 1
    while at < len(lines) and (_HEADER.match(lines[at].words) or _FURTHER.match(lines[at].words)):
        at += 1
    return at


_MAX_HEADER_CHARS = 2_000
_SHOWN_HEADERS = ("From", "To", "Cc", "Date")
_IDS = re.compile(r"<([^<>\s]{1,250})>")
_WHITE_SPACE = re.compile(r"[\s\x00]+")
_EXTENSIONS = mimetypes.MimeTypes(filenames=())  # without the type tables of the operating system
_BROKEN_PARAMETERS = (TypeError, ValueError)
"""Errors that `email` raises for a NUL in the name of a charset, or an ambiguous file name."""
_SURROGATES = re.compile("[\ud800-\udfff]")


class _Lenient(Compat32):
    """Policy that accepts everything, with truncated headers."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Return the name and the truncated value of a header."""
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_MAX_HEADER_CHARS]

    def fold_binary(self, name: str, value: str) -> bytes:
        """Return a header as bytes; one that cannot be folded is on one line."""
        try:
            return super().fold_binary(name, value)
        except HeaderParseError:  # a line of the value looks like another header
            return f"{name}: {' '.join(value.split())}\n".encode("utf-8", "surrogateescape")


_Role = Literal["content", "resource", "alternative"]
"""Role of a part: content, a resource of it, or content in another form, which is not read."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Part without subparts."""

    part: Message
    number: int
    is_body: bool


def parse_email(source: Source) -> Parsed:
    """Return the visible headers and the body; attachments by name only.

    Raises:
        ParseError: "corrupt" if it has no header, or its parts are nested too deep; "no_text" if it
            has neither text nor a header to show.
    """
    message = _read(source)
    leaves = list(_leaves(message))
    attachments = [_member_name(leaf) for leaf in leaves if not leaf.is_body]
    bodies = [_read_body(leaf.part, source) for leaf in leaves if leaf.is_body]
    subject = _header(message, "Subject")
    lines = [f"{name}: {value}" for name in _SHOWN_HEADERS if (value := _header(message, name))]
    if attachments:
        lines.append(f"Attachments: {'; '.join(attachments)}")
    writer = TextWriter()
    writer.write_heading(subject, level=1)
    writer.write_apart("\n".join(lines))
    for body in bodies:
        headings = [*body.headings, *_apart(quoted_messages(body.text), body)]
        headings.sort(key=lambda heading: heading.start)
        writer.append_text(body.text, headings, body.blocks)
    if not writer.text:
        raise source.error("no_text", "the e-mail has neither text nor a header to show")
    return Parsed.of(
        writer,
        media_type="message/rfc822",
        title=subject,
        metadata=_metadata(message, attachments=len(attachments)),
        status="ok" if all(body.status == "ok" for body in bodies) else "partial",
        warnings=tuple(warning for body in bodies for warning in body.warnings),
    )


def unpack_email(folder: MemberFolder) -> None:
    """Extract the attachments of a message.

    Raises:
        ParseError: As for `parse_email`.
    """
    taken: set[str] = set()
    for leaf in _leaves(_read(folder.source)):
        if leaf.is_body:
            continue
        name = _member_name(leaf)
        if name in taken:
            name = f"{leaf.number}-{name}"
        taken.add(name)
        folder.take(name, _pieces(folder.source, leaf.part))


def _pieces(source: Source, part: Message) -> Iterator[bytes]:
    try:
        yield _content(part)
    except (RecursionError, LookupError, UnicodeError) as exc:
        raise source.error("corrupt", f"it is damaged in the e-mail: {exc}") from exc


def _read(source: Source) -> Message:
    try:
        message = BytesParser(policy=_Lenient()).parsebytes(source.data)
    except RecursionError as exc:
        raise source.error(
            "corrupt", "its parts are nested too deep; no mail program does that"
        ) from exc
    except _BROKEN_PARAMETERS as exc:
        raise source.error("corrupt", f"the parameters of a header are damaged: {exc}") from exc
    if not message.keys():
        raise source.error("corrupt", "it has no headers, so it is not an e-mail; rename it")
    return message


def _leaves(message: Message) -> Iterator[_Leaf]:
    """Yield the parts that are body or attachments, in order."""
    number = 0
    pending: list[tuple[Message, _Role]] = [(message, "content")]
    while pending:
        part, role = pending.pop()
        children = part.get_payload() if part.is_multipart() else None
        if isinstance(children, list) and part.get_content_maintype() == "multipart":
            parts = [child for child in children if isinstance(child, Message)]
            if role == "alternative":
                pending += reversed([(child, role) for child in parts])
            else:
                pending += reversed(_chosen(part, parts))
            continue
        number += 1
        is_text = part.get_content_type() in ("text/plain", "text/html") or _is_undivided(part)
        is_named = bool(_file_name(part)) or part.get_content_disposition() == "attachment"
        if is_text and not is_named:
            if role == "content":
                yield _Leaf(part, number, is_body=True)
        elif not is_named and role == "alternative":
            continue
        elif not (_is_signature(part) or (role != "content" and _is_shown_inside(part))):
            yield _Leaf(part, number, is_body=False)


def _is_undivided(part: Message) -> bool:
    """Return whether a multipart part has no boundary in it, so that it is text."""
    return part.get_content_maintype() == "multipart" and not part.is_multipart()


def _chosen(part: Message, children: list[Message]) -> list[tuple[Message, _Role]]:
    """Return the relevant children of a part with their roles.

    Of alternatives, one is the content. The others count only for the attachments in them.
    """
    kind = part.get_content_subtype()
    if kind == "related":
        return [(child, "resource" if place else "content") for place, child in enumerate(children)]
    if kind != "alternative":
        return [(child, "content") for child in children]
    content = next(
        (
            child
            for media_type in ("text/plain", "text/html")
            for child in children
            if child.get_content_type() == media_type and _content(child).strip()
        ),
        children[-1] if children else None,
    )
    return [
        (child, "content" if child is content else "alternative")
        for child in children
        if child is content or child.is_multipart()
    ]


def _is_signature(part: Message) -> bool:
    return part.get_content_subtype() in ("pgp-signature", "pkcs7-signature", "x-pkcs7-signature")


def _is_shown_inside(part: Message) -> bool:
    """Return whether a message shows a part, such as an image, instead of attaching it."""
    is_file = part.get_content_disposition() == "attachment"
    is_medium = part.get_content_maintype() in ("image", "audio", "video", "font")
    return ("Content-ID" in part or "Content-Location" in part) and (is_medium or not is_file)


def _content(part: Message) -> bytes:
    """Return the bytes of a part; of an attached message, the message itself."""
    if part.is_multipart():
        payload = part.get_payload()
        inner = payload[0] if isinstance(payload, list) and payload else None
        return inner.as_bytes() if isinstance(inner, Message) else b""
    decoded = part.get_payload(decode=True)
    return decoded if isinstance(decoded, bytes) else b""


def _member_name(leaf: _Leaf) -> str:
    part = leaf.part
    name = _decoded(_file_name(part)).replace("\\", "/").rpartition("/")[2]
    if name:
        return f"part-{leaf.number}{name}" if name.startswith(".") else name
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        subject = _header(first, "Subject") if isinstance(first, Message) else ""
        return f"{subject.replace('/', ' ')[:80].strip() or leaf.number}.eml"
    return f"part-{leaf.number}{_EXTENSIONS.guess_extension(part.get_content_type()) or ''}"


def _file_name(part: Message) -> str:
    with suppress(*_BROKEN_PARAMETERS):
        return part.get_filename() or ""
    return ""


def _charset(part: Message) -> str | None:
    with suppress(*_BROKEN_PARAMETERS):
        return part.get_content_charset()
    return None


def _is_flowed(part: Message) -> bool:
    with suppress(*_BROKEN_PARAMETERS):
        return str(part.get_param("format", "")).lower() == "flowed"
    return False


def _header(message: Message, name: str) -> str:
    return _decoded(str(message.get(name, "")))


def _decoded(raw: str) -> str:
    """Return a header on one line, decoded if possible."""
    try:
        value = "".join(_decoded_word(*word) for word in decode_header(raw))
    except (HeaderParseError, ValueError):
        value = raw
    value = _SURROGATES.sub("\ufffd", value)
    return _WHITE_SPACE.sub(" ", value).strip()


def _decoded_word(word: bytes | str, charset: str | None) -> str:
    if isinstance(word, str):
        return word
    try:
        return word.decode(charset or "ascii", "replace")
    except LookupError:
        return word.decode("utf-8", "replace")


def _metadata(message: Message, *, attachments: int) -> dict[str, Scalar]:
    """Return the fields for filters, without missing ones."""
    ids = [
        found
        for name in ("References", "In-Reply-To", "Message-ID")
        for found in _IDS.findall(_decoded(str(message.get(name, ""))))
    ]
    own = _IDS.search(_header(message, "Message-ID"))
    return known_fields(
        author=_people(message, "From"),
        to=_people(message, "To"),
        date=iso_date(_header(message, "Date")) or "",
        message_id=own.group(1) if own else "",
        thread=ids[0] if ids else "",
        attachments=attachments,
    )


def _people(message: Message, name: str) -> str:
    """Return the names of the people in a header, or their addresses."""
    header = _header(message, name)
    try:
        people = [person or address for person, address in getaddresses([header])]
    except RecursionError:  # brackets nested a thousand deep
        people = []
    return ", ".join(filter(None, people)) or header  # a damaged header has no pairs


def _read_body(part: Message, source: Source) -> Parsed:
    """Return the text of a part; empty if it has none."""
    inner = replace(source, data=_content(part), charset=_charset(part))
    try:
        if part.get_content_type() == "text/html":
            parsed = parse_html(inner)
            deeper = tuple(replace(heading, level=heading.level + 1) for heading in parsed.headings)
            return replace(parsed, headings=deeper)
        decoded = decode_text(inner)
    except ParseError as error:
        if error.code == "no_text":
            return Parsed(text="", media_type="text/plain")
        fault = str(error).removeprefix(f"{source.name}: ")
        warning = f"a part of the body cannot be read: {fault}"
        return Parsed(text="", media_type="text/plain", status="partial", warnings=(warning,))
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    if _is_flowed(part):
        text = _unflowed(text)
    return Parsed(text=text.strip("\n"), media_type="text/plain", warnings=decoded.warnings)


def _unflowed(text: str) -> str:
    """Return text in format=flowed (RFC 3676) without soft line ends."""
    lines: list[str] = []
    soft_depth: int | None = None
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        words = line[depth:].removeprefix(" ")
        if soft_depth == depth and words.rstrip() != "--":
            lines[-1] += words
        else:
            lines.append(f"{'>' * depth} {words}" if depth else words)
        soft_depth = depth if words.endswith(" ") and words != "-- " else None
    return "\n".join(line.rstrip() if line != "-- " else line for line in lines)


def _apart(quoted: Iterable[Heading], body: Parsed) -> Iterator[Heading]:
    """Yield the headings of quoted messages outside of the body's own headings and blocks."""
    ranges = [(heading.start, heading.end) for heading in body.headings]
    ranges = sorted([*ranges, *((block.start, block.end) for block in body.blocks)])
    starts = [start for start, _ in ranges]
    for heading in quoted:
        before = bisect_left(starts, heading.end) - 1
        if before < 0 or ranges[before][1] <= heading.start:
            yield heading


_START = b"From "
_ESCAPED = re.compile(rb">+From ")
_HEADER_LINE = re.compile(rb"[!-9;-~]+:|>From ")
_LINE_BYTES = 1 << 16
_HEAD_BYTES = 1 << 17
_MESSAGE_ID = re.compile(rb"^message-id:\s*<([!-;=?-~]{1,250})>", re.IGNORECASE | re.MULTILINE)


def unpack_mailbox(folder: MemberFolder) -> None:
    """Extract the messages of a mailbox."""
    taken: set[str] = set()
    with folder.path.open("rb") as stream:
        lines = _Lines(stream)
        number = 0
        while lines.is_at_start():
            lines.skip()
            number += 1
            message = lines.message()
            head = _read_head(message)
            name = _message_name(b"".join(head), number, taken)
            taken.add(name)
            folder.take(name, chain(head, message))


class _Lines:
    """Lines of a mailbox with one line of look-ahead; overlong lines are split."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._line = stream.readline(_LINE_BYTES)
        self._next = stream.readline(_LINE_BYTES)
        self._after_empty = True

    def skip(self) -> None:
        """Move to the next line."""
        self._after_empty = not self._line.strip(b"\r\n")
        self._line = self._next
        self._next = self._stream.readline(_LINE_BYTES)

    def is_at_start(self) -> bool:
        """Return whether a message begins at the current line."""
        return (
            self._after_empty
            and self._line.startswith(_START)
            and _HEADER_LINE.match(self._next) is not None
        )

    def message(self) -> Iterator[bytes]:
        """Yield the lines up to the next message, or the end."""
        while self._line and not self.is_at_start():
            yield self._line[1:] if _ESCAPED.match(self._line) else self._line
            self.skip()


def _read_head(message: Iterator[bytes]) -> list[bytes]:
    head: list[bytes] = []
    size = 0
    for line in message:
        head.append(line)
        size += len(line)
        if not line.strip(b"\r\n") or size > _HEAD_BYTES:
            break
    return head


def _message_name(head: bytes, number: int, taken: set[str]) -> str:
    found = _MESSAGE_ID.search(head)
    if found and b"@" in found.group(1):
        name = found.group(1).decode("ascii").replace("%", "%25").replace("/", "%2F") + ".eml"
        if name not in taken and not name.startswith("."):
            return name
    return f"{number}.eml"
