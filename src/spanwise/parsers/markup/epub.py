"""EPUB: chapters in reading order, each parsed as HTML.

Rules
    1. The spine of the package defines the files and their order. The table of contents defines
       the depth of a chapter, and its title if it has no heading.
    2. Elements that are left out of web pages (asides, footers) are content in a book: notes.
    3. A book with encrypted chapters is refused; obfuscated fonts do not matter.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

from spanwise.errors import ParseError
from spanwise.parsers.markup.html import parse_html
from spanwise.parsers.office_zip import Archive
from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import read_properties
from spanwise.parsers.writer import TextWriter

_MEDIA_TYPE = "application/epub+zip"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONT_SCRAMBLERS = frozenset(
    {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}
)
_NOTE_TAGS = re.compile(rb"(</?)(?:aside|footer)(?=[\s/>])")


class _Entry(NamedTuple):
    """Entry of the table of contents."""

    title: str
    depth: int
    """Depth of the entry, from 1."""


@dataclass(slots=True)
class _Package:
    """Package of a book."""

    files: dict[str, str] = field(default_factory=dict)
    """Part of each file by its id in the package."""
    spine: list[str] = field(default_factory=list)
    contents: str | None = None
    """Part with the table of contents; None without one."""
    is_ncx: bool = False


def parse_epub(source: Source) -> Parsed:
    """Return the text of a book.

    Raises:
        ParseError: "corrupt" if the container, the package or all chapters are damaged,
            "encrypted", "too_large" if its unpacked size exceeds the limit, "no_text".
    """
    archive = Archive(source)
    part = _package_part(archive, source)
    package = _read_package(archive, part)
    chapters = [package.files[id_] for id_ in package.spine if id_ in package.files]
    _refuse_encrypted(archive, source, chapters)
    losses = Losses(source)
    entries: Mapping[str, _Entry] = {}
    with losses.noted("the table of contents"):
        entries = _read_contents(archive, package)
    writer = TextWriter()
    shift: int | None = None
    for number, chapter in enumerate(chapters, start=1):
        with losses.noted(f"chapter {number} ({chapter})"):
            entry = entries.get(chapter)
            shift = _add_chapter(archive, chapter, source, entry, writer, before=shift)
    losses.require_text(writer.text, "its chapters have no text; are its pages images?")
    properties = read_properties(archive, part, losses, is_book=True)
    return losses.parsed(writer, media_type=_MEDIA_TYPE, properties=properties)


def _local(tag: str) -> str:
    return tag.rpartition(" ")[2]


def _package_part(archive: Archive, source: Source) -> str:
    found: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if _local(tag) == "rootfile" and attributes.get("full-path"):
            found.append(posixpath.normpath(attributes["full-path"]))

    archive.read_xml(_CONTAINER, start)
    if not found:
        raise source.error("corrupt", f"its part {_CONTAINER} does not name a package")
    return found[0]


def _read_package(archive: Archive, part: str) -> _Package:
    package = _Package()
    folder = posixpath.dirname(part)
    ncx: str | None = None

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal ncx
        name = _local(tag)
        if name == "item":
            path = _resolve(folder, attributes.get("href", ""))
            package.files[attributes.get("id", "")] = path
            if "nav" in attributes.get("properties", "").split():
                package.contents = path
        elif name == "spine":
            ncx = attributes.get("toc")
        elif name == "itemref":
            package.spine.append(attributes.get("idref", ""))

    archive.read_xml(part, start)
    if package.contents is None and ncx in package.files:
        package.contents, package.is_ncx = package.files[ncx], True
    return package


def _resolve(folder: str, reference: str) -> str:
    """Return the part of a reference that is relative to a folder."""
    path = unquote(urldefrag(reference).url)
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")


def _refuse_encrypted(archive: Archive, source: Source, chapters: Sequence[str]) -> None:
    """Raise for a book with digital rights management.

    Raises:
        ParseError: "encrypted".
    """
    if _ENCRYPTION not in archive:
        return
    algorithm = ""
    encrypted: set[str] = set()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal algorithm
        name = _local(tag)
        if name == "EncryptionMethod":
            algorithm = attributes.get("Algorithm", "")
        elif name == "CipherReference" and algorithm not in _FONT_SCRAMBLERS:
            encrypted.add(_resolve("", attributes.get("URI", "")))

    archive.read_xml(_ENCRYPTION, start)
    if encrypted.intersection(chapters):
        raise source.error(
            "encrypted", "its chapters are encrypted (digital rights management); add a free copy"
        )


def _read_contents(archive: Archive, package: _Package) -> dict[str, _Entry]:
    """Return the first entry of the table of contents of each file."""
    if package.contents is None or package.contents not in archive:
        return {}
    reader = _ContentsReader(posixpath.dirname(package.contents), is_ncx=package.is_ncx)
    archive.read_xml(package.contents, reader.start, reader.end, reader.text)
    return reader.entries


class _ContentsReader:
    """Reader of a table of contents: the list of a navigation page, or the older NCX."""

    def __init__(self, folder: str, *, is_ncx: bool) -> None:
        self.entries: dict[str, _Entry] = {}
        self._folder = folder
        self._level_tag = "navPoint" if is_ncx else "ol"
        self._depth = 0
        self._inside = is_ncx
        self._title: list[str] = []
        self._taking = False
        self._href = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        name = _local(tag)
        if name == "nav":
            self._inside = any(
                key.endswith(" type") and value == "toc" for key, value in attributes.items()
            )
        elif not self._inside:
            return
        elif name == self._level_tag:
            self._depth += 1
        elif name == "a":
            self._href = attributes.get("href", "")
        elif name == "content":
            self._add(attributes.get("src", ""))
        if name in {"a", "text"}:
            self._title = []
            self._taking = True

    def text(self, piece: str) -> None:
        """Handle characters."""
        if self._taking:
            self._title.append(piece)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        name = _local(tag)
        if name == self._level_tag and self._inside:
            self._depth -= 1
        elif name in {"a", "text"}:
            self._taking = False
            if name == "a" and self._inside:
                self._add(self._href)
        elif name == "nav":
            self._inside = False

    def _add(self, reference: str) -> None:
        title = " ".join("".join(self._title).split())
        if title:
            path = _resolve(self._folder, reference)
            self.entries.setdefault(path, _Entry(title, max(1, self._depth)))


def _add_chapter(
    archive: Archive,
    part: str,
    source: Source,
    entry: _Entry | None,
    writer: TextWriter,
    *,
    before: int | None,
) -> int | None:
    """Write a chapter; nothing if it has no text.

    Args:
        archive: The book.
        part: File of the chapter.
        source: Source of the book, for errors.
        entry: Entry of the table of contents; None without one.
        writer: Writer of the text.
        before: Shift of the levels in the last file with an entry; None without one. It applies to
            a file without an entry, which continues the chapter.

    Returns:
        The shift for the next file without an entry.
    """
    data = _NOTE_TAGS.sub(rb"\1div", archive.read_bytes(part))
    try:
        parsed = parse_html(Source(data=data, name=source.name, media_type="text/html"))
    except ParseError as error:
        if error.code == "no_text":
            return before
        raise source.error("corrupt", "it is not text") from error
    depth = entry.depth if entry else 1
    shift = depth - parsed.headings[0].level if parsed.headings else 0
    if entry is None and before is not None:
        shift = before
    if entry is not None and not parsed.headings:
        writer.write_heading(entry.title, level=depth)
    headings = [replace(item, level=max(1, item.level + shift)) for item in parsed.headings]
    writer.append_text(parsed.text, headings, parsed.blocks)
    return shift if entry is not None and parsed.headings else before
