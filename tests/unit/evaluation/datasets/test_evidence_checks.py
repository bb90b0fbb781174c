"""Evidence against the documents: what stands there, what does not, and what is near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.core.answers.quotes import QuoteChecker
from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Dataset, DocumentText, Evidence, LabelledQuestion, LeftOut
from spanwise.evaluation.datasets import check_questions, usable_questions
from spanwise.evaluation.datasets import evidence_checks as locating
from spanwise.evaluation.datasets.evidence_checks import MAX_PLACES, PlaceFinder
from spanwise.types import Page

TEXT = "The board signs.\nThe  auditor checks the “books”. The board meets."
TEXTS = {
    "reports/board.txt": DocumentText(text=TEXT, pages=(Page(start=0, end=17),)),
    "plain": DocumentText(text="one two one"),
    "filing.pdf": None,
}


def _asked(
    *evidence: Evidence, scope: tuple[str, ...] | None = None
) -> tuple[LabelledQuestion, ...]:
    return (LabelledQuestion(id="q", text="Who?", evidence=evidence, scope=scope),)


def _said(*evidence: Evidence, scope: tuple[str, ...] | None = None) -> str:
    with pytest.raises(OptionError) as raised:
        check_questions(_asked(*evidence, scope=scope), TEXTS)
    return str(raised.value)


def test_evidence_that_stands_there_is_kept_as_it_is() -> None:
    asked = _asked(
        Evidence(document_id="plain", start=4, end=7),
        Evidence(document_id="plain", start=4, end=7, text=" two\n"),
        Evidence(document_id="plain"),
        Evidence(document_id="reports/board.txt", page=1),
        Evidence(document_id="reports/board.txt", page=1, text="from another extraction"),
        Evidence(document_id="filing.pdf", page=900),
        scope=("plain", "filing.pdf", "reports/board.txt"),
    )

    assert check_questions(asked, TEXTS) == asked


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("The board signs.", "The board signs."),
        ("signs. The auditor", "signs.\nThe  auditor"),
        ('checks the "books"', "checks the “books"),
    ],
)
def test_a_text_alone_gets_the_place_where_it_stands(quote: str, there: str) -> None:
    (question,) = check_questions(
        _asked(Evidence(document_id="reports/board.txt", text=quote)), TEXTS
    )

    (piece,) = question.evidence
    assert TEXT[piece.start : piece.end].startswith(there)
    assert piece.text == quote


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (Evidence(document_id="reports/bord.txt"), ["'reports/bord.txt'", "nearest is 'reports/"]),
        (Evidence(document_id="board"), ["the nearest is 'reports/board.txt'"]),
        (Evidence(document_id="zzz"), ["no document has the id 'zzz'", "there are 3 documents"]),
        (Evidence(document_id="plain", start=4, end=12), ["the range 4-12", "11 characters"]),
        (Evidence(document_id="plain", page=1), ["'plain' has no pages"]),
        (Evidence(document_id="reports/board.txt", page=2), ["page is 2", "has 1 pages"]),
        (
            Evidence(document_id="plain", start=0, end=3, text="two"),
            ["the text at 0-3 of 'plain' is 'one', not 'two'", "it occurs at 4-7"],
        ),
        (
            Evidence(document_id="plain", start=0, end=3, text="ten"),
            ["it does not occur in the document"],
        ),
        (Evidence(document_id="plain", text="ten"), ["the text 'ten' does not occur in 'plain'"]),
        (
            Evidence(document_id="plain", text="one"),
            ["at 0-3, 8-11; give start and end of one"],
        ),
    ],
)
def test_evidence_that_does_not_stand_there_is_named(evidence: Evidence, words: list[str]) -> None:
    message = _said(evidence)

    assert message.startswith("question 'q': evidence 1: ")
    for word in words:
        assert word in message


def test_a_text_in_other_typography_is_refused_where_it_stands_twice() -> None:
    texts = {"d": DocumentText(text="He sold “a lamp” here, and bought “a lamp” there.")}

    with pytest.raises(OptionError, match=r"at 9-15, 35-41; give start and end of one"):
        check_questions(_asked(Evidence(document_id="d", text='"a lamp"')), texts)


def test_what_is_near_is_looked_for_no_more_often_than_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A whole file about other documents would take hours."""
    asked: list[str] = []

    def closest(word: str, *_: object, **__: object) -> list[str]:
        asked.append(word)
        return ["plain"]

    monkeypatch.setattr("difflib.get_close_matches", closest)

    message = _said(*[Evidence(document_id=f"other {number}") for number in range(25)])

    assert message.count("the nearest is 'plain'") == len(asked) == 20


def test_a_document_is_read_once_for_all_texts_that_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def counted(texts: list[str]) -> QuoteChecker:
        read.extend(texts)
        return QuoteChecker(texts)

    monkeypatch.setattr(locating, "QuoteChecker", counted)

    with pytest.raises(OptionError, match="there are 3 faults"):
        check_questions(
            _asked(
                *[Evidence(document_id="plain", text=word) for word in ("ten", "six", "four")],
                Evidence(document_id="reports/board.txt", text='the "books"'),
            ),
            TEXTS,
        )

    assert read == ["one two one", TEXT]


def test_many_places_of_a_text_are_counted_and_the_first_told() -> None:
    texts = {"plain": DocumentText(text="one two " * 5), "more": DocumentText(text="one " * 20)}
    for document_id, told in (("plain", "5 places"), ("more", "10 or more places")):
        asked = _asked(Evidence(document_id=document_id, text="one"))
        with pytest.raises(OptionError, match=rf"0-3, \S+, \S+ and others \({told}\)"):
            check_questions(asked, texts)


def test_a_scope_with_an_unknown_document_is_named() -> None:
    assert "question 'q': documents: no document has the id 'plane'" in _said(scope=("plane",))


def test_evidence_outside_the_documents_of_its_question_is_named() -> None:
    message = _said(
        Evidence(document_id="plain", start=0, end=3),
        Evidence(document_id="filing.pdf", page=3),
        scope=("plain",),
    )
    assert message.startswith("question 'q': evidence 2: 'filing.pdf' is not among the documents")
    assert "['plain']" in message


def test_faults_of_all_questions_are_told_together() -> None:
    message = _said(*[Evidence(document_id="plain", start=4, end=99)] * 25)

    assert message.startswith("there are 25 faults in the questions:")
    assert message.endswith("and 5 more; correct these first")
    assert message.count("\n  ") == 21


@pytest.mark.parametrize("left_out", [None, LeftOut()])
def test_only_what_is_told_is_looked_into(
    left_out: LeftOut | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of thousands of faults, finding out what is near each would take hours."""
    sought: list[str] = []

    def near(word: str, *_: object, **__: object) -> list[str]:
        sought.append(word)
        return []

    monkeypatch.setattr(
        "spanwise.evaluation.datasets.evidence_checks.difflib.get_close_matches", near
    )
    questions = _asked(Evidence(document_id="plane"), Evidence(document_id="plank")) * 100
    dataset = Dataset(name="made", questions=questions, left_out=left_out)
    with pytest.raises(OptionError):
        usable_questions(dataset, TEXTS, called="it")
    assert len(sought) == 20


@given(
    words=st.lists(st.sampled_from(["a", "b.", "(c", "*", "ä"]), min_size=1, max_size=12),
    gaps=st.lists(st.sampled_from([" ", "\n", "  ", "\t\n"]), min_size=12, max_size=12),
    first=st.integers(0, 11),
    count=st.integers(1, 4),
)
def test_a_run_of_words_is_found_whatever_white_space_is_between(
    words: list[str], gaps: list[str], first: int, count: int
) -> None:
    text = "".join(word + gap for word, gap in zip(words, gaps, strict=False))
    chosen = words[first % len(words) :][:count]

    places = PlaceFinder().find(text, " ".join(chosen))

    assert places
    assert len(places) <= MAX_PLACES
    for start, end in places:
        assert "".join(text[start:end].split()) == "".join(chosen)


def test_no_more_places_are_looked_for_than_are_told() -> None:
    assert len(PlaceFinder().find("x " * 1_000, "x")) == MAX_PLACES
