"""Words that a statement hangs on: to change one of them makes another statement of it.

Words that deny, words for numbers, months, and words that say which way something goes ("rose",
"below", "before", "profit"), in the languages that are read most; the last ones in English,
German, French and Spanish alone.
"""

from __future__ import annotations

from functools import lru_cache

from spanwise.core.quotes.tokens import is_unspaced

__all__ = ["is_guarded", "is_negated_form", "is_negation"]

_NEGATIONS = frozenset(
    """no not non none never neither nor nobody nothing nowhere cannot without
    nicht nichts nie niemals niemand kein keine keinen keinem keiner keines ohne weder
    ne pas jamais aucun aucune rien sans ni
    nunca jamás ningún ningun ninguno ninguna nada sin tampoco mai nessun nessuno nessuna niente
    senza né não nao nenhum nenhuma sem nem niet geen nooit zonder noch niets inte ingen inget inga
    aldrig utan ikke uden uten nie bez nigdy ei eivät нет не ни без никогда
    لا لم لن ليس غير دون بدون לא אין בלי""".split()
)
_NUMBERS = frozenset(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty
    ninety hundred hundreds thousand thousands million millions billion billions trillion trillions
    half third quarter dozen twice double triple percent percentage cent cents bn mn
    null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend million
    millionen milliarde milliarden prozent hälfte drittel viertel doppelt
    deux trois quatre cinq sept huit neuf dix onze douze cent mille millions milliard milliards
    moitié tiers quart dos tres cuatro cinco seis siete ocho nueve diez ciento mil millón millones
    mitad tercio""".split()
)
_MONTHS = frozenset(
    """january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    januar jänner februar märz mai juni juli oktober dezember
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre
    diciembre""".split()
)
_DIRECTIONS = frozenset(
    """increase increases increased increasing decrease decreases decreased decreasing
    rise rises rose risen rising raise raised raises fall falls fell fallen falling
    grow grows grew grown growing growth decline declines declined declining
    gain gains gained drop drops dropped shrank reduce reduces reduced reduction
    higher lower highest lowest high low up down upward downward upwards downwards
    more less most least fewer fewest greater smaller larger greatest largest smallest
    better worse best worst improve improved improvement deteriorate deteriorated deterioration
    strengthened weakened stronger weaker positive negative
    above below over under exceed exceeds exceeded exceeding before after prior since until
    earlier later first last maximum minimum max min
    profit profits loss losses income expense expenses asset assets liability liabilities
    credit debit buy bought sell sold purchase purchases purchased sale sales
    include includes included including exclude excludes excluded excluding except unless only all
    shall must
    gestiegen gesunken stieg sank steigen sinken steigt sinkt erhöht verringert erhöhung
    verringerung zunahme abnahme zugenommen abgenommen höher niedriger mehr weniger über unter
    vor nach maximal minimal höchstens mindestens gewinn verlust
    augmenté diminué augmentation diminution augmente diminue hausse baisse supérieur inférieur
    supérieure inférieure plus moins avant après bénéfice perte
    aumentó disminuyó aumento disminución subió bajó mayor menor más menos antes después
    beneficio pérdida""".split()
)
_DENYING_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "mis", "не", "nie")


@lru_cache(maxsize=50_000)
def is_guarded(key: str) -> bool:
    """Return whether a word, its letters of one case, is one that a statement hangs on.

    A letter of a script without spaces is one: it may be all of such a word.
    """
    return (
        is_negation(key)
        or key in _NUMBERS
        or key in _MONTHS
        or key in _DIRECTIONS
        or is_unspaced(key)
    )


def is_negation(key: str) -> bool:
    """Return whether a word denies; its letters are of one case."""
    return key in _NEGATIONS or key.endswith("n't") or key.startswith("n'")


def is_negated_form(word: str, other: str) -> bool:
    """Return whether one of two words is the other with a prefix that denies."""
    short, long = sorted((word, other), key=len)
    return any(long == prefix + short for prefix in _DENYING_PREFIXES)
