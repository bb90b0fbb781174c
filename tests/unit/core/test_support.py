"""Numbers, dates and names of a statement that its quotes do not contain."""

import time
from decimal import Decimal

import pytest

from spanwise.core.answers.support import QuotedPassage, Support, unsupported_claims

HEAD = "Consolidated balance sheets (in millions)\nDecember 31, 2018 2017\n"
ROW = "Total current assets 5,308 5,853"


PLACE = "Quay Works: report\nQUAY_2018_10K\nItem 8 > Leases"


def marked(
    statement: str, quote: str, *, above: str = "", question: str = "", place: str = PLACE
) -> list[str]:
    """Return the unsupported claims of a statement with one quote."""
    segment = f"{above}{quote} This is what the company of Nils Ekman reports in Note 7."
    passage = QuotedPassage(
        text=quote,
        above=above,
        segment=segment,
        place=place,
        pages="45 (F-12)",
    )
    support = Support(quotes=[passage], question=question)
    return [statement[c.start : c.end] for c in unsupported_claims(statement, support)]


@pytest.mark.parametrize(
    ("statement", "quote"),
    [
        ("Current assets were $5,308 million.", ROW),
        ("Current assets were $5.3 billion.", ROW),
        ("Current assets were $5.308bn, before 5,853 million.", ROW),
        ("Current assets were 5308.", ROW),
        ("It lost 155 million.", "Operating income (loss) (481) (155) 103"),
        ("The margin was 12.3 percent.", "The margin was 12.34 % in all."),
        ("The margin was 12%.", "Margin 12.3 11.9"),
        ("The rate rose by 50 basis points.", "The rate rose by 0.5 percentage points."),
        ("Three ships and 4 cranes were sold.", "We sold 3 ships and four cranes."),
        ("Der Umsatz betrug 1,2 Mrd. Euro.", "Der Umsatz betrug 1.200 Millionen Euro."),
        ("It paid 25,000 dollars.", "It paid twenty-five thousand dollars."),
        ("About 250 million voted for it.", "For 250,838,697 Against 746,982,272"),
        ("It has two causes: storms, and ice.", "It is caused by storms and by ice."),
        ("The second berth opened.", "Another berth opened."),
        ("It is described in Note 7 on page 45.", "It is described."),
        ("By Item 8 of the 10-K, it is 5 km long.", "It is 5 km long."),
    ],
)
def test_numbers_are_compared_by_value_scale_and_precision(statement: str, quote: str) -> None:
    assert marked(statement, quote, above=HEAD) == []


@pytest.mark.parametrize(
    ("statement", "quote", "claims"),
    [
        ("Current assets were $5,380 million.", ROW, ["$5,380 million"]),
        ("Current assets were $5.4 billion.", ROW, ["$5.4 billion"]),
        ("Current assets were 5,308 billion.", ROW, ["5,308 billion"]),
        ("The answer is 42.", ROW, ["42"]),
        ("Sales rose by 5%.", "Sales rose by $5 million.", ["5%"]),
        ("Sales rose by $5 million.", "Sales rose by 5%.", ["$5 million"]),
        ("Sales were 5.3 billion.", "Sales were 5.3 million.", ["5.3 billion"]),
        ("Four directors left.", "Three directors left.", ["Four"]),
        ("It was 0 million.", "It was 26 in 2018.", ["0 million"]),
        ("It was 2 billion.", "It was 7 million in 2018.", ["2 billion"]),
        ("See page 7.", "It was 9.", ["7"]),
    ],
)
def test_other_numbers_are_marked(statement: str, quote: str, claims: list[str]) -> None:
    assert marked(statement, quote, above=HEAD) == claims


@pytest.mark.parametrize(
    "quote",
    [
        "until May 31, 2031", "until 31 May 2031", "until 2031-05-31", "until 31.05.2031",
        "until 5/31/2031", "until the 31st of May, or May 31st, 2031", "bis zum 31. Mai 2031",
    ],
)  # fmt: skip
def test_dates_are_compared_in_any_writing(quote: str) -> None:
    assert marked("It runs until 31 May 2031.", quote) == []
    assert marked("It runs until May 31, 2031.", quote) == []
    assert marked("It runs until May 2031.", quote) == []
    assert marked("It runs until 30 May 2031.", quote) == ["30 May 2031"]
    assert marked("It runs until June 2031.", quote) == ["June 2031"]
    assert marked("It ran until 2030.", quote) == ["2030"]


def test_years_may_be_in_the_question_the_title_or_the_heads_of_a_table() -> None:
    assert marked("Assets were 5,853 in 2017.", ROW, above=HEAD) == []
    assert marked("Assets were 5,308 in fiscal 2018.", ROW) == []
    question = "And in 2016?"
    assert marked("Assets were 5,308 in FY16.", ROW, question=question, place="Report") == []
    assert marked("Assets were 5,308 in FY16.", ROW, question=question) == ["FY16"]
    assert marked("Assets were 5,308 in 2016.", ROW, above=HEAD) == ["2016"]


@pytest.mark.parametrize(
    "heads",
    [
        "December 31, 2018 2017",
        "2018 2017",
        "December 31,\n2018\nDecember 31,\n2017",
        "Year ended December 31, 2018 2017\nCash 20 30\nInventories 5 6",
    ],
)
def test_numbers_of_other_columns_are_marked(heads: str) -> None:
    above = f"Balance sheets (in millions)\n{heads}\n"
    assert marked("Assets were 5,308 in 2018.", ROW, above=above) == []
    assert marked("Assets rose from 5,853 in 2017.", ROW, above=above) == []
    assert marked("In 2018, assets fell to 5,308 from 5,853.", ROW, above=above) == []
    assert marked("Assets were 5,853 in 2018.", ROW, above=above) == ["5,853"]
    assert marked("Assets were $5.3 billion in 2017.", ROW, above=above) == ["$5.3 billion"]


@pytest.mark.parametrize(
    "heads",
    [
        "February 2, 2019 February 3, 2018",  # the fiscal years are 2018 and 2017
        "Note 2018 2017 2016",
        "2018 2018",
        "In 2018 and 2017 we sold 3 ships",
        "",
    ],
)
def test_unclear_heads_are_not_used(heads: str) -> None:
    above = f"Balance sheets (in millions)\n{heads}\n"
    assert marked("Assets were 5,853 in 2018.", ROW, above=above) == []


def test_a_quote_with_years_is_not_about_the_years_above_it() -> None:
    above = "In 2014, sales were 3 million. "
    assert marked(
        "Sales were 5 million in 2014.", "Sales were 5 million in 2015.", above=above
    ) == ["2014"]


def test_names_may_be_in_the_quoted_segment() -> None:
    assert marked("Nils Ekman runs Quay Works.", "He runs it.") == []
    assert marked("It is run by Ann Mallory.", "He runs it.") == ["Ann", "Mallory"]
    assert marked("Its CEO is Ekman's son.", "His son runs it.") == []
    assert marked("Das Ergebnis der Werft und die Kosten sind nicht bekannt.", "Unbekannt.") == []


def test_results_of_calculations_are_supported() -> None:
    passage = QuotedPassage(text="Sales 3.1 2.8", above="", segment="")
    support = Support(quotes=[passage], computed=[Decimal("0.3"), Decimal("10.714285714")])
    assert unsupported_claims("Sales rose by 0.3 to 3.1, or 10.7%.", support) == []
    (claim,) = unsupported_claims("Sales rose by 0.3 to 3.1, or 10.8%.", support)
    assert (claim.kind, claim.start) == ("number", 29)


@pytest.mark.parametrize(
    "text",
    ["1 " * 6_000, "Note 1.1.1 and " * 1_500, "two " * 4_000, "May 5, 2018 " * 1_500, "A " * 6_000],
)
def test_hostile_texts_take_little_time(text: str) -> None:
    passage = QuotedPassage(text=text, above=text, segment=text)
    began = time.process_time()
    unsupported_claims(text, Support(quotes=[passage]))
    assert time.process_time() - began < 3
