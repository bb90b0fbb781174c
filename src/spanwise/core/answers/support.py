"""Support of a statement: numbers, dates and names that its quotes do not contain.

Rules of numbers:
    A number is supported by an equal number in a checked quote, in the question, in the title or
    section path of a quoted passage, or in a correct calculation. Each number is compared at the
    precision of the statement: 5.3 billion is supported by 5,308 million.
    A number without scale in a quote has the scale that the text above it states ("in millions"),
    or any scale if it states none.
    A percentage is not supported by an amount of money, nor the other way round.
    A small number word is also supported by as many quotes or listed things.
    The number of a section, note or the like is also supported by the quoted segment, and the
    number of a page by the citation.

Rules of dates and names:
    A date is supported by a date that has all of its parts, in a quote, in the question, in the
    title, section path or header of a quoted segment, or in the text above the quote: tables state
    their years in the heads of their columns.
    A year alone is not supported by the question if the quotes, their places, headers and the text
    above them name other years only: the report of another year may be quoted.
    If the quote is a table row with clear heads, and all numbers that the statement takes from it
    are in columns of other years than the statement names, these numbers are not supported.
    A name is also supported by the quoted segment.

In doubt a claim is supported. Statements without a checked quote are not examined, because they are
marked as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TypeVar

from spanwise.core.answers.claims import (
    Name,
    Number,
    WrittenDate,
    is_count,
    read_dates,
    read_names,
    read_numbers,
)
from spanwise.core.answers.table_years import column_years
from spanwise.types import ClaimKind

_Part = TypeVar("_Part", Number, Name)
_SCALES = tuple(Decimal(10) ** exponent for exponent in (0, 3, 6, 9))
_USUAL_SCALES = _SCALES[:3]  # tables in billions state their scale
_TABLE_SCALE = re.compile(
    r"\b(?:in|of|amounts?|dollars|us\$|\$|€|tabular)\W{1,3}(?:us\W)?(?:dollars\W)?(?:\W?\$\W?)?"
    r"(?P<scale>thousand|million|billion)s?\b|[$€]\s?(?P<short>[mb]n?|000)\b",
    re.IGNORECASE,
)
_ROW_SCALE = re.compile(r"\(\W?(?:in\s)?(?P<scale>thousand|million|billion)s\b", re.IGNORECASE)
_STATED_SCALES = {
    "thousand": _SCALES[1], "000": _SCALES[1], "million": _SCALES[2], "m": _SCALES[2],
    "mn": _SCALES[2], "billion": _SCALES[3], "b": _SCALES[3], "bn": _SCALES[3],
}  # fmt: skip
_ABOVE_CHARS = 2_500
_MAX_COUNT = 12
_MAX_NUMBERS = 200  # limit per statement, which is usually one or two sentences
_MAX_SCALED = 10**8  # larger numbers are not in thousands or millions
_MIN_AMOUNT = 1_000  # larger numbers without "%" are not taken for percentages
_LIST_MARKS = re.compile(r",|;|\band\b|\bor\b|\bund\b|\bet\b|\by\b|\n")
_WORD = re.compile(r"[^\W_]+")
_SPACED = str.maketrans("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Number, date or name in a statement."""

    start: int
    """Offset of the first character in the statement."""
    end: int
    """Offset after the last character."""
    kind: ClaimKind
    """Kind of the claim."""


@dataclass(frozen=True, kw_only=True)
class QuotedPassage:
    """Checked quote, and the surrounding text that shows its subject."""

    text: str
    """Quoted text, as stored."""
    above: str
    """Text of the segment before the quote."""
    segment: str
    """Text of the whole segment."""
    header: str = ""
    """Header of the segment."""
    place: str = ""
    """Title, id and section path of the document."""
    pages: str = ""
    """Page numbers and labels."""

    @cached_property
    def numbers(self) -> list[Number]:
        """Numbers of the quote, among them those that may be years."""
        return read_numbers(self.text)

    @cached_property
    def amounts(self) -> list[Number]:
        """Numbers of the quote outside dates."""
        return _outside(self.numbers, [(date.start, date.end) for date in read_dates(self.text)])

    @cached_property
    def column_years(self) -> list[int]:
        """Year of each amount if the quote is a table row with clear heads; otherwise empty."""
        row = self.text.strip()
        if "\n" in row or len(self.amounts) != len(self.numbers):
            return []
        return column_years(self.amounts, self.above[-_ABOVE_CHARS:])

    @cached_property
    def stated_scale(self) -> Decimal | None:
        """Scale that the text nearest above the quote states; None if it states none."""
        in_row = _ROW_SCALE.search(self.text)
        if in_row is not None:
            return _STATED_SCALES[in_row["scale"].lower()]
        stated = list(_TABLE_SCALE.finditer(self.above[-_ABOVE_CHARS:]))
        return (
            _STATED_SCALES[(stated[-1]["scale"] or stated[-1]["short"]).lower()] if stated else None
        )


@dataclass(frozen=True, kw_only=True)
class Support:
    """Texts and values that support the claims of one statement."""

    quotes: Sequence[QuotedPassage]
    """Checked quotes, at least one."""
    question: str = ""
    """Question that is answered."""
    computed: Sequence[Decimal] = field(default=())
    """Results of correct calculations, and of their parts."""

    @cached_property
    def places(self) -> str:
        """Question, titles and section paths."""
        parts = [self.question, *(quote.place for quote in self.quotes)]
        return "\n".join(parts).translate(_SPACED)

    @cached_property
    def place_numbers(self) -> list[Number]:
        """Numbers of the question, titles and section paths, outside dates."""
        dates = [(date.start, date.end) for date in read_dates(self.places)]
        return _outside(read_numbers(self.places), dates)

    @cached_property
    def wide_text(self) -> str:
        """Text of all quoted segments, with their headers and places."""
        segments = [f"{quote.header}\n{quote.segment}" for quote in self.quotes]
        return "\n".join([self.places, *segments])

    @cached_property
    def wide_values(self) -> frozenset[Decimal]:
        """Values of the numbers of the wide text."""
        return frozenset(number.value for number in read_numbers(self.wide_text))

    @cached_property
    def page_values(self) -> frozenset[Decimal]:
        """Numbers of the cited pages, and values of the numbers of the quotes."""
        pages = read_numbers("\n".join([*(quote.pages for quote in self.quotes), *_texts(self)]))
        return frozenset(number.value for number in pages)

    @cached_property
    def dates(self) -> list[WrittenDate]:
        """Dates that a statement may contain."""
        dates = read_dates("\n".join([self.places, *_texts(self)]))
        for quote in self.quotes:
            if not any(date.year for date in read_dates(quote.text)):
                dates += read_dates(f"{quote.header}\n{quote.above[-_ABOVE_CHARS:]}")
        return dates

    @cached_property
    def stated_years(self) -> frozenset[int]:
        """Years of the quotes, of their places and headers, and of the text above them."""
        texts = [
            part
            for quote in self.quotes
            for part in (quote.text, quote.place, quote.header, quote.above[-_ABOVE_CHARS:])
        ]
        dates = read_dates("\n".join(texts).translate(_SPACED))
        return frozenset(date.year for date in dates if date.year is not None)

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of the wide text, in lower case."""
        return frozenset(word.lower() for word in _WORD.findall(self.wide_text))

    @cached_property
    def initials(self) -> str:
        """First letters of the words of the wide text, in order."""
        return "".join(word[0].lower() for word in _WORD.findall(self.wide_text))


def unsupported_claims(
    text: str, support: Support, *, except_in: Sequence[tuple[int, int]] = ()
) -> list[Claim]:
    """Return the numbers, dates and names of a statement that are not supported, in order.

    Args:
        text: Text of the statement.
        support: Quotes of the statement, and everything else that supports it.
        except_in: Ranges of the text that are not examined.
    """
    dates = read_dates(text)
    inside = [*except_in, *((date.start, date.end) for date in dates)]
    claims = [
        *_dates(dates, support),
        *_numbers(text, support, _outside(read_numbers(text), inside)),
        *_other_columns(dates, support, _outside(read_numbers(text), inside)),
        *_names(_outside(read_names(text), inside), support),
    ]
    distinct = {(claim.start, claim.end): claim for claim in claims}
    return sorted(distinct.values(), key=lambda claim: claim.start)


def _outside(parts: Sequence[_Part], ranges: Sequence[tuple[int, int]]) -> list[_Part]:
    """Return the parts of a text that do not overlap ranges."""
    return [
        part
        for part in parts
        if not any(start < part.end and part.start < end for start, end in ranges)
    ]


def _numbers(text: str, support: Support, numbers: Sequence[Number]) -> Iterator[Claim]:
    listed = max(len(_LIST_MARKS.findall(part)) + 1 for part in [text, *_texts(support)])
    most = min(max(listed, len(support.quotes)), _MAX_COUNT)
    for number in numbers[:_MAX_NUMBERS]:
        if number.is_word and not is_count(number, text):
            continue
        is_count_of_things = number.is_word and not number.scale and number.value <= most
        if not is_count_of_things and not _supports_number(number, support):
            yield Claim(start=number.start, end=number.end, kind="number")


def _supports_number(number: Number, support: Support) -> bool:
    if number.is_page:
        return number.value in support.page_values
    if number.is_reference:
        return number.value in support.wide_values
    return (
        any(
            agrees(number, other, scale=quote.stated_scale)
            for quote in support.quotes
            for other in (quote.amounts if number.scale or number.unit else quote.numbers)
        )
        or any(agrees(number, other) for other in support.place_numbers)
        or any(equals_result(number, result) for result in support.computed)
    )


def _other_columns(
    dates: Sequence[WrittenDate], support: Support, numbers: Sequence[Number]
) -> Iterator[Claim]:
    """Yield the numbers of a statement if all of them are in columns of other years."""
    stated = {date.year for date in dates if date.year is not None}
    placed: list[Number] = []
    for quote in support.quotes:
        years = quote.column_years
        if not years or not stated <= set(years):
            continue
        for number in numbers[:_MAX_NUMBERS]:
            pairs = zip(years, quote.amounts, strict=True)
            columns = {
                year for year, other in pairs if agrees(number, other, scale=quote.stated_scale)
            }
            if columns & stated:
                return
            placed += [number] if columns else []
    if stated:
        for number in placed:
            yield Claim(start=number.start, end=number.end, kind="number")


def _texts(support: Support) -> list[str]:
    return [quote.text for quote in support.quotes]


def agrees(number: Number, other: Number, *, scale: Decimal | None = None) -> bool:
    """Return whether a number of a statement is supported by another number.

    Args:
        number: Number of the statement.
        other: Number of a quote.
        scale: Scale of the quoted number if it has none itself; None if it is unknown.
    """
    if {number.unit, other.unit} == {"percent", "money"}:
        return False
    is_amount = other.scale is not None or other.value >= _MIN_AMOUNT
    if number.unit == "percent" and other.unit != "percent" and is_amount:
        return False
    if other.unit == "percent" and number.unit != "percent" and number.scale:
        return False
    stated = number.value * (number.scale or 1)
    factors = _factors(number, other, scale)
    if any(abs(stated - factor * other.value) <= _tolerance(number, other) for factor in factors):
        return True
    return any(
        value * (number.scale or 1) == factor * other_value
        for value in _readings(number)
        for other_value in _readings(other)
        for factor in factors
    )


def _readings(number: Number) -> list[Decimal]:
    """Return the values that a number may have."""
    return [number.value] if number.other_value is None else [number.value, number.other_value]


def _tolerance(number: Number, other: Number) -> Decimal:
    """Return the largest difference that rounding can cause.

    Whole numbers without scale are rounded only from numbers with decimals.
    """
    is_whole = not number.scale and not number.decimals and not other.decimals
    if not number.value or (is_whole and not number.is_rounded):
        return Decimal(0)
    return number.step * (number.scale or 1) / 2


def _factors(number: Number, other: Number, scale: Decimal | None) -> set[Decimal]:
    """Return the factors by which the quoted number may be multiplied."""
    one = Decimal(1)
    if number.unit == "percent" and other.unit != "percent" and other.value < 1:
        return {one, Decimal(100)}  # a fraction
    if other.unit == "percent" and number.unit != "percent" and number.value < 1:
        return {one, one / 100}
    if number.scale and not other.scale:
        usual = set(_USUAL_SCALES) if other.value < _MAX_SCALED else {one}
        return {one, scale} if scale else usual
    if other.scale:
        return {other.scale} if number.scale else {one, other.scale}
    return {one, scale} if scale else {one}


def equals_result(number: Number, result: Decimal) -> bool:
    """Return whether a number of a statement is the result of a calculation, at its precision.

    Operands may be in any unit of money, and a share may be given in percent.
    """
    factors = _SCALES if number.scale else _SCALES[:1]
    if number.unit == "percent":
        factors = (Decimal(1), Decimal(100))
    return any(
        abs(number.value * (number.scale or 1) - factor * abs(result))
        <= number.step * (number.scale or 1) / 2
        for factor in factors
    )


def _dates(dates: Sequence[WrittenDate], support: Support) -> Iterator[Claim]:
    """Yield the dates of which no reading is supported."""
    years = {date.year for date in support.dates if date.year}
    supported = {
        (date.start, date.end)
        for date in dates
        if _supports_date(date, support.dates, years) and not _is_other_year(date, support)
    }
    for date in dates:
        if (date.start, date.end) not in supported:
            yield Claim(start=date.start, end=date.end, kind="date")


def _supports_date(date: WrittenDate, others: Sequence[WrittenDate], years: set[int]) -> bool:
    """Return whether a date is in other dates; day and year may be in different ones."""
    if any(date.is_in(other) for other in others):
        return True
    is_day = date.month is not None and date.year in years
    return is_day and any(
        other.year is None and (date.month, date.day) == (other.month, other.day)
        for other in others
    )


def _is_other_year(date: WrittenDate, support: Support) -> bool:
    """Return whether a date is a year alone, and the quotes are about other years."""
    is_year = date.month is None and date.year is not None
    return is_year and bool(support.stated_years) and date.year not in support.stated_years


def _names(names: Sequence[Name], support: Support) -> Iterator[Claim]:
    for name in names:
        if not _supports_name(name, support):
            yield Claim(start=name.start, end=name.end, kind="name")


def _supports_name(name: Name, support: Support) -> bool:
    """Return whether all parts of a name occur in the wide text, or its letters as initials."""
    parts = [word.lower() for word in _WORD.findall(name.key)]
    if all(_is_known(part, support.words) for part in parts):
        return True
    if "".join(parts) in support.words:
        return True
    return name.is_acronym and "".join(part for part in parts) in support.initials


def _is_known(word: str, words: frozenset[str]) -> bool:
    """Return whether a word or its singular or plural is among words."""
    return word in words or word.removesuffix("s") in words or f"{word}s" in words
