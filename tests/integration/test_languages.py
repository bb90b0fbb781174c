"""Documents in several languages in one knowledge base."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import KnowledgeBase, field

TEXTS = {
    "ar": "ارتفعت إيرادات الشركة في هذا العام بسبب زيادة المبيعات في السوق التي كانت ضعيفة.",
    "de": "Die Häuser der Gesellschaft wurden verkauft, weil sie nicht mehr gebraucht werden.",
    "en": "The houses of the company were sold because they were not needed any more.",
    "es": "Las compañías vendieron sus edificios porque no los necesitaban y eran muy caros.",
    "hi": "कंपनी की किताबें पिछले साल बेची गई हैं क्योंकि उन की मांग बहुत अधिक थी।",
    "ru": "Компании продали свои здания, потому что они больше не были нужны и не только это.",
    "th": "รายได้ของบริษัทเพิ่มขึ้นในปีที่แล้วเพราะความต้องการสูง",
    "zh": "公司的收入在去年有所增长，因为市场需求很高。",
}
QUESTIONS = {
    "ar": "لماذا ارتفع إيراد الشركات؟",
    "de": "Warum wurde das Haus verkauft?",
    "en": "Why was the house sold?",
    "es": "¿Por qué vendió la compania el edificio?",
    "hi": "किताब कब बेची गई?",
    "ru": "Почему компания продала здание?",
    "th": "รายได้เพิ่มขึ้นเมื่อใด",
    "zh": "收入增长了多少？",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "mixed.kb", embedder=None) as made:
        for language, text in TEXTS.items():
            made.add_text(text, document_id=language, title="")
        yield made


@pytest.mark.parametrize("language", TEXTS)
def test_a_question_finds_the_document_in_its_language(base: KnowledgeBase, language: str) -> None:
    """Inflected, without vowel signs or accents, in other capitals."""
    result = base.search(QUESTIONS[language])
    assert result.segments[0].document_id == language


def test_each_document_has_its_language(base: KnowledgeBase) -> None:
    assert {record.id: record.language for record in base.list()} == {name: name for name in TEXTS}
    assert [record.id for record in base.list(where=field("language") == "ru")] == ["ru"]


def test_places_of_segments_are_those_of_the_text_as_given(base: KnowledgeBase) -> None:
    """Terms alone are normalised."""
    text = "Cafe\u0301 und Häuser: die Verträge sind nicht mehr gültig, wie auch der Plan."
    base.add_text(text, document_id="decomposed")
    (segment, *_) = base.search("Café", documents=["decomposed"]).segments
    assert text[segment.start : segment.end] == segment.text
    assert "e\u0301" in segment.text


def test_metadata_overrules_what_the_text_tells(base: KnowledgeBase) -> None:
    base.add_text(TEXTS["de"], document_id="de", metadata={"language": "nl"})
    records = {record.id: record for record in base.list()}
    assert records["de"].language == "nl"


def test_the_normal_form_of_unicode_makes_no_difference() -> None:
    """File names and texts of macOS have accents as separate characters."""
    text = "Die Gebühr für späte Überweisungen beträgt fünf Euro. Ärzte müssen täglich prüfen."
    asked = "Wie hoch sind die Gebühren für verspätete Überweisungen?"
    found = []
    for form in ("NFC", "NFD"):
        with KnowledgeBase(":memory:") as made:
            made.add_text(unicodedata.normalize(form, text), document_id="a")
            made.add_text("Der Ausschuss tagte zweimal im Jahr.", document_id="b")
            for other in ("NFC", "NFD"):
                result = made.search(unicodedata.normalize(other, asked))
                found.append([(s.document_id, s.relevance) for s in result.segments])
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize(
    ("question", "found"), [("Is there a Swiss plant?", "a"), ("a plant in Japan", "b")]
)
def test_a_country_and_its_adjective_are_one_word(question: str, found: str) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("The plant in Switzerland was sold.", document_id="a")
        base.add_text("The Japanese plant was sold.", document_id="b")
        base.add_text("The Polish plant was sold.", document_id="c")
        result = base.search(question)
    best = min(result.segments, key=lambda segment: segment.rank)
    assert best.document_id == found
