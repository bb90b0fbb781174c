"""Countries and their adjectives: forms of one word in a question ("Swiss law", "Switzerland")."""

from __future__ import annotations

from collections import defaultdict

_PAIRS = """
argentina argentine, argentina argentinian, australia australian, austria austrian,
belgium belgian, brazil brazilian, britain british, bulgaria bulgarian, canada canadian,
chile chilean, china chinese, colombia colombian, croatia croatian, cyprus cypriot, denmark danish,
egypt egyptian, england english, estonia estonian, europe european, finland finnish, france french,
germany german, greece greek, hungary hungarian, iceland icelandic, india indian,
indonesia indonesian, iran iranian, ireland irish, israel israeli, italy italian, japan japanese,
korea korean, latvia latvian, lithuania lithuanian, luxembourg luxembourgish, malaysia malaysian,
mexico mexican, netherlands dutch, nigeria nigerian, norway norwegian, pakistan pakistani,
peru peruvian, philippines filipino, poland polish, portugal portuguese, romania romanian,
russia russian, scotland scottish, serbia serbian, singapore singaporean, slovakia slovak,
slovenia slovenian, spain spanish, sweden swedish, switzerland swiss, taiwan taiwanese,
thailand thai, turkey turkish, ukraine ukrainian, vietnam vietnamese, wales welsh
"""
_OTHERS: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
for _pair in _PAIRS.split(","):
    _country, _adjective = _pair.split()
    _OTHERS[_country] += (_adjective,)
    _OTHERS[_adjective] += (_country,)


def country_words(word: str) -> tuple[str, ...]:
    """Return the adjectives of a country, or the country of an adjective, in lower case.

    The word must be capitalised: "polish" and "turkey" have other meanings.
    """
    return _OTHERS.get(word.lower(), ()) if word[:1].isupper() else ()
