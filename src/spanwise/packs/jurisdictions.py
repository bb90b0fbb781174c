"""Governing law of a contract: the state or country in a clause such as "governed by the laws of".

Rules:
    Only known names of states and countries are found, so a sentence about other laws has none.
    The clause contains "governed", "construed" or a similar word, and "law" near the name. The
    first such clause about the agreement itself counts, or else the first clause.
    "English law" is the law of England.
"""

from __future__ import annotations

import re
from itertools import islice

_STATES = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia"
    "|Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts"
    "|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey"
    "|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania"
    "|Puerto Rico|Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia"
    "|Washington|West Virginia|Wisconsin|Wyoming|District of Columbia"
    "|Alberta|British Columbia|Manitoba|New Brunswick|Newfoundland and Labrador|Nova Scotia"
    "|Ontario|Prince Edward Island|Quebec|Québec|Saskatchewan"
    "|New South Wales|Queensland|South Australia|Tasmania|Victoria|Western Australia"
    "|Bavaria|Dubai|Geneva|Zurich"
)
_COUNTRIES = (
    "England and Wales|England & Wales|England|Wales|Scotland|Northern Ireland|Great Britain"
    "|United Kingdom|Hong Kong|People's Republic of China|PRC|Republic of China|Taiwan|China"
    "|United States of America|United States"
    "|Argentina|Australia|Austria|Bahamas|Bahrain|Bangladesh|Barbados|Belgium|Belize|Bermuda"
    "|Bolivia|Botswana|Brazil|British Virgin Islands|Bulgaria|Cambodia|Cameroon|Canada"
    "|Cayman Islands|Chile|Colombia|Costa Rica|Croatia|Curaçao|Cyprus|Czech Republic|Denmark"
    "|Dominican Republic|Ecuador|Egypt|Estonia|Ethiopia|Finland|France|Germany|Ghana|Gibraltar"
    "|Greece|Guatemala|Guernsey|Honduras|Hungary|Iceland|India|Indonesia|Iraq|Ireland|Isle of Man"
    "|Israel|Italy|Jamaica|Japan|Jersey|Jordan|Kazakhstan|Kenya|Korea|Kuwait|Latvia|Lebanon"
    "|Liechtenstein|Lithuania|Luxembourg|Macau|Malaysia|Malta|Marshall Islands|Mauritius|Mexico"
    "|Monaco|Morocco|Myanmar|Namibia|Nepal|Netherlands|New Zealand|Nigeria|Norway|Oman|Pakistan"
    "|Panama|Paraguay|Peru|Philippines|Poland|Portugal|Qatar|Romania|Russian Federation|Russia"
    "|Rwanda|Saudi Arabia|Senegal|Serbia|Seychelles|Singapore|Slovakia|Slovenia|South Africa"
    "|South Korea|Spain|Sri Lanka|Sweden|Switzerland|Tanzania|Thailand|Tunisia|Turkey|Uganda"
    "|Ukraine|United Arab Emirates|Uruguay|Venezuela|Vietnam|Zambia|Zimbabwe"
)
_OF_ADJECTIVE = {
    "Argentine": "Argentina",
    "Australian": "Australia",
    "Austrian": "Austria",
    "Belgian": "Belgium",
    "Brazilian": "Brazil",
    "Canadian": "Canada",
    "Chinese": "China",
    "Danish": "Denmark",
    "Dutch": "Netherlands",
    "English": "England",
    "Finnish": "Finland",
    "French": "France",
    "German": "Germany",
    "Indian": "India",
    "Irish": "Ireland",
    "Israeli": "Israel",
    "Italian": "Italy",
    "Japanese": "Japan",
    "Korean": "Korea",
    "Mexican": "Mexico",
    "Norwegian": "Norway",
    "Polish": "Poland",
    "Portuguese": "Portugal",
    "Scottish": "Scotland",
    "Singaporean": "Singapore",
    "Spanish": "Spain",
    "Swedish": "Sweden",
    "Swiss": "Switzerland",
}
_OTHER_NAMES = {
    "england & wales": "England and Wales",
    "prc": "People's Republic of China",
    "québec": "Quebec",
    "united states of america": "United States",
}

_READ_CHARS = 400
_MAX_CLAUSES = 200
_NAMES = {name.lower(): name for name in f"{_STATES}|{_COUNTRIES}".split("|")}
_ANY_NAME = "|".join(re.escape(name) for name in sorted(_NAMES.values(), key=len, reverse=True))
_SUBJECT_CHARS = 200
_SUBJECT = re.compile(
    r"\b(?:this|the)\s+(?:\w+\s+){0,3}(?:agreement|contract|lease|amendment|undertaking|deed)\b",
    re.IGNORECASE,
)
_GOVERNED = re.compile(
    r"\b(?:govern(?:ed|ing|s)?|constru(?:ed|ction)|interpret(?:ed|ation)|controlled)\b",
    re.IGNORECASE,
)
_LAW_OF = re.compile(
    r"\blaws?\b[^.;]{0,120}?\b(?:of|in|in\s+force\s+in)\s+(?:the\s+)?(?:(?:state|commonwealth"
    r"|province|republic|kingdom|country|territory|city)\s*of\s*)?(?:the\s+)?"
    rf"(?P<name>{_ANY_NAME})\b",
    re.IGNORECASE,
)
_NAME_LAW = re.compile(
    rf"\b(?P<name>{_ANY_NAME}|{'|'.join(_OF_ADJECTIVE)})(?:\s+state)?(?:'s)?\s+(?:substantive\s+)?"
    r"(?:laws?|statutes)\b",
    re.IGNORECASE,
)


def find_law(text: str) -> str:
    """Return the state or country whose law governs a contract; empty if it is not stated.

    Args:
        text: Text of the contract. The first clause that names a law counts.
    """
    plain = text.replace("\u2019", "'")
    others = ""
    for match in islice(_GOVERNED.finditer(plain), _MAX_CLAUSES):
        clause = " ".join(plain[match.start() : match.start() + _READ_CHARS].split())
        named = [found for found in (_LAW_OF.search(clause), _NAME_LAW.search(clause)) if found]
        if not named:
            continue
        law = _known_name(min(named, key=lambda found: found.start("name"))["name"])
        if _SUBJECT.search(plain, max(0, match.start() - _SUBJECT_CHARS), match.start()):
            return law
        others = others or law
    return others


def _known_name(written: str) -> str:
    """Return the usual name of a state or country."""
    lower = written.lower()
    if lower in _OTHER_NAMES:
        return _OTHER_NAMES[lower]
    return _OF_ADJECTIVE.get(written.capitalize()) or _NAMES[lower]
