"""Texts of a PDF outside its pages: properties, titles of bookmarks and page labels.

pypdfium2 refuses a text that is not valid UTF-16. Here, only its invalid characters are lost.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

_PROPERTIES = ("Title", "Author", "CreationDate", "ModDate")


def read_properties(document: pypdfium2.PdfDocument) -> dict[str, str]:
    """Return title, author and dates of a document by their names in the file."""
    return {
        name: _text(partial(pdfium.FPDF_GetMetaText, document, f"{name}\0".encode()))
        for name in _PROPERTIES
    }


def bookmark_title(bookmark: Any) -> str:
    """Return the title of a bookmark."""
    return _text(partial(pdfium.FPDFBookmark_GetTitle, bookmark))


def page_label(document: pypdfium2.PdfDocument, index: int) -> str:
    """Return the label of a page, given by its index; empty if the file has none."""
    return _text(partial(pdfium.FPDF_GetPageLabel, document, index))


def _text(read: Callable[[object, int], int]) -> str:
    """Return a text of pdfium.

    Args:
        read: Function that writes the text as UTF-16 with a zero at its end into a buffer of a
            given size, and returns the required size.
    """
    size = read(None, 0)
    buffer = ctypes.create_string_buffer(size)
    read(buffer, size)
    return buffer.raw[: max(0, size - 2)].decode("utf-16-le", "replace")
