"""Names of companies, one for all the ways in which their documents write them.

Rules:
    A name loses its article and its legal form: "THE BOEING COMPANY" is "Boeing", "3M Company" is
    "3M", so that the documents of several years and of several kinds have one name to filter by.
    A name in capitals is written as the text writes it most often ("PEPSICO, INC." is "PepsiCo",
    "NVIDIA" stays); where the text hardly does, its words begin with capitals.
"""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["company_name", "has_legal_form"]

_MAX_CHARS = 80
_READ_CHARS = 300_000
_SURE_TIMES = {False: 1, True: 4}  # so often a name stands in small letters, in capitals
_LEGAL_FORM = re.compile(
    r"[\s,]+(?:&\s*co(?:mpany|\.)?|and\s+company|inc(?:orporated|\.)?|corp(?:oration|\.)?|company|co\.?"
    r"|l\.?l\.?c\.?|l\.?l\.?p\.?|l\.?p\.?|ltd\.?|limited|p\.?l\.?c\.?|s\.?a\.?|n\.?v\.?|a\.?g\.?"
    r"|s\.?e\.?|a/s|asa|ab|oyj|gmbh|kgaa|s\.?p\.?a\.?|b\.?v\.?|kabushiki\s+kaisha)(?:\s*/[a-z]{2,3}/)?\Z",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"the\s+(?=\w)", re.IGNORECASE)
_EDGES = " \t\n.,:;|_*–—-"
_VOWEL = re.compile("[AEIOUY]")
_NO_NAME = re.compile(
    r"exact\s+name|commission|washington,?\s+d\.?c|registrant|\bform\b|\bended\b|securities\s+act",
    re.IGNORECASE,
)


def has_legal_form(name: str) -> bool:
    """Return whether a name ends with a legal form, as "Boeing Company" and "Nestlé S.A." do."""
    return _LEGAL_FORM.search(name.rstrip(" ,;:")) is not None


def company_name(written: str, *, text: str) -> str:
    """Return the name of a company, without article and legal form; empty for what is no name.

    Args:
        written: The name as one place writes it, whole.
        text: The document, in which the name in capitals is looked for in small letters.
    """
    name = " ".join(written.split()).strip(_EDGES)
    if not 1 < len(name) <= _MAX_CHARS or _NO_NAME.search(name):
        return ""
    if sum(map(str.isalpha, name)) < 2:
        return ""
    bare = _bare(name)
    return _in_small_letters(bare, text) if bare.isupper() else bare


def _bare(name: str) -> str:
    """Return a name less article and legal forms; one that is nothing else stays."""
    bare = _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
    while found := _LEGAL_FORM.search(bare):
        bare = bare[: found.start()].strip(_EDGES)
    return bare or name


def _in_small_letters(name: str, text: str) -> str:
    """Return a name in capitals as the text writes it most often, or with capitals first.

    Spaces that the text of a PDF puts inside words ("R ESORTS") do not count.
    """
    letters = [re.escape(letter) for letter in name if not letter.isspace()]
    spaced = r"\s{0,2}".join(letters)
    pattern = re.compile(rf"\b{spaced}\b", re.IGNORECASE)
    ways = Counter(" ".join(found.split()) for found in pattern.findall(text[:_READ_CHARS]))
    sure = [way for way in ways if not way.islower() and ways[way] >= _SURE_TIMES[way.isupper()]]
    if sure:
        return min(sure, key=lambda way: (-ways[way], way))
    return " ".join(
        word.capitalize() if _VOWEL.search(word) and word.isalpha() else word
        for word in name.split()
    )
