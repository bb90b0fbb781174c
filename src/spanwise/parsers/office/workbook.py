"""Workbooks (XLSX, XLSB, XLS, ODS) to text: a section a sheet, a line a row."""

from __future__ import annotations

from spanwise.parsers.archive import Archive
from spanwise.parsers.losses import Losses
from spanwise.parsers.office.odf_file import refuse_encrypted
from spanwise.parsers.office.properties import Properties, read_properties
from spanwise.parsers.office.sheet_writer import SheetWriter
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.writer import TextWriter

__all__ = ["parse_workbook"]

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
_XLS = "application/vnd.ms-excel"
_ODS = "application/vnd.oasis.opendocument.spreadsheet"


def parse_workbook(source: Source) -> Parsed:
    """Return the text of all sheets of a workbook.

    Raises:
        ParseError: "corrupt" where it is damaged, "encrypted", "too_large" where it would unpack
            to more than the limit, "no_text" where no cell holds anything.
    """
    writer = TextWriter()
    losses = Losses(source)
    sheets = SheetWriter(writer, losses, max_chars=source.max_chars)
    media_type, properties = _read(source, sheets, losses)
    losses.require_text(writer.text, "none of its cells holds anything")
    return losses.parsed(writer, media_type=media_type, properties=properties)


def _read(source: Source, writer: SheetWriter, losses: Losses) -> tuple[str, Properties]:
    """Write the sheets of a file of any kind; return its media type and what it says of itself."""
    if not source.data.startswith(b"PK"):
        from spanwise.parsers.office.binary_workbook import read_binary

        read_binary(source, writer=writer, losses=losses)
        return _XLS, ("", {})
    archive = Archive(source)
    if "content.xml" in archive:
        from spanwise.parsers.office.ods import read_ods

        refuse_encrypted(archive, source)
        read_ods(archive, writer=writer, losses=losses)
        return _ODS, read_properties(archive, "meta.xml", losses)
    container = archive.relations()
    workbook = container.get("officeDocument", "xl/workbook.xml")
    properties = read_properties(archive, container.get("core-properties"), losses)
    if workbook.endswith(".bin"):
        from spanwise.parsers.office.binary_workbook import check_extent, read_binary

        for link in archive.links(workbook):
            if link.kind == "worksheet":
                check_extent(archive.read_bytes(link.part), source)
        read_binary(source, writer=writer, losses=losses)
        return _XLSB, properties
    from spanwise.parsers.office.xlsx import read_xlsx

    read_xlsx(archive, workbook, writer=writer, losses=losses)
    return _XLSX, properties
