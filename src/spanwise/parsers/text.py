r"""Plain text: decodes bytes to characters and changes nothing else; lines with their offsets.

Rules
    Encodings are tried in this order:
    1. The encoding of a byte order mark; then UTF-16 and UTF-32 without one, by the positions
       of their NULs.
    2. The charset that a server or the content declares, if it is valid; a Western charset only
       after UTF-8, because servers declare it for anything.
    3. Strict UTF-8; then UTF-8 with few damaged bytes, which become U+FFFD, with a warning.
    4. Windows-1252, if few bytes are above ASCII. Last, a guess by charset-normalizer, which
       knows Asian and Cyrillic code pages but takes Windows-1252 prose for older ones. Both
       are guesses and cause a warning.

    Line ends are unchanged: the text equals `open(path, newline="").read()`. Lines end at `\n`,
    `\r\n` and `\r`; `str.splitlines` also splits at other characters (a form feed), so its line
    numbers would differ from those of a grammar.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from spanwise.parsers.parsed import Parsed, Source
from spanwise.types import Page

_LINE_END = re.compile(r"\r\n?|\n")


class Lines:
    """Start and end offsets of the lines of a text, without line ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        self.ends: list[int] = []
        for match in _LINE_END.finditer(text):
            self.ends.append(match.start())
            self.starts.append(match.end())
        self.ends.append(len(text))

    def __len__(self) -> int:
        return len(self.ends)

    def line(self, number: int) -> str:
        """Return a line without its line end; empty after the last line."""
        if number >= len(self.ends):
            return ""
        return self.text[self.starts[number] : self.ends[number]]

    def trimmed(self, first: int, last: int) -> tuple[int, int]:
        """Return the offsets of the lines `[first, last)`, stripped of white space at both ends."""
        start, end = self.starts[first], self.ends[min(last, len(self.ends)) - 1]
        while start < end and self.text[start].isspace():
            start += 1
        while start < end and self.text[end - 1].isspace():
            end -= 1
        return start, end


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark is a prefix
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# On the web, these names mean the last one.
_WESTERN = frozenset(
    {"iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii", "windows-1252", "cp1252"}
)
_NO_CHARSETS = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape"})
"""Python codecs that are not text encodings; the first takes quadratic time."""
_SAMPLE_BYTES = 1 << 20
_CONTROLS = bytes([*range(0x08), *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F])
_MAX_CONTROLS = 0.01
_MAX_HIGH_BYTES = 0.2  # German and French are below 0.06, Cyrillic and Greek above 0.6
_SURROGATES = re.compile("[\udc80-\udcff]")
_ANY_SURROGATE = re.compile("[\ud800-\udfff]")
_NON_ASCII = re.compile("[^\x00-\x7f\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded text of a file, with warnings about its encoding."""

    text: str
    warnings: tuple[str, ...] = ()


def parse_text(source: Source) -> Parsed:
    """Return the unchanged text; form feeds separate pages.

    A form feed is the last character of its page. A form feed at the end of the text starts no
    further page.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if they are white space.
    """
    decoded = decode_text(source)
    return Parsed(
        text=decoded.text,
        media_type="text/plain",
        pages=_find_pages(decoded.text),
        warnings=decoded.warnings,
    )


def _find_pages(text: str) -> tuple[Page, ...]:
    pages = []
    start = 0
    while (feed := text.find("\f", start)) >= 0:
        pages.append(Page(start=start, end=feed + 1))
        start = feed + 1
    if pages and start < len(text):
        pages.append(Page(start=start, end=len(text)))
    return tuple(pages)


def decode_text(source: Source, *, declared: str | None = None) -> Decoded:
    """Return the characters of a text file, without its byte order mark.

    Args:
        source: The file.
        declared: Charset that the content declares (HTML); `source.charset` has precedence.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if they are white space.
    """
    decoded = _decode(source, (source.charset, declared))
    if decoded is None:
        raise source.error(
            "binary", "its bytes are neither text nor a known format; leave it out of the folder"
        )
    if not decoded.text or decoded.text.isspace():
        raise source.error("no_text", "it contains only white space")
    return decoded


def _decode(source: Source, declared: tuple[str | None, ...]) -> Decoded | None:
    data = source.data
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _decode_strictly(data[len(mark) :], encoding)
            return None if text is None else Decoded(text)
    wide = _guess_wide(data)
    if wide is not None and (text := _decode_strictly(data, wide)) is not None:
        return Decoded(text)
    if _is_binary(data):
        return None
    named = [name.strip().lower() for name in declared if name]
    western = ["cp1252"] if _WESTERN.intersection(named) else []
    for encoding in (*(name for name in named if name not in _WESTERN), "utf-8", *western):
        if (text := _decode_strictly(data, encoding)) is not None:
            return Decoded(text)
    return _decode_damaged(data) or _decode_western(data) or _guess(data)


def _decode_strictly(data: bytes, encoding: str) -> str | None:
    try:
        if codecs.lookup(encoding).name in _NO_CHARSETS:
            return None
        text = data.decode(encoding)
    except (ValueError, LookupError):  # ValueError: also for a NUL in the name of the encoding
        return None
    return None if not text.isascii() and _ANY_SURROGATE.search(text) else text  # UTF-7 has them


def _guess_wide(data: bytes) -> str | None:
    """Return the encoding of text with two or four bytes per character, by its NULs."""
    sample = data[:4096]
    if len(data) % 2 or not sample:
        return None
    half = len(sample) / 2
    first, second = sample[::2].count(0) / half, sample[1::2].count(0) / half
    if len(data) % 4 == 0 and 0.4 < min(first, second) < 0.6 and max(first, second) > 0.9:
        return "utf-32-le" if second > first else "utf-32-be"
    if second > 0.3 and first < 0.05:
        return "utf-16-le"
    if first > 0.3 and second < 0.05:
        return "utf-16-be"
    return None


def _is_binary(data: bytes) -> bool:
    sample = data[:_SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > _MAX_CONTROLS * len(sample)


def _decode_damaged(data: bytes) -> Decoded | None:
    for part in (_sample(data), data):  # the sample already rules out most other encodings
        text = part.decode("utf-8", "surrogateescape")
        damaged = len(_SURROGATES.findall(text))
        if len(_NON_ASCII.findall(text)) < 10 * damaged:
            return None
    warning = f"{damaged} bytes are not UTF-8 and were replaced by U+FFFD"
    return Decoded(_SURROGATES.sub("\ufffd", text), (warning,))


def _decode_western(data: bytes) -> Decoded | None:
    sample = data[:_SAMPLE_BYTES]
    high = len(sample.translate(None, bytes(range(0x80))))
    text = _decode_strictly(data, "cp1252") if high <= _MAX_HIGH_BYTES * len(sample) else None
    return None if text is None else Decoded(text, (_guessed("Windows-1252"),))


def _sample(data: bytes) -> bytes:
    """Return the first complete lines of a long file; its first bytes if the first line is long."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    sample = data[:_SAMPLE_BYTES]
    return sample[: sample.rfind(b"\n") + 1] or sample


def _guess(data: bytes) -> Decoded | None:
    from charset_normalizer import from_bytes

    best = from_bytes(_sample(data)).best()
    for encoding in (best.encoding if best else None, "cp1252"):
        if encoding and (text := _decode_strictly(data, encoding)) is not None:
            return Decoded(text, (_guessed(encoding),))
    return None


def _guessed(encoding: str) -> str:
    return f"not UTF-8 and without a declared encoding; read as {encoding}, which is a guess"
