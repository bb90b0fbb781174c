"""A warning names what a question mentions and the documents lack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import spanwise

from spanwise import KnowledgeBase

COMPANIES = ("Aldera", "Birchwood", "Cedarline", "Dogwood", "Elmstone")
TOPICS = ("wafer", "casino", "asbestos", "satellite", "cereal")


def report(company: str, topic: str, year: int) -> str:
    """Return the text of an annual report with a topic of its own."""
    return "\n\n".join(
        f"## Part {part}\n\n{company} sold more {topic} products in {year} than in {year - 1}. "
        f"Revenue of {company} rose by {part} %, and the {topic} business paid a dividend. "
        f"The board of {company} expects costs to fall."
        for part in range(1, 41)
    )


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    yield from filled(TOPICS)


def filled(topics: tuple[str, ...]) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as made:
        for company, topic in zip(COMPANIES, topics, strict=True):
            for year in (2020, 2021):
                made.add_text(
                    report(company, topic, year),
                    document_id=f"{company.lower()}_{year}_10k",
                    title=f"{company} annual report {year}",
                )
        yield made


def named(base: KnowledgeBase, question: str, **scope: list[str]) -> list[str]:
    """Return the warnings of a search, an explanation and excerpts, which agree.

    Corrections of typing errors are left out.
    """
    found = base.search(question, **scope).warnings  # type: ignore[arg-type]
    assert base.excerpts(question, **scope).warnings == found  # type: ignore[arg-type]
    assert base.explain(question, **scope).result.warnings == found  # type: ignore[arg-type]
    return [warning for warning in found if "; searched for" not in warning]


def test_words_about_the_form_of_the_answer_are_no_matter() -> None:
    for made in filled(("wafer", "casino", "asbestos", "satellite", "round")):
        question = "By how much did the revenue of Aldera rise in 2021? Please round the figure."
        assert named(made, question) == []


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What was Zephyrion's revenue in 2020?", "Zephyrion"),
        ("Zephyrion's revenue in 2020?", "Zephyrion"),
        ("What dividend did Zephyrion Motors pay?", "Zephyrion Motors"),
        ("How large was the revenue of Cedarline in 2009?", "2009"),
        ("How much did Aldera pay to Ulrike Vandersteen?", "Ulrike Vandersteen"),
        ("What revenue did Aldera earn with the zPhone?", "zPhone"),
        ("What dividend did the casino business of Aldera pay in 2021?", "casino"),
        ("¿Qué dividendo pagó Zephyrion en 2020?", "Zephyrion"),
        ("Zephyrion revenue 2020", "Zephyrion"),
        ("zephyrion revenue 2020", "zephyrion"),
        ("What was the EBITDA of Aldera in 2020?", "EBITDA"),
    ],
)
def test_a_missing_thing_is_named_and_nothing_else(
    base: KnowledgeBase, question: str, missing: str
) -> None:
    (warning,) = named(base, question)
    assert missing in warning


@pytest.mark.parametrize(
    "question",
    [
        "What was Aldera's revenue in 2020?",
        "What was Aldera's revenue in 2019?",  # in the text
        "What will the costs of Aldera be in 2022?",  # an outlook of the latest report
        "What was Aldara's revenue in 2020?",  # one letter apart
        "How did the revenue of Birchwood and Cedarline change from 2020 to 2021?",
        "Which wafer products did Aldera sell?",
        "What was aldera's revenue with wafer products in 2020?",
        "Did Aldera's CEO report EPS or CAGR for FY2020 in December?",
        "Summarize the revenue of Aldera in 2020",
        "Summarize revenue",
        "Gimme the revenue of Aldera in 2020",
        "What do German and Italian customers pay Aldera?",
        "WHAT DID ZEPHYRION PAY IN 2020?",
        "What Are The Main Risks Of Zephyrion And Its Business?",
        "Wie hoch war die Dividende von Zephyrion im Jahr 2020?",
        "Welchen Umsatz hatte Aldera mit Kunden in 2020?",
        "Ile wyniosły przychody Zephyrionu w roku 2020?",
        "Did the Zephyrion rise in 2020?",
        "泽菲里昂2020年的收入是多少？",
    ],
)
def test_an_answerable_or_doubtful_question_has_no_warning(
    base: KnowledgeBase, question: str
) -> None:
    assert named(base, question) == []


def test_of_continues_a_name_unless_a_title_contains_the_next_word() -> None:
    with KnowledgeBase(":memory:") as made:
        text = "Aldera University has an old library."
        made.add_text(text, document_id="university", title="Aldera University")
        text = "Dogwood is a village. It has no school."
        made.add_text(text, document_id="village", title="Dogwood")
        assert "of University" not in str(
            named(made, "When was the University of Zephyrion built?")
        )
        (warning,) = named(made, "Which library has the University of Aldera in Zephyrion?")
    assert '"Zephyrion"' in warning
    assert "Aldera" in warning


@pytest.mark.parametrize(
    ("name", "is_missing"),
    [
        ("AmEx", False),
        ("Amex", False),
        ("AmerExpress", False),
        ("AXP", False),
        (
            "Amcor",
            True,
        ),  # the letters of the title in order, but not the beginnings of its first words
        ("AmTrain", True),
    ],
)
def test_an_abbreviation_of_a_title_is_not_missing(name: str, is_missing: bool) -> None:
    title = "American Express Corporation annual report 2021"
    with KnowledgeBase(":memory:") as made:
        text = report("The company", "parcel", 2021)
        made.add_text(text, document_id="express_2021_10k", title=title)
        assert [name in w for w in named(made, f"What did {name}'s customers pay?")] == (
            [True] if is_missing else []
        )


def test_the_warning_names_the_subject_and_other_documents(base: KnowledgeBase) -> None:
    (warning,) = named(base, "What dividend did the casino business of Aldera pay in 2021?")
    assert "Aldera" in warning
    assert "birchwood_2020_10k" in warning


def test_the_years_of_the_shown_documents_are_listed(base: KnowledgeBase) -> None:
    (warning,) = named(base, "How large was the revenue of Cedarline in 2009?")
    assert "Cedarline" in warning
    assert "2020 to 2021" in warning


def test_documents_out_of_scope_do_not_count(base: KnowledgeBase) -> None:
    question = "What was Birchwood's revenue in 2020?"
    assert named(base, question) == []
    (warning,) = named(base, question, documents=["aldera_2020_10k", "aldera_2021_10k"])
    assert "Birchwood" in warning


def test_a_year_in_a_metadata_field_is_covered() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text(
            report("Aldera", "wafer", 2020),
            document_id="a",
            title="Aldera annual report 2020",
            metadata={"fiscal_year": 2013, "created": "1999-01-01"},
        )
        assert named(base, "What was the revenue of Aldera in 2013?") == []
        (warning,) = named(base, "What was the revenue of Aldera in 1999?")
        assert "1999" in warning


def test_a_company_of_which_nothing_is_shown_is_named() -> None:
    """The documents about it are named, because only another company writes about the topic."""
    with KnowledgeBase(":memory:", embedder=None) as made:
        for company, topic in (("Aldera", "wafer"), ("Birchwood", "casino licence")):
            made.add_text(
                report(company, topic, 2020),
                document_id=f"{company}_2020_10k",
                title=f"{company} annual report 2020",
            )
        question = 'What does Aldera say of the "casino licence"?'
        found = made.search(question, budget_tokens=300)
        assert {segment.document_id for segment in found.segments} == {"Birchwood_2020_10k"}
        warnings = named(made, question)
    assert any('about "Aldera"; mentioned in: Aldera_2020_10k' in text for text in warnings)


def test_prose_without_reports_is_trusted() -> None:
    """A speech rarely names its speaker, so a missing name says little."""
    with KnowledgeBase(":memory:") as base:
        base.add_text(
            "My fellow citizens, I promise to lower the price of bread, and to build new roads.",
            document_id="speech",
        )
        assert named(base, "What does President Abernathy promise about the price of bread?") == []


def test_a_request_for_documents_without_something_has_a_warning() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        for name in ("a", "b"):
            base.add_text(f"The lease {name} has a cap on rent.", document_id=name)
        warnings = base.search("Which leases do not mention a cap?").warnings
        assert any("do not contain" in warning for warning in warnings)
        warnings = base.search("Which leases mention a cap?").warnings
        assert not any("do not contain" in warning for warning in warnings)


def test_the_command_line_prints_the_warning(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for year in (2020, 2021):
        text = f"# Aldera annual report {year}\n\n{report('Aldera', 'wafer', year)}"
        (tmp_path / "in" / f"aldera_{year}_10k.md").write_text(text, encoding="utf-8")
    assert spanwise("add", "in", folder=tmp_path).returncode == 0
    done = spanwise("search", "What was Zephyrion's revenue in 2010?", folder=tmp_path)
    assert done.returncode == 0
    assert "Zephyrion" in done.stdout
    assert "not 2010" in done.stdout


def test_a_shown_document_is_not_listed_as_one_that_mentions_the_name() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        filler = "Revenue of the segment rose because prices rose. " * 900
        base.add_text(
            f"{filler}\n\nZephyrion earned 3 million.\n\n{filler}",
            document_id="borealis_2019_10k",
            title="Borealis annual report 2019",
        )
        warnings = base.search("What did Zephyrion earn in 2019?").warnings
    named = [warning for warning in warnings if "Zephyrion" in warning]
    assert named == ['no shown document is about "Zephyrion"']
