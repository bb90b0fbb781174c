"""The quoted history of an e-mail: where in its text each earlier message begins.

Rules
    1. An earlier message is announced by a line of attribution ("On ... Ann wrote:", broken in two
       by some programs), a ruled line ("-----Original Message-----"), or the header lines that
       Outlook puts before it ("From:", "Sent:", "To:", "Subject:").
    2. What is quoted by ">" stands as many levels deeper as it has marks; what is announced by
       rules and headers follows each other on one level, as it does in the mail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spanwise.types import Heading

__all__ = ["quoted_messages"]

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
        start, depth, line = lines[at]
        taken = _announced(lines, at)
        if taken:
            title, used = taken
            last_start, _, last = lines[at + used - 1]
            yield Heading(
                start=start,
                end=last_start + len(last),
                level=min(_MAX_LEVEL, 2 + depth),
                title=title,
            )
            at += used
            if _RULED.fullmatch(line) or _FORWARDED.fullmatch(line):
                at = _after_headers(lines, at)
        else:
            at += 1


_Line = tuple[int, int, str]
"""Where a line's own words start, how often it is quoted, and the words."""


def _lines(text: str) -> Iterator[_Line]:
    place = 0
    for line in text.split("\n"):
        marks = _QUOTE.match(line)
        prefix = marks.group() if marks else ""
        words = line[len(prefix) :].rstrip()
        yield place + len(prefix), prefix.count(">"), words
        place += len(line) + 1


def _announced(lines: list[_Line], at: int) -> tuple[str, int] | None:
    """Return the title of the message that begins here, and the lines that announce it."""
    _, depth, line = lines[at]
    if not line or len(line) > _MAX_LINE:
        return None
    if ruled := _RULED.fullmatch(line):
        return ruled.group(1), 1
    if _FORWARDED.fullmatch(line) or (_OPENING.fullmatch(line) and _CLOSING.fullmatch(line)):
        return line, 1
    following = lines[at + 1] if at + 1 < len(lines) else (0, -1, "")
    if following[1] == depth and _OPENING.fullmatch(line) and len(following[2]) <= _MAX_LINE:
        both = f"{line} {following[2]}"
        if _CLOSING.fullmatch(both):
            return both, 2
    if _HEADER.fullmatch(line):
        further = [words for _, _, words in lines[at + 1 : at + 5]]
        if sum(_FURTHER.match(words) is not None for words in further) >= 2:
            return line, 1
    return None


def _after_headers(lines: list[_Line], at: int) -> int:
    """Return the line after the headers that may follow a ruled line: they begin no other mail."""
    while at < len(lines) and not lines[at][2]:
        at += 1
    while at < len(lines) and (_HEADER.match(lines[at][2]) or _FURTHER.match(lines[at][2])):
        at += 1
    return at
