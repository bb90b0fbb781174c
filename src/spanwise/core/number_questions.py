"""Whether a question asks for a number: text with digits is then more likely to answer it."""

from __future__ import annotations

import re

from spanwise.core.terms import words

__all__ = ["is_number_question"]

_ENGLISH = re.compile(
    r"\b(how (much|many)|what (percent|percentage|amount|number|ratio|rate|proportion|share)"
    r"|percent|percentage|ratio|average|total|amount|margin|growth|change in|usd|\$|million|billion"
    r"|thousand)\b|[%$€£]",
    re.IGNORECASE,
)
_UNSPACED = re.compile(
    "多少|几|幾|百分|いくつ|いくら|何(?:人|年|個|回|歳|度|本|台|パーセント)|どのくらい|どれくらい|割合"
    "|몇|얼마|กี่|เท่าไ|เท่าใด|ร้อยละ"
)
_WORDS = {
    "ar": "كم عدد نسبة", "ca": "quant quanta quants quantes percentatge nombre",
    "cs": "kolik procent počet", "da": "mange meget procent antal",
    "de": "viel viele wieviel wieviele prozent anzahl",
    "el": "πόσο πόσα πόσοι πόσες ποσοστό αριθμός",
    "es": "cuánto cuánta cuántos cuántas porcentaje número", "et": "palju mitu protsenti arv",
    "fa": "چند چقدر درصد تعداد", "fi": "paljon paljonko monta montako prosenttia",
    "fr": "combien pourcentage nombre", "he": "כמה אחוז", "hi": "कितना कितने कितनी प्रतिशत संख्या",
    "hu": "mennyi hány százalék", "id": "berapa persen jumlah",
    "it": "quanto quanta quanti quante percentuale numero", "lt": "kiek procentų",
    "nl": "hoeveel procent percentage aantal", "no": "mange mye prosent antall",
    "pl": "ile ilu procent liczba",
    "pt": "quanto quanta quantos quantas porcentagem percentagem número",
    "ro": "cât câtă câți câte procent număr", "ru": "сколько процент процентов количество число",
    "sr": "колико процената број koliko procenata broj", "sv": "många mycket procent antal",
    "tr": "kaç yüzde sayısı", "uk": "скільки відсотків кількість",
}  # fmt: skip
"""Words that ask for a number, by language, in small letters."""
_BY_LANGUAGE = {language: frozenset(text.split()) for language, text in _WORDS.items()}


def is_number_question(question: str, *, language: str = "en") -> bool:
    """Return whether a question asks for a number.

    Args:
        question: The question.
        language: That it is asked in; one that is not known here is treated as English.
    """
    if _UNSPACED.search(question):
        return True
    asking = _BY_LANGUAGE.get(language)
    if asking is None:
        return _ENGLISH.search(question) is not None
    return "%" in question or any(word in asking for word in words(question.lower()))
