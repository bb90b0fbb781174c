"""Several queries for one question, and near-duplicate texts."""

from collections.abc import Iterator

import pytest

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.errors import QueryError
from spanwise.models.providers.tokenizer import make_tokenizer

CLAUSE = (
    "Each party shall keep confidential all information that it receives from the other party "
    "under this agreement and shall not disclose it to any third party without prior written "
    "consent of the disclosing party, except where the law requires it."
)
NAMES = ("Acme", "Beta", "Corvo", "Delta", "Eon")


@pytest.fixture(scope="module")
def contracts() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as base:
        for number, name in enumerate(NAMES):
            base.add_text(
                f"# Agreement of {name}\n\nThis agreement is between {name} and Zed, and ends "
                f"{number + 2} years after the effective date. The services are those that its "
                f"first annex lists, and {name} takes them at the places that the second annex "
                f"lists.\n\n{CLAUSE}\n\nThe fee of {name} is {number * 100 + 50} dollars a month, "
                f"payable in advance by {name} to Zed. It is paid to the account that the third "
                "annex names, without deductions of any kind, and bears interest from the day on "
                "which it falls due, at the rate that the central bank has set for the quarter.",
                document_id=name.lower(),
                title=f"Agreement {name}",
            )
        yield base


def test_a_text_of_many_documents_comes_once_with_the_others_named(
    contracts: KnowledgeBase,
) -> None:
    result = contracts.search("What information must be kept confidential?")
    shown = [segment for segment in result.segments if "keep confidential" in segment.text]
    assert len(shown) == 1
    others = sorted({name.lower() for name in NAMES} - {shown[0].document_id})
    assert list(shown[0].also_in) == others
    assert 'also_in="4 documents"' in result.context


def test_a_question_that_names_a_document_gets_its_own_copy(contracts: KnowledgeBase) -> None:
    result = contracts.search("What must Corvo keep confidential?")
    shown = [segment for segment in result.segments if "keep confidential" in segment.text]
    assert [segment.document_id for segment in shown] == ["corvo"]


def test_a_comparison_gets_the_text_of_each_document(contracts: KnowledgeBase) -> None:
    result = contracts.search("Compare what is kept confidential in all agreements")
    shown = [segment for segment in result.segments if "keep confidential" in segment.text]
    assert {segment.document_id for segment in shown} == {name.lower() for name in NAMES}
    assert not any(segment.also_in for segment in result.segments)


def test_rows_with_other_figures_are_no_copies() -> None:
    with KnowledgeBase(":memory:") as base:
        for year in (2019, 2020, 2021):
            base.add_text(
                f"Net sales of the consumer division of the group in the year were {year * 7} "
                "million dollars, after returns, rebates and discounts to its customers.",
                document_id=str(year),
            )
        result = base.search("net sales of the consumer division")
    assert len(result.segments) == 3


def test_each_query_gets_some_of_a_small_budget(contracts: KnowledgeBase) -> None:
    options = SegmentOptions(segment_charge=0.0)
    queries = [f"monthly fee of {name}" for name in NAMES]
    result = contracts.search(
        queries[0], more_queries=queries[1:], segment_options=options, budget_tokens=900
    )
    assert result.queries == tuple(queries)
    served = {number for segment in result.segments for number in segment.queries}
    assert served == set(range(len(NAMES)))
    for number, name in enumerate(NAMES):
        texts = [s.text for s in result.segments if number in s.queries]
        assert any(f"fee of {name}" in text for text in texts)


def test_a_query_that_comes_twice_counts_once(contracts: KnowledgeBase) -> None:
    question = "When does the agreement of Beta end?"
    assert contracts.search(question, more_queries=[question]).segments == (
        contracts.search(question).segments
    )


def test_the_order_of_queries_changes_no_segment(contracts: KnowledgeBase) -> None:
    one, other = "monthly fee of Eon", "When does the agreement of Beta end?"
    first = contracts.search(one, more_queries=[other])
    second = contracts.search(other, more_queries=[one])
    assert [(s.document_id, s.start, s.end) for s in first.segments] == [
        (s.document_id, s.start, s.end) for s in second.segments
    ]


@pytest.mark.parametrize(
    "queries", [[""], ["   "], ["?"], ["fee"] * 3 + [str(n) for n in range(16)]]
)
def test_queries_are_checked(contracts: KnowledgeBase, queries: list[str]) -> None:
    with pytest.raises(QueryError):
        contracts.search("fee", more_queries=queries)


def test_a_query_in_place_of_a_list_is_rejected(contracts: KnowledgeBase) -> None:
    from spanwise.errors import OptionError

    with pytest.raises(OptionError, match="queries"):
        contracts.search("fee", more_queries="monthly fee")


def test_queries_that_distinguish_duplicates_get_their_own() -> None:
    with KnowledgeBase(":memory:") as base:
        for name in NAMES:
            base.add_text(
                CLAUSE.replace("Each party", name) + " This duty binds its staff and its advisers "
                "for as long as the information is not publicly known, and it survives the end.",
                document_id=name.lower(),
                title="Agreement",
            )
        queries = [f"What must {name} keep confidential?" for name in ("Corvo", "Delta")]
        question = "What information must be kept confidential?"
        alone = base.search(question)
        result = base.search(question, more_queries=queries)
    assert [len(segment.also_in) for segment in alone.segments] == [4]
    for number, document_id in ((1, "corvo"), (2, "delta")):
        served = [s.document_id for s in result.segments if number in s.queries]
        assert served == [document_id]


def test_a_text_that_its_document_repeats_is_in_no_other_document_by_that() -> None:
    with KnowledgeBase(":memory:") as base:
        filler = "The barge carries grain down the river and takes flour upstream to the town. " * 3
        base.add_text(f"{CLAUSE}\n\n{filler}\n\n{CLAUSE}", document_id="twice")
        base.add_text(CLAUSE, document_id="once")
        result = base.search("What information must be kept confidential?")
    (shown,) = (segment for segment in result.segments if segment.also_in)
    assert {shown.document_id, *shown.also_in} == {"twice", "once"}
    assert len(shown.also_in) == 1


@pytest.mark.parametrize("tokenizer", ["chars:1", "chars:1.5", "chars:4", "o200k_base"])
def test_the_count_of_duplicates_costs_tokens(contracts: KnowledgeBase, tokenizer: str) -> None:
    result = contracts.search("What information must be kept confidential?", tokenizer=tokenizer)
    assert any(segment.also_in for segment in result.segments)
    assert make_tokenizer(tokenizer).count([result.context])[0] <= result.tokens


@pytest.mark.parametrize("tokenizer", [None, "o200k_base", "cl100k_base"])
def test_short_texts_without_a_stop_keep_the_budget(tokenizer: str | None) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        for letter in "abcdefghijkl":
            base.add_text(f"confidential data {letter}", document_id=letter)
        result = base.search(
            "confidential", preset="precise", tokenizer=tokenizer, budget_tokens=400
        )
    counted = make_tokenizer(tokenizer or "o200k_base").count([result.context])[0]
    assert len(result.segments) > 5
    assert counted <= result.tokens <= 400


def test_a_second_text_of_many_documents_comes_once_too() -> None:
    destroyed = (
        "The party that keeps information confidential under this clause returns or destroys all "
        "copies of it within the month that follows the end of the contract, and confirms it."
    )
    with KnowledgeBase(":memory:", embedder=None) as base:
        for number in range(110):
            base.add_text(CLAUSE if number < 35 else destroyed, document_id=str(number))
        options = SegmentOptions(segment_charge=0.002, token_price=0.0)
        result = base.search("who keeps information confidential", segment_options=options)
    assert [len(segment.also_in) for segment in result.segments] == [74, 34]
