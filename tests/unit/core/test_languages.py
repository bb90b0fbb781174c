"""The language of a text, of a document and of a question."""

import unicodedata

import pytest

from spanwise.core.text.language_traits import FUNCTION_WORDS, LETTERS
from spanwise.core.text.languages import (
    detect_language,
    document_language,
    question_language,
    read_language,
)

TEXTS = {
    "ar": "ارتفعت إيرادات الشركة في هذا العام بسبب زيادة المبيعات في السوق التي كانت ضعيفة من قبل.",
    "cs": "Společnost v loňském roce zvýšila své tržby, protože se jí podařilo otevřít "
          "nové závody.",
    "da": "Selskabet har ikke kunnet øge sin omsætning, men det er gået frem på flere af "
          "markederne.",
    "de": "Der Umsatz ist im letzten Jahr gestiegen, weil die Nachfrage nach den Geräten hoch war.",
    "el": "Τα έσοδα της εταιρείας αυξήθηκαν κατά το προηγούμενο έτος λόγω της ζήτησης.",
    "en": "The revenue of the company rose in the last year because demand for its devices "
          "was high.",
    "es": "Los ingresos de la empresa aumentaron el año pasado porque la demanda fue más alta.",
    "fa": "درآمد شرکت در سال گذشته افزایش یافت و این رشد به خاطر فروش بهتر در بازار بود که "
          "ادامه دارد.",
    "fi": "Yhtiön liikevaihto kasvoi viime vuonna, koska kysyntä oli korkea ja se avasi "
          "myös tehtaan.",
    "fr": "Le chiffre d'affaires de la société a augmenté parce que la demande était plus forte.",
    "he": "הכנסות החברה עלו בשנה שעברה בגלל הביקוש הגבוה של הלקוחות את המוצרים.",
    "hi": "पिछले साल कंपनी की आय में वृद्धि हुई है क्योंकि बाजार में मांग बहुत अधिक थी और "
          "यह जारी है।",
    "hu": "A vállalat bevétele az elmúlt évben nőtt, mert a kereslet is nagyon erős volt "
          "és ez nem változik.",
    "hy": "Ընկերության եկամուտներն աճել են անցյալ տարի։",
    "it": "I ricavi della società sono aumentati nel corso dell'anno perché la domanda era "
          "più forte.",
    "ja": "会社の売上高は前年に比べて増加した。需要が高かったためである。",
    "ko": "회사의 매출은 지난해 수요가 늘어나면서 증가했다.",
    "nl": "De omzet van het bedrijf is vorig jaar gestegen omdat de vraag naar de "
          "producten groot was.",
    "no": "Selskapet har ikke økt omsetningen, men det ble bedre i flere av markedene "
          "etter at prisen falt.",
    "pl": "Przychody spółki wzrosły w zeszłym roku, ponieważ popyt był wysoki i nie ma go "
          "już tylko w kraju.",
    "pt": "As receitas da empresa aumentaram no ano passado porque a procura foi mais "
          "forte do que antes.",
    "ro": "Veniturile companiei au crescut anul trecut pentru că cererea a fost mai mare "
          "și nu se schimbă.",
    "ru": "Выручка компании в прошлом году выросла, так как спрос был высоким и это не изменится.",
    "sr": "Приходи компаније су порасли у прошлој години јер је потражња била већа него пре.",
    "sv": "Bolagets omsättning har ökat under det senaste året eftersom efterfrågan var "
          "stor och inte föll.",
    "ta": "நிறுவனத்தின் வருவாய் கடந்த ஆண்டு உயர்ந்தது.",
    "th": "รายได้ของบริษัทเพิ่มขึ้นในปีที่แล้วเพราะความต้องการสูง",
    "tr": "Şirketin geliri geçen yıl arttı ve bu artış çok yüksek talep ile ürünlerin daha "
          "iyi olması için oldu.",
    "uk": "Дохід компанії минулого року зріс, тому що попит був високим і це не зміниться, "
          "як і раніше.",
    "zh": "公司的收入在去年有所增长，因为市场需求很高。",
}  # fmt: skip


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_is_enough_to_detect_its_language(language: str) -> None:
    assert detect_language(TEXTS[language]) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1,577.0 | 2018 | 32,765",
        "Harbour",
        "fn main() { let total: u64 = rows.iter().map(|row| row.len()).sum(); println!(total); }",
        "def run(self, i):\n    for i in range(10):\n        return com.se.o(i)\n" * 40,
    ],
)
def test_text_that_is_not_prose_has_no_language(text: str) -> None:
    assert detect_language(text) == ""


def test_most_of_a_text_decides() -> None:
    """A quotation does not, nor do foreign names."""
    assert detect_language(TEXTS["en"] * 5 + TEXTS["de"]) == "en"
    assert detect_language(TEXTS["zh"] + " Panthers NFL Super Bowl") == "zh"


def test_only_some_places_of_a_long_text_are_read() -> None:
    """Text between the samples has no effect."""
    text = TEXTS["de"] * 2_000
    assert detect_language(text[:40_000] + "x" * 2_000 + text[40_000:]) == "de"


def test_decomposed_letters_are_the_same() -> None:
    for language, text in TEXTS.items():
        assert detect_language(unicodedata.normalize("NFD", text)) == language


@pytest.mark.parametrize(
    ("tag", "language"),
    [("de", "de"), ("de-DE", "de"), ("zh_Hant_TW", "zh"), ("nb", "no"), ("DEU", "de"), ("iw", "he"),
     (" fr ", "fr"), ("haw", "haw"), ("", ""), ("German?", ""), ("d", "")],
)  # fmt: skip
def test_codes_of_languages_are_read(tag: str, language: str) -> None:
    assert read_language(tag) == language


def test_a_given_language_overrides_detection() -> None:
    assert document_language(TEXTS["de"], metadata={"language": "nl-BE"}) == "nl"


@pytest.mark.parametrize("given", ["", "unknown language", 7, True])
def test_an_invalid_language_field_is_ignored(given: str | int) -> None:
    assert document_language(TEXTS["de"], metadata={"language": given}) == "de"


def test_a_question_is_asked_in_one_of_the_languages_or_in_english() -> None:
    assert question_language("Wie hoch war der Umsatz?", ["de", "fr"]) == "de"
    assert question_language("Wie hoch war der Umsatz?", ["fr"]) == "en"
    assert question_language("Umsatz 2021", ["de", "fr"]) == "en"
    assert question_language("黑豹队的防守丢了多少分？", ["de", "zh"]) == "en"
    assert question_language("Wie hoch war der Umsatz?", ["", "en"]) == "en"


def test_lists_are_in_small_composed_letters() -> None:
    for words in FUNCTION_WORDS.values():
        for word in words:
            assert word == unicodedata.normalize("NFC", word).lower()
    assert FUNCTION_WORDS.keys() >= LETTERS.keys() - {"el", "hy", "ta"}
