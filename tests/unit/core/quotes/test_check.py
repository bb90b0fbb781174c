"""Quote verification: exact, near and failed quotes, and their places."""

import time

import pytest

from spanwise.core.answers.quotes import CheckedQuote, QuoteChecker

REPORT = (
    "The Company’s “capital spend-\ning” was $1,577 million in 2018, down (3.5)% from 2017.\n"
    "Purchases of PP&E     $ (1,577)   $ (1,373)   $ (1,420)\n"
    "It was not profitable in the long-\nterm. We do not expect, in any case, any changes to the "
    "plan as described in Note 5 of the report for the year. No impairment was recorded. "
    "Non-GAAP income rose by 5 % – to ﬁve million. The area is 12 m². The owner shall (b) not pay."
)


def check(quote: str, text: str = REPORT) -> CheckedQuote:
    """Return the check of a quote against one text."""
    return QuoteChecker([text]).check(quote)


def quoted(quote: str, text: str = REPORT) -> str:
    """Return the text at the place of a quote."""
    checked = check(quote, text)
    assert checked.text == 0
    return text[checked.start : checked.end]


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        ("was $1,577 million in 2018", "was $1,577 million in 2018"),
        ("“was $1,577 million in 2018”", "was $1,577 million in 2018"),
        ("The Company's \"capital", "The Company’s “capital"),
        ("capital spending", "capital spend-\ning"),
        ("capital spend-\ning", "capital spend-\ning"),
        ("It was not profitable in the long-term.", "It was not profitable in the long-\nterm."),
        ("it was not profitable", "It was not profitable"),
        ("Purchases of PP&E $ (1,577)", "Purchases of PP&E     $ (1,577)"),
        ("(1,373)", "(1,373)"),
        ("rose by 5% - to five million", "rose by 5 % – to ﬁve million"),
        ("12 m²", "12 m²"),
        ("report for the year.", "report for the year."),  # the next sentence begins with "No"
        ("The Company's ... in 2018", REPORT[: REPORT.index(", down")]),
        (
            "...was $1,577 million […] from 2017.",
            "was $1,577 million in 2018, down (3.5)% from 2017.",
        ),
    ],
)
def test_quotes_that_are_there_are_exact(quote: str, place: str) -> None:
    assert check(quote).status == "exact"
    assert quoted(quote) == place


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        ("was 1577 million in 2018", "was $1,577 million in 2018"),
        ("Purchases of PP&E (1,577) (1,373)", "Purchases of PP&E     $ (1,577)   $ (1,373)"),
        ("was -1,577 -1,373", None),
        ("Purchases of PP&E -1,577", "Purchases of PP&E     $ (1,577)"),
        ("DOWN (3.5)% FROM 2017", "down (3.5)% from 2017"),
    ],
)
def test_typographic_variants_are_near(quote: str, place: str | None) -> None:
    checked = check(quote)
    assert checked.status == ("failed" if place is None else "near")
    assert place is None or (quoted(quote), checked.similarity) == (place, 1.0)


LONG = (
    "We do not expect, in any case, any changes to the plan as described in Note 5 of the report "
    "for the year"
)


def test_of_twenty_words_one_may_differ() -> None:
    checked = check(LONG.replace("plan", "plans"))
    assert (checked.status, quoted(LONG.replace("plan", "plans"))) == ("near", LONG)
    assert 0.95 <= checked.similarity < 1
    assert check(LONG.replace("plan", "plans").replace("changes", "change")).status == "failed"


@pytest.mark.parametrize(
    "quote",
    [
        "was $1,578 million in 2018",
        "was €1,577 million in 2018",
        "was $1,577 billion in 2018",
        "Purchases of PP&E 1,577 1,373",
        "1,373",
        "down 3.5% from 2017",
        "down (3.5) from 2017",
        "12 m2",
        "rose by 5",
        LONG.replace("Note 5", "Note 6"),
        LONG.replace("Note 5", "Note five"),
    ],
)
def test_another_number_fails(quote: str) -> None:
    assert check(quote).status == "failed"


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("In all groups p < 0.05 was found.", "p > 0.05 was found"),
        ("In all groups p < 0.05 was found.", "p 0.05 was found"),
        ("The fee is <= 5 % of sales.", "The fee is >= 5 % of sales"),
        ("Der Satz ist 0,125 im Jahr.", "Der Satz ist 0125 im Jahr"),
    ],
)
def test_another_comparison_or_group_is_another_number(text: str, quote: str) -> None:
    assert check(quote, text).status == "failed"
    assert check(text, text).status == "exact"


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("increased", "decreased"),
        ("rose", "fell"),
        ("higher", "lower"),
        ("above", "below"),
        ("before", "after"),
        ("maximum", "minimum"),
        ("profit", "loss"),
        ("may", "shall"),
        ("March", "April"),
        ("gestiegen", "gesunken"),
        ("augmenté", "diminué"),
        ("subió", "bajó"),
    ],
)
def test_the_other_direction_or_month_fails_in_a_long_quote(word: str, other: str) -> None:
    text = f"{LONG} and we {word} as it was in all of the plants"
    assert check(text.replace("plants", "plant"), text).status == "near"
    assert check(text.replace(word, other), text).status == "failed"
    assert check(text.replace(f"{word} ", ""), text).status == "failed"


@pytest.mark.parametrize(
    "quote",
    [
        "It was profitable in the long-term",
        "profitable in the long-term",
        "was ... profitable in the long-term",
        "GAAP income rose",
        "impairment was recorded",
        LONG.replace("do not", "do"),
        LONG.replace("any changes", "no changes"),
        LONG.replace("described", "undescribed"),
        LONG.removeprefix("We do not "),
        "The owner shall (b)",
        "The owner shall (b",
    ],
)
def test_another_negation_fails(quote: str) -> None:
    assert check(quote).status == "failed"


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Das Unternehmen hat im Jahr nicht investiert.", "hat im Jahr investiert"),
        ("Es wurde keine Dividende gezahlt.", "Es wurde Dividende gezahlt"),
        ("La société n'a pas investi cette année.", "La société a investi cette année"),
        ("We didn't invest in the year.", "We did invest in the year"),
        ("Не было прибыли в этом году.", "было прибыли в этом году"),
        ("利益は増加しませんでした。", "利益は増加しました"),
    ],
)
def test_negations_of_other_languages_count(text: str, quote: str) -> None:
    assert check(quote, text).status == "failed"
    assert check(text, text).status == "exact"


@pytest.mark.parametrize("quote", ["", " ", "...", "“”", "—", "x" * 30_000])
def test_a_quote_without_words_fails(quote: str) -> None:
    assert check(quote) == CheckedQuote(status="failed", similarity=0.0)


@pytest.mark.parametrize("quote", ["Company Spending", "THE", "the companys"])
def test_fewer_than_three_words_are_exact_or_failed(quote: str) -> None:
    assert check(quote).status == "failed"


def test_a_failed_quote_has_a_similarity() -> None:
    assert check("was $1,578 million in 2018").similarity == pytest.approx(4 / 5)
    assert check("quite another matter altogether").similarity < 0.5


def test_parts_must_be_in_order_in_one_text() -> None:
    checker = QuoteChecker(["Sales rose in May.", "Costs fell in June."])
    assert checker.check("Costs fell ... June").text == 1
    assert checker.check("June ... Costs fell").status == "failed"
    assert checker.check("Sales rose ... in June").status == "failed"


def test_an_ellipsis_joins_no_more_than_a_passage() -> None:
    """Any statement could be assembled from scattered single words."""
    filler = "Much else is said here. " * 30
    text = f"Sales of Alder rose. {filler} Sales of Birch fell by 5 million. We lost some money."
    assert check("Sales of Alder ... fell by 5 million", text).status == "failed"
    assert check("We ... money", text).status == "failed"
    assert check("Birch ... by ... some money", text).status == "failed"
    assert check("Birch ... 5", text).status == "exact"
    assert quoted("Sales ... fell by 5 million", text) == "Sales of Birch fell by 5 million"
    assert check(" ... ".join(["else is", "said here"] * 20), text).status == "failed"


def test_another_place_counts_where_the_first_is_denied() -> None:
    text = "Sales rose but not in June. Sales rose again in May."
    assert quoted("Sales rose ... in May", text) == "Sales rose again in May"


@pytest.mark.parametrize(
    "next_line",
    [
        "Non-current assets:", "NON-CURRENT ASSETS", "No impairment was recorded.",
        "Not applicable", "None", "% of total assets", "  % change", "non-current assets",
    ],
)  # fmt: skip
@pytest.mark.parametrize("row", ["Total current assets 5,308 5,853", "Total current (5,308)"])
def test_the_next_line_of_a_table_denies_nothing(row: str, next_line: str) -> None:
    """A line break before a capital letter or "%" ends the sentence; "non-" denies one word."""
    checker = QuoteChecker([f"{row}\n{next_line}"])
    assert checker.check(row, cited=[0]).status == "exact"


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The charges were non-cash charges of 5 million", "cash charges of 5 million"),
        ("The charges paid were\nnot large in the year", "The charges paid were"),
        ("THE SELLER SHALL\nNOT BE LIABLE FOR DAMAGES", "THE SELLER SHALL"),
        ("No\nEvent of Default has occurred in 2018", "Event of Default has occurred in 2018"),
        ("The margin of the year rose by 5\n% of sales", "margin of the year rose by 5 of sales"),
        ("The margin of the year rose by 5 %\nof sales", "The margin of the year rose by 5"),
        ("The margin of the year rose by 5\nof sales", "The margin of the year rose by 5\n%"),
    ],
)
def test_a_line_break_hides_no_denial_and_no_per_cent(text: str, quote: str) -> None:
    """Wrapped sentences go on in the next line."""
    assert check(quote, text).status == "failed"


@pytest.mark.parametrize(
    "row_before",
    ["Holders None None None", "Is a shell company: ☐ Yes ☒ No", "Index Page No", "Yes No"],
)
def test_the_last_cell_of_the_row_before_denies_nothing(row_before: str) -> None:
    assert (
        check("Total (2) 9,945 14,244", f"{row_before}\nTotal (2) 9,945 14,244").status == "exact"
    )


@pytest.mark.parametrize(
    "before",
    ["They modified none.\nThere were no", "Loans grew. No", "\nNo", "There Were No", "not"],
)
def test_a_negation_at_the_end_of_the_line_before_counts(before: str) -> None:
    assert (
        check("Material changes in 2018", f"{before}\nMaterial changes in 2018").status == "failed"
    )


def test_the_cited_text_comes_first_then_the_others_in_order() -> None:
    checker = QuoteChecker(["Sales rose.", "Sales, rose.", "Sales rose."])
    assert checker.check("Sales rose.", cited=[2]).text == 2
    assert checker.check("Sales rose.", cited=[9]).text == 0
    assert checker.check("Sales rose.").text == 0


def test_a_number_is_whole_between_letters_without_spaces() -> None:
    text = "那里有158,349户，增长3.5倍。"
    assert check("那里有158349户", text).status == "near"
    assert check("那里有158,349户", text).status == "exact"
    assert check("有158.349户", text).status == "failed"
    assert check("增长3,5倍", text).status == "failed"


def test_a_number_is_never_a_part_of_another_one() -> None:
    text = "Revenue was 11,577.5 and 1,577,000."
    assert [check(quote, text).status for quote in ("1,577", "577", "577.5")] == ["failed"] * 3


def test_a_long_document_is_quick() -> None:
    text = REPORT * 400
    checker = QuoteChecker([text])
    started = time.process_time()
    assert checker.check(LONG.replace("plan", "plans")).status == "near"
    assert checker.check(LONG.replace("Note 5", "Note 6")).status == "failed"
    assert checker.check("not here in any of its words at all, but long enough").status == "failed"
    assert time.process_time() - started < 4


@pytest.mark.parametrize("text", ["a " * 40_000, "a" * 80_000, "1," * 40_000, "- ( $" * 10_000])
def test_hostile_texts_take_no_square_of_time(text: str) -> None:
    started = time.process_time()
    QuoteChecker([text]).check("a " * 900 + "b")
    QuoteChecker([text]).check("( $ 1, a " * 300)
    assert time.process_time() - started < 5
