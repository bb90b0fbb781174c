"""Mailboxes in mbox format: each message is a member.

Rules
    1. A message begins at a line "From ..." after an empty line or at the start of the file, and
       before a header; other such lines are unescaped text.
    2. A line ">From " is escaped and loses one ">".
    3. A message is named by its Message-ID, so that it keeps its id when others are deleted. It is
       named by its number if the Message-ID is missing, repeated, a hidden name (".x"), or could
       be a number (without "@").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import IO

from spanwise.parsers.containers import MemberFolder

_START = b"From "
_ESCAPED = re.compile(rb">+From ")
_HEADER = re.compile(rb"[!-9;-~]+:|>From ")
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
        """Read the next line."""
        self._after_empty = not self._line.strip(b"\r\n")
        self._line = self._next
        self._next = self._stream.readline(_LINE_BYTES)

    def is_at_start(self) -> bool:
        """Return whether a message begins at the current line."""
        return (
            self._after_empty
            and self._line.startswith(_START)
            and _HEADER.match(self._next) is not None
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
