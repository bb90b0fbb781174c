"""Metadata from the text of a contract: kind of agreement, parties, effective date, governing law.

Rules of contracts:
    Precision before recall: a doubtful field is omitted. A text is a contract if its opening has
    the name of an agreement, and a sentence that names its parties ("This Agreement is made between
    ... and ...").
    The name of an agreement is the first line that consists of capitalised words and ends with a
    word such as "Agreement". Without such a line, it is the name after "This" in the preamble.

Rules of parties:
    The parties follow "between" or "among". A new party begins after "and", a semicolon, a number
    in parentheses, or a comma after a closing parenthesis. Without "between", they are the numbered
    list after "Parties", or the names after "Party A:", "Licensor:" and the like.
    If fewer than two parties are found, the companies above the signatures are added.
    A party is a name with a legal form, or is followed by a term in quotes or a description ("a
    Delaware corporation"). Articles and legal forms are removed from names, as from company names
    of filings.

Rules of dates and laws:
    The effective date is the date that the text calls effective, or else the date of the preamble.
    Dates with blanks, and dates whose day and month are ambiguous, are omitted.
    The governing law is the first known state or country after "law of", or before "law", in a
    sentence with "governed" or "construed".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spanwise.core.text.written_dates import ANY_DATE, WRITTEN_DATE, read_written_date
from spanwise.filters import value_texts
from spanwise.packs.filing_covers import company_name, has_legal_form
from spanwise.packs.jurisdictions import find_law
from spanwise.packs.plain_signs import DASHES_AND_QUOTES, with_plain_signs
from spanwise.types import MetadataValue

_OPENING_CHARS = 12_000
_READ_CHARS = 300_000
_PREAMBLE_CHARS = 2_500
_NAME_CHARS = 120
_BETWEEN_WITHIN_CHARS = 300
_NAME_LINES = 3
_BY_WITHIN_CHARS = 3_000
_MAX_PARTIES = 12
_USUAL_PARTIES = 2
_PARTIES_IN_TITLE = 3

_NOUN = (
    r"(?:AGREE?EMENTS?|Agreements?|CONTRACT|Contract|LEASE|Lease|ADDENDUM|Addendum|AMENDMENT"
    r"|Amendment|UNDERTAKING|Undertaking|MEMORANDUM\s+OF\s+UNDERSTANDING"
    r"|Memorandum\s+of\s+Understanding|NDA|GUARANTY|Guaranty)\b"
    r"(?!\s+(?:AGREE?EMENT|Agreement|AMENDMENT|Amendment|CONTRACT|Contract)\b)"
)
_NOUN_PARTS = (
    "AGREE", "Agree", "agreement", "CONTRACT", "Contract", "contract", "LEASE", "Lease", "ADDENDUM",
    "Addendum", "AMENDMENT", "Amendment", "amendment", "UNDERTAKING", "Undertaking",
    "UNDERSTANDING", "Understanding", "NDA", "GUARANTY", "Guaranty",
)  # fmt: skip
"""Parts of words of which each opening of a contract has one; they are found without a pattern."""
_NAME_PART = (
    r"(?:(?!(?:This|THIS|HAVE|HAS|BEEN)\b)[A-Z0-9#&(/\"][\w&/'(),#°\"-]*(?<!\.)|No\.|NO\.|[A-Z]\.[A-Z.]+|n°"
    r"|of|and|for|to|the|in|on|with|by|&|-)"
)
_NAME = rf"(?:{_NAME_PART}\s+){{0,14}}?{_NOUN}"
_TITLE_LINE = re.compile(
    rf"(?P<name>(?:{_NAME_PART}\s+){{0,16}}{_NOUN})\b"
    r"(?:\s*\([^()]{1,60}\)|\s+(?:No\b|NO\b|#|ref\b|dated\b|DATED\b).*)?\W*"
)
_BEFORE_NAME = re.compile(
    r"(?:\A|\s)(?:exhibits?\s+[\d.()a-z-]*\d[\w.()-]*|exhibit\s+[A-Z]\b|execution\s+(?:version|copy)"
    r"|(?:strictly\s+)?confidential|final(?:\s+version)?|draft|form\s+of|table\s+of\s+contents"
    r"|page\s+\d+|\[\*+\]|published\s+by\b.*?:)\s+",
    re.IGNORECASE,
)
_AFTER_COMPANY = re.compile(
    r"\A.*\b(?:Inc|INC|Corp|CORP|CORPORATION|Corporation|LLC|Ltd|LTD|LIMITED|LP|plc|PLC)\b[.,]*\s+"
    r"(?=\S+\s+\S)"
)
_OPEN_END = re.compile(r"(?:,|&|-|/|\b(?:and|of|for|to|the))\Z", re.IGNORECASE)
_OPEN_END_CHARS = 5  # of a whole word, and the character before it
_OPEN_START = re.compile(
    r"(?:(?:and|of|for|to|&)\b|(?:AGREEMENT|Agreement|CONTRACT|Contract)\Z)", re.IGNORECASE
)
_EDGES = " \t,.;:-(\"'"
_AMENDED_BY = re.compile(
    rf"\b(?:(?:FIRST|SECOND|THIRD|FOURTH|FIFTH|First|Second|Third|Fourth|Fifth)\s+)?(?:AMENDMENT|Amendment|ADDENDUM|Addendum)\b(?:\s+(?:NO|No)?\.?\s?[#\w.]+)?\s+(?:TO|to)\s+"
    rf"(?:THE\s+|the\s+)?{_NAME}"
)
_THIS = re.compile(r"\b(?:This|THIS)\s")
_INLINE_NAME = re.compile(rf"(?:(?:[A-Z#&/(][\w&/'(),#-]*|of|and|for|to|&|-)\s+){{1,12}}?{_NOUN}\b")
_BARE_NAME = re.compile(r"(?:the\s+|this\s+)?(?:agreement|contract|amendment|undertaking)", re.I)
_THIS_AGREEMENT = (
    rf"\b(?:(?:[Tt]his|THIS)\s+(?P<name>{_NAME}|agreement|contract|amendment)\b"
    rf"|(?P<named>{_NAME})(?=,\s+(?:dated|made|entered)\b))"
)
_STARTS = (
    re.compile(rf"(?:this|This|THIS)\s+(?:{_NAME}|agreement|contract|amendment)\b"),
    re.compile(r",\s+(?:dated|made|entered)\b"),
)
"""Parts of which each preamble has one. Their first characters are found fast."""
_PREAMBLE = re.compile(
    rf"{_THIS_AGREEMENT}(?P<middle>.{{0,400}}?)"
    r"\b(?:between|among(?:st)?|BETWEEN|Between|AMONG(?:ST)?)\b[\s:;-]*"
)
_PREAMBLE_BY = re.compile(
    rf"{_THIS_AGREEMENT}(?P<middle>.{{0,200}}?\b(?:entered\s+into|made|executed)\b.{{0,100}}?)\bby\s+"
    r"(?!and\s+(?:between|among|through)|between|among)"
)
_COVER_BETWEEN = re.compile(r"\b(?:between|among|BETWEEN|Between|AMONG)\b[\s:;-]*")
_NUMBERED = re.compile(r"\b(?:PARTIES|Parties)\b[\s:]*(?=\(?1[.)])")
_LIST_NUMBER = re.compile(r"(?:\A|\s)\(?([1-9])[.)]{1,2}\s+(?=[A-Z])")
_PREAMBLE_VERB = re.compile(
    r"\b(?:made|entered|dated|effective|executed|concluded|signed|is|by|date)\b|\(", re.IGNORECASE
)
_SIDE = re.compile(
    r"\b(?:by\s+and\s+)?on\s+the\s+(?:one|other)\s+(?:hand|part|side)\b,?\s*", re.IGNORECASE
)
_REGION_END = re.compile(
    r"\bW\s?I\s?T\s?N\s?E\s?S\s?S\s?E\s?T\s?H|\bW\s?H\s?E\s?R\s?E\s?A\s?S\b|\bWhereas\b|\bRECITALS?\b"
    r"|\bRecitals?\b|\bBACKGROUND\b|\bBackground\b|\bNOW,?\s+THEREFORE|\bNow,?\s+[Tt]herefore"
    r"|\b(?:AGREED\s+TERMS|Agreed\s+terms)\b|\bTABLE\s+OF\s+CONTENTS|\bSource:|\bARTICLE\b|\bPREAMBLE\b|\bPREMISES\b"
    r"|\b(?:[Ww]hereby\s+it\s+is|[Ii]t\s+is\s+)(?:hereby\s+)?agreed|\bThe\s+[Pp]arties\b"
    r"|(?:[a-z]{4,}|[\"')\]])\.\s+(?=[A-Z1(])"
)
_SPLIT = re.compile(
    r"(?<!England)\s(?:-+\s+)?(?:and|AND|And)\b[\s:,-]*(?=[\"A-Z(\d]|[a-z]{1,2}[A-Z0-9]|[a-z]+\.(?:com|org))"
    r"|;\s+|(?<=\)),\s+(?:and\s+)?(?=[A-Z])|\(\s?(?:\d|[a-d]|[A-D]|i{1,3})\s?\)\s+"
)
_WITNESS = re.compile(r"\bin\s+witness\s+whereof\b", re.IGNORECASE)
_ALIAS = re.compile(r"\(\s*(?:[^()\"]{0,80})\"|\(\s*(?:hereinafter|herein|the\s|\")")
_DESCRIBED = re.compile(
    r"\A[\s,]*(?:an?|the)\s+(?:[\w.,'&/-]+\s+){0,9}?(?:corporation|company|partnership|individual"
    r"|trust|bank|university|organi[sz]ation|association|institution|entity|resident|foundation)\b"
)
_LEGAL_WORD = re.compile(
    r"(?:inc|incorporated|corp|corporation|l\.?l\.?c|l\.?l\.?p|l\.?p|ltd|limited|p\.?l\.?c|s\.?a"
    r"|n\.?v|a\.?g|s\.?e|gmbh|kgaa|s\.?p\.?a|b\.?v|pty|pte|partnership|n\.?a|a/s|co|s\.?a\.?r\.?l"
    r"|s/a|ab|oy|asa|company)\.?",
    re.IGNORECASE,
)
_SOFT_FORMS = frozenset(("company", "co", "co."))
_LOWER_START = re.compile(r"\A(?!the\s+[A-Z])(?:[a-z][a-z-]+,?\s+){1,4}(?=[A-Z])")
_NAME_WORD = re.compile(r"(?:[A-Z0-9À-Ý]|[a-z]{1,2}[A-Z0-9]|[a-z]+\.(?:com|org|net)\b).*")
_CONNECTORS = frozenset(("of", "the", "for", "de", "du", "la", "&", "d/b/a", "dba", "-", "y", "e"))
_REGION = re.compile(r"\([A-Z][A-Za-z.]+(?:\s[A-Z][a-z]+)?\),?")
_NAME_ENDS = frozenset(
    (
        "dated", "date", "effective", "witnesseth", "recitals", "whereas", "article", "exhibit",
        "address", "this", "table", "whose", "having", "by", "name", "confidential", "page", "a",
        "an", "with", "as", "on", "at",
    )
)  # fmt: skip
_ROLE = re.compile(
    r"(?:the\s+|each\s+)?(?:undersigned|agent|buyer|client|company|consultant|contractor|customer"
    r"|developer|discloser|disclosing party|distributor|employee|employer|franchisee|franchisor"
    r"|holder|individual|insert.*|lender|lessee|lessor|licensee|licensor|manufacturer|owner|parties"
    r"|party(?: [a-d\d])?|participant|provider|purchaser|receiving party|recipient|reseller"
    r"|retailer|seller|service provider|shareholder|shareholders|sponsor|supplier|tenant|vendor"
    r"|company [xyab]|bidder|name.*|entity|corporation|effective date|agreement|and"
    r"|or|you|us|we)s?",
    re.IGNORECASE,
)
_WITH_LEGAL_FORM = (
    r"(?<![\w.])((?!AGREEMENT|Agreement)(?:[A-Z0-9][\w.&'/-]*\s+(?:&\s+|of\s+)?){0,7}?[A-Z0-9][\w.&'/-]*,?\s+(?:Inc|INC|Corp"
    r"|CORP|Corporation|CORPORATION|LLC|L\.L\.C|Ltd|LTD|Limited|LIMITED|LP|L\.P|plc|PLC|AG|S\.A"
    r"|N\.V|B\.V|GmbH)\b\.?)"
)
_DEFINED = re.compile(
    _WITH_LEGAL_FORM
    + r"(?:,?\s[^()]{0,200})?\s*\(\s*(?:the\s+|hereinafter\s+(?:referred\s+to\s+as\s+)?)?\""
)
_ONE_LINE = _WITH_LEGAL_FORM.replace(r"\s+", " ")
"""Name with a legal form; names in columns, or in lines below each other, are separate."""
_SIGNED = re.compile(
    _ONE_LINE + r"(?i:(?= {3}[^\n]{1,100}\n\s*by\s*:)"
    r"|(?:,?\s+an?\s[\w\s,]{1,60}?(?:corporation|company|partnership))?"
    r"[\s.,:)_-]{1,200}(?:(?:date|signature)d?\s*:?[\s\d/._-]*)?(?:by\s*:|/s/))"
)
_LABELLED = re.compile(
    r"\b(?:(?:PARTY|Party)\s+[A-D\d]|Transfer(?:or|ee)|Licens(?:or|ee)|Less(?:or|ee)|Franchis(?:or|ee)|Seller|Buyer"
    r"|Purchaser|Supplier|Customer|Client|Distributor|Consultant|Contractor|Company|Vendor|Manufacturer|Reseller|Lender"
    r"|Borrower|Landlord|Tenant|Provider|Sponsor)\s*(?:\([^()]{1,60}\)\s*)?:\s*(?=[A-Z0-9])",
)

_ORDINAL_WORDS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINALS = {word: number for number, word in enumerate(_ORDINAL_WORDS.split(), start=1)}
_SPACED_ORDINAL = re.compile(r"(?<=\d)\s?(?:s\s?t|n\s?d|r\s?d|t\s?h)\b", re.IGNORECASE)
_ORDINAL = re.compile(rf"\b({'|'.join(_ORDINALS)})\s+(?=day\s+of\b)", re.IGNORECASE)
_DAY_OF = re.compile(
    r"(?<=\d)\s+(?:\(\d+\)\s+)?(?:day\s+of|of(?=\s+[a-z]+,?\s+\d{4}))\s+", re.IGNORECASE
)
_NUMERIC_DATE = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)(?![\d/])")
_EFFECTIVE = (
    re.compile(rf"\beffective\s+(?:as\s+of|on|from|date)[\s:\"]{{1,4}}({WRITTEN_DATE})", re.I),
    re.compile(rf"({WRITTEN_DATE})[\s,]{{0,3}}\([^()]{{0,40}}\"?effective\s+date\b", re.I),
    re.compile(
        rf"\"?effective\s+date\"?\s*(?:\)|:|of\s+this\s+agreement)?\s*(?:shall\s+)?"
        rf"(?:means?|be|is)?[\s:]{{1,4}}({WRITTEN_DATE})",
        re.I,
    ),
    re.compile(
        rf"\bagreement\s+(?:shall\s+|will\s+)?(?:be\s+|become\s+|is\s+|commences?\s+)?"
        rf"(?:effective\s+)?(?:as\s+of|on|upon)\s+({WRITTEN_DATE})",
        re.I,
    ),
)
_DATED = re.compile(rf"\bdated?\b[\s:]*(?:as\s+of|this)?\s*({WRITTEN_DATE})", re.IGNORECASE)
_COMMENCES = re.compile(
    rf"\b(?:agreement|term|period|venture)\b[^.;]{{0,120}}?\bcommenc(?:es?|ing)\s+"
    rf"(?:on\s+|as\s+of\s+|from\s+)?(?:the\s+)?({WRITTEN_DATE})",
    re.IGNORECASE,
)
_SMALL_WORDS = frozenset(("a", "an", "and", "by", "for", "in", "of", "on", "or", "the", "to"))
_SHORT_WORD = 4
_ALSO_WORDS = frozenset(("IT", "US"))  # abbreviations that are common words too
_REPEATED = re.compile(r"\b(\w+)(?: \1\b)+", re.IGNORECASE)
_SOURCE_LINE = re.compile(
    r"^(?:[ \t]{0,20}[-–]?\d{0,3}[-–]?[ \t]{0,20}\n){0,8}"
    r"[ \t]{0,20}Source: [^\n]{1,120}, [\w./-]{2,12}, \d{1,2}/\d{1,2}/\d{4}[ \t]*$",
    re.MULTILINE,
)
"""Page number and footer of a filing, with the day on which the contract was filed."""
_NUMBER_OF_PARTY = re.compile(r"\A\(?\d[.)]\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """Opening of a contract in one line: name, the sentence that names the parties, parties."""

    name: str
    preamble: str
    parties: str


def agreement_fields(text: str) -> dict[str, MetadataValue]:
    """Return the fields of a contract; doubtful fields are omitted.

    Args:
        text: Text of the document. Its first 12,000 characters name the agreement and its parties;
            up to 300,000 characters are searched for the effective date and the governing law.

    Returns:
        `agreement` ("Sponsorship Agreement"), `parties` without legal forms, `effective_date` and
        `date` as YYYY-MM-DD, and `governing_law` ("New York"). Empty for other documents.
    """
    read = _SOURCE_LINE.sub("", text[:_READ_CHARS])
    lines = with_plain_signs(read[:_OPENING_CHARS], DASHES_AND_QUOTES)
    opening = _opening(lines)
    if opening is None:
        return {}
    parties = _party_names(opening, text=read)
    if not parties and not opening.parties:
        return {}
    day = _effective_date(opening.preamble, lines=lines, text=read)
    fields: dict[str, MetadataValue] = {
        "agreement": _in_title_case(opening.name, text=read),
        "parties": tuple(parties),
        "effective_date": day,
        "date": day,
        "governing_law": find_law(read),
    }
    return {name: value for name, value in fields.items() if value}


def agreement_title(fields: Mapping[str, MetadataValue]) -> str:
    """Return a title made of the fields of a contract; empty without a kind or a party."""
    name, named = fields.get("agreement"), value_texts({"": fields.get("parties", ())})
    if not name or not named:
        return ""
    if len(named) == 1:
        return f"{name} with {named[0]}"
    shown = [*named[:_PARTIES_IN_TITLE], "others"] if len(named) > _PARTIES_IN_TITLE else named
    return f"{name} between {', '.join(shown[:-1])} and {shown[-1]}"


def _opening(lines: str) -> _Opening | None:
    """Return the opening of a contract; None for another text."""
    if not any(part in lines for part in _NOUN_PARTS):
        return None
    rows = [row for row in (" ".join(line.split()) for line in lines.split("\n")) if row]
    flat = " ".join(rows)
    preamble = _find_preamble(flat)
    if preamble is None:
        title = _title(rows, end=len(flat))
        return _opening_below(title, flat) if title else None
    title = _title(rows, end=max(preamble.start(), preamble.end("named")))
    written = preamble["name"] or preamble["named"]
    name = title or ("" if _BARE_NAME.fullmatch(written) else written)
    if not name:
        return None
    return _Opening(
        name=name,
        preamble=flat[preamble.start() : preamble.end() + _PREAMBLE_CHARS],
        parties=_until_end(flat[preamble.end() :]),
    )


def _opening_below(title: str, flat: str) -> _Opening:
    """Return an opening without a preamble: the text below the name of the agreement."""
    start = max(0, flat.find(title)) + len(title)
    following = flat[start : start + _PREAMBLE_CHARS]
    between = _COVER_BETWEEN.search(following, 0, _BETWEEN_WITHIN_CHARS)
    numbered = _NUMBERED.search(following, 0, _BETWEEN_WITHIN_CHARS)
    parties = _until_end(following[between.end() :]) if between else ""
    if numbered:
        listed = following[numbered.end() :]
        parties = _until_end(_LIST_NUMBER.sub(r" (\1) ", listed))
    return _Opening(name=title, preamble=following, parties=parties)


def _find_preamble(flat: str) -> re.Match[str] | None:
    """Return the match of the first preamble, up to the first party; None if there is none."""
    if not any(start.search(flat) for start in _STARTS):
        return None
    found = [_PREAMBLE_BY.search(flat, 0, _BY_WITHIN_CHARS)]
    for match in _PREAMBLE.finditer(flat):
        if _PREAMBLE_VERB.search(match["middle"]) or not match["middle"].strip():
            found.append(match)
            break
    return min(filter(None, found), key=re.Match.start, default=None)


def _until_end(following: str) -> str:
    """Return the text that names the parties, without phrases such as "on the one hand"."""
    region = _SIDE.sub("", following[:_PREAMBLE_CHARS]).lstrip(" ,:;-")
    end = _REGION_END.search(region, 3)
    return region if end is None else region[: end.start() + len(end.group().partition(".")[0])]


def _title(rows: Sequence[str], *, end: int) -> str:
    """Return the name of an agreement in the lines before its preamble; empty if there is none.

    A name may extend over up to three lines. A long line has its name right before the preamble.

    Args:
        rows: Lines of the opening, not empty, with single spaces.
        end: Start of the preamble, if the lines are joined by spaces.
    """
    start = 0
    for number, row in enumerate(rows):
        if start + len(row) > end:
            return _inline_title(row[: max(0, end - start)])
        joined, name = row, ""
        for following in ("", *rows[number + 1 : number + _NAME_LINES]):
            ending = joined[-_OPEN_END_CHARS:]
            if following and not (_OPEN_END.search(ending) or _OPEN_START.match(following)):
                break
            joined = f"{joined} {following}".strip()
            name = _whole_name(joined) or name
        if name:
            return name
        start += len(row) + 1
    return ""


def _whole_name(row: str) -> str:
    """Return the name of an agreement if a line consists of it; empty otherwise."""
    if len(row) > _NAME_CHARS:
        return ""
    bare = _AFTER_COMPANY.sub("", _without_stamps(row), count=1)
    match = _TITLE_LINE.fullmatch(bare)
    if match is None or _BARE_NAME.fullmatch(match["name"]):
        return ""
    return match["name"].lstrip("0123456789").strip(_EDGES)


def _inline_title(before: str) -> str:
    """Return the last name of an agreement in a text before a preamble; empty if there is none."""
    head = _without_stamps(_THIS.split(before[-2 * _NAME_CHARS :], maxsplit=1)[0])
    amended = _AMENDED_BY.search(head)
    if amended:
        return amended.group()
    found = _INLINE_NAME.findall(head)
    if not found:
        return ""
    name = _AFTER_COMPANY.sub("", _without_stamps(found[-1]))
    tokens = name.split()
    if tokens[-1].isupper():
        mixed = [at for at, token in enumerate(tokens) if not token.isupper() and token.isalnum()]
        tokens = tokens[mixed[-1] + 1 if mixed else 0 :]
    return " ".join(tokens).strip(_EDGES)


def _without_stamps(row: str) -> str:
    for _ in range(4):
        bare = _BEFORE_NAME.sub(" ", f"{row} ", count=1).strip()
        if bare == row:
            break
        row = bare
    return row


def _in_title_case(name: str, *, text: str) -> str:
    """Return the name of an agreement; one in capitals is capitalised, except abbreviations."""
    flat = _REPEATED.sub(r"\1", " ".join(name.split()).strip(" ,-("))
    if not flat.isupper():
        return flat
    cased = [_cased(word, text=text) for word in re.split(r"(\W+)", flat)]
    joined = "".join(cased)
    return joined[:1].upper() + joined[1:]


def _cased(word: str, *, text: str) -> str:
    if word.lower() in _SMALL_WORDS:
        return word.lower()
    if len(word) > _SHORT_WORD or not re.search(
        rf"[a-z] {re.escape(word)}\b|\b{re.escape(word)} [a-z]", text
    ):
        return word.capitalize()
    is_word = word not in _ALSO_WORDS and re.search(rf"\b{re.escape(word.capitalize())}\b", text)
    return word.capitalize() if is_word else word


def _party_names(opening: _Opening, *, text: str) -> list[str]:
    """Return the names of the parties in order, each once."""
    written = list(_named_parties(opening.parties))
    if not written:
        written = [match[1] for match in _DEFINED.finditer(opening.preamble)][:2]
    if not written:
        written = list(_labelled_parties(opening.preamble))
    names = (_party_name(name, text=text) for name in written)
    valid = [name for name in names if name and not _ROLE.fullmatch(name)]
    if len(valid) < _USUAL_PARTIES:
        valid += [name for name in _signatories(text) if not _is_known(name, valid)]
    return list(dict.fromkeys(valid))[:_MAX_PARTIES]


def _labelled_parties(preamble: str) -> Iterator[str]:
    """Yield the names after "Party A:", "Licensor:" and the like that have a legal form."""
    for match in _LABELLED.finditer(preamble):
        name, _ = _leading_name(preamble[match.end() : match.end() + _NAME_CHARS])
        if has_legal_form(name):
            yield name


def _signatories(text: str) -> list[str]:
    """Return the companies above the signatures of a contract, in order."""
    plain = with_plain_signs(text, DASHES_AND_QUOTES)
    start = max((match.end() for match in _WITNESS.finditer(plain)), default=len(plain) // 2)
    names = (_party_name(match[1], text=text) for match in _SIGNED.finditer(plain, start))
    return [name for name in names if name and not _ROLE.fullmatch(name)]


def _is_known(name: str, others: Sequence[str]) -> bool:
    """Return whether one of the other names is the same or the beginning of the same name."""
    folded = name.casefold()
    return any(
        folded.startswith(other.casefold()) or other.casefold().startswith(folded)
        for other in others
    )


def _party_name(written: str, *, text: str) -> str:
    """Return a party's name without legal form; long words in capitals are capitalised."""
    name = company_name(_NUMBER_OF_PARTY.sub("", written.strip(" \"'")), text=text)
    if not name.isupper():
        return name
    return " ".join(_cased(word, text=text) if word.isalpha() else word for word in name.split())


def _named_parties(region: str) -> Iterator[str]:
    """Yield the names in the part of a preamble after "between", as they are written."""
    pieces = _whole_pieces([piece.strip() for piece in _pieces(region) if piece.strip()])
    for piece in pieces:
        rest = _LOWER_START.sub("", piece)
        while rest:
            name, following = _leading_name(rest)
            if not name:
                break
            known = has_legal_form(name) or _is_described(following)
            if known or (len(pieces) == 2 and " " in name):
                yield name
            described = _DESCRIBED.match(following)
            more = re.compile(r",\s+(?=[A-Z])").match(
                following, described.end() if described else 0
            )
            rest = following[more.end() :] if known and more else ""
            if rest and not has_legal_form(_leading_name(rest)[0]):
                break


def _whole_pieces(pieces: Sequence[str]) -> list[str]:
    """Return pieces; all but the first are joined again where "and" is part of a name.

    "LOUISVILLE GAS AND ELECTRIC COMPANY" is one name, because "LOUISVILLE GAS" alone is followed
    by neither a legal form nor a description.
    """
    whole: list[str] = []
    for piece in pieces:
        before = whole[-1] if len(whole) > 1 else ""
        name, following = _leading_name(before)
        joins = bool(name) and not following.strip() and not has_legal_form(name)
        if joins and has_legal_form(_leading_name(piece)[0]):
            whole[-1] = f"{before} & {piece}"
        else:
            whole.append(piece)
    return whole


def _is_described(following: str) -> bool:
    """Return whether the text after a name has the term or the description of a party."""
    alias = _ALIAS.search(following[:300])
    return bool(_DESCRIBED.match(following)) or alias is not None


def _pieces(region: str) -> Iterator[str]:
    """Yield the parts of a text between separators that are not inside parentheses."""
    start = 0
    for match in _SPLIT.finditer(region):
        before = region[: match.start()]
        if before.count("(") > before.count(")"):
            continue
        yield region[start : match.start()]
        start = match.end()
    yield region[start:]


def _leading_name(piece: str) -> tuple[str, str]:
    """Return the name at the start of a text, and the text after it."""
    tokens = list(re.finditer(r"\S+", piece))
    end = 0
    for number, token in enumerate(tokens):
        word = token.group()
        bare = word.strip('",;:')
        following = tokens[number + 1].group().strip('",;:()') if number + 1 < len(tokens) else ""
        continues = bool(_NAME_WORD.match(following)) and following.lower() not in _NAME_ENDS
        if _REGION.fullmatch(word) and end and continues:
            pass
        elif word.startswith("("):
            break
        elif bare.lower() in _CONNECTORS:
            if not end and bare.lower() != "the":
                break
            if not continues:
                break
            continue
        elif not _NAME_WORD.match(bare) or (bare.lower() in _NAME_ENDS and end):
            break
        end = token.start() + len(word.rstrip('",;:'))
        is_form = bool(_LEGAL_WORD.fullmatch(bare)) and number > 0
        next_is_form = bool(_LEGAL_WORD.fullmatch(following))
        is_list = (
            word[-1] == "," and tokens[number + 2 : number + 3] and tokens[number + 2][0] == "&"
        )
        if word[-1] in ",;:" and not next_is_form and not is_list:
            break
        if is_form and not next_is_form and bare.lower() not in _SOFT_FORMS:
            break
    return piece[:end].lstrip(' "'), piece[end:]


def _effective_date(preamble: str, *, lines: str, text: str) -> str:
    """Return the effective date of a contract, or else its own date; empty if it is not certain."""
    opening = _plain_dates(preamble[:_PREAMBLE_CHARS])
    flat = _plain_dates(" ".join(with_plain_signs(text, DASHES_AND_QUOTES).split()))
    places = [(pattern, opening) for pattern in _EFFECTIVE[:2]]
    places += [(pattern, flat) for pattern in _EFFECTIVE]
    for pattern, place in places:
        match = pattern.search(place)
        day = read_written_date(match[1]) if match else None
        if day is not None:
            return day.isoformat()
    head = ANY_DATE.search(opening[:600])
    dated = _DATED.search(_plain_dates(" ".join(lines.split())))
    begins = _COMMENCES.search(flat)
    written = next((match[match.re.groups] for match in (head, dated, begins) if match), "")
    day = read_written_date(written) if written else None
    return "" if day is None else day.isoformat()


def _plain_dates(flat: str) -> str:
    """Return a text with dates such as "the 3rd day of May, 2019" as "3 May, 2019"."""
    plain = _SPACED_ORDINAL.sub("", flat)
    plain = _ORDINAL.sub(lambda match: f"{_ORDINALS[match[1].lower()]} ", plain)
    return _NUMERIC_DATE.sub(_iso_of_numbers, _DAY_OF.sub(" ", plain))


def _iso_of_numbers(match: re.Match[str]) -> str:
    """Return a numeric date as YYYY-MM-DD if only one order of day and month is possible."""
    first, second, year = (int(number) for number in match.groups())
    if first == second or (12 < second <= 31 and first <= 12):
        return f"{year}-{first:02}-{second:02}"
    if 12 < first <= 31 and second <= 12:
        return f"{year}-{second:02}-{first:02}"
    return match.group()
