"""Title, author, date and language of a document, from the properties of its file.

The date that a program writes into a PDF or office file is the date of the file, not of the
document: a report is often converted later, or made from an old template. It is therefore the field
`file_date`. `date` is a date that an author states, such as the publication date of a book.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from email.utils import parsedate_tz
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from spanwise.core.documents.titles import is_file_name
from spanwise.core.text.languages import read_language
from spanwise.parsers.office_zip import Archive
from spanwise.parsers.parsed import Losses
from spanwise.types import Scalar

_NO_TITLE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel|office)\b.*|untitled.*|powerpoint presentation|"
    r"(?:document|presentation|slide|book|sheet|dokument)\s*\d*|word document|no title|title|"
    r"default|unknown|\(?(?:anonymous|unspecified)\)?|[\W\d_]*)"
)
_NO_AUTHOR = re.compile(
    r"\(?(?:anonymous|unspecified)\)?|unknown|author|user|admin|administrator|[a-z]{0,3}\d{4,}"
    r"|.*\b(?:edgar|kscope|donnelley|workiva|wdesk|toppan|merrill corp|microsoft office)\b.*"
)


def read_title(written: str) -> str:
    """Return the title property of a file if it looks like a title; empty otherwise.

    Programs write file names ("Microsoft Word - x.doc"), numbers and "untitled" there.
    """
    title = " ".join(written.split())
    plain = title.lower()
    if not 3 <= len(title) <= 300 or _NO_TITLE.fullmatch(plain) or is_file_name(plain):
        return ""
    return title


def read_author(written: str) -> str:
    """Return the author property of a file if it looks like a name; empty otherwise.

    Programs write account numbers there, and filing agents their own names.
    """
    author = " ".join(written.split())
    return "" if _NO_AUTHOR.fullmatch(author.lower()) else author


def file_title(name: str) -> str:
    """Return the last part of a path or URL, which is the title of a file without its own title."""
    path = unquote(urlsplit(name).path) if "://" in name else name
    return PurePosixPath(path.rstrip("/")).name


_YEAR_FIRST = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_YEAR_ALONE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")


def iso_date(text: str) -> str | None:
    """Return a date as `YYYY-MM-DD`, so that dates compare in order of time.

    Args:
        text: ISO 8601, with or without a time of day; PDF (`D:20180212...`); RFC 5322; or only a
            year, or year and month, which are returned unchanged.

    Returns:
        The date; None if no format matches.
    """
    text = text.strip().removeprefix("D:")
    if _YEAR_ALONE.fullmatch(text):
        return text
    match = _YEAR_FIRST.match(text)
    if match:
        return _day(*(int(part) for part in match.groups()))
    parts = parsedate_tz(text)
    return None if parts is None else _day(*parts[:3])


def first_date(texts: Iterable[str]) -> str:
    """Return the first valid date as `iso_date` does; empty if there is none."""
    return next((day for day in map(iso_date, texts) if day), "")


def known_fields(**fields: Scalar) -> dict[str, Scalar]:
    """Return the fields that are not empty."""
    return {name: value for name, value in fields.items() if value}


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


Properties = tuple[str, dict[str, Scalar]]
"""Title ("" if there is none), and the known fields of `author`, `file_date` and `language`; for
a book `date` instead of `file_date`."""

_NAMESPACES = (
    "http://purl.org/dc/elements/1.1/",
    "http://purl.org/dc/terms/",
    "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
)
_AUTHOR_NAMES = ("initial-creator", "creator")
_DATE_NAMES = ("created", "creation-date", "date", "modified")


def read_properties(
    archive: Archive, part: str | None, losses: Losses, *, is_book: bool = False
) -> Properties:
    """Return the properties in a part; none if there is no such part."""
    found: dict[str, list[str]] = {}
    open_values: list[list[str]] = []

    def start(tag: str, _attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition(" ")
        open_values.append([])
        if namespace in _NAMESPACES:
            found.setdefault(name, [])

    def end(tag: str) -> None:
        value = "".join(open_values.pop()).strip()
        namespace, _, name = tag.rpartition(" ")
        if namespace in _NAMESPACES and value:
            found[name].append(value)

    def text(piece: str) -> None:
        open_values[-1].append(piece)

    if part is not None and part in archive:
        with losses.noted("its list of properties"):
            archive.read_xml(part, start, end, text)
    return describe(found, is_book=is_book)


def describe(found: dict[str, list[str]], *, is_book: bool = False) -> Properties:
    """Return the title and fields from the raw values of properties by name.

    Args:
        found: Values of each property.
        is_book: Whether the date is that of the publication, not that of the file.
    """
    authors = [list(filter(None, map(read_author, found.get(name, ())))) for name in _AUTHOR_NAMES]
    language = next(filter(None, map(read_language, found.get("language", ()))), "")
    day = first_date(value for name in _DATE_NAMES for value in found.get(name, ()))
    metadata = known_fields(
        author=", ".join(dict.fromkeys(next(filter(None, authors), []))),
        date=day if is_book else "",
        file_date="" if is_book else day,
        language="" if language in {"und", "mul", "zxx"} else language,
    )
    titles = (read_title(value) for value in found.get("title", ()))
    return next((title for title in titles if title), ""), metadata
