"""Properties of a file (Dublin Core): title, author, date and language."""

from __future__ import annotations

from spanwise.core.text.languages import read_language
from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.parsed import Losses
from spanwise.parsers.titles_and_dates import iso_date, read_author, read_title
from spanwise.types import Scalar

Properties = tuple[str, dict[str, Scalar]]
"""Title ("" if there is none), and the known fields of `author`, `date` and `language`."""

_NAMESPACES = (
    "http://purl.org/dc/elements/1.1/",
    "http://purl.org/dc/terms/",
    "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
)
_AUTHOR_NAMES = ("initial-creator", "creator")
_DATE_NAMES = ("created", "creation-date", "date", "modified")


def read_properties(archive: Archive, part: str | None, losses: Losses) -> Properties:
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
            archive.read_xml(part, XmlHandlers(start=start, end=end, text=text))
    return describe(found)


def describe(found: dict[str, list[str]]) -> Properties:
    """Return the title and fields from the raw values of properties by name."""
    metadata: dict[str, Scalar] = {}
    for name in _AUTHOR_NAMES:
        authors = [author for author in map(read_author, found.get(name, ())) if author]
        if authors:
            metadata["author"] = ", ".join(dict.fromkeys(authors))
            break
    days = (iso_date(value) for name in _DATE_NAMES for value in found.get(name, ()))
    day = next((day for day in days if day), None)
    if day:
        metadata["date"] = day
    language = next((code for code in map(read_language, found.get("language", ())) if code), "")
    if language not in {"", "und", "mul", "zxx"}:
        metadata["language"] = language
    titles = (read_title(value) for value in found.get("title", ()))
    return next((title for title in titles if title), ""), metadata
