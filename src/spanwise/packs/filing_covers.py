"""Metadata from the first page of a filing: company, form, fiscal year, end of the period.

Rules of covers:
    Precision before recall: a doubtful field is omitted, and a text that is not a filing, an
    earnings release or an annual report has no fields.
    A filing begins with a line of the Securities and Exchange Commission and a form. A text with
    prose before them is not a filing, but a text about one. The company is before "(Exact name of
    registrant ...)", or has a legal form and follows the file number of the Commission. If the
    cover shows the name as a picture, the name above the signatures is used.
    An earnings release has a quarter and "results" in its first lines, and a company with its
    exchange that reports something "today"; its fiscal year is the one in its first lines.
    An annual report has "Annual Report" and a year in a line of its first page.

Rules of company names:
    A name loses its article and legal form: "THE BOEING COMPANY" is "Boeing", "3M Company" is "3M".
    Documents of several years and kinds thus share one name to filter by.
    A name in capitals takes its most frequent spelling in the text ("PEPSICO, INC." is "PepsiCo",
    "NVIDIA" is unchanged). If the text hardly mentions it, its words are capitalised.
    A name loses a last word such as "Systems" if the text mostly uses the name without it: "Adobe
    Systems Incorporated" is "Adobe".

Rules of fiscal years:
    A year that ends in March or later has the number of the calendar year it ends in.
    A year that ends in January or February 2019 has the number 2019 or 2018. An annual report names
    three years as periods ("fiscal 2018"): 2019 to 2017, or 2018 to 2016. The frequencies of 2019
    and 2016 therefore decide, or else those of 2019 and 2018. If 2019 is rare, it is only the
    outlook. A text without "fiscal" is searched for years outside dates. If everything is equally
    frequent, only a year that ends in the first week of January has the number before.
    A quarter belongs to the year after the last complete year that its report mentions ("for the
    fiscal year ended September 24, 2022"). Its report names two years instead of three.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date

from spanwise.core.text.written_dates import ANY_DATE, WRITTEN_DATE, YEAR, read_written_date
from spanwise.filters import single_values
from spanwise.packs.plain_signs import DASHES, with_plain_signs
from spanwise.types import MetadataValue

_MAX_CHARS = 80
_MAX_PARTS = 6  # brackets before and after a name
_READ_CHARS = 300_000
_SURE_TIMES = {
    False: 1,
    True: 4,
}  # minimum occurrences of a spelling, by whether it is in upper case
_LEGAL_FORM = re.compile(
    r"[\s,]+(?:&\s*co(?:mpany|\.)?|and\s+company|inc(?:orporated|\.)?|corp(?:oration|\.)?|company|co\.?"
    r"|l\.?l\.?c\.?|l\.?l\.?p\.?|l\.?p\.?|ltd\.?|limited|p\.?l\.?c\.?|s\.?a\.?|n\.?v\.?|a\.?g\.?"
    r"|s\.?e\.?|a/s|asa|ab|oyj|gmbh|kgaa|s\.?p\.?a\.?|b\.?v\.?|kabushiki\s+kaisha|n\.a\.|pte\.?|\(?pty\.?\)?|\(proprietary\)"
    r"|s\.?a\.?r\.?l\.?|s\.r\.l\.?|s/a)(?:\s*/[a-z]{2,3}/)?\Z",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"the\s+(?=\w)", re.IGNORECASE)
_EDGES = " \t\n.,:;|_*–—-"
_LEADING_PART = re.compile(
    r"\A(?:\([^()]*\)|\[[^\[\]]*\]|[^()]*\)|\((?![^()]*\))|(?:from|to|graphic|logo|image)\b(?![.&'’-]))"
    r"[\s.,:;|_*–—-]*(?=\S)",
    re.IGNORECASE,
)
_CLOSING_PART = re.compile(
    r"\s*\((?:[^()]*:[^()]*|publ|an?\s[^()]*)\)\Z|\s*\([^()]*\Z", re.IGNORECASE
)
_NOT_IN_WORDS = re.compile(r"[-'’]")
_SMALL_LETTERS = re.compile(r"(?<=\bM)a?c(?=[A-Z])|['’]s\b")
_DESCRIPTIVE = frozenset(
    (
        "communications", "company", "corporation", "enterprises", "group", "holding", "holdings",
        "industries", "international", "technologies", "technology", "systems",
    )
)  # fmt: skip
_SHORT_NAME_TIMES = 20  # minimum occurrences of a name without its last word
_SHORT_NAME_RATIO = 3
_VOWEL = re.compile("[AEIOUY]")
_NO_NAME = re.compile(
    r"exact\s+name|commission|washington,?\s+d\.?c|registrant|\bform\b|\bended\b|securities\s+act",
    re.IGNORECASE,
)


def has_legal_form(name: str) -> bool:
    """Return whether a name ends with a legal form, such as "Boeing Company" and "Nestlé S.A."."""
    return _LEGAL_FORM.search(name.rstrip(" ,;:")) is not None


def company_name(written: str, *, text: str) -> str:
    """Return a company name without article and legal form; empty if it is no valid name.

    Args:
        written: Name as the document writes it.
        text: Text of the document, searched for a mixed-case spelling of a name in capitals.
    """
    name = _without_parts(" ".join(written.split()).strip(_EDGES))
    if not 1 < len(name) <= _MAX_CHARS or _NO_NAME.search(name):
        return ""
    if sum(map(str.isalpha, name)) < 2:
        return ""
    bare = _bare(name)
    if _is_in_capitals(bare):
        bare = _bare(_in_mixed_case(bare, text))
    return _short_name(bare, text)


def _without_parts(name: str) -> str:
    """Return a name without check boxes and remarks in brackets before and after it."""
    for _ in range(_MAX_PARTS):
        shorter = _CLOSING_PART.sub("", _LEADING_PART.sub("", name)).strip(_EDGES)
        if shorter == name:
            break
        name = shorter
    return name[:-1].rstrip(_EDGES) if name.endswith(")") and "(" not in name else name


def _short_name(name: str, text: str) -> str:
    """Return a name without its last word if the text mostly uses the shorter name."""
    short, _, last = name.rpartition(" ")
    if not short or last.lower() not in _DESCRIPTIVE:
        return name
    read = text[:_READ_CHARS]
    alone = len(re.findall(rf"\b{re.escape(short)}\b(?!\s+[A-Z&])", read))
    whole = len(re.findall(rf"\b{re.escape(name)}\b", read))
    is_usual = alone >= _SHORT_NAME_TIMES and alone >= _SHORT_NAME_RATIO * whole
    return short if is_usual else name


def _bare(name: str) -> str:
    """Return a name without article and legal forms; unchanged if nothing would remain."""
    bare = _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
    while legal_form := _LEGAL_FORM.search(bare):
        bare = bare[: legal_form.start()].strip(_EDGES)
    return bare or name


def _in_mixed_case(name: str, text: str) -> str:
    """Return the most frequent spelling of a name in capitals, or the capitalised name.

    Spaces that PDF extraction inserts into words ("R ESORTS") are ignored.
    """
    letters = [re.escape(letter) for letter in name if not letter.isspace()]
    spaced = r"\s{0,2}".join(letters)
    pattern = re.compile(rf"\b{spaced}\b", re.IGNORECASE)
    spellings = Counter(" ".join(match.split()) for match in pattern.findall(text[:_READ_CHARS]))
    sure = [
        spelling
        for spelling in spellings
        if not spelling.islower() and spellings[spelling] >= _SURE_TIMES[_is_in_capitals(spelling)]
    ]
    if sure:
        return min(sure, key=lambda spelling: (-spellings[spelling], spelling))
    return " ".join(
        "-".join(map(_capitalised, word.split("-")))
        if _NOT_IN_WORDS.sub("", word).isalpha()
        else word
        for word in name.split()
    )


def _capitalised(word: str) -> str:
    """Return a word in capitals with one capital letter; unchanged if it has no vowel ("PLC")."""
    if word.startswith("Mc"):
        return f"Mc{word[2:].capitalize()}"
    return word.capitalize() if _VOWEL.search(word) else word


def _is_in_capitals(name: str) -> bool:
    """Return whether a name is in capitals, except for letters as in "McDONALD"."""
    return _SMALL_LETTERS.sub("", name).isupper()


_LAST_MONTH_IN_DOUBT = 2
_FIRST_WEEK = 7
_DAYS_BEFORE = range(20, 400)  # days between the end of the last whole year and of a quarter
_FISCAL_YEAR = re.compile(
    rf"\b(?:fiscal\s+(?:year\s+)?|FY\s?)({YEAR})|\b({YEAR})\s+fiscal\b", re.IGNORECASE
)
_ANY_YEAR = re.compile(rf"(?<![\d$,.])\b{YEAR}(?![,.]?\d)")
_RARE_RATIO = 3  # a year with this many times fewer mentions is an outlook
_YEARS_IN_REPORT = 3
_YEARS_IN_QUARTER = 2
_YEAR_ENDED = re.compile(rf"\byear\s+ended\s+({WRITTEN_DATE})", re.IGNORECASE)


def fiscal_year_of_year(end: date, *, text: str) -> int:
    """Return the number of the fiscal year that ends on a date.

    Args:
        end: Last day of the year.
        text: The document.
    """
    if end.month > _LAST_MONTH_IN_DOUBT:
        return end.year
    return _number(end, text[:_READ_CHARS], newest=end.year, years=_YEARS_IN_REPORT)


def fiscal_year_of_quarter(end: date, *, text: str) -> int:
    """Return the number of the fiscal year that a quarter or another part of a year belongs to.

    Args:
        end: Last day of the part.
        text: Text of the document. If it mentions no earlier year end, the calendar year is used.
    """
    read = text[:_READ_CHARS]
    ends = Counter(
        day
        for day in map(read_written_date, _YEAR_ENDED.findall(read))
        if day is not None and (end - day).days in _DAYS_BEFORE
    )
    if not ends:
        return end.year
    last = min(ends, key=lambda day: (-ends[day], day))
    if last.month > _LAST_MONTH_IN_DOUBT:
        return last.year + 1
    return _number(last, read, newest=last.year + 1, years=_YEARS_IN_QUARTER)


def _number(end: date, text: str, *, newest: int, years: int) -> int:
    """Return the number of a fiscal year, which is the newest possible one or the one before.

    Args:
        end: Last day of the last complete year.
        text: Text of the report.
        newest: Number of the year if the company counts by the calendar year of its end.
        years: Number of years that the report names as periods.
    """
    for mentions in (_fiscal_mentions(text), _year_mentions(text)):
        if _RARE_RATIO * mentions[newest] < mentions[newest - 1]:
            return newest - 1
        for other in (newest - years, newest - 1):
            if mentions[newest] != mentions[other]:
                return newest if mentions[newest] > mentions[other] else newest - 1
    return newest - 1 if end.month == 1 and end.day <= _FIRST_WEEK else newest


def _fiscal_mentions(text: str) -> Counter[int]:
    """Return how often a text mentions each fiscal year, such as "fiscal 2018"."""
    return Counter(int(first or second) for first, second in _FISCAL_YEAR.findall(text))


def _year_mentions(text: str) -> Counter[int]:
    """Return how often a text mentions each year outside dates."""
    return Counter(map(int, _ANY_YEAR.findall(ANY_DATE.sub(" ", text))))


_COVER_CHARS = 8_000
_OPENING_CHARS = 700
_NEAR_CHARS = 1_000  # maximum distance between the name of the Commission and the form
_COMPANY_CHARS = 300
_LINE_CHARS = 80
_MIN_MENTIONS = 3

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
    r"|\(?commission\s+file\s+(?:numbers?|no)\b[.:)]*|transition\s+period\s+from\b.{0,60}?\bto\b[\s_.]*|[_=*.—-]{3,}|\b20549(?:-\d{4})?"
    r"|\(mark\s+one\)|\bexchange\s+act\s+of\s+1934\b\.?|\bto\s+_+|\|",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"\bsigned\s+on\s+its\s+behalf\s+by\s+the\s+undersigned,?\s+(?:hereunto|thereunto|hereto)\s+duly"
    r"\s+authorized\b[.,:]?",
    re.IGNORECASE,
)
_PLACE_AND_DATE = re.compile(
    r"\A[\s,.:]*(?:in\s+the\s+(?:city|state|county)\s+of\b[^.\d\n]{1,80}?(?=,?\s+(?:on|this)\b|[.\n]))?"
    rf"(?:,?\s*\b(?:on|as\s+of|this|dated?:?)\s*(?:this\s+|the\s+)?(?:{WRITTEN_DATE}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+day\s+of\s+[a-z]+,?\s+{YEAR}))?[\s.,:]*",
    re.IGNORECASE,
)
_CAUSED = re.compile(
    r"\bExchange\s+Act\s+of\s+1934(?:,\s+as\s+amended)?,\s+([A-Z0-9][^\n;]{1,80}?)\s+"
    r"(?:\([^()]*\)\s+)?has\s+duly\s+caused\b"
)
_AFTER_SIGNATORY = re.compile(
    r"\(\s*registrant|\bby\s*:|/s/|\bdated?\s*:|\bsignature", re.IGNORECASE
)
_FILE_NUMBER_LINE = re.compile(
    rf"^.*commission\s+file\s+{_FILE_NUMBER}[^\S\n]*$", re.IGNORECASE | re.M
)

_QUARTER = re.compile(
    r"\b(?:first|second|third|fourth|[1-4]st|2nd|3rd|4th)[\s-]+(?:fiscal\s+)?quarter|\bQ[1-4]\b"
    r"|\bfull[\s-]+year\b|\bannual\b",
    re.IGNORECASE,
)
_RESULTS = re.compile(r"\b(?:results|earnings)\b", re.IGNORECASE)
_FISCAL = re.compile(r"\bfiscal\s+(?:year\s+)?((?:19|20)\d\d)\b", re.IGNORECASE)
_COVERS_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_NAME_WORD = r"[A-Z0-9][\w&.,'’/-]{0,40}"
_LISTED = re.compile(
    rf"((?:{_NAME_WORD}\s+(?:&\s+)?){{1,8}}?)"
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


def cover_fields(text: str) -> dict[str, MetadataValue]:
    """Return the fields of the first page of a document; doubtful fields are omitted.

    Args:
        text: Text of the document. Its start has the fields; up to 300,000 characters are searched
            for the spelling of the company name and for how it numbers its fiscal years.

    Returns:
        `company` without legal form, `form` ("10-K", "8-K/A", "earnings release", "annual report"),
        `fiscal_year`, `period_end` as YYYY-MM-DD, and the same day as `date`. For an 8-K, it is the
        day of the event, and there is no fiscal year. Empty for other documents.
    """
    cover = with_plain_signs(text[:_COVER_CHARS], DASHES)
    flat = " ".join(cover.split())
    form = _filed_form(cover)
    if form:
        return _filing(form, flat=flat, cover=cover, text=text)
    return _earnings_release(flat, text=text) or _annual_report(cover, text=text)


def cover_title(fields: Mapping[str, MetadataValue]) -> str:
    """Return a title made of the fields of a first page; empty without a company or a form.

    The title of an annual report has its year, other titles the last day of the period.
    """
    fields = single_values(fields)
    company, form = fields.get("company"), fields.get("form")
    if not company or not form:
        return ""
    year, end = fields.get("fiscal_year"), fields.get("period_end")
    is_annual = str(form).startswith(("10-K", "20-F", "40-F", "annual"))
    when = (year or end) if is_annual else (end or year)
    return " ".join(str(part) for part in (company, form, when) if part)


def _filed_form(cover: str) -> str:
    """Return the form of a filing, such as "10-K" or, amended, "10-K/A"; empty for other texts."""
    if "exchange" not in cover.lower():  # faster than the search below
        return ""
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


def _filing(form: str, *, flat: str, cover: str, text: str) -> dict[str, MetadataValue]:
    kind = form.removesuffix("/A")
    is_event = kind in ("8-K", "6-K")
    end = _first_date(_REPORTED if is_event else _ENDED, flat)
    year = None
    if end is not None and not is_event:
        count = fiscal_year_of_quarter if kind.startswith("10-Q") else fiscal_year_of_year
        year = count(end, text=text)
    return _known_fields(form, _registrant(flat, cover, text), year, end)


def _known_fields(
    form: str, company: str, year: int | None, end: date | None
) -> dict[str, MetadataValue]:
    """Return the fields of a cover whose value is known."""
    day = None if end is None else end.isoformat()
    fields = {"form": form, "company": company, "fiscal_year": year}
    fields |= {"period_end": day, "date": day}
    return {name: value for name, value in fields.items() if value}


def _registrant(flat: str, cover: str, text: str) -> str:
    """Return the company of a filing; empty if its name is not certain."""
    exact = _EXACT_NAME.search(flat)
    if exact is not None:
        before = flat[max(0, exact.start() - _COMPANY_CHARS) : exact.start()]
        name = before
        for match in _BEFORE_COMPANY.finditer(before):
            if before[match.end() :].strip(" _-*|.()"):
                name = before[match.end() :]
        caption = _EXACT_NAME.search(cover)
        line = _line_before(caption, cover)
        name = line if _repeats(line, name) else name
        return (
            company_name(name, text=text) or _signatory(text) or _name_below(caption, cover, text)
        )
    return _name_below(_FILE_NUMBER_LINE.search(cover), cover, text) or _signatory(text)


def _name_below(match: re.Match[str] | None, cover: str, text: str) -> str:
    """Return the company in the next line of text after the line of a match; empty for none."""
    following = cover[match.end() :].partition("\n")[2].split("\n", 2) if match else []
    line = next((line for line in following if line.strip()), "")
    return company_name(line, text=text) if has_legal_form(line) else ""


def _line_before(match: re.Match[str] | None, cover: str) -> str:
    """Return the last line of text before a match, without the marks of a table."""
    lines = cover[: match.start() if match else 0].split("\n")
    return next((line for line in (row.strip(_EDGES) for row in reversed(lines)) if line), "")


def _repeats(line: str, name: str) -> bool:
    """Return whether the last line of a name contains the lines before it, such as a logo."""
    before, last = (" ".join(part.split()).upper() for part in (name, line))
    if not before.endswith(last) or not has_legal_form(line):
        return False
    first = before.removesuffix(last).strip(_EDGES)
    return bool(first) and first in last


def _signatory(text: str) -> str:
    """Return the company in the last signature of a filing; empty if there is none."""
    for match in reversed(list(_SIGNED.finditer(text))):
        block = _PLACE_AND_DATE.sub("", text[match.end() : match.end() + _COMPANY_CHARS])
        following = " ".join(block.split())
        name = _AFTER_SIGNATORY.split(following, maxsplit=1)[0]
        is_named = following[len(name) :].lstrip("( ").lower().startswith("registrant")
        if is_named or has_legal_form(name):
            return company_name(name, text=text)
        lines = _AFTER_SIGNATORY.split(block, maxsplit=1)[0].split("\n")
        first = next((line for line in lines if has_legal_form(line)), "")
        if first:
            return company_name(first, text=text)
    caused = _CAUSED.search(text)
    return company_name(caused[1], text=text) if caused and has_legal_form(caused[1]) else ""


def _first_date(pattern: re.Pattern[str], flat: str) -> date | None:
    match = pattern.search(flat)
    return None if match is None else read_written_date(next(filter(None, match.groups())))


def _earnings_release(flat: str, *, text: str) -> dict[str, MetadataValue]:
    opening = flat[:_OPENING_CHARS]
    quarter = _QUARTER.search(opening)
    listed = _LISTED.search(flat) if quarter and _RESULTS.search(opening) else None
    if quarter is None or listed is None:
        return {}
    named = _NAME_AT_END.search(listed[1])
    company = company_name(named.group() if named else "", text=text)
    mention = _FISCAL.search(opening) or _COVERS_YEAR.search(opening, quarter.start())
    year = None if mention is None else int(mention[1])
    return _known_fields("earnings release", company, year, _first_date(_ENDED, flat))


def _annual_report(cover: str, *, text: str) -> dict[str, MetadataValue]:
    lines = [line.strip() for line in cover[:_OPENING_CHARS].split("\n") if line.strip()]
    for number, line in enumerate(lines):
        match = _ANNUAL_REPORT.match(line) if len(line) <= _LINE_CHARS else None
        year = match and _COVERS_YEAR.search(match["before"] + " " + match["after"])
        if not match or not year:
            continue
        neighbours = [*lines[max(0, number - 2) : number], *lines[number + 1 : number + 3]]
        names = [_COVERS_YEAR.sub("", part) for part in (match["before"], match["after"])]
        names += [other for other in neighbours if has_legal_form(other)]
        companies = (company_name(name, text=text) for name in names)
        company = next((name for name in companies if _is_mentioned(name, text)), "")
        if company:
            return _known_fields("annual report", company, int(year[1]), None)
    return {}


def _is_mentioned(name: str, text: str) -> bool:
    """Return whether a text mentions a company name several times."""
    return bool(name) and text.count(name) >= _MIN_MENTIONS
