"""Known answers in the file of tuned settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.ranking.known_answers import (
    MOST_KINDS,
    MOST_WORDS,
    AnsweredQuestion,
    EvidencePiece,
    KnownAnswers,
    QuestionKind,
    learn_kinds,
)
from spanwise.errors import OptionError
from spanwise.options import SegmentOptions
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import Measured, Tuning, read_tuning, tuning_text

LAW = QuestionKind(
    terms=("govern", "law"),
    questions=12,
    documents=9,
    answers={"construed": 0.75, 'q"uote\\d': 0.001},
)


def tuning(*kinds: QuestionKind) -> Tuning:
    return Tuning(
        model=replace(shipped_model(), known_answers=KnownAnswers(kinds=kinds)),
        segments=SegmentOptions.BALANCED,
        embedder="none",
        measured=Measured(questions=40, source="labelled", is_shown=True, figures=()),
    )


def read(text: str) -> Tuning:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tuned.toml"
        path.write_text(text, encoding="utf-8", newline="\n")
        return read_tuning(path)


def test_what_is_written_is_read() -> None:
    text = tuning_text(tuning(LAW))
    assert read(text).model.known_answers.kinds == (LAW,)
    assert tuning_text(read(text)) == text


def test_without_them_the_file_says_nothing_of_them() -> None:
    text = tuning_text(tuning())
    assert "known_answers" not in text
    assert read(text).model.known_answers == KnownAnswers()


def test_the_words_of_a_tuning_count_the_kinds() -> None:
    assert tuning(LAW).words.endswith("on 40 questions, knows the answers to 1 kind of questions")
    assert "knows" not in tuning().words


_TERM = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(
    st.lists(
        st.builds(
            QuestionKind,
            terms=st.lists(_TERM, min_size=1, max_size=3, unique=True).map(tuple),
            questions=st.integers(1, 10**9),
            documents=st.integers(1, 10**9),
            answers=st.dictionaries(
                _TERM, st.integers(1, 1_000).map(lambda one: one / 1_000), min_size=1, max_size=4
            ),
        ),
        max_size=3,
    )
)
@settings(max_examples=60)
def test_any_words_are_read_as_they_were_written(kinds: list[QuestionKind]) -> None:
    found = read(tuning_text(tuning(*kinds))).model.known_answers.kinds
    assert found == tuple(kinds)
    assert all(list(one.answers) == sorted(one.answers) for one in found)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("questions = 12", "questions = 0", "known_answers[0].questions is 0"),
        (
            "questions = 12",
            "questions = 1" + "0" * 400,
            "known_answers[0].questions must be at most",
        ),
        ("documents = 9", 'documents = "9"', "known_answers[0].documents is '9'"),
        ("documents = 9\n", "", "known_answers[0].documents is None"),
        ("documents = 9", "documents = 9\nname = 1", "known_answers[0].name is unknown"),
        ('["govern", "law"]', "[]", "known_answers[0].terms is []; it must be a list of texts"),
        ('["govern", "law"]', '["law", "law"]', "terms is ['law', 'law']; it must be a list"),
        ('["govern", "law"]', '["law", 3]', "known_answers[0].terms is 3"),
        ('["govern", "law"]', '"law"', "known_answers[0].terms is 'law'; it must be a list"),
        ('"construed" = 0.75', '"construed" = 1.5', "known_answers[0].words.construed is 1.5"),
        ('"construed" = 0.75', '"construed" = 0.0', "known_answers[0].words.construed is 0.0"),
        ('"construed" = 0.75', '"construed" = nan', "known_answers[0].words.construed is nan"),
        ('"construed" = 0.75', '"construed" = "x"', "known_answers[0].words.construed is 'x'"),
        ("words = {", "words = 3 #", "known_answers[0].words is missing"),
        (
            "[[known_answers]]",
            "[[known_answers]]\nterms = 3 #\n[[known_answers]]",
            "[0].terms is 3",
        ),
        ("[[known_answers]]", "[known_answers]", "known_answers must be at most 400 tables"),
    ],
)
def test_what_is_wrong_is_refused_by_name(old: str, new: str, said: str) -> None:
    text = tuning_text(tuning(LAW))
    assert text.count(old) == 1
    with pytest.raises(OptionError, match="tuned") as caught:
        read(text.replace(old, new))
    assert said in str(caught.value)


def test_what_is_learned_of_the_longest_words_is_read_again() -> None:
    """A file that is too large to be read would be an hour of tuning lost."""
    names = [f"\U00016f00{at}".ljust(60, "\U00016f50") for at in range(MOST_KINDS)]
    words = [f"\U00016f00{at}".ljust(64, "\U00016f01") for at in range(MOST_WORDS)]
    asked = [
        AnsweredQuestion(
            id=f"{at}/{document}",
            terms=frozenset(f"{name}{part:02}" for part in range(64)),
            evidence=(EvidencePiece(document_id=document, terms=frozenset(words), chars=9),),
        )
        for at, name in enumerate(names)
        for document in ("a.txt", "b.txt")
    ]
    kinds = learn_kinds(asked, rarities=dict.fromkeys(words, 1.0))
    assert 0 < len(kinds) < MOST_KINDS
    assert read(tuning_text(tuning(*kinds))).model.known_answers.kinds == kinds


def test_too_much_is_refused() -> None:
    words = LAW._replace(answers={f"w{at}": 0.5 for at in range(MOST_WORDS + 1)})
    with pytest.raises(OptionError, match="words are 61; there must be 1 to 60"):
        read(tuning_text(tuning(words)))
    with pytest.raises(OptionError, match="are 0; there must be 1 to 60"):
        read(tuning_text(tuning(LAW._replace(answers={}))))
    with pytest.raises(OptionError, match="must be at most 400 tables"):
        read(tuning_text(tuning(*[LAW] * (MOST_KINDS + 1))))
