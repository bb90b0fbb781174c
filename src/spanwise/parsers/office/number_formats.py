"""Number formats of spreadsheets: "12.3%", "(1,234)", "$5.00"; dates as ISO 8601.

Rules
    1. Numbers are written as the sheet shows them, except that dates have one format (year
       first), and that a negative number always has a minus, not only a colour.
    2. Unsupported codes (fractions, conditions, digits between words) are not guessed: the number
       is written as it is stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Literal

BUILT_IN_CODES: Mapping[int, str] = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    **dict.fromkeys((14, 15, 16, *range(27, 32), 36, *range(50, 55), 57, 58), "yyyy-mm-dd"),
    17: "mmm-yy",
    **dict.fromkeys((18, 20, 32), "h:mm"),
    **dict.fromkeys((19, 21, 33), "h:mm:ss"),
    22: "yyyy-mm-dd h:mm",
    37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)",
    39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)",
    41: '#,##0;(#,##0);"-"',
    42: '"$"#,##0;"$"(#,##0);"-"',
    43: '#,##0.00;(#,##0.00);"-"',
    44: '"$"#,##0.00;"$"(#,##0.00);"-"',
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss",
}
"""Built-in codes by number; the other numbers are "General" or text."""

_TOKEN = re.compile(
    r"\"(?P<quoted>[^\"]*)\"?|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\]]*)\]?"
    r"|(?P<general>[Gg]eneral)|(?P<clock>[Aa][Mm]/[Pp][Mm]|[Aa]/[Pp])|(?P<exponent>[Ee][+-])"
    r"|(?P<date>[yYdDhHsSmMeEgGbB]+)|(?P<digit>[0#?.,]+)|(?P<sign>[;%/@])|(?P<other>.)",
    re.DOTALL,
)
_CURRENCY = re.compile(r"\$([^-]*)(?:-.*)?", re.DOTALL)
_ELAPSED = re.compile(r"[hHmMsS]+")
_CONDITION = re.compile(r"[<>=]")
_MAX_CODE_CHARS = 500
_MAX_DECIMALS = 30
_LAST_DAY = 2_958_465
"""Serial number of the last day, 9999-12-31."""


@dataclass(slots=True)
class _Section:
    """Section of a code: for positive numbers, negative numbers or zero."""

    kind: Literal["number", "date", "elapsed", "unknown"] = "unknown"
    prefix: str = ""
    digits: str = ""
    suffix: str = ""
    percents: int = 0
    exponent: bool = False
    known: bool = True
    """Whether the section is supported."""
    letters: str = ""
    """Letters of a date format, lower case, in order."""

    @property
    def shows_minus(self) -> bool:
        """Whether its literal characters mark a number as negative."""
        return any(sign in self.prefix for sign in ("-", "(", "−"))


class NumberFormat:
    """Parsed number format, used for many cells."""

    def __init__(self, code: str) -> None:
        self._sections = _read_sections(code[:_MAX_CODE_CHARS])

    def write(self, value: float, *, from_1904: bool = False) -> str:
        """Return a formatted number.

        Args:
            value: The number.
            from_1904: Whether serial dates count from 1904, as in old Macintosh files.
        """
        section = self._sections[0]
        if section.kind == "date":
            return _write_date(value, section.letters, from_1904=from_1904) or plain_number(value)
        if section.kind == "elapsed":
            return _write_elapsed(value)
        own = 0
        if value < 0 and len(self._sections) > 1:
            own = 1
        elif value == 0 and len(self._sections) > 2:
            own = 2
        section = self._sections[own]
        written = _write_number(abs(value), section)
        if written is None:
            return plain_number(value)
        is_zero = not any(digit in written for digit in "123456789")
        bare = value >= 0 or (own == 1 and section.shows_minus) or (own == 0 and is_zero)
        return written if bare else f"-{written}"


def plain_number(value: float) -> str:
    """Return a number without a format, without binary rounding noise and ".0"."""
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return f"{value:.15g}"


def _read_sections(code: str) -> list[_Section]:
    sections = [_Section()]
    for match in _TOKEN.finditer(code):
        if match["sign"] == ";":
            sections.append(_Section())
        else:
            _take(sections[-1], match)
    return sections


def _take(section: _Section, match: re.Match[str]) -> None:
    """Add one token of a code to its section."""
    kind = match.lastgroup
    token = match.group(kind) if kind else ""
    if kind == "bracket":
        _take_bracket(section, token)
    elif kind in {"date", "clock"} and section.kind != "number":
        section.kind = "elapsed" if section.kind == "elapsed" else "date"
        section.letters += token.lower() if kind == "date" else ""
    elif kind == "digit" and section.kind in {"date", "elapsed"}:
        return  # fractions of a second
    elif kind == "digit":
        section.kind = "number"
        section.known &= section.exponent or not section.suffix
        section.digits += "" if section.exponent else token
    elif kind == "exponent":
        section.exponent = True
    elif match["sign"] == "%":
        section.percents += 1
        _add_literal(section, "%")
    elif kind in {"general", "sign"}:
        section.known = False
    elif kind is not None:
        _add_literal(section, token)


def _take_bracket(section: _Section, token: str) -> None:
    currency = _CURRENCY.fullmatch(token)
    if currency:
        _add_literal(section, currency.group(1))
    elif _ELAPSED.fullmatch(token):
        section.kind = "elapsed"
    elif _CONDITION.match(token):
        section.known = False


def _add_literal(section: _Section, text: str) -> None:
    if section.digits:
        section.suffix += text
    else:
        section.prefix += text


def _write_number(value: float, section: _Section) -> str | None:
    """Return a number that is not negative; None if the code is not supported."""
    digits = section.digits
    if not section.known or section.kind == "date":
        return None
    if not digits:  # a section without digits is only used for zero ("-")
        return section.prefix.strip() or None if value == 0 else None
    whole, _, decimals = digits.partition(".")
    if value == 0 and not decimals and "0" not in whole:  # "?" and "#" show no zero
        return f"{section.prefix}{section.suffix}".strip() or None
    scaled = len(whole) - len(whole.rstrip(",")) if not decimals else 0
    scaled += len(decimals) - len(decimals.rstrip(","))
    decimals = decimals.replace(",", "")[:_MAX_DECIMALS]
    if section.exponent:
        return f"{section.prefix}{value:.{len(decimals)}E}{section.suffix}"
    try:
        number = Decimal(repr(value)).scaleb(2 * section.percents - 3 * scaled)
        number = number.quantize(Decimal(1).scaleb(-len(decimals)), rounding=ROUND_HALF_UP)
    except InvalidOperation:  # too many digits
        return None
    body = f"{number:,f}" if "," in whole.rstrip(",") else f"{number:f}"
    optional = len(decimals) - len(decimals.rstrip("#?"))
    for _ in range(optional):
        body = body.removesuffix("0") if "." in body else body
    body = body.removesuffix(".")
    missing = whole.count("0") - len(body.partition(".")[0].replace(",", ""))
    return f"{section.prefix}{'0' * missing}{body}{section.suffix}".strip()


def _write_date(value: float, letters: str, *, from_1904: bool) -> str | None:
    """Return a serial number as a date, a time of day or both; None if it is out of range."""
    if not 0 <= value <= _LAST_DAY:
        return None
    # Excel has a 29 February 1900: earlier days count from another start.
    start = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 31 if value < 60 else 30)
    try:
        moment = start + timedelta(seconds=round(value * 86_400))
    except OverflowError:
        return None
    has_time = "h" in letters or "s" in letters
    time = moment.strftime("%H:%M:%S" if "s" in letters else "%H:%M")
    if "d" in letters:
        day = moment.date().isoformat()
    elif "y" in letters or "e" in letters:
        day = moment.date().isoformat()[: 7 if "m" in letters else 4]
    elif has_time:
        return time
    else:
        day = moment.date().isoformat()
    return f"{day} {time}" if has_time else day


def _write_elapsed(value: float) -> str:
    seconds = round(abs(value) * 86_400)
    sign = "-" if value < 0 and seconds else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
