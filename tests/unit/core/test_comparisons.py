"""The things that a question compares."""

from __future__ import annotations

from functools import cache

import pytest

from spanwise.core.ranking.collection import Collection, count_document
from spanwise.core.ranking.comparisons import MAX_THINGS, Comparison, find_comparison
from spanwise.core.ranking.question import read_question
from spanwise.types import Chunk

COMPANIES = ("Costco", "Kraft Heinz", "General Mills", "Block", "3M", "Vulcan", "American Express")
YEARS = (2018, 2020, 2021)


def chunk(index: int, text: str) -> Chunk:
    return Chunk(index=index, start=0, end=len(text), text=text, tokens=9, section=0)


@cache
def reports() -> Collection:
    """Return reports of each company in several years, and a contract of two of them."""
    texts = [(f"{name} 10k {year}", name) for name in COMPANIES for year in YEARS]
    texts += [("Supply Agreement between Dogwood and Elmstone", "Dogwood and Elmstone")]
    documents = []
    for handle, (title, name) in enumerate(texts):
        said = "Square" if name == "Block" else name
        bodies = [
            f"{said} reports revenue, general expenses and leases of American offices.",
            f"The margin of {said} in the year{' and block trades' * (name == 'Vulcan')}.",
        ]
        chunks = [chunk(index, text) for index, text in enumerate(bodies)]
        documents.append(count_document(chunks, title_words=title, handle=handle))
    return Collection(documents=tuple(documents), reference_terms=10.0)


def comparison(text: str) -> Comparison:
    question = read_question(text)
    forms, words = question.forms()
    scan = reports().scan(forms, words=words, cosine=None, hits=10)
    return find_comparison(question, scan)


def names(text: str) -> list[str]:
    return [thing.name for thing in comparison(text).things]


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("Costco vs Kraft Heinz: leases", ["Costco", "Kraft Heinz"]),
        ("Is Costco's margin higher than Block's?", ["Costco", "Block"]),
        ("Which of Costco, 3M and Vulcan has leases?", ["Costco", "3M", "Vulcan"]),
        ("How do General Mills and Kraft Heinz differ?", ["General Mills", "Kraft Heinz"]),
        ("leases of Costco, General Mills & 3M", ["Costco", "General Mills", "3M"]),
        ("costco versus general mills leases", ["costco", "general mills"]),
        ("does costco pay more than vulcan", ["costco", "vulcan"]),
        ("what did costco lease, and what are the leases of vulcan", ["costco", "vulcan"]),
        ("leases costco vulcan", ["costco", "vulcan"]),
        ("what do block and american express report", ["block", "american express"]),
        ("What did the Kraft Heinz Company, Inc., and Costco report?", ["Kraft Heinz", "Costco"]),
        ("How does 3M describe leases, and how does Costco?", ["3M", "Costco"]),
        ("What did Vulcan sell in 2Q21 to Costco on form 10K?", ["Vulcan", "Costco"]),
        ("Costco's margin in 2018, 2020 and 2021", ["2018", "2020", "2021"]),
        ("Costco's margin, 2018 against 2020", ["2018", "2020"]),
    ],
)
def test_named_things_with_documents_of_their_own_are_compared(
    question: str, things: list[str]
) -> None:
    assert names(question) == things


@pytest.mark.parametrize(
    "question",
    [
        "What was the margin of Costco?",
        "How did revenue and leases change over time?",
        "What do Dogwood and Elmstone agree on?",
        "Does Costco compare revenue with general expenses?",
        "How many American offices does Costco lease?",
        "What were the general expenses of Costco in 2020 and 2021?",
        "Which company has leases?",
    ],
)
def test_other_questions_compare_no_things(question: str) -> None:
    assert names(question) == []


def test_a_query_of_a_thing_lacks_the_names_of_the_others() -> None:
    things = comparison("Compare the leases of Costco, Kraft Heinz and 3M in 2020.").things
    assert [thing.query for thing in things] == [
        "the leases of Costco in 2020.",
        "the leases of Kraft Heinz in 2020.",
        "the leases of 3M in 2020.",
    ]


def test_a_query_of_a_thing_keeps_its_possessive() -> None:
    things = comparison("Is Costco's margin higher than Block's?").things
    assert [thing.query for thing in things] == [
        "Is Costco's margin higher?",
        "Is Block's margin higher?",
    ]


def test_the_name_of_a_thing_takes_the_place_of_the_first_name() -> None:
    things = comparison("Is the revenue of Costco higher than Block's?").things
    assert [thing.query for thing in things] == [
        "Is the revenue of Costco higher?",
        "Is the revenue of Block higher?",
    ]


def test_a_name_that_a_list_is_asked_about_stays_in_every_query() -> None:
    things = comparison("What do Costco and 3M sell to Vulcan?").things
    assert [thing.query for thing in things] == [
        "What do Costco sell to Vulcan?",
        "What do 3M sell to Vulcan?",
        "What do sell to Vulcan?",
    ]
    compared = comparison("How do Costco and 3M sell leases compared to Vulcan?").things
    assert [thing.query.count("Vulcan") for thing in compared] == [0, 0, 1]


def test_each_thing_has_all_of_its_documents_and_no_others() -> None:
    things = comparison("Costco vs Vulcan").things
    assert [len(thing.documents) for thing in things] == [len(YEARS)] * 2
    assert not set(things[0].documents) & set(things[1].documents)


def test_a_listed_name_without_documents_is_unmatched() -> None:
    found = comparison("Compare the leases of Costco, Zephyrion, General Zeppelins and Block.")
    assert [thing.name for thing in found.things] == ["Costco", "Block"]
    assert found.unmatched == ("Zephyrion", "General Zeppelins")


def test_the_other_party_of_a_contract_is_not_unmatched() -> None:
    assert comparison("Under the agreement between Costco and Zephyrion?").unmatched == ()


def test_the_documents_of_the_only_named_thing_are_known() -> None:
    found = comparison("What was the margin of General Mills?")
    assert (found.things, len(found.named)) == ((), len(YEARS))


def test_a_part_of_an_unknown_name_names_no_document() -> None:
    assert comparison("What was the margin of Zephyrion General?").named == ()


def test_a_question_that_names_too_many_things_is_searched_as_a_whole() -> None:
    documents = tuple(
        count_document([chunk(0, f"Revenue of Firm{x}.")], title_words=f"Firm{x}", handle=at)
        for at, x in enumerate("abcdefghij")
    )
    text = " and ".join(f"Firm{x}" for x in "abcdefghij"[: MAX_THINGS + 1])
    question = read_question(text)
    forms, words = question.forms()
    scan = Collection(documents=documents, reference_terms=5.0).scan(
        forms, words=words, cosine=None, hits=10
    )
    assert find_comparison(question, scan).things == ()


def test_a_very_long_question_is_searched_as_a_whole() -> None:
    assert names("Costco and Vulcan " * 100) == []


def test_words_of_a_kind_of_contract_are_no_names() -> None:
    """ "Confidential Information" is not about the document titled "Confidentiality Agreement"."""
    titles = ("Confidentiality Agreement with Elmstone", "Lease with Dogwood")
    documents = tuple(
        count_document([chunk(0, f"{title}: the staff.")], title_words=title, handle=at)
        for at, title in enumerate(titles)
    )
    text = "Does Dogwood's Lease say that Confidential Information is kept from the staff?"
    question = read_question(text)
    forms, words = question.forms()
    collection = Collection(documents=documents, reference_terms=10.0)
    scan = collection.scan(forms, words=words, cosine=None, hits=10)
    assert find_comparison(question, scan).things == ()
