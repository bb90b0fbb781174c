"""Containers of Office formats: ZIP files of XML parts, read as streams with limits.

Rules
    1. Declared sizes are checked before anything is unpacked, and real sizes while it is read,
       because headers may be wrong.
    2. An internal document type declaration is refused: no program writes one, and its entities
       can expand a small file to a large one. An external one is ignored (EPUB has them). Nothing
       outside of the container is fetched.
"""

from __future__ import annotations

import io
import lzma
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from xml.parsers import expat

from spanwise.errors import ParseError
from spanwise.parsers.containers import is_bomb
from spanwise.parsers.parsed import Source, Step

ZIP_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    OverflowError,
)
"""Errors that the standard library raises for damaged containers."""

_PIECE_BYTES = 1 << 16
_CACHED_NAMES = 4096


def short_names(prefixes: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces the namespace of a name by its prefix.

    The function returns "" for a name in another namespace.

    Args:
        prefixes: Prefix of each namespace, with a colon.
    """

    @lru_cache(maxsize=_CACHED_NAMES)
    def short_name(name: str) -> str:
        namespace, _, local = name.rpartition(" ")
        prefix = prefixes.get(namespace)
        return prefix + local if prefix else ""

    return short_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Reference of a part of an Office file to another part."""

    id: str
    """Id of the relation in the referring part."""
    kind: str
    """Last word of the relation's type ("styles", "officeDocument")."""
    part: str
    """Referenced part."""


class Archive:
    """ZIP container of an Office file or EPUB book, opened for reading.

    Raises:
        ParseError: "corrupt" if it is damaged, "encrypted" if a part needs a password, "too_large"
            if its unpacked size exceeds the limit of the source.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._bytes_left = source.max_unpacked_bytes
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(source.data))
        except ZIP_DAMAGE as exc:
            raise source.error("corrupt", f"its ZIP container is damaged: {exc}") from exc
        self._members = {info.filename: info for info in self._zip.infolist()}
        self._check_declared_sizes()

    def _check_declared_sizes(self) -> None:
        total = sum(info.file_size for info in self._members.values())
        if total > self._source.max_unpacked_bytes:
            raise self._too_large(total)
        for info in self._members.values():
            if info.flag_bits & 1:
                raise self._source.error(
                    "encrypted", "its parts need a password; save a copy without one"
                )
            if is_bomb(info.file_size, packed_bytes=info.compress_size):
                raise self._too_large(info.file_size)
        self._source.on_step(Step.of_bytes(total))

    def _too_large(self, size: int) -> ParseError:
        return self._source.error(
            "too_large",
            f"it would unpack to {size} bytes or more, which suggests an attack; the limit is "
            f"max_unpacked_bytes={self._source.max_unpacked_bytes}",
        )

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def read_xml(
        self,
        name: str,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Parse a part and call the handlers.

        Args:
            name: Name of the part.
            start: Handler of the name and attributes of each start tag. A name is the namespace
                and the local name with a space between them.
            end: Handler of the name of each end tag.
            text: Handler of characters.

        Raises:
            ParseError: "corrupt" if the part is missing, damaged or not well-formed.
        """
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = self._refuse_declaration
        try:
            for piece in self._pieces(name):
                parser.Parse(piece)
            parser.Parse(b"", True)  # noqa: FBT003 - expat accepts no keywords
        except expat.ExpatError as exc:
            raise self._source.error("corrupt", f"its part {name} is not valid XML: {exc}") from exc

    def _refuse_declaration(
        self, _name: str, _system: str | None, _public: str | None, has_declarations: int
    ) -> None:
        if has_declarations:
            raise self._source.error(
                "corrupt",
                "it declares entities, which no program writes",
            )

    def read_bytes(self, name: str) -> bytes:
        """Return the bytes of a part.

        Raises:
            ParseError: "corrupt" if the part is missing or damaged.
        """
        return b"".join(self._pieces(name))

    def _pieces(self, name: str) -> Iterator[bytes]:
        if name not in self._members:
            raise self._source.error("corrupt", f"its part {name} is missing")
        try:
            with self._zip.open(self._members[name]) as member:
                while piece := member.read(_PIECE_BYTES):
                    self._bytes_left -= len(piece)
                    if self._bytes_left < 0:
                        raise self._too_large(self._source.max_unpacked_bytes - self._bytes_left)
                    yield piece
        except ZIP_DAMAGE as exc:
            raise self._source.error("corrupt", f"its part {name} is damaged: {exc}") from exc

    def links(self, name: str = "") -> list[Link]:
        """Return the links of a part (of the container itself for ""), in order.

        External links are left out.
        """
        folder, base = posixpath.split(name)
        found: list[Link] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag.endswith(" Relationship") and attributes.get("TargetMode") != "External":
                target = posixpath.join("/", folder, attributes.get("Target", ""))
                found.append(
                    Link(
                        id=attributes.get("Id", ""),
                        kind=attributes.get("Type", "").rpartition("/")[2],
                        part=posixpath.normpath(target).lstrip("/"),
                    )
                )

        part = posixpath.join(folder, "_rels", f"{base}.rels")
        if part in self:
            self.read_xml(part, start)
        return found

    def relations(self, name: str = "") -> dict[str, str]:
        """Return the first part of each kind that a part refers to, by kind of relation."""
        return {link.kind: link.part for link in reversed(self.links(name))}
