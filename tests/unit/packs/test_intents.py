"""What a question is after, in the words of packs."""

from __future__ import annotations

import pytest
from tests.reports import LEASES

from spanwise.packs.intents import Aim, read_aims
from spanwise.packs.pack_file import phrase_terms, read_pack, shipped_packs

PACKS = [named.pack for named in shipped_packs() if named.pack.name == "filings"]


def aim(question: str) -> Aim:
    """Return the one aim of a question."""
    (found,) = read_aims(PACKS, question)
    return found


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("What was capex in FY2020?", ["cash_flow"]),
        ("How much free cash flow was there?", ["cash_flow"]),
        ("Is the working capital positive?", ["balance_sheet"]),
        ("Did the gross margin fall?", ["income"]),
        ("What is the DPO of the mill?", ["income", "balance_sheet"]),
        ("By the P&L statement, what is the EBITDA margin?", ["income"]),
        ("Taking the balance sheet alone, how did net sales grow?", ["balance_sheet"]),
        ("From statements of financial positions, the inventory turnover?", ["balance_sheet"]),
    ],
)
def test_words_point_to_statements_and_names_win(question: str, keys: list[str]) -> None:
    assert [landmark.key for landmark in aim(question).landmarks] == keys


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("Can the supplier walk away?", ["convenience"]),
        ("When does the deal run out?", ["term"]),
        ("What does the supplier run?", []),
    ],
)
def test_words_that_ask_for_a_topic_point_to_its_landmark(question: str, keys: list[str]) -> None:
    (pack,) = (named.pack for named in shipped_packs() if named.pack.name == "contracts")
    found = read_aims([pack], question)
    assert [landmark.key for one in found for landmark in one.landmarks] == keys


def test_a_question_without_known_words_has_no_aim() -> None:
    assert read_aims(PACKS, "Who wrote the handbook of the mill?") == ()
    assert read_aims(PACKS, "") == ()
    assert read_aims((), "What was capex?") == ()


def test_the_glossary_gives_other_words_than_the_question_has() -> None:
    terms = aim("What was capex, that is capital expenditure?").terms
    assert {"spend", "purchas", "properti"} <= set(terms)
    assert not {"capex", "capit", "expenditur"} & set(terms)
    assert len(terms) == len(set(terms))


def test_a_glossary_counts_without_an_intent() -> None:
    pack = read_pack(LEASES, place="x")
    (found,) = read_aims([pack], "Who is the landlord?")
    assert (found.landmarks, found.terms) == ((), ("lessor",))


def test_each_pack_has_its_own_aim() -> None:
    packs = [*PACKS, read_pack(LEASES, place="x")]
    found = read_aims(packs, "How much rent and revenue?")
    assert [(one.pack.name, [mark.key for mark in one.landmarks]) for one in found] == [
        ("filings", ["income"]),
        ("leases", ["rent"]),
    ]


def test_the_terms_of_a_long_question_are_limited() -> None:
    words = "".join(f'word{n} = ["meaning{n}", "sense{n}"]\n' for n in range(60))
    (found,) = read_aims(
        [read_pack(LEASES + words, place="x")], " ".join(f"word{n}" for n in range(60))
    )
    assert len(found.terms) == 64


def test_questions_are_not_cached() -> None:
    """Questions may be long and private."""
    read_aims(PACKS, "a first question")
    before = phrase_terms.cache_info().currsize
    read_aims(PACKS, "a second question, of a private matter")
    assert phrase_terms.cache_info().currsize == before
