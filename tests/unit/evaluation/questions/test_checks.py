"""Which questions of a model can be used."""

from __future__ import annotations

import pytest

from spanwise.evaluation.questions.generator import Place
from spanwise.evaluation.questions.question_checks import (
    REASONS,
    CheckedQuestion,
    check_alone,
    check_question,
)
from spanwise.models.prompts.questions import DraftQuestion

TEXT = """The gross margin of Harrow Mills fell to 23.1 per cent in 2023,
from 27.4 per cent in 2022. Energy cost 3.2 million more than in the year before.
No dividend is paid before the boiler is replaced."""
PLACE = Place(
    document_id="report.md", title="Harrow Mills: Annual report 2023", path=("Results",),
    start=1_000, text=TEXT,
)  # fmt: skip
GOOD = DraftQuestion(
    question="How much more did Harrow Mills pay for energy in 2023?",
    answer="3.2 million more",
    quotes=("Energy cost 3.2 million more than in the year before.",),
)


def changed(**fields: object) -> DraftQuestion:
    given = {"question": GOOD.question, "answer": GOOD.answer, "quotes": GOOD.quotes, **fields}
    return DraftQuestion(**given)  # type: ignore[arg-type]


def check(given: DraftQuestion, *earlier: CheckedQuestion) -> CheckedQuestion | str:
    return check_question(given, PLACE, earlier=earlier)


def test_a_good_one_gets_the_place_of_its_evidence() -> None:
    found = check(GOOD)
    assert isinstance(found, CheckedQuestion)
    (evidence,) = found.evidence
    assert evidence.document_id == "report.md"
    assert evidence.start is not None
    assert TEXT[evidence.start - 1_000 : (evidence.end or 0) - 1_000] == evidence.text
    assert evidence.text == GOOD.quotes[0]


def test_evidence_is_the_text_as_it_stands_not_as_it_was_quoted() -> None:
    quote = "The gross margin of Harrow Mills fell to 23.1 per cent in 2023, from 27.4 per cent"
    found = check(changed(answer="to 23.1 per cent", quotes=(quote,)))
    assert isinstance(found, CheckedQuestion)
    assert found.evidence[0].text == quote.replace("2023, from", "2023,\nfrom")


def test_quotes_that_overlap_are_one_piece_of_evidence_others_are_several() -> None:
    parts = ("Energy cost 3.2 million more than", "3.2 million more than in the year before")
    found = check(changed(quotes=(*parts, "No dividend is paid before the boiler is replaced.")))
    assert isinstance(found, CheckedQuestion)
    assert [one.text for one in found.evidence] == [
        "Energy cost 3.2 million more than in the year before",
        "No dividend is paid before the boiler is replaced.",
    ]


@pytest.mark.parametrize(
    "quote",
    [
        "Energy cost 3.3 million more than in the year before.",
        "Energy cost a lot more than in the year before.",
        "dividend is paid before the boiler is replaced.",  # what denies is left out
    ],
)
def test_a_quote_that_does_not_stand_there_is_refused(quote: str) -> None:
    assert check(changed(quotes=(*GOOD.quotes, quote))) == "quote not in the text"


@pytest.mark.parametrize(
    "answer",
    ["4.2 million more", "3.2 million more in 2024", "Freight from Ostrava became dearer"],
)
def test_an_answer_that_its_quotes_do_not_hold_is_refused(answer: str) -> None:
    assert check(changed(answer=answer)) == "answer not in the quotes"


@pytest.mark.parametrize("answer", ["Yes", "No, it does not", "Ja", "$3.2 million", "(3.2)"])
def test_an_answer_may_be_short_or_written_otherwise(answer: str) -> None:
    assert isinstance(check(changed(answer=answer)), CheckedQuestion)


@pytest.mark.parametrize(
    "question",
    [
        "Is it so that energy cost 3.2 million more than in the year before at Harrow Mills?",
        "The gross margin of Harrow Mills fell to?",
    ],
)
def test_a_copy_of_the_text_is_no_question(question: str) -> None:
    assert check(changed(question=question)) == "copied from the text"


@pytest.mark.parametrize(
    "question",
    [
        "What does this passage say about energy of Harrow Mills?",
        "How much more did energy cost in 2023 according to the text?",
        "By how much did costs rise in 2023, as mentioned above?",
        "Wie viel kostete Energie 2023 laut diesem Abschnitt?",
        "Que dit ce texte de Harrow Mills en 2023 ?",
        "How much more?",
        "why did it change so much?",
        "How much 2023 " + "and more " * 40 + "?",
    ],
)
def test_a_question_that_is_not_understood_alone_is_refused(question: str) -> None:
    assert check(changed(question=question)) == "not understood alone"


@pytest.mark.parametrize(
    "question",
    [
        "how much more was paid for energy by harrow mills?",
        "Which report of Harrow Mills tells of a boiler?",
        "What contract did Harrow Mills sign?",
    ],
)
def test_a_question_that_names_what_it_is_about_is_understood(question: str) -> None:
    assert isinstance(check(changed(question=question)), CheckedQuestion)


def test_the_same_question_is_asked_once() -> None:
    first = check(GOOD)
    assert isinstance(first, CheckedQuestion)
    again = changed(question="How much more did Harrow Mills pay in 2023 for its energy?")
    assert check(again, first) == "asked before"
    other = changed(question="Before what will Harrow Mills pay no dividend?", answer="Yes")
    assert isinstance(check(other, first), CheckedQuestion)


def test_a_question_without_an_answer_is_checked_alike() -> None:
    found = check_alone("Who audits Harrow Mills since 1987?", PLACE, earlier=[])
    assert isinstance(found, frozenset)
    assert check_alone("Who audits Harrow Mills since 1987?", PLACE, earlier=[found]) == (
        "asked before"
    )


def test_every_reason_is_said_in_words() -> None:
    said = {"quote not in the text", "copied from the text", "not understood alone", "asked before"}
    assert said < set(REASONS)
    assert all(words and not words.endswith(".") for words in REASONS.values())
