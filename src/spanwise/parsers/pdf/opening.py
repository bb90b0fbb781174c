"""Opening a PDF: as it is, or as it can be mended."""

from __future__ import annotations

import pypdfium2
import pypdfium2.raw as pdfium

from spanwise.parsers.parsed import Source
from spanwise.parsers.pdf.salvage import salvage_candidates

__all__ = ["open_pdf", "reopen_pdf"]


def open_pdf(source: Source, warnings: list[str]) -> pypdfium2.PdfDocument:
    """Return a PDF, opened with an empty password where it is encrypted.

    Args:
        source: The file.
        warnings: Where it is said that some of it is lost.

    Raises:
        ParseError: "encrypted" where a password is needed, "corrupt" where nothing can be saved.
    """
    try:
        return _load(source.data)
    except pypdfium2.PdfiumError as refused:
        if refused.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise source.error(
                "encrypted", "it is encrypted and needs a password; save a copy without one"
            ) from refused
        for data, is_whole in salvage_candidates(source.data):
            try:
                document = _load(data)
            except pypdfium2.PdfiumError:
                continue
            if not is_whole:
                warnings.append("damaged or cut off; what could be saved of it was read")
            return document
        raise source.error(
            "corrupt", f"it is damaged beyond saving ({refused}); fetch or export it again"
        ) from refused


def reopen_pdf(data: bytes) -> pypdfium2.PdfDocument | None:
    """Return a PDF that was mended, None where it does not open."""
    try:
        return _load(data)
    except pypdfium2.PdfiumError:
        return None


def _load(data: bytes) -> pypdfium2.PdfDocument:
    document = pypdfium2.PdfDocument(data)
    if not len(document):
        raise pypdfium2.PdfiumError("Failed to find any page.", pdfium.FPDF_ERR_PAGE)
    return document
