"""What the first page of a filing says about it: company, form, fiscal year, end of the period.

Rules:
    Precision before recall: a field that is in doubt is left out, and a text that is no filing,
    no earnings release and no annual report gets none.
    A filing begins with a line of the Securities and Exchange Commission and its form; what has
    prose before them speaks of a filing. Its company stands before "(Exact name of registrant
    ...)", or with its legal form after the file number of the Commission.
    An earnings release has a quarter and "results" in its first lines, and a company with the
    exchange it is listed at that says something "today"; it belongs to the fiscal year that its
    first lines name.
    An annual report has "Annual Report" and a year in a line of its first page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from spanwise.core.filings.companies import company_name, has_legal_form
from spanwise.core.filings.fiscal_years import fiscal_year_of_quarter, fiscal_year_of_year
from spanwise.core.filings.written_dates import WRITTEN_DATE, read_written_date
from spanwise.types import Scalar

__all__ = ["cover_fields", "cover_title"]

_COVER_CHARS = 8_000
_OPENING_CHARS = 700
_NEAR_CHARS = 1_000  # between the name of the Commission and the form
_COMPANY_CHARS = 300
_LINE_CHARS = 80
_LEAST_MENTIONS = 3

_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_COMMISSION = re.compile(
    r"(?:^[ \t]*|\bunited\s+states\s+)[*_#|]*securities\s+and\s+exchange\s+commission\b",
    re.IGNORECASE | re.MULTILINE,
)
_PROSE = re.compile(r"(?:\b[a-z]+,?\s+){4}")
_PURSUANT = re.compile(r"\bpursuant\s+to\s+section\s+1[35]\b", re.IGNORECASE)
_FORM = re.compile(
    r"\bform\s+(10-?\s?K(?:T|405|SB)?|10-?\s?Q(?:SB)?|8-?\s?K|20-?\s?F|40-?\s?F|6-?\s?K|11-?\s?K"
    r"|S-?[1348]|F-?[134])(/A)?(?![\w-])",
    re.IGNORECASE,
)
_AMENDED = re.compile(r"\(?amendment\s+no\.?\s*\d", re.IGNORECASE)
_ENDED = re.compile(
    rf"(?:year|period|quarter|months|weeks)\W{{1,4}}ended\b:?.{{0,40}}?({WRITTEN_DATE})",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    rf"({WRITTEN_DATE})\s*\(?date\s+of\s+report"
    rf"|date\s+of\s+report\b.{{0,80}}?({WRITTEN_DATE})"
    rf"|earliest\s+event\s+reported\b.{{0,20}}?({WRITTEN_DATE})",
    re.IGNORECASE,
)
_EXACT_NAME = re.compile(r"\(?\s*exact\s+names?\s+of\s+(?:the\s+)?registrants?\b", re.IGNORECASE)
_FILE_NUMBER = r"(?:number|no\.?|numbers)\s*:?\s*\d{1,3}-\d{3,6}(?:-\d+)?\.?"
_BEFORE_COMPANY = re.compile(
    rf"commission\s+file\s+{_FILE_NUMBER}|\b{_FILE_NUMBER}|{WRITTEN_DATE}"
    r"|transition\s+period\s+from\b.{0,60}?\bto\b[\s_.]*|[_=*.—-]{3,}|\b20549(?:-\d{4})?"
    r"|\(mark\s+one\)|\bexchange\s+act\s+of\s+1934\b\.?|\bto\s+_+|\|",
    re.IGNORECASE,
)
_FILE_NUMBER_LINE = re.compile(rf"^.*commission\s+file\s+{_FILE_NUMBER}\s*$", re.IGNORECASE | re.M)

_QUARTER = re.compile(
    r"\b(?:first|second|third|fourth|[1-4]st|2nd|3rd|4th)[\s-]+(?:fiscal\s+)?quarter|\bQ[1-4]\b"
    r"|\bfull[\s-]+year\b|\bannual\b",
    re.IGNORECASE,
)
_RESULTS = re.compile(r"\b(?:results|earnings)\b", re.IGNORECASE)
_FISCAL = re.compile(r"\bfiscal\s+(?:year\s+)?((?:19|20)\d\d)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_NAME_WORD = r"[A-Z0-9][\w&.,'’/-]{0,40}"
_LISTED = re.compile(
    rf"((?:{_NAME_WORD}\s+){{1,8}}?)"
    r"\((?:the\s)?(?:NYSE|NASDAQ|AMEX|TSX|LSE|OTC\w*|Euronext|XETRA)\b[^()\n]{0,30}:\s*[A-Z][\w.]*"
    r".{0,100}?\btoday\b",
    re.IGNORECASE,
)
_NAME_AT_END = re.compile(rf"(?:{_NAME_WORD}\s+(?:(?:&|of|and|the)\s+)?){{1,8}}(?:plc\s+)?\Z")
_ANNUAL_REPORT = re.compile(
    r"^(?P<before>.{0,60}?)\b(?:integrated\s+)?annual\s+report(?:\s+(?:and|&)\s+accounts)?"
    r"(?P<after>.{0,60})$",
    re.IGNORECASE,
)


def cover_fields(text: str) -> dict[str, Scalar]:
    """Return what the first page of a document says about it, none of it in doubt.

    Args:
        text: The document; its start is read, and more of it to tell how the company writes its
            name and counts its years.

    Returns:
        `company` without legal form, `form` ("10-K", "8-K/A", "earnings release", "annual
        report"), `fiscal_year`, and `period_end` as YYYY-MM-DD: of an 8-K the day of the event,
        which belongs to no fiscal year. Empty for other documents.
    """
    cover = text[:_COVER_CHARS].translate(_DASHES)
    flat = " ".join(cover.split())
    form = _filed_form(cover)
    if form:
        return _filing(form, flat=flat, cover=cover, text=text)
    return _earnings_release(flat, text=text) or _annual_report(cover, text=text)


def cover_title(fields: Mapping[str, Scalar]) -> str:
    """Return a title made of the fields of a cover, empty without a company or a form.

    The year stands for an annual report, the last day of its period for another one.
    """
    company, form = fields.get("company"), fields.get("form")
    if not company or not form:
        return ""
    year, end = fields.get("fiscal_year"), fields.get("period_end")
    is_annual = str(form).startswith(("10-K", "20-F", "40-F", "annual"))
    when = (year or end) if is_annual else (end or year)
    return " ".join(str(part) for part in (company, form, when) if part)


def _filed_form(cover: str) -> str:
    """Return the form of a filing, "10-K/A" with its amendment; empty where it is none."""
    commission = _COMMISSION.search(cover)
    if commission is None or _PROSE.search(cover, 0, commission.start()):
        return ""
    for match in _FORM.finditer(cover):
        if abs(match.start() - commission.end()) <= _NEAR_CHARS:
            break
    else:
        return ""
    if not (_EXACT_NAME.search(cover) or _PURSUANT.search(cover)):
        return ""
    letters = re.sub(r"[\s-]", "", match[1]).upper()
    form = re.sub(r"\A(\d+|[SF])", r"\1-", letters)
    amended = match[2] or _AMENDED.match(cover[match.end() :].lstrip(" \n_-*"))
    return f"{form}/A" if amended else form


def _filing(form: str, *, flat: str, cover: str, text: str) -> dict[str, Scalar]:
    fields: dict[str, Scalar] = {"form": form}
    company = _registrant(flat, cover, text)
    if company:
        fields["company"] = company
    kind = form.removesuffix("/A")
    if kind in ("8-K", "6-K"):
        end = _first_date(_REPORTED, flat)
    else:
        end = _first_date(_ENDED, flat)
        if end is not None:
            count = fiscal_year_of_quarter if kind.startswith("10-Q") else fiscal_year_of_year
            fields["fiscal_year"] = count(end, text=text)
    if end is not None:
        fields["period_end"] = end.isoformat()
    return fields


def _registrant(flat: str, cover: str, text: str) -> str:
    """Return the company of a filing, empty where its name is not sure."""
    exact = _EXACT_NAME.search(flat)
    if exact is not None:
        before = flat[max(0, exact.start() - _COMPANY_CHARS) : exact.start()]
        name = before
        for match in _BEFORE_COMPANY.finditer(before):
            if before[match.end() :].strip(" _-*|."):
                name = before[match.end() :]
        return company_name(name, text=text)
    number = _FILE_NUMBER_LINE.search(cover)
    following = cover[number.end() :].split("\n", 3) if number else []
    line = next((line for line in following if line.strip()), "")
    return company_name(line, text=text) if has_legal_form(line) else ""


def _first_date(pattern: re.Pattern[str], flat: str) -> date | None:
    match = pattern.search(flat)
    return None if match is None else read_written_date(next(filter(None, match.groups())))


def _earnings_release(flat: str, *, text: str) -> dict[str, Scalar]:
    opening = flat[:_OPENING_CHARS]
    quarter = _QUARTER.search(opening)
    listed = _LISTED.search(flat) if quarter and _RESULTS.search(opening) else None
    if quarter is None or listed is None:
        return {}
    fields: dict[str, Scalar] = {"form": "earnings release"}
    named = _NAME_AT_END.search(listed[1])
    company = company_name(named.group() if named else "", text=text)
    if company:
        fields["company"] = company
    year = _FISCAL.search(opening) or _YEAR.search(opening, quarter.start())
    if year is not None:
        fields["fiscal_year"] = int(year[1])
    end = _first_date(_ENDED, flat)
    if end is not None:
        fields["period_end"] = end.isoformat()
    return fields


def _annual_report(cover: str, *, text: str) -> dict[str, Scalar]:
    lines = [line.strip() for line in cover[:_OPENING_CHARS].split("\n") if line.strip()]
    for number, line in enumerate(lines):
        match = _ANNUAL_REPORT.match(line) if len(line) <= _LINE_CHARS else None
        year = match and _YEAR.search(match["before"] + " " + match["after"])
        if not match or not year:
            continue
        beside = [*lines[max(0, number - 2) : number], *lines[number + 1 : number + 3]]
        names = [_YEAR.sub("", part) for part in (match["before"], match["after"])]
        names += [other for other in beside if has_legal_form(other)]
        companies = (company_name(name, text=text) for name in names)
        found = next((name for name in companies if _is_mentioned(name, text)), "")
        if found:
            return {"form": "annual report", "company": found, "fiscal_year": int(year[1])}
    return {}


def _is_mentioned(name: str, text: str) -> bool:
    """Return whether a text goes on to speak of the company that its first page may name."""
    return bool(name) and text.count(name) >= _LEAST_MENTIONS
