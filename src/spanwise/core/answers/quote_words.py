"""Tokens and words of quotes and texts in a normal form for comparison.

Rules of tokens:
    White space is ignored. Quotation marks, dashes, ligatures and full-width letters are equal to
    their plain forms; soft hyphens and zero-width characters are removed.
    A superscript is not part of the number before it.
    In scripts without spaces, each letter is a token.
    A hyphen at the end of a line may split a word; its halves are joined if the quote contains the
    whole word.

Rules of words:
    Case is ignored. Marks are ignored, except marks that change a number: signs, percent signs,
    comparison signs such as "<", and the parentheses of a negative number. "1,577" is 1577, and
    "(1,577)" is -1577. The currency of a number may be omitted in a quote, but never changed or
    added.
    Numbers and guarded words must match at the same position. Guarded words are words that change
    the meaning of a statement: negations, number words, months, and words of direction ("rose",
    "below", "before", "profit"), in the most common languages; words of direction in English,
    German, French and Spanish.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache

from spanwise.core.text.sentences import LINE_BREAKS
from spanwise.core.text.terms import MARKS, UNSPACED

ELLIPSIS = "..."
"""Token of an ellipsis (three or more points)."""

_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"
_LETTER = rf"[^\W_{UNSPACED}]"  # or a digit
_WORD = rf"{_LETTER}(?:{_LETTER}|[{MARKS}{_INVISIBLE}])*"
_PART = rf"(?:['’]|\u00ad\s*(?={_LETTER}))(?:{_WORD})"
_TOKEN = re.compile(
    rf"(?:\d+(?:[.,'’]\d+)*(?:{_WORD})?|{_WORD})(?:{_PART})*"
    rf"|[{UNSPACED}][{MARKS}]*|\.{{3,}}|…|\S"
)
_DROPPED = re.compile(rf"[{_INVISIBLE}\s]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_PLAIN = {
    **dict.fromkeys(map(ord, "‘’‚‛′´`"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»‹›"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a text, in order."""

    surfaces: list[str]
    """Each token in its plain form, case unchanged."""
    starts: list[int]
    """Offset of the first character of each token."""
    ends: list[int]
    """Offset after the last character of each token."""
    breaks: list[int]
    """Indexes of hyphens at a line end that may split a word."""
    text: str
    """Text that `starts` and `ends` refer to."""

    def __len__(self) -> int:
        return len(self.surfaces)

    def touch(self, position: int) -> bool:
        """Return whether a token and the next one are adjacent."""
        return self.ends[position] == self.starts[position + 1]

    def begins_line(self, position: int) -> bool:
        """Return whether a line break precedes a token."""
        between = self.text[self.ends[position - 1] : self.starts[position]] if position else ""
        return any(character in LINE_BREAKS for character in between)

    def joined(self, words: Set[str]) -> Tokens:
        """Return the tokens, with each given word as one token where a line break splits it.

        Args:
            words: Words of the quote, case-folded.
        """
        split_at = [
            at
            for at in self.breaks
            if (self.surfaces[at - 1] + self.surfaces[at + 1]).casefold() in words
        ]
        if not split_at:
            return self
        result = Tokens([], [], [], [], self.text)
        last = 0
        for at in split_at:
            result.surfaces.extend(self.surfaces[last : at - 1])
            result.starts.extend(self.starts[last:at])
            result.ends.extend(self.ends[last : at - 1])
            result.surfaces.append(self.surfaces[at - 1] + self.surfaces[at + 1])
            result.ends.append(self.ends[at + 1])
            last = at + 2
        result.surfaces.extend(self.surfaces[last:])
        result.starts.extend(self.starts[last:])
        result.ends.extend(self.ends[last:])
        return result


def is_word(surface: str) -> bool:
    """Return whether a token is a word or a number."""
    return surface[0].isalnum()


def is_unspaced(surface: str) -> bool:
    """Return whether a token is a letter of a script without spaces."""
    return not surface.isascii() and _UNSPACED.match(surface) is not None


def read_tokens(text: str) -> Tokens:
    """Return the tokens of a text."""
    tokens = Tokens([], [], [], [], text)
    for match in _TOKEN.finditer(text):
        surface = _plain(match.group())
        if surface:
            tokens.surfaces.append(surface)
            tokens.starts.append(match.start())
            tokens.ends.append(match.end())
    tokens.breaks.extend(at for at in range(1, len(tokens) - 1) if _is_break(tokens, at, text))
    return tokens


def _plain(written: str) -> str:
    """Return the plain form of a token; empty if all its characters are invisible."""
    if written.isascii():
        return ELLIPSIS if written.startswith(ELLIPSIS) else written
    if written == "…":
        return ELLIPSIS
    plain = _DROPPED.sub("", written).translate(_PLAIN)
    # A superscript, a fraction or a number in a circle would become digits.
    has_numeral = any(unicodedata.category(letter) == "No" for letter in plain)
    plain = unicodedata.normalize("NFC" if has_numeral else "NFKC", plain)
    return "".join(
        str(unicodedata.decimal(letter)) if letter.isdecimal() else letter for letter in plain
    )


def _is_break(tokens: Tokens, at: int, text: str) -> bool:
    """Return whether a token is a hyphen at a line end that may split a word."""
    if tokens.surfaces[at] != "-" or not tokens.touch(at - 1):
        return False
    before, after = tokens.surfaces[at - 1], tokens.surfaces[at + 1]
    between = text[tokens.ends[at] : tokens.starts[at + 1]]
    return (
        before[-1].isalpha()
        and after[0].islower()
        and between.isspace()
        and any(character in LINE_BREAKS for character in between)
    )


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
    """Return whether a case-folded word is guarded: a quote must not change or omit it.

    A letter of a script without spaces is guarded, because it may be a word on its own.
    """
    return (
        is_negation(key)
        or key in _NUMBERS
        or key in _MONTHS
        or key in _DIRECTIONS
        or is_unspaced(key)
    )


def is_negation(key: str) -> bool:
    """Return whether a case-folded word is a negation."""
    return key in _NEGATIONS or key.endswith("n't") or key.startswith("n'")


def is_negated_form(word: str, other: str) -> bool:
    """Return whether one of two words is the other one with a negating prefix."""
    short, long = sorted((word, other), key=len)
    return any(long == prefix + short for prefix in _DENYING_PREFIXES)


_CURRENCIES = frozenset("$€£¥₹₩₽₺₪₫₴฿¢")
PER_CENT = frozenset("%‰")
_COMPARISONS = frozenset("<>=≤≥≠±≈~")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([,'])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_PREFIX_TOKENS = 4


@dataclass(frozen=True, slots=True)
class Words:
    """Words of a text in normal form, in order."""

    keys: list[str]
    """Normal form of each word, for comparison."""
    guarded: list[bool]
    """Whether each word is guarded: a quote must not change or omit it."""
    currencies: list[str]
    """Currency of each number; empty for words and for numbers without a currency."""
    tokens: list[int]
    """Token index of each word, ascending."""

    def __len__(self) -> int:
        return len(self.keys)

    def agrees(self, position: int, text: Words, other: int, *, suffix: str = "") -> bool:
        """Return whether a word of this quote equals a word of a text, also in its currency.

        Args:
            position: Index of the word in this quote.
            text: Words of the text.
            other: Index of the word in the text.
            suffix: Suffix to remove from the word of the text before the comparison.
        """
        currency = self.currencies[position]
        return self.keys[position] == text.keys[other].removesuffix(suffix) and (
            not currency or currency == text.currencies[other]
        )

    def inside(self, first: int, last: int) -> range:
        """Return the indexes of the words among the tokens `[first, last)`."""
        return range(bisect_left(self.tokens, first), bisect_left(self.tokens, last))


def compared_words(tokens: Tokens) -> Words:
    """Return the words of a text, given its tokens."""
    words = Words([], [], [], [])
    for at, surface in enumerate(tokens.surfaces):
        if not is_word(surface):
            continue
        key, currency = surface.casefold(), ""
        guarded = is_guarded(key)
        if is_number(key):
            key, currency, guarded = *_number(tokens, at), True
        words.keys.append(key)
        words.guarded.append(guarded)
        words.currencies.append(currency)
        words.tokens.append(at)
    return words


def is_number(surface: str) -> bool:
    """Return whether a token has a digit."""
    return any(map(str.isdigit, surface))


def _number(tokens: Tokens, at: int) -> tuple[str, str]:
    """Return the normal form of a number, and its currency."""
    key = tokens.surfaces[at].casefold()
    if _GROUPED.fullmatch(key):
        key = key.replace(",", "").replace("'", "")
    is_negative, is_open, currency, comparison = _before(tokens, at)
    after, part = _per_cent(tokens, at + 1)
    if not currency and after < len(tokens) and tokens.surfaces[after] in _CURRENCIES:
        # In a table row it belongs to the next number.
        follows = after + 1 < len(tokens) and is_number(tokens.surfaces[after + 1])
        currency = "" if follows else tokens.surfaces[after]
        after += bool(currency)
    if is_open and after < len(tokens) and tokens.surfaces[after] == ")":
        is_negative = True
        part = part or _per_cent(tokens, after + 1)[1]
    return comparison + "-" * is_negative + key + part, currency


def _per_cent(tokens: Tokens, at: int) -> tuple[int, str]:
    """Return the index after an optional percent sign, and the sign."""
    if at < len(tokens) and tokens.surfaces[at] in PER_CENT:
        return at + 1, tokens.surfaces[at]
    return at, ""


def _before(tokens: Tokens, at: int) -> tuple[bool, bool, str, str]:
    """Return the signs before a number: minus, opening bracket, currency, comparison."""
    is_negative, is_open, currency, comparison = False, False, "", ""
    for place in range(at - 1, max(-1, at - 1 - _PREFIX_TOKENS), -1):
        surface = tokens.surfaces[place]
        if surface in _CURRENCIES and not currency:
            currency = surface
        elif surface == "(" and not is_open:
            is_open = True
        elif surface == "-" and not is_negative and tokens.touch(place) and _is_sign(tokens, place):
            is_negative = True
        elif surface in _COMPARISONS:
            comparison = surface + comparison
        else:
            break
    return is_negative, is_open, currency, comparison.lstrip("=")


def _is_sign(tokens: Tokens, place: int) -> bool:
    """Return whether a hyphen is a minus sign, because it does not join two words or numbers."""
    if place == 0 or not tokens.touch(place - 1):
        return True
    before = tokens.surfaces[place - 1]
    return before == "(" or before in _CURRENCIES
