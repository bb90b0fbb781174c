"""Words and rules (thin lines) of a PDF page with their positions, read with few calls of pdfium.

Rules of words
    1. The text of pdfium defines the words: most spaces are inserted by it and are not in the
       file.
    2. Each word takes three calls: its start, the end of its last character, and its text
       object, which has its font. Many files have one text object per character; calls for each
       character would cost more than everything else.
    3. The height of a character's loose box is its type size times a factor of the font, which is
       measured once per font and page.
    4. Characters of a word whose baselines differ are separate words.
    5. On a page of single characters, which pdfium separates by line breaks, those that touch are
       one word.
    6. A page whose text runs upwards, downwards or backwards is rotated. Words in another
       direction than most are returned separately, in content order.

Rules of ruling lines, which divide ruled tables
    1. Where each character is an object, checking every object costs more than reading the text.
       Tables are drawn in one sequence: of many objects only every eighth is checked, and the
       neighbours of each path.
    2. A thin filled rectangle is a rule, and so is each straight part of a stroked path.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot

import pypdfium2.raw as pdfium

from spanwise.parsers.pdf.layout.flow import HYPHEN
from spanwise.parsers.pdf.layout.page import Font, Rule, Words, runs_right_to_left

_WORD = re.compile("[^\\s\x00\u200b\ufeff\ufffe\x02\xad]+[\ufffe\x02\xad]?")
_HALF = re.compile("[\ud800-\udfff]")
_HYPHENS = "\ufffe\x02\xad"
_BOLD = re.compile(r"bold|black|heavy|demi|semibold|[-,_ ](?:bd|blk|hv|sb|md)\b", re.IGNORECASE)
_PLAIN = re.compile(r"regular|roman|book|light|thin|normal|medium", re.IGNORECASE)
_ITALIC = re.compile(r"(?i:italic|oblique|[-,_ ]it\b)|(?<=[a-z])It\b")
_NAMELESS = re.compile(
    r"(?:[A-Z]{6}\+)?(?:(?:CID)?Font\+?|TT|T|F|R|C\d_|fnt)[\d_]*F?\d*|", re.IGNORECASE
)
_BOLD_WEIGHT = (650, 1000)
"""Weights of bold fonts: pdfium returns five times StemV; values above 1000 are invalid."""
_FLAG_ITALIC = 1 << 6
_FLAG_BOLD = 1 << 18
_MIN_HEIGHT = 0.05
_NARROW = 0.36
"""Mean width of a character below which digits may be numbers on several lines, in heights."""
_NEXT_LINE = 0.6
"""Minimum vertical distance of characters of different lines, in type sizes."""
_MIN_SINGLE, _SINGLE = 40, 0.6  # words of a page of single characters, and the share of these
_TOUCH = (-0.15, 0.08)
"""Least and greatest distance of characters of one word on such a page, in type sizes."""
_SAMPLE = 12
"""Approximate number of words that decide the direction of a page."""

_Placed = tuple[str, int, int]
"""Word with the indices of its leftmost and its rightmost character."""


class FontTable:
    """Fonts of a document, numbered in order of first use."""

    def __init__(self) -> None:
        self.fonts: list[Font] = []
        self._numbers: dict[Font, int] = {}

    def number(self, font: Font) -> int:
        """Return the number of a font."""
        number = self._numbers.get(font)
        if number is None:
            number = self._numbers[font] = len(self.fonts)
            self.fonts.append(font)
        return number

    def read(self, handle: object) -> int:
        """Return the number of a font handle of pdfium; None counts as a nameless font."""
        nothing = Font("", bold=False, italic=False, is_nameless=True)
        return self.number(_read_font(handle) if handle else nothing)


def _read_font(handle: object) -> Font:
    buffer = ctypes.create_string_buffer(256)
    length = pdfium.FPDFFont_GetBaseFontName(handle, buffer, 256)
    name = buffer.raw[: max(0, min(length, 256) - 1)].decode("utf-8", "replace")
    nameless = _NAMELESS.fullmatch(name) is not None
    name = name if nameless else name.split("+", 1)[-1]
    flags = max(0, pdfium.FPDFFont_GetFlags(handle))
    angle = ctypes.c_int()
    slanted = bool(pdfium.FPDFFont_GetItalicAngle(handle, ctypes.byref(angle)) and angle.value)
    bold = bool(_BOLD.search(name)) or bool(flags & _FLAG_BOLD)
    if not bold and not nameless and not _PLAIN.search(name):
        low, high = _BOLD_WEIGHT
        bold = low <= pdfium.FPDFFont_GetWeight(handle) <= high
    italic = bool(_ITALIC.search(name)) or bool(flags & _FLAG_ITALIC) or slanted
    return Font(name, bold=bold, italic=italic, is_nameless=nameless)


def read_text(content: pdfium.FPDF_TEXTPAGE) -> str:
    """Return the characters of a page, one per index of pdfium.

    Characters outside the basic plane are two surrogates if pdfium counts them as two.
    """
    count = pdfium.FPDFText_CountChars(content)
    if count <= 0:
        return ""
    size = 2 * count + 2  # a character outside the basic plane takes two units
    buffer = (ctypes.c_ushort * size)()
    written = pdfium.FPDFText_GetText(content, 0, count, buffer)
    length = max(0, written - 1)
    text = bytes(memoryview(buffer).cast("B")[: 2 * length]).decode("utf-16-le", "replace")
    if len(text) == count:
        return text
    if length == count:  # each index is a unit: half of a character outside the basic plane
        return "".join(map(chr, buffer[:length]))
    return "".join([chr(pdfium.FPDFText_GetUnicode(content, place)) for place in range(count)])


@dataclass(frozen=True, slots=True)
class PageWords:
    """Words of a page by direction."""

    words: Words
    """Words in the main direction, in content order, rotated so that they run to the right."""
    aside: list[str]
    """Words in other directions, in content order."""
    turn: int
    """Direction of `words` in quarter turns to the left, 0 to 3."""


def read_words(
    content: pdfium.FPDF_TEXTPAGE, *, size: tuple[float, float], fonts: FontTable
) -> PageWords:
    """Return the words of a page.

    Args:
        content: Text page handle of pdfium.
        size: Width and height of the page before any rotation, in points.
        fonts: Fonts of the document; new ones are added.
    """
    placed = list(place_words(read_text(content)))
    reader = _WordReader(content, fonts)
    turns = Counter(reader.turn(start) for _, start, _ in placed[:: 1 + len(placed) // _SAMPLE])
    turn = min(turns, key=lambda turn: (-turns[turn], turn), default=0)
    words, aside = reader.read_turned(placed, turn, size) if turn else reader.read(placed)
    return PageWords(join_characters(words), aside, turn)


def join_characters(words: Words) -> Words:
    """Return the words of a page; if most are single characters, those that touch are joined."""
    singles = sum(len(text) == 1 for text in words.texts)
    if singles < max(_MIN_SINGLE, _SINGLE * len(words)):
        return words
    joined = Words()
    for at, text in enumerate(words.texts):
        if at and _touches(words, at):
            joined.texts[-1] += text
            joined.rights[-1] = words.rights[at]
        else:
            box = words.lefts[at], words.rights[at], words.baselines[at]
            joined.add(text, box=box, size=words.sizes[at], font=words.fonts[at])
    return joined


def _touches(words: Words, at: int) -> bool:
    """Return whether a word is on the line of the word before it, without a space between them."""
    size = words.sizes[at]
    distance = (words.lefts[at] - words.rights[at - 1]) / size
    rise = abs(words.baselines[at] - words.baselines[at - 1]) / size
    least, greatest = _TOUCH
    return least <= distance <= greatest and rise <= greatest


def place_words(text: str) -> Iterator[_Placed]:
    """Yield each word with the indices of its leftmost and its rightmost character."""
    has_backward, has_halves = runs_right_to_left(text), _HALF.search(text) is not None
    for match in _WORD.finditer(text):
        word, start, last = match.group(), match.start(), match.end() - 1
        if word[-1] in _HYPHENS and last > start:
            word, last = word[:-1] + HYPHEN, last - 1
        if has_halves and _HALF.search(word):
            word = word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if has_backward and runs_right_to_left(word):
            start, last = last, start
        yield word, start, last


class _WordReader:
    """Reader of one page; the addresses of fonts are only valid while it is open."""

    def __init__(self, content: pdfium.FPDF_TEXTPAGE, fonts: FontTable) -> None:
        self._content = content
        self._fonts = fonts
        self._known: dict[int, tuple[int, float]] = {}

    def read(self, placed: Sequence[_Placed]) -> tuple[Words, list[str]]:
        """Return the words from left to right, and the others."""
        content = self._content
        words = Words()
        aside: list[str] = []
        x, y, box = ctypes.c_double(), ctypes.c_double(), pdfium.FS_RECTF()
        x_place, y_place, box_place = ctypes.byref(x), ctypes.byref(y), ctypes.byref(box)
        get_origin, get_box = pdfium.FPDFText_GetCharOrigin, pdfium.FPDFText_GetLooseCharBox
        pending = list(reversed(placed))
        while pending:
            word, start, last = pending.pop()
            get_origin(content, start, x_place, y_place)
            get_box(content, last, box_place)
            height, left, right, baseline = box.top - box.bottom, x.value, box.right, y.value
            is_level = box.bottom - height <= baseline <= box.top + height
            is_narrow = right - left < _NARROW * height * len(word) and word[-1].isdecimal()
            if not is_level or is_narrow:
                pieces = list(self._pieces(word, start, last))
                if len(pieces) > 1:
                    pending += reversed(pieces)
                    continue
            if height < _MIN_HEIGHT or not is_level:
                aside.append(word)
                continue
            font, factor = self._font(start, height)
            words.add(word, box=(left, max(left, right), baseline), size=factor * height, font=font)
        return words, aside

    def _pieces(self, word: str, start: int, last: int) -> Iterator[_Placed]:
        """Yield the parts of a word that are on different lines.

        On a page with little text, such as a chart, pdfium joins the labels of an axis.
        """
        if len(word) != last - start + 1 or self.turn(start):
            yield word, start, last
            return
        x, y = ctypes.c_double(), ctypes.c_double()
        size = self._size(start)
        first, baseline = start, None
        for place in range(start, last + 1):
            pdfium.FPDFText_GetCharOrigin(self._content, place, ctypes.byref(x), ctypes.byref(y))
            if baseline is not None and abs(y.value - baseline) > _NEXT_LINE * size:
                yield word[first - start : place - start], first, place - 1
                first = place
            baseline = y.value
        yield word[first - start :], first, last

    def read_turned(
        self, placed: Sequence[_Placed], turn: int, size: tuple[float, float]
    ) -> tuple[Words, list[str]]:
        """Return the words in a direction, rotated to the right, and the others."""
        words = Words()
        aside: list[str] = []
        x, y = ctypes.c_double(), ctypes.c_double()
        sides = [ctypes.c_double() for _ in range(4)]
        for word, start, last in placed:
            if self.turn(start) != turn:
                aside.append(word)
                continue
            pdfium.FPDFText_GetCharOrigin(self._content, start, ctypes.byref(x), ctypes.byref(y))
            pdfium.FPDFText_GetCharBox(self._content, last, *map(ctypes.byref, sides))
            left, right, bottom, top = (side.value for side in sides)
            begin, baseline = _turned(x.value, y.value, turn, size)
            end = max(_turned(left, bottom, turn, size)[0], _turned(right, top, turn, size)[0])
            font, _ = self._font(start, 1.0)
            words.add(
                word,
                box=(begin, max(begin, end), baseline),
                size=max(self._size(start), 1.0),
                font=font,
            )
        return words, aside

    def _font(self, place: int, height: float) -> tuple[int, float]:
        """Return the number of a character's font, and its size from the height of its box."""
        text_object = pdfium.FPDFText_GetTextObject(self._content, place)
        handle = pdfium.FPDFTextObj_GetFont(text_object) if text_object else None
        address = ctypes.addressof(handle.contents) if handle else 0
        known = self._known.get(address)
        if known is None:
            size = self._size(place)
            factor = size / height if size > 0 else 1.0
            known = self._known[address] = (self._fonts.read(handle), factor)
        return known

    def _size(self, place: int) -> float:
        matrix = self._matrix(place)
        size = pdfium.FPDFText_GetFontSize(self._content, place)
        return float(size * hypot(matrix.c, matrix.d))

    def turn(self, place: int) -> int:
        """Return the direction of a character, in quarter turns to the left."""
        matrix = self._matrix(place)
        if abs(matrix.a) >= abs(matrix.b):
            return 0 if matrix.a >= 0 else 2
        return 1 if matrix.b > 0 else 3

    def _matrix(self, place: int) -> pdfium.FS_MATRIX:
        """Return the matrix of a character; zeros if it has none."""
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(self._content, place, ctypes.byref(matrix))
        return matrix


def _turned(x: float, y: float, turn: int, size: tuple[float, float]) -> tuple[float, float]:
    """Return a point of a page after the page is rotated back by quarter turns."""
    width, height = size
    if turn == 1:
        return y, width - x
    if turn == 2:
        return width - x, height - y
    return height - y, x


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


def read_bounds(item: pdfium.FPDF_PAGEOBJECT) -> tuple[float, float, float, float]:
    """Return the left, bottom, right and top of a page object; zeros if it has none."""
    sides = [ctypes.c_float() for _ in range(4)]
    pdfium.FPDFPageObj_GetBounds(item, *map(ctypes.byref, sides))
    left, bottom, right, top = (side.value for side in sides)
    return left, bottom, right, top


def _rules_of(shape: pdfium.FPDF_PAGEOBJECT) -> Iterator[Rule]:
    left, bottom, right, top = read_bounds(shape)
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
