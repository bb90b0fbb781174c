"""Kinds of questions and their answer words."""

from __future__ import annotations

from collections import defaultdict

from spanwise.core.ranking.known_answers import (
    MOST_KINDS,
    MOST_WORDS,
    AnsweredQuestion,
    EvidencePiece,
    learn_kinds,
)

RARITIES: defaultdict[str, float] = defaultdict(lambda: 1.0)


def asked(number: int, question: str, *evidence: str, document: str = "") -> AnsweredQuestion:
    return AnsweredQuestion(
        id=f"{number:03}",
        terms=frozenset(question.split()),
        evidence=tuple(
            EvidencePiece(
                document_id=document or f"{number}.txt",
                terms=frozenset(one.split()),
                chars=len(one),
            )
            for one in evidence
        ),
    )


def test_questions_of_a_kind_share_the_words_of_their_answers() -> None:
    kinds = learn_kinds(
        [
            asked(1, "law govern", "construed ohio"),
            asked(2, "law govern", "construed texas"),
            asked(3, "cap liability", "damages"),
            asked(4, "cap liability", "damages exceed", "nothing"),
        ],
        rarities=RARITIES,
    )
    assert [one.terms for one in kinds] == [("cap", "liability"), ("govern", "law")]
    assert kinds[1].answers == {"construed": 1.0}
    assert (kinds[1].questions, kinds[1].documents) == (2, 2)
    assert kinds[0].answers == {"damages": 0.833}  # of one answer whole, of the other 14 of 21


def test_questions_of_one_document_form_no_kind() -> None:
    questions = [asked(n, "law govern", "construed", document="a.txt") for n in range(3)]
    assert learn_kinds(questions, rarities=RARITIES) == ()


def test_answers_without_common_words_are_ignored() -> None:
    questions = [asked(1, "law govern", "ohio"), asked(2, "law govern", "texas")]
    assert learn_kinds(questions, rarities=RARITIES) == ()


def test_questions_without_terms_are_ignored() -> None:
    questions = [asked(1, "", "ohio"), asked(2, "", "ohio")]
    assert learn_kinds(questions, rarities=RARITIES) == ()


def test_a_kind_keeps_the_terms_of_half_of_its_questions() -> None:
    others = [asked(9 + at, f"other{at}", "nothing") for at in range(9)]
    (kind,) = learn_kinds(
        [
            asked(1, "law govern contract", "construed"),
            asked(2, "law govern contract state", "construed"),
            asked(3, "law govern contract which", "construed"),
            *others,
        ],
        rarities=RARITIES,
    )
    assert kind.terms == ("contract", "govern", "law")


def test_the_most_informative_words_are_kept() -> None:
    words = [f"w{at:03}" for at in range(MOST_WORDS + 10)]
    rarities = {word: float(at) for at, word in enumerate(words)}
    questions = [asked(n, "law govern", " ".join(words)) for n in (1, 2)]
    (kind,) = learn_kinds(questions, rarities=rarities)
    assert list(kind.answers) == words[10:]


def test_of_too_many_kinds_those_with_most_questions_are_kept() -> None:
    questions = [
        asked(1_000 * n + at, f"thing{at} what{at}", "same")
        for at in range(MOST_KINDS + 1)
        for n in range(2 if at < 5 else 3)
    ]
    kinds = learn_kinds(questions, rarities=RARITIES)
    assert len(kinds) == MOST_KINDS
    assert sum(one.questions == 2 for one in kinds) == 4
