"""ODT (and OTT) to text: what a reader sees, in reading order; the rules are those of `odf_text`.

There are no pages: a file says at most where they were broken last.
"""

from __future__ import annotations

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.losses import Losses
from spanwise.parsers.office.odf_file import ObjectReader, read_named_styles, refuse_encrypted
from spanwise.parsers.office.odf_text import OdfText
from spanwise.parsers.office.properties import read_properties
from spanwise.parsers.parsed import Parsed, Source

__all__ = ["parse_odt"]

_MEDIA_TYPE = "application/vnd.oasis.opendocument.text"


def parse_odt(source: Source) -> Parsed:
    """Return the text of an OpenDocument text.

    Raises:
        ParseError: "corrupt" where the container or all of its text is damaged, "encrypted",
            "too_large" where it would unpack to more than the limit, "no_text".
    """
    archive = Archive(source)
    refuse_encrypted(archive, source)
    losses = Losses(source)
    styles = read_named_styles(archive, losses)
    reader = OdfText(styles, losses, on_object=ObjectReader(archive, losses))
    with losses.noted("the text"):
        archive.read_xml(
            "content.xml", XmlHandlers(start=reader.start, end=reader.end, text=reader.text)
        )
    writer = reader.finish()
    losses.require_text(writer.text, "it holds no text; are its pages pictures?")
    properties = read_properties(archive, "meta.xml", losses)
    return losses.parsed(writer, media_type=_MEDIA_TYPE, properties=properties)
