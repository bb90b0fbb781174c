"""Rules (thin lines) on a PDF page, from which ruled tables are made.

Rules
    1. Where each character is an object, checking every object costs more than reading the text.
       Tables are drawn in one sequence: of many objects only every eighth is checked, and the
       neighbours of each path.
    2. A thin filled rectangle is a rule, and so is each straight part of a stroked path.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2.raw as pdfium

from spanwise.parsers.pdf.layout.page import Rule

_FEW_OBJECTS = 600
_STEP = 8
_MAX_RULES = 3000
_THIN = 3.0  # points
_SHORT = 6.0


def read_rules(page: pdfium.FPDF_PAGE) -> list[Rule]:
    """Return the horizontal and vertical rules of a page, in drawing order.

    A page with more than a few thousand is a drawing and returns none.
    """
    rules: list[Rule] = []
    for shape in _paths(page):
        rules += _rules_of(shape)
        if len(rules) > _MAX_RULES:
            return []
    return rules


def _paths(page: pdfium.FPDF_PAGE) -> Iterator[pdfium.FPDF_PAGEOBJECT]:
    count = pdfium.FPDFPage_CountObjects(page)
    if count <= _FEW_OBJECTS:
        for place in range(count):
            shape = _path(page, place)
            if shape is not None:
                yield shape
        return
    done = -1
    for probe in range(0, count, _STEP):
        if probe <= done or _path(page, probe) is None:
            continue
        place = probe
        while place - 1 > done and _path(page, place - 1) is not None:
            place -= 1
        while place < count and (shape := _path(page, place)) is not None:
            yield shape
            place += 1
        done = place


def _path(page: pdfium.FPDF_PAGE, place: int) -> pdfium.FPDF_PAGEOBJECT | None:
    shape = pdfium.FPDFPage_GetObject(page, place)
    return shape if pdfium.FPDFPageObj_GetType(shape) == pdfium.FPDF_PAGEOBJ_PATH else None


def _rules_of(shape: pdfium.FPDF_PAGEOBJECT) -> Iterator[Rule]:
    sides = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(shape, *map(ctypes.byref, sides)):
        return
    left, bottom, right, top = (side.value for side in sides)
    width, height = right - left, top - bottom
    if min(width, height) <= _THIN:
        if max(width, height) >= _SHORT:
            yield _thin_rule(left, bottom, right, top)
        return
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(shape, ctypes.byref(fill), ctypes.byref(stroke))
    if stroke.value:
        yield from _segments(shape)


def _thin_rule(left: float, bottom: float, right: float, top: float) -> Rule:
    if right - left >= top - bottom:
        middle = (bottom + top) / 2
        return Rule(left, middle, right, middle)
    middle = (left + right) / 2
    return Rule(middle, bottom, middle, top)


def _segments(shape: pdfium.FPDF_PAGEOBJECT) -> Iterator[Rule]:
    """Yield the straight parts of a path that are parallel to the axes."""
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(shape, ctypes.byref(matrix))
    x, y = ctypes.c_float(), ctypes.c_float()
    begin = last = (0.0, 0.0)
    for place in range(min(pdfium.FPDFPath_CountSegments(shape), _MAX_RULES)):
        segment = pdfium.FPDFPath_GetPathSegment(shape, place)
        pdfium.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            begin = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            yield from _axis_rule(last, point)
        if pdfium.FPDFPathSegment_GetClose(segment):
            yield from _axis_rule(point, begin)
        last = point


def _axis_rule(start: tuple[float, float], end: tuple[float, float]) -> Iterator[Rule]:
    left, right = sorted((start[0], end[0]))
    bottom, top = sorted((start[1], end[1]))
    if min(right - left, top - bottom) <= 1.0 and max(right - left, top - bottom) >= _SHORT:
        yield _thin_rule(left, bottom, right, top)
