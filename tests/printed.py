"""PDFs as they come from a press: columns, tables, notes and running heads, set by reportlab."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

__all__ = ["HEBREW", "build_annual_report", "build_backward", "build_scaled", "build_turned"]

Draw = Callable[[Canvas], None]

_WIDTH, _HEIGHT = 612, 792
_LEFT = [
    "Ships are counted at the gate by",
    "two clerks, who write the name of",
    "each ship and all that it carries",
    "into the long book of the harbour,",
    "line after line, until the gate is",
    "closed and the lamps are put out.",
]
_RIGHT = [
    "Cargo is weighed on the quay. The",
    "scale was made in another century",
    "and is tested every spring by the",
    "office of weights and measures,",
    "which takes the better part of a",
    "day and costs more than the scale.",
]
_PARTED = [
    "Nothing else was decided in the year under review, as the harbour office was",
    "closed for repairs, and those who work in it were asked to stay and to recon-",
]
_COLUMNS = (330.0, 420.0, 510.0)
"""Right edges of the figures."""
HEBREW = [
    "משרד הנמל סופר אוניות ומטענים בכל יום",
    "ורושם את 1,234 האוניות בספר גדול של Harbour Office",
]


def _print_pages(pages: Sequence[Draw], *, rotation: int = 0) -> bytes:
    """Return a PDF with a page for each function that draws one."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(_WIDTH, _HEIGHT), invariant=1, pageCompression=0)
    canvas.setTitle("Printed")
    for draw in pages:
        canvas.setPageRotation(rotation)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def _write(
    canvas: Canvas,
    text: str,
    *,
    x: float = 72,
    y: float,
    size: float = 10,
    font: str = "Times-Roman",
) -> None:
    """Write a line."""
    canvas.setFont(font, size)
    canvas.drawString(x, y, text)


def _prose(canvas: Canvas, lines: Sequence[str], *, x: float = 72, y: float) -> None:
    """Write lines 12 points apart."""
    for at, line in enumerate(lines):
        _write(canvas, line, x=x, y=y - 12 * at)


def _row(canvas: Canvas, label: str, *figures: str, y: float) -> None:
    """Write a row of a table without rules; the figures end at the same places in each."""
    _write(canvas, label, y=y, size=9)
    for right, figure in zip(_COLUMNS, figures, strict=False):
        canvas.drawRightString(right, y, figure)


def build_annual_report() -> bytes:
    """Return three pages with all that the layout knows to tell apart.

    Head, foot and number on each; columns with a footnote; a statement with caption, units, heads
    and empty cells that goes on over a page break; a ruled table with a spanned and a wrapped
    cell; a word that is parted at the end of a page.
    """
    pages = [_first_page, _second_page, _third_page, _fourth_page]
    return _print_pages([_framed(number, page) for number, page in enumerate(pages, start=7)])


def _framed(number: int, page: Draw) -> Draw:
    def draw(canvas: Canvas) -> None:
        _write(canvas, "Harbour Office, report of the year", y=760, size=8)
        page(canvas)
        canvas.drawCentredString(306, 30, f"F-{number}")

    return draw


def _first_page(canvas: Canvas) -> None:
    _write(canvas, "Item 1. The Harbour", y=720, size=16, font="Times-Bold")
    _write(canvas, "Counting and weighing", y=690, font="Times-Bold")
    _prose(canvas, _LEFT, y=670)
    _write(canvas, "1 But for rafts.", y=590, size=7)
    _prose(canvas, _RIGHT, x=320, y=670)
    _prose(canvas, _PARTED, y=522)


def _second_page(canvas: Canvas) -> None:
    _write(canvas, "sider the rules of the quay.", y=720)
    _write(canvas, "Consolidated Statement of Ships", y=300, font="Times-Bold")
    _write(canvas, "(in thousands)", y=286, size=9)
    _row(canvas, "", "2022", "2021", "2020", y=270)
    _row(canvas, "Ships that called", "1,200", "1,100", "(900)", y=256)
    _row(canvas, "Ships that were sold and", "", "12", "14", y=242)
    _write(canvas, "not yet delivered", y=232, size=9)
    _row(canvas, "Rafts", "", "", "7", y=218)


def _third_page(canvas: Canvas) -> None:
    _row(canvas, "Barges", "5", "", "6", y=720)
    _row(canvas, "Total", "1,205", "1,112", "(873)", y=706)
    _write(canvas, "Cargo", y=600, font="Times-Bold")
    xs, ys = (72, 200, 300, 400), (580, 560, 530, 510)
    canvas.setLineWidth(0.5)
    for y in ys:
        canvas.line(xs[0], y, xs[-1], y)
    for x in (xs[0], xs[1], xs[-1]):
        canvas.line(x, ys[0], x, ys[-1])
    canvas.line(xs[2], ys[1], xs[2], ys[-1])
    _write(canvas, "Kind", x=76, y=566)
    _write(canvas, "Tons in the two years", x=204, y=566)
    _write(canvas, "Grain and seed", x=76, y=548)
    _write(canvas, "of all kinds", x=76, y=536)
    _write(canvas, "120", x=204, y=542)
    _write(canvas, "Stone", x=76, y=516)
    _write(canvas, "9", x=304, y=516)


def _fourth_page(canvas: Canvas) -> None:
    _write(canvas, "Item 2. The Year to Come", y=720, size=16, font="Times-Bold")
    _write(canvas, "Nothing is planned.", y=690)


def build_turned(rotation: int) -> bytes:
    """Return a page that viewers turn, with text that stands upright then."""

    def draw(canvas: Canvas) -> None:
        canvas.saveState()
        canvas.rotate(rotation)
        canvas.translate(
            *{0: (0, 0), 90: (0, -_WIDTH), 180: (-_WIDTH, -_HEIGHT), 270: (-_HEIGHT, 0)}[rotation]
        )
        _write(canvas, "The Harbour", y=500, size=16, font="Times-Bold")
        _prose(canvas, _LEFT, y=470)
        _row(canvas, "Ships", "12", "14", y=380)
        _row(canvas, "Boats", "", "4", y=368)
        _row(canvas, "Rafts", "3", "7", y=356)
        canvas.restoreState()

    return _print_pages([draw], rotation=rotation)


def build_scaled(share: float) -> bytes:
    """Return two pages of the same type, the second one shrunk."""

    def page(title: str, part: str, lines: Sequence[str], scale: float) -> Draw:
        def draw(canvas: Canvas) -> None:
            canvas.scale(scale, scale)
            _write(canvas, title, y=700, size=16, font="Times-Bold")
            _write(canvas, part, y=680, size=10, font="Times-Bold")
            _prose(canvas, lines, y=660)

        return draw

    return _print_pages(
        [page("The Harbour", "Ships", _PARTED, 1), page("The Quay", "Cargo", _PARTED[::-1], share)]
    )


def build_backward() -> bytes:
    """Return a page in Hebrew, as a press sets it: each line from its right end."""
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    pdfmetrics.registerFont(TTFont("Backward", str(fonts / "DejaVuSans.ttf")))

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Backward", 11)
        for at, line in enumerate(HEBREW):
            canvas.drawRightString(550, 700 - 14 * at, _seen(line))
        for at, (label, first, second) in enumerate(
            [("אוניות", "12", "14"), ("סירות", "", "4"), ("רפסודות", "3", "7")]
        ):
            canvas.drawRightString(550, 600 - 14 * at, _seen(label))
            canvas.drawString(300, 600 - 14 * at, first)
            canvas.drawString(200, 600 - 14 * at, second)

    return _print_pages([draw])


def _seen(text: str) -> str:
    """Return the letters of a line from left to right; Latin words keep their order."""
    runs: list[str] = []
    for word in text.split():
        if word.isascii() and word[0].isalpha() and runs and runs[0].isascii():
            runs[0] += f" {word}"
        else:
            runs.insert(0, word if word.isascii() else word[::-1])
    return " ".join(runs)
