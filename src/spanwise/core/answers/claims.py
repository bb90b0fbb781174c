"""Numbers, dates and names in a text, in normal forms for comparison.

Rules of numbers:
    A number has a value, a scale ("million", "bn", "k") and a unit (percent or money). Thousands
    separators are removed; "1.577" has a second reading of 1577, as in German. Number words from
    "two" on count. The sign is ignored, because text states it in words: a loss of 5 is "(5)" in a
    table.
    A number after a word such as "Note" or "Section" is a reference.
    Digits inside words ("A320", "10-K") are no numbers.

Rules of dates:
    A date has a year, a month and a day, of which parts may be absent. A number from 1900 to 2099
    without unit and scale is a year. "3/4/2019" has two readings.

Rules of names:
    A name is a word with a capital letter that does not begin a sentence, or with an inner capital
    or digit.
    Names are read in languages that capitalise only names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from spanwise.core.text.language_traits import FUNCTION_WORDS
from spanwise.core.text.languages import detect_language

Unit = Literal["", "percent", "money"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """Number in a text."""

    start: int
    """Offset of the first character, with the sign of a currency."""
    end: int
    """Offset after the last character, with scale and unit."""
    value: Decimal
    """Absolute value without scale."""
    other_value: Decimal | None = None
    """Value if the point separates thousands; None if it cannot."""
    decimals: int = 0
    """Number of decimals."""
    scale: Decimal | None = None
    """Factor of the word after the number, such as 1,000,000; None without such a word."""
    unit: Unit = ""
    """Unit of the number; empty for none or an unknown one."""
    is_reference: bool = False
    """Whether it is the number of a page, section, note or the like."""
    is_page: bool = False
    """Whether it is the number of a page."""
    is_word: bool = False
    """Whether it is written as a word."""
    is_rounded: bool = False
    """Whether a word such as "about" precedes it."""

    @property
    def step(self) -> Decimal:
        """Smallest difference between two values at the precision of the number."""
        if self.is_rounded and not self.decimals and self.value:
            digits = str(int(self.value))
            return Decimal(10) ** (len(digits) - len(digits.rstrip("0")))
        return Decimal(1).scaleb(-self.decimals)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDate:
    """Date in a text, or a part of one."""

    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    year: int | None = None
    """Year; None if it is absent."""
    month: int | None = None
    """Month, from 1; None if it is absent."""
    day: int | None = None
    """Day of the month; None if it is absent."""

    def is_in(self, other: WrittenDate) -> bool:
        """Return whether another date has all parts of this one."""
        return (
            self.year in (None, other.year)
            and self.month in (None, other.month)
            and self.day in (None, other.day)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """Word of a name in a text."""

    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    key: str
    """Word in lower case, without possessive ending."""
    is_acronym: bool
    """Whether it consists of a few capital letters."""


_THOUSAND, _MILLION, _BILLION = Decimal(10) ** 3, Decimal(10) ** 6, Decimal(10) ** 9
_SCALES = {
    **dict.fromkeys("thousand thousands tausend tsd k mil mille miles".split(), _THOUSAND),
    **dict.fromkeys(
        "million millions mn mm m mio millionen millón millones milione milioni".split(), _MILLION
    ),
    **dict.fromkeys(
        "billion billions bn b milliarde milliarden mrd milliard milliards".split(), _BILLION
    ),
    **dict.fromkeys("trillion trillions tn billionen".split(), Decimal(10) ** 12),
    **dict.fromkeys("hundred hundreds hundert".split(), Decimal(100)),
}
_LETTERS = frozenset("kmb")  # scales that must touch their number: "5 m" is a length
_WORD_VALUES = {
    word: value
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen",
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    )
    for value, word in enumerate(words.split())
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2
    )
}
_ORDINALS = frozenset(word for word in _WORD_VALUES if word.endswith(("st", "nd", "rd", "th")))
_NOT_COUNTS = frozenset("zero one null eins un uno once onze elf second".split()) | _ORDINALS
"""Number words with other meanings ("one", "second"). They support claims, but are not claims."""

_DIGITS = r"\d{1,3}(?:[,.'’\u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
_SCALE = "|".join(sorted(map(re.escape, _SCALES), key=len, reverse=True))
_PER_CENT = (
    r"%|‰|per\s?cent(?:age)?\b|percentage\s+points?\b|prozent\b|pour\s?cent\b|bps\b"
    r"|basis\s+points?\b"
)
_NUMBER = re.compile(
    rf"(?P<money>(?:US|C|A|HK)?[$€£¥₹]\s?|\b(?:USD|EUR|GBP|CHF|JPY)\s)?"
    rf"(?<![^\W_])(?<![\d][.,])(?P<digits>{_DIGITS})(?:st|nd|rd|th|s)?"
    rf"(?:(?P<space>[\s-]?)(?P<scale>{_SCALE})\b(?:(?<=mio|mrd|tsd)\.)?)?"
    rf"(?:[\s-]?(?P<percent>{_PER_CENT}))?"
    r"(?:\s?(?P<money_after>[€£]|(?:US\s)?dollars?\b|euros?\b|USD\b|EUR\b|GBP\b|CHF\b))?"
    r"(?![^\W_])(?!-(?-i:[A-Z]))",
    re.IGNORECASE,
)
_WORD_NUMBER = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})[\s-]?)?(?P<unit>{'|'.join(_WORD_VALUES)[1:]})?\b"
    rf"(?:[\s-](?P<scale>{_SCALE})\b)?(?:\s(?P<percent>{_PER_CENT}))?",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\b(?:(?P<page>pages?|pp?\.|seiten?|página)|notes?|items?|sections?|sec\.|§§?|articles?|art\."
    r"|clauses?|schedules?|exhibits?|annex(?:es)?|appendix|forms?|parts?|chapters?|tables?|figures?"
    r"|paragraphs?|levels?|topics?|rules?|asu|asc|ifrs|ias|class|series|phase|step|q|no\.|nos\.)"
    r"\s?(?:\d[\d.]*(?:\([a-z\d]+\))*(?:\s?(?:,|and|or|to|und|-|–)\s?))*$",
    re.IGNORECASE,
)
_ROUNDED = re.compile(
    r"(?:\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|over|more\s+than"
    r"|less\s+than|under|some|ca\.|circa|rund|etwa|knapp|environ|unos)|[~≈])\s?$",
    re.IGNORECASE,
)
_REFERENCE_CHARS, _ROUNDED_CHARS = 40, 16
_MAX_CLAIM_DIGITS = 24  # longer digit strings are identifiers


def read_numbers(text: str) -> list[Number]:
    """Return the numbers of a text in order, also those that are years."""
    numbers = [number for match in _NUMBER.finditer(text) for number in _number(match)]
    words = [number for match in _WORD_NUMBER.finditer(text) for number in _word_number(match)]
    return sorted([*numbers, *words], key=lambda number: number.start)


def _number(match: re.Match[str]) -> Iterator[Number]:
    digits = match["digits"]
    if len(digits) > _MAX_CLAIM_DIGITS:
        return
    value, other, decimals = _value(digits)
    scale, end = _scale(match)
    percent, text = match["percent"], match.string
    if percent and percent.lower().startswith(("bp", "basis")):
        scale = Decimal("0.01")
    money = match["money"] or match["money_after"]
    before = text[max(0, match.start() - _REFERENCE_CHARS) : match.start()]
    reference = None if percent or money else _REFERENCE.search(before)
    yield Number(
        start=match.start(),
        end=end,
        value=value,
        other_value=other,
        decimals=decimals,
        scale=scale,
        unit="percent" if percent else "money" if money else "",
        is_reference=reference is not None,
        is_page=reference is not None and reference["page"] is not None,
        is_rounded=_ROUNDED.search(before[-_ROUNDED_CHARS:]) is not None,
    )


def _scale(match: re.Match[str]) -> tuple[Decimal | None, int]:
    """Return the scale of a number, and the end of the number."""
    word = match["scale"]
    if word is None:
        return None, match.end()
    if word.lower() in _LETTERS and match["space"]:
        return None, match.end("digits")
    return _SCALES[word.lower()], match.end()


def _value(digits: str) -> tuple[Decimal, Decimal | None, int]:
    """Return the value of digits with separators, the other reading, and the decimals."""
    separators = [character for character in digits if not character.isdigit()]
    if not separators:
        return Decimal(digits), None, 0
    whole, _, last = digits.rpartition(separators[-1])
    plain = "".join(filter(str.isdigit, digits))
    as_decimal = Decimal("".join(filter(str.isdigit, whole)) + "." + last)
    is_group = len(last) == 3 and len(whole) <= 3
    if len(separators) > 1:
        is_mixed = len(set(separators)) > 1
        return (as_decimal, None, len(last)) if is_mixed else (Decimal(plain), None, 0)
    if separators[0] == ".":
        return as_decimal, Decimal(plain) if is_group else None, len(last)
    if len(last) == 3:
        return Decimal(plain), None, 0
    return as_decimal, None, len(last)


def _word_number(match: re.Match[str]) -> Iterator[Number]:
    tens, unit = match["tens"], match["unit"]
    if not tens and not unit:
        return
    value = (_TENS[tens.lower()] if tens else 0) + (_WORD_VALUES[unit.lower()] if unit else 0)
    scale = match["scale"]
    yield Number(
        start=match.start(),
        end=match.end(),
        value=Decimal(value),
        scale=_SCALES[scale.lower()] if scale and scale.lower() not in _LETTERS else None,
        unit="percent" if match["percent"] else "",
        is_word=True,
    )


def is_count(number: Number, text: str) -> bool:
    """Return whether a number word of a text certainly states a number."""
    return text[number.start : number.end].split(maxsplit=1)[0].lower() not in _NOT_COUNTS


_MONTH_VALUES = {
    word: value
    for words in (
        "january february march april may june july august september october november december",
        "jan feb mar apr - jun jul aug sep oct nov dec",
        "januar februar märz - mai juni juli - - oktober - dezember",
        "janvier février mars avril - juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "- - - - - - - - sept - - -",
    )
    for value, word in enumerate(words.split(), start=1)
    if word != "-"
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_VALUES, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d|[.,]\d|%)"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}-(?P<month_number>[01]\d)(?:-(?P<day>[0-3]\d))?(?!\d)",
        rf"(?<![\d.]){_DAY}\s(?:de\s)?{_MONTH}(?:,?\s(?:de\s)?{_YEAR})?",
        rf"\b{_MONTH}\s+{_DAY}(?![\d.]\d)(?:\s?,?\s*{_YEAR})?",
        rf"\b{_MONTH},?\s+(?:de\s|of\s)?{_YEAR}",
        rf"(?<!\d)(?P<day>[0-3]?\d)(?P<mark>[./])(?P<month_number>[0-3]?\d)(?P=mark){_YEAR}",
        r"(?<![\d$€£.,/-])(?<![^\W\d_])(?:FY|CY)?(?P<year>(?:19|20)\d\d)(?:[/–-](?P<short>\d\d))?"
        r"(?![\d%]|[.,]\d|-\d{3})",
        r"\bFY\s?['’]?(?P<short_year>\d\d)(?!\d)",
    )
)
_MONTHS, _DAYS = 12, 31


def read_dates(text: str) -> list[WrittenDate]:
    """Return the dates of a text in order; a date with two readings occurs twice."""
    dates: list[WrittenDate] = []
    taken: list[tuple[int, int]] = []
    for pattern in _DATES:
        found = [
            match
            for match in pattern.finditer(text)
            if not any(start < match.end() and match.start() < end for start, end in taken)
        ]
        for match in found:
            readings = list(_dates(match))
            dates += readings
            taken += [(date.start, date.end) for date in readings]
    return sorted(dates, key=lambda date: date.start)


def _dates(match: re.Match[str]) -> Iterator[WrittenDate]:
    """Yield the readings of a match of a date."""
    parts = match.groupdict()
    year = int(parts["year"]) if parts.get("year") else None
    if parts.get("short_year"):
        year = 2000 + int(parts["short_year"])
    word, number, day = parts.get("month"), parts.get("month_number"), parts.get("day")
    if word and word == "may":  # the verb
        return
    month = _MONTH_VALUES[word.lower()] if word else int(number) if number else None
    pairs = {(month, int(day) if day else None)}
    if parts.get("mark") == "/" and month is not None and day:
        pairs.add((int(day), month))
    for one_month, one_day in sorted(pairs, key=str):
        if (one_month or 1) <= _MONTHS and (one_day or 1) <= _DAYS:
            yield WrittenDate(
                start=match.start(), end=match.end(), year=year, month=one_month, day=one_day
            )
    if parts.get("short") and year is not None:
        short = year - year % 100 + int(parts["short"])
        yield WrittenDate(start=match.start(), end=match.end(), year=short)


_NAME_LANGUAGES = frozenset(("en", "es", "fr", "it", "nl", "pt", "da", "no", "sv", "ca"))
_NAME_WORD = re.compile(r"[^\W\d_](?:[^\W_]|[&'’.-](?=[^\W_]))*")
_POSSESSIVE = re.compile(r"['’]s?$")
_SENTENCE_START = re.compile(r"(?:[.?!:;]|\n|[-*•])[\s\"“'‘(]*$")
_START_CHARS = 6
_ACRONYM_LETTERS = 6
_GENERAL = frozenset(
    """i monday tuesday wednesday thursday friday saturday sunday ceo cfo coo cto gaap non-gaap
    ebitda ebit eps esg usa us u.s uk u.k eu usd eur gbp inc corp corporation company co llc ltd
    plc group mr mrs ms dr fy q1 q2 q3 q4 h1 h2 ok yes no not applicable none n/a form note
    notes item items section sections article clause schedule exhibit annex appendix part table
    figure page level january february march april may june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec""".split()
)
_ADJECTIVE = re.compile(r"(?:ish|ese|ian|ean|can)s?$")


def read_names(text: str) -> list[Name]:
    """Return the words of names in a text, in order; none in languages that capitalise nouns."""
    if text.isupper() or not _has_names(text):
        return []
    return [name for match in _NAME_WORD.finditer(text) for name in _name(match)]


def _has_names(text: str) -> bool:
    """Return whether the language of a text capitalises only names; German does not."""
    language = detect_language(text)
    if language:
        return language in _NAME_LANGUAGES
    words = {word.lower() for word in _NAME_WORD.findall(text)}
    return len(words & FUNCTION_WORDS["de"]) <= len(words & FUNCTION_WORDS["en"])


def _name(match: re.Match[str]) -> Iterator[Name]:
    word = _POSSESSIVE.sub("", match.group())
    key = word.lower()
    has_inner = any(letter.isupper() or letter.isdigit() for letter in word[1:])
    if not word[0].isupper() and not has_inner:
        return
    before = match.string[max(0, match.start() - _START_CHARS) : match.start()]
    if not has_inner and (match.start() == 0 or _SENTENCE_START.search(before)):
        return
    if key in _GENERAL or _ADJECTIVE.search(key) or len(word) < 2:
        return
    yield Name(
        start=match.start(),
        end=match.start() + len(word),
        key=key,
        is_acronym=word.replace("&", "").replace(".", "").isupper()
        and len(word) <= _ACRONYM_LETTERS,
    )
