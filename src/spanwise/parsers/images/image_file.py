"""Image files as documents: one figure on each page, and the text recognised in it.

Rules:
    An image is read like a scanned page: by OCR, or by a vision model of the caller.
    If nothing is read, the text is the title of the file, so the document is listed and found by
    its name. Its figure then has no caption unless the file has a title of its own.
    The first line of a text that is read is the caption of the figure.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import pypdfium2

from spanwise.core.documents.figure_texts import caption_images
from spanwise.core.documents.page_markdown import name_pages
from spanwise.parsers.images.header import MODEL_KINDS, ImageHeader, read_image_header
from spanwise.parsers.images.pdf_form import image_pdf
from spanwise.parsers.parsed import PagesToRead, Parsed, Source, Step
from spanwise.parsers.pdf.layout.compose import Composition, compose
from spanwise.parsers.pdf.ocr import OcrEngine, ocr_advice, open_engine
from spanwise.parsers.pdf.pages import PageLines, PagesRead
from spanwise.parsers.pdf.picture import draw_png
from spanwise.parsers.pdf.words import FontTable
from spanwise.parsers.properties import file_title
from spanwise.types import DocumentStatus, Figure, Page

_MAX_IMAGE_BYTES = 10_000_000
"""Maximum size of an image that is given to a model as it is."""
_CUT = "the end of the image is missing; fetch or export it again"
_NEEDS_PILLOW = "install spanwise[ocr], which decodes {} images"


def parse_image(source: Source) -> Parsed:
    """Return an image file with a figure, and with its text if there is an OCR engine.

    Raises:
        ParseError: "corrupt" if it is damaged, "unsupported" if it is as small as an icon,
            "too_large" if it has too many pixels.
    """
    started = time.monotonic()
    header = read_image_header(source)
    data = image_pdf(source, header)
    if source.leaves_pictures:
        count = 0 if data is None else _count_pages(data)
        is_seen = count or header.kind in MODEL_KINDS
        scans = tuple(range(1, (count or 1) + 1)) if is_seen else ()
        return replace(_parsed(source, header, pages=count or 1), to_read=PagesToRead(scans=scans))
    engine = open_engine(source.ocr) if data is not None else None
    if data is None or engine is None:
        advice = _NEEDS_PILLOW.format(header.kind) if data is None else ocr_advice(source.ocr)
        warning = f"the text in the image is not read; {advice}"
        return _parsed(source, header, warnings=[warning], needs_ocr=True)
    return _read(source, header, data, engine, started=started)


def _count_pages(data: bytes) -> int:
    document = pypdfium2.PdfDocument(data)
    count = len(document)
    document.close()
    return count


def _read(
    source: Source, header: ImageHeader, data: bytes, engine: OcrEngine, *, started: float
) -> Parsed:
    """Return an image file with the text that an OCR engine reads."""
    from spanwise.parsers.pdf.ocr_pages import read_by_ocr

    document = pypdfium2.PdfDocument(data)
    pages = [PageLines([], page.get_height()) for page in document]
    numbers = range(1, len(pages) + 1)
    read = PagesRead(pages, FontTable())
    done = read_by_ocr(
        document, read, numbers=numbers, engine=engine, source=source, started=started
    )
    document.close()
    composed = compose(
        [page.lines for page in read.pages],
        heights=[page.height for page in read.pages],
        fonts=read.fonts.fonts,
        outline=(),
    )
    warnings = []
    if done.found:
        warnings.append(f"{name_pages(done.found)} of {len(pages)} read by OCR ({engine.name})")
    if done.left:
        warnings.append(f"{name_pages(done.left)} not read by OCR{done.cause}")
    return _parsed(
        source,
        header,
        pages=len(pages),
        composed=composed,
        warnings=warnings,
        needs_ocr=bool(done.left),
    )


def _parsed(
    source: Source,
    header: ImageHeader,
    *,
    pages: int = 1,
    composed: Composition | None = None,
    warnings: Sequence[str] = (),
    needs_ocr: bool = False,
) -> Parsed:
    """Return an image file with its text, or with its title as its text."""
    title = header.title
    starts: Sequence[int | None] = (0, *[None] * (pages - 1))
    text = title or _name(source) or f"{header.kind} image"
    is_read = composed is not None and bool(composed.text)
    if composed is not None and is_read:
        text, starts = composed.text, composed.starts
    shown = _pages(starts, len(text))
    places = [page.start if is_read else page.end for page in shown]
    figures = [
        Figure(start=place, end=place, caption=title, page=number)
        for number, place in enumerate(places, start=1)
    ]
    status: DocumentStatus = "needs_ocr" if needs_ocr else "ok"
    if header.is_cut:
        status, warnings = "partial", (*warnings, _CUT)
    return Parsed(
        text=text,
        media_type=header.media_type,
        title=title,
        pages=shown,
        headings=composed.headings if composed is not None else (),
        blocks=composed.blocks if composed is not None else (),
        figures=caption_images(text, figures=figures, pages=shown),
        status=status,
        warnings=tuple(warnings),
    )


def _name(source: Source) -> str:
    """Return the words of the name of a file; empty if it has none."""
    name = PurePosixPath(file_title(source.name)).stem.replace("_", " ")
    words = " ".join("".join(filter(str.isprintable, name)).split())
    return words if any(map(str.isalnum, words)) else ""


def _pages(starts: Sequence[int | None], length: int) -> tuple[Page, ...]:
    """Return the pages, which cover the text."""
    pages, end = [], length
    for found in reversed(starts):
        start = end if found is None else found
        pages.append(Page(start=start, end=end))
        end = start
    return tuple(reversed(pages))


def draw_image(source: Source, *, page: int, dots_per_inch: float, for_model: bool) -> bytes:
    """Return an image as a file that models accept.

    Args:
        source: The image file.
        page: Number of the image in the file, from 1.
        dots_per_inch: Resolution on a page of letter size.
        for_model: Whether the image is for reading text: grey, with at most 1.8 million pixels.
            Otherwise, an image that models accept is returned as it is.

    Raises:
        ParseError: "unsupported" if its format needs Pillow, which is not installed; else as for
            `parse_image`.
    """
    source.on_step(Step.of_bytes(len(source.data)))
    header = read_image_header(source)
    is_accepted = header.kind in MODEL_KINDS and len(source.data) <= _MAX_IMAGE_BYTES
    if is_accepted and not for_model:
        return source.data
    data = image_pdf(source, header)
    if data is not None:
        drawn = Source(data=data, name=source.name, on_step=source.on_step)
        return draw_png(drawn, page=page, dots_per_inch=dots_per_inch, for_model=for_model)
    if is_accepted:
        return source.data
    raise source.error(
        "unsupported",
        f"it is a {header.kind} image, which cannot be drawn; {_NEEDS_PILLOW.format(header.kind)}",
    )
