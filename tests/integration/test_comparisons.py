"""A comparison shows a place of each thing that the question names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spanwise import KnowledgeBase, SearchOptions
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.retrievers import EvaluationContext, make_retriever
from spanwise.evaluation.tuning.examples import collect_examples
from spanwise.search.shipped_model import shipped_model
from spanwise.types import SearchResult

COMPANIES = ("Aldera", "Birchwood Foods", "Cedarline", "Dogwood")
MATTERS = ("hedging of foreign currency", "pension plan", "lease of stores", "dividend")


def report(company: str, year: int) -> str:
    """Return the text of a report with a section for each matter."""
    return "\n\n".join(
        f"## {matter.capitalize()}\n\n{company} reports on its {matter} in {year}. "
        f"The {matter} of {company} cost {number + year} million, {number} more than before. "
        f"The board of {company} reviews the {matter} in each quarter of the year."
        for number, matter in enumerate(MATTERS, 11)
    )


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as made:
        for company in COMPANIES:
            for year in (2018, 2021):
                name = f"{company.lower().replace(' ', '')}_{year}_10k"
                text = report(company, year)
                if company == "Aldera":  # the best matches of each word
                    text += "\n\nAldera hedges foreign currency: hedging of foreign currency." * 9
                made.add_text(text, document_id=name, title=f"{company} annual report {year}")
        made.add_text(
            "Elmstone shall supply Fernhill with wafers. Fernhill pays Elmstone in a month.",
            document_id="contract",
            title="Supply contract of Elmstone and Fernhill",
        )
        yield made


def search(base: KnowledgeBase, question: str, budget: int = 800) -> SearchResult:
    return base.search(question, options=SearchOptions(budget_tokens=budget))


def shown(result: SearchResult) -> set[str]:
    return {segment.document_id.split("_")[0] for segment in result.segments}


@pytest.mark.parametrize(
    "question",
    [
        "Compare the foreign currency hedging of Aldera, Birchwood Foods and Cedarline",
        "Aldera vs Birchwood Foods vs Cedarline: hedging of foreign currency",
        "Which of Aldera, Birchwood Foods or Cedarline spends most on hedging?",
        "Is Aldera's hedging costlier than Birchwood Foods' or Cedarline's?",
        "hedging aldera birchwood foods cedarline",
    ],
)
def test_each_named_thing_has_a_place_in_a_small_budget(base: KnowledgeBase, question: str) -> None:
    result = search(base, question)
    assert shown(result) == {"aldera", "birchwoodfoods", "cedarline"}
    assert all("hedging" in segment.text for segment in result.segments)


def test_a_segment_says_which_thing_it_is_about(base: KnowledgeBase) -> None:
    result = search(base, "Compare the pension plan of Aldera and Cedarline")
    for segment in result.segments:
        about = " ".join(result.queries[number] for number in segment.queries).lower()
        assert segment.document_id.split("_")[0] in about
    assert result.queries[0] == result.question


def test_excerpts_and_explanations_have_each_thing(base: KnowledgeBase) -> None:
    question = "Compare the pension plan of Aldera and Cedarline"
    excerpts = base.excerpts(question).excerpts
    assert {excerpt.document_id.split("_")[0] for excerpt in excerpts} == {"aldera", "cedarline"}
    explained = base.explain(question).result
    assert shown(explained) == {"aldera", "cedarline"}


def test_a_query_that_a_comparison_makes_is_searched_once(base: KnowledgeBase) -> None:
    question = "Compare the pension plan of Aldera and Cedarline"
    alone = base.search(question)
    given = base.search(question, more_queries=["the pension plan of Aldera"])
    assert given.queries == alone.queries
    assert given.segments == alone.segments


@pytest.mark.parametrize("method", ["top-k+headers", "exact+headers", "excerpts+headers"])
@pytest.mark.parametrize("budget", [20, 300])
def test_methods_of_an_evaluation_answer_a_comparison(
    base: KnowledgeBase, method: str, budget: int
) -> None:
    question = "Compare the pension plan of Aldera and Cedarline"
    with EvaluationContext(base) as context:
        retriever = make_retriever(method, context)
        result = retriever.retrieve(question, budget_tokens=budget, documents=None)
    assert result.found


def test_a_comparison_is_an_example_of_a_tuning(base: KnowledgeBase) -> None:
    evidence = tuple(
        Evidence(document_id=f"{name}_2018_10k", start=0, end=200) for name in ("dogwood", "aldera")
    )
    question = LabelledQuestion(
        id="q1",
        text="Compare the hedging of foreign currency of Aldera and Dogwood",
        evidence=evidence,
    )
    (example,) = collect_examples(base, [question], model=shipped_model(), tokenizer="chars:4")
    assert len(set(example.documents.tolist())) > 1


def test_the_years_of_one_company_are_compared(base: KnowledgeBase) -> None:
    result = search(base, "What dividend did Dogwood pay in 2018 and in 2021?")
    assert {segment.document_id for segment in result.segments} == {
        "dogwood_2018_10k",
        "dogwood_2021_10k",
    }


def test_the_number_of_a_note_is_not_compared() -> None:
    with KnowledgeBase(":memory:", embedder=None) as made:
        for company in ("Aldera", "Cedarline"):
            made.add_text(report(company, 2021), document_id=company, title=f"{company} report")
        made.add_text("Lease 3 of a store ends in May.", document_id="lease", title="Lease 3")
        result = made.search("Compare note 3 of Aldera and Cedarline")
        leases = made.search("Compare lease 3 and the report of Aldera")
    assert result.queries[1:] == ("note 3 of Aldera", "note 3 of Cedarline")
    assert shown(leases) == {"Aldera", "lease"}


def test_two_things_in_one_document_are_not_forced_apart(base: KnowledgeBase) -> None:
    result = search(base, "What do Elmstone and Fernhill owe each other?")
    assert result.queries == (result.question,)
    assert result.segments[0].document_id == "contract"


def test_a_listed_thing_without_a_document_is_named(base: KnowledgeBase) -> None:
    result = search(base, "Compare the dividend of Aldera, Zephyrion and Cedarline")
    assert any('"Zephyrion"' in warning for warning in result.warnings)
    assert shown(result) == {"aldera", "cedarline"}


def test_a_thing_that_does_not_fit_is_named(base: KnowledgeBase) -> None:
    question = "Compare the dividend of Aldera, Birchwood Foods, Cedarline and Dogwood"
    options = SearchOptions(budget_tokens=240)
    result = base.search(question, options=options)
    missing = [name for name in COMPANIES if name.lower().replace(" ", "") not in shown(result)]
    assert missing
    for name in missing:
        assert any(f'"{name}"' in warning for warning in result.warnings)


def test_a_restricted_search_compares_only_documents_in_scope(base: KnowledgeBase) -> None:
    documents = ["aldera_2021_10k", "cedarline_2018_10k", "dogwood_2018_10k"]
    result = base.search("Compare the dividend of Aldera and Cedarline", documents=documents)
    assert {segment.document_id for segment in result.segments} == set(documents[:2])


def test_a_name_that_a_file_name_joins_finds_its_document() -> None:
    with KnowledgeBase(":memory:") as made:
        for name, party in (
            ("NOVOINTEGRATEDSCIENCESINC_2019-EX-10", "Harvest"),
            ("EXACTSCIENCES_2019-EX-10", "Exact Sciences"),
            ("OTHERCORP_2019-EX-10", "Other"),
        ):
            text = f"This contract of {party} is governed by the laws of the State of Nevada."
            made.add_text(text, document_id=name, title="Joint venture contract")
        result = made.search("governing law Novo Integrated Sciences")
    best = min(result.segments, key=lambda segment: segment.rank)
    assert best.document_id.startswith("NOVO")


def test_a_party_on_the_first_page_finds_its_document() -> None:
    with KnowledgeBase(":memory:") as made:
        for name in ("Novo Integrated", "Exact Sciences", "Integrated Sciences", "Novo Foods"):
            text = f"This contract is made by {name} and Harvest.\n\n" + "\n\n".join(
                f"## Article {number}\n\n" + "The parties agree on the price of services. " * 20
                for number in range(1, 12)
            )
            text += "\n\n## Governing law\n\nIt is governed by the laws of the State of Nevada."
            made.add_text(text, document_id=name.replace(" ", "")[::-1].lower(), title="Contract")
        result = made.search("governing law of the contract of Exact Sciences")
    best = min(result.segments, key=lambda segment: segment.rank)
    assert best.document_id == "secneicstcaxe"


@pytest.fixture(scope="module")
def quarters() -> Iterator[KnowledgeBase]:
    """Return quarterly reports that differ in little but their dates."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        for company in ("Aldera", "Birchwood"):
            for day in ("2022-10-01", "2022-12-31", "2023-04-01", "2023-07-01"):
                text = "\n\n".join(
                    f"## Part {part}\n\nRevenue of {company} was {part}{day[5:7]} million in the "
                    f"quarter. Part {part} of the board expects costs to fall in the next quarter."
                    for part in range(1, 20)
                )
                base.add_text(
                    text,
                    document_id=f"{company}-{day}",
                    title=f"{company} 10-Q {day}",
                    metadata={"company": company, "period_end": day},
                )
        yield base


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What was the revenue of Aldera in the quarter ended April 1, 2023?", "Aldera-2023-04-01"),
        ("revenue of Aldera in the quarter ended March 31, 2023", "Aldera-2023-04-01"),
        ("revenue of Birchwood in December 2022", "Birchwood-2022-12-31"),
        ("What was the revenue of Aldera in the latest quarter?", "Aldera-2023-07-01"),
    ],
)
def test_a_date_selects_the_report_of_its_period(
    quarters: KnowledgeBase, question: str, first: str
) -> None:
    result = quarters.search(question, budget_tokens=400)
    assert result.segments
    assert {segment.document_id for segment in result.segments} == {first}


@pytest.mark.parametrize(
    ("ended", "is_covered"),
    [
        ("April 1, 2023", True),
        ("April 2, 2022", True),  # a year before
        ("September 30, 2023", False),
        ("June 2019", False),
    ],
)
def test_a_period_that_no_report_covers_is_a_warning(
    quarters: KnowledgeBase, ended: str, is_covered: bool
) -> None:
    result = quarters.search(f"revenue of Aldera in the quarter ended {ended}")
    assert is_covered != any(ended in warning for warning in result.warnings)


def test_a_date_names_reports_without_a_company(quarters: KnowledgeBase) -> None:
    result = quarters.search("revenue in the quarter ended April 1, 2023", budget_tokens=400)
    found = {segment.document_id for segment in result.segments}
    assert found <= {"Aldera-2023-04-01", "Birchwood-2023-04-01"}


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (
            "Revenue of Aldera in the quarters ended October 1, 2022 and July 1, 2023",
            {"Aldera-2022-10-01", "Aldera-2023-07-01"},
        ),
        (
            "Compare the revenue of Aldera and Birchwood in the quarter ended April 1, 2023",
            {"Aldera-2023-04-01", "Birchwood-2023-04-01"},
        ),
        (
            "Compare the revenue of Aldera and Birchwood in the latest quarter",
            {"Aldera-2023-07-01", "Birchwood-2023-07-01"},
        ),
    ],
)
def test_dates_are_compared_like_things(
    quarters: KnowledgeBase, question: str, shown: set[str]
) -> None:
    result = quarters.search(question, budget_tokens=800)
    assert {segment.document_id for segment in result.segments} == shown


def test_a_kind_of_document_after_a_name_is_no_part_of_it() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        for name, other in (("Aldera", "Ostrava"), ("Birchwood", "Petrol")):
            base.add_text(
                f"Termination. {name} or {other} may end this contract within a month. " * 9,
                document_id=name,
                title=f"Supply Agreement between {name} and {other}",
            )
        result = base.search(
            "Compare the termination rights of the Aldera and the Birchwood agreements"
        )
    assert not any("no title" in warning for warning in result.warnings)
    assert {segment.document_id for segment in result.segments} == {"Aldera", "Birchwood"}
