"""A quoted phrase of a question must occur."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import spanwise

from spanwise import KnowledgeBase
from spanwise.core.ranking.phrases import phrase_runs, read_phrases

FILLER = "The committee met again and spoke about the weather, the harvest and the roads. "
PHRASE = "silver heron clause"


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as made:
        for number in range(12):
            other = "A heron clause is not a silver clause; the clause of the heron is old. " * 6
            made.add_text(f"{FILLER * 10}\n\n{other}\n\n{FILLER * 10}", document_id=f"d{number}")
        text = f"{FILLER * 30}\n\nNobody may invoke the Silver\nHeron, Clause.\n\n{FILLER * 30}"
        made.add_text(text, document_id="holder")
        made.add_text(
            "Der Vertrag regelt die grobe Fahrlässigkeit der Lieferanten.\n\n" + FILLER * 9,
            document_id="german",
        )
        made.add_text("Die Fahrlässigkeit war grobe Absicht. " * 30, document_id="other german")
        made.add_text("合同规定了不可\n抗力条款。" + "天气很好。" * 60, document_id="chinese")
        made.add_text("抗力。不可。" * 40 + "不可能的抗力。", document_id="other chinese")
        yield made


def assert_holds(text: str, phrase: str) -> None:
    (read,) = read_phrases(f'"{phrase}"')
    assert phrase_runs(read, [[text]]).all()


@pytest.mark.parametrize(
    ("question", "document", "phrase"),
    [
        (f'What is the "{PHRASE}" of the heron clause?', "holder", PHRASE),
        ("Was gilt bei „grobe Fahrlässigkeit“?", "german", "grobe Fahrlässigkeit"),
        ("「不可抗力」是什么?", "chinese", "不可抗力"),
    ],
)
def test_all_results_hold_the_phrase(
    base: KnowledgeBase, question: str, document: str, phrase: str
) -> None:
    """Although other documents hold the words of the question more often."""
    result = base.search(question)
    excerpts = base.excerpts(question)
    assert result.phrases == excerpts.phrases == (phrase,)
    assert base.explain(question).result.phrases == (phrase,)
    assert result.segments
    assert excerpts.excerpts
    hits = [(segment.document_id, segment.text) for segment in result.segments]
    hits += [(excerpt.document_id, excerpt.text) for excerpt in excerpts.excerpts]
    assert {found for found, _ in hits} == {document}
    for _, text in hits:
        assert_holds(text, phrase)


def test_the_greedy_method_requires_the_phrase(base: KnowledgeBase) -> None:
    result = base.search(f'heron clause "{PHRASE}"', method="greedy")
    assert {segment.document_id for segment in result.segments} == {"holder"}
    for segment in result.segments:
        assert_holds(segment.text, PHRASE)


def test_additional_queries_require_the_phrase_of_the_question(base: KnowledgeBase) -> None:
    result = base.search(f'the "{PHRASE}"', more_queries=["heron", "Fahrlässigkeit"])
    assert {segment.document_id for segment in result.segments} == {"holder"}


def test_an_additional_query_requires_its_own_phrase(base: KnowledgeBase) -> None:
    result = base.search("the clause of the herons", more_queries=[f'"{PHRASE}"'])
    assert result.phrases == (PHRASE,)
    assert "holder" in {segment.document_id for segment in result.segments}


def test_a_phrase_that_no_document_holds_is_not_required(base: KnowledgeBase) -> None:
    quoted = base.search('the "golden heron clause" of the heron')
    assert quoted.segments
    assert quoted.phrases == ()
    assert any("golden heron clause" in warning for warning in quoted.warnings)
    plain = base.search("the golden heron clause of the heron")
    assert [s.text for s in quoted.segments] == [s.text for s in plain.segments]


def test_documents_with_all_phrases_are_preferred() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text(f"A red fox ran. {FILLER * 9}" * 3, document_id="fox")
        base.add_text(f"A grey owl sat. {FILLER * 9}" * 3, document_id="owl")
        both = f"A red fox ran. {FILLER * 20} A grey owl sat."
        base.add_text(both, document_id="both")
        result = base.search('"red fox" or "grey owl"')
        assert {segment.document_id for segment in result.segments} == {"both"}
        base.remove("both")
        result = base.search('"red fox" or "grey owl"')
        assert {segment.document_id for segment in result.segments} == {"fox", "owl"}


def test_a_title_with_the_phrase_admits_its_document() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text(FILLER * 5, document_id="minutes", title="The Harvest Committee")
        base.add_text("The harvest was small. The committee left. " * 9, document_id="other")
        result = base.search('Where did the "Harvest Committee" speak about roads?')
        assert {segment.document_id for segment in result.segments} == {"minutes"}


def test_a_phrase_far_down_a_store_of_many_documents_is_found() -> None:
    """Hits and routing prefer hundreds of other documents."""
    with KnowledgeBase(":memory:") as base:
        for number in range(300):
            base.add_text(
                "notice written, notice of a written notice " * 3, document_id=f"{number}"
            )
        long = FILLER * 20
        base.add_text(f"{long}\n\nIt takes a written notice. {long}", document_id="holder")
        result = base.search('notice of "a written notice."', budget_tokens=300)
        assert result.segments
        for segment in result.segments:
            assert_holds(segment.text, "a written notice")
        result = base.search('notice, notice, "takes a written notice"')
        assert {segment.document_id for segment in result.segments} == {"holder"}


@pytest.mark.parametrize(
    "question",
    [
        'the prince "to be or not to be"',
        f'"be or not" prince {" ".join(f"prince{number}" for number in range(90))}',
    ],
    ids=["of function words", "of a long question"],
)
def test_a_phrase_without_rare_words_is_found_in_many_documents(question: str) -> None:
    """The other words of the question lead to other documents."""
    with KnowledgeBase(":memory:") as base:
        for number in range(450):
            base.add_text(f"The prince met prince{number % 90}.", document_id=f"{number}")
        base.add_text("Whether to be, or not to be: he asks.", document_id="holder")
        result = base.search(question)
        assert {segment.document_id for segment in result.segments} == {"holder"}


def test_a_phrase_that_the_named_document_lacks_is_a_warning() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        for name, text in (("Aldera", "net sales"), ("Birchwood", "gross receipts")):
            base.add_text(
                f"It means all {text}. {FILLER * 9}", document_id=name, title=f"{name} lease"
            )
        result = base.search('What does "net sales" mean in the lease of Birchwood?')
        assert {segment.document_id for segment in result.segments} == {"Aldera"}
        assert 'no document that the question names contains "net sales"' in result.warnings
        result = base.search('What does "net sales" mean in the lease of Aldera?')
        assert not any("names contains" in warning for warning in result.warnings)


def test_a_phrase_over_many_short_chunks_is_found() -> None:
    words = [f"word{number}" for number in range(12)]
    with KnowledgeBase(":memory:") as base:
        base.add_chunks("holder", words)
        result = base.search(f'"{" ".join(words[2:9])}"')
        assert result.phrases == (" ".join(words[2:9]),)


def test_a_very_long_question_requires_no_phrase_and_says_so() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text("The prince waited.", document_id="a")
        result = base.search('"prince of the moor" ' + "waited " * 2_000)
        assert result.phrases == ()
        assert any("phrases" in warning for warning in result.warnings)


def test_the_command_line_shows_required_phrases(tmp_path: Path) -> None:
    folder = tmp_path / "spanwise.kb"
    with KnowledgeBase(folder) as base:
        base.add_text(f"It takes a written notice. {FILLER}", document_id="a")
    done = spanwise("search", 'Who needs a "written notice"?', folder=tmp_path)
    assert 'required: "written notice"' in done.stdout
