"""Files of OpenDocument: what text, sheets and slides have in common."""

from __future__ import annotations

import posixpath

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.losses import Losses
from spanwise.parsers.office.odf_names import short_name
from spanwise.parsers.office.odf_styles import OdfStyles
from spanwise.parsers.office.odf_text import OdfText
from spanwise.parsers.parsed import Source
from spanwise.parsers.writer import TextWriter

__all__ = ["ObjectReader", "read_named_styles", "refuse_encrypted"]

_MANIFEST = "META-INF/manifest.xml"


def refuse_encrypted(archive: Archive, source: Source) -> None:
    """Refuse a file whose parts are encrypted.

    Raises:
        ParseError: "encrypted".
    """

    def start(tag: str, _attributes: dict[str, str]) -> None:
        if short_name(tag) == "manifest:encryption-data":
            raise source.error("encrypted", "it needs a password; save a copy without one")

    if _MANIFEST in archive:
        archive.read_xml(_MANIFEST, XmlHandlers(start=start))


def read_named_styles(archive: Archive, losses: Losses) -> OdfStyles:
    """Return the styles that have names; none where the file has no such part."""
    styles = OdfStyles()

    def start(tag: str, attributes: dict[str, str]) -> None:
        styles.start(short_name(tag), attributes)

    if "styles.xml" in archive:
        with losses.noted("its styles"):
            archive.read_xml("styles.xml", XmlHandlers(start=start))
    return styles


class ObjectReader:
    """Reads the objects that a document embeds: charts with their data, other documents."""

    def __init__(self, archive: Archive, losses: Losses) -> None:
        self._archive = archive
        self._losses = losses

    def __call__(self, address: str) -> TextWriter:
        """Return the text of an object; none where it is outside of the file, or is a formula."""
        part = posixpath.normpath(posixpath.join(address, "content.xml"))
        reader = OdfText(OdfStyles(), self._losses, on_object=_nothing)
        if part != "content.xml" and part in self._archive:
            with self._losses.noted(f"the object {address}"):
                self._archive.read_xml(
                    part, XmlHandlers(start=reader.start, end=reader.end, text=reader.text)
                )
        return reader.finish()


def _nothing(_address: str) -> TextWriter:
    """Return the text of an object inside an object: none."""
    return TextWriter()
