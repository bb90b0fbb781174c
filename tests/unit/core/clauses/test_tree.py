"""Numbered clauses of contracts."""

import pytest
from tests.growth import assert_linear_time

from spanwise.core.documents.clauses import find_clauses

SAID = (
    "The parties agree that the Owner shall do so under this Agreement, notwithstanding what the"
    " harbour master says hereunder."
)


def outline(text: str) -> list[str]:
    """Return the titles of the clauses, further in by level."""
    return ["  " * (heading.level - 2) + heading.title for heading in find_clauses(text)]


def test_clauses_of_articles() -> None:
    """The titles run in, stand on the line, or on the line below."""
    text = (
        f"ARTICLE I\nDEFINITIONS\n1.1 Boat. {SAID}\n1.2 Fees: {SAID}\n"
        f"ARTICLE II - Use\nSection 2.1. Sails and Masts. {SAID}\n(a) {SAID}\n(b) Oars. {SAID}\n"
        f"2.2. {SAID}\nARTICLE III\n{SAID}\n"
    )
    assert outline(text) == [
        "Article I DEFINITIONS",
        "  1.1 Boat",
        "  1.2 Fees",
        "Article II Use",
        "  2.1 Sails and Masts",
        "    2.1(a)",
        "    2.1(b) Oars",
        "  2.2",
        "Article III",
    ]


def test_bracket_levels_follow_their_order() -> None:
    """(i) is a Roman number inside (b), and the letter after (h)."""
    letters = "".join(f"({letter}) {SAID}\n" for letter in "abcdefghi")
    inner = "".join(f"({letter}) {SAID}\n" for letter in ("a", "i", "ii", "b"))
    text = f"1. Use. {SAID}\n{letters}2. Law. {SAID}\n{inner}"
    assert outline(text)[9:] == [
        "    1(i)",
        "  2 Law",
        "    2(a)",
        "      2(a)(i)",
        "      2(a)(ii)",
        "    2(b)",
    ]


def test_capitals_and_roman_numbers() -> None:
    """ "C." comes after "B.", not before "D." as one hundred."""
    text = f"I. Use. {SAID}\nA. {SAID}\nB. {SAID}\nC. Sails. {SAID}\n1. {SAID}\nII. Law. {SAID}\n"
    assert outline(text) == [
        "  I Use",
        "    I.A",
        "    I.B",
        "    I.C Sails",
        "      1",
        "  II Law",
    ]


def test_a_number_without_its_line_still_opens_its_clauses() -> None:
    """2.1 is in clause 2 without a line "2.", 1.1 in clause 1; 7.1 continues no sequence."""
    text = "".join(
        f"{number} {SAID}\n"
        for number in ("1.1", "1.2", "2.1", "7.1", "2.2", "2.2.1", "(a)", "3.1")
    )
    assert outline(text) == [
        "    1.1",
        "    1.2",
        "    2.1",
        "    2.2",
        "      2.2.1",
        "        2.2.1(a)",
        "    3.1",
    ]
    roman = f"I. Use. {SAID}\n1.1 {SAID}\nII. Law. {SAID}\n2.1 {SAID}\n"
    assert outline(roman) == ["  I Use", "    1.1", "  II Law", "    2.1"]


def test_a_level_may_begin_with_its_second_number() -> None:
    """The first is inside a line, whose break was lost."""
    text = f"It says: Charter 1. Use 1.1 {SAID}\n" + "".join(
        f"{number} {SAID}\n" for number in ("1.2", "1.3", "2.", "2.2", "2.3", "3.", "5.2")
    )
    assert outline(text) == ["    1.2", "    1.3", "  2", "    2.2", "    2.3", "  3"]
    assert outline(f"2. {SAID}\n2.3 {SAID}\n2.4 {SAID}\n2.5 {SAID}\n") == []


def test_recitals() -> None:
    """Letters under the recitals are clauses next to the numbered ones."""
    text = f"RECITALS\n(A) {SAID}\n(B) {SAID}\n1. Use. {SAID}\n2. {SAID}\n3. {SAID}\n"
    assert outline(text) == ["  Recital (A)", "  Recital (B)", "  1 Use", "  2", "  3"]
    assert outline(text.replace("(A)", "A.").replace("(B)", "B."))[0] == "  Recital A"
    assert outline(text.replace("RECITALS", "Whatever"))[0] == "  1 Use"
    letters = text.replace("(A)", "A.").replace("(B)", "B.").replace("1.", "ARTICLE I\n1.")
    assert outline(letters)[2:4] == ["Article I", "  1 Use"]


def test_terms_that_are_defined_are_titles() -> None:
    """So is a number whose title is on a line of its own."""
    terms = f'1.1 "Wide Boat" means one. {SAID}\n1.2 “Oar” shall be. {SAID}\n'
    text = f"1 DEFINITIONS\n{terms}2 Law\n{SAID}"
    assert outline(text) == ["  1 DEFINITIONS", '    1.1 "Wide Boat"', "    1.2 “Oar”", "  2 Law"]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("Section 4 applies.", ""),
        ("The Owner pays.", ""),
        ("Hand-over. The", "Hand-over"),
        ("Fees - the", "Fees"),
        ("(a) Fees", ""),
        ("[***]", ""),
        ("Term of the Charter", "Term of the Charter"),
        ("Fees 2.2 Deposit. It", "Fees"),
        ("Term The term of it", "Term"),
        ("Assignment Neither of them may", "Assignment"),
        ("Law and Forum This charter is under", "Law and Forum"),
        ("Owner Duties Owner shall", "Owner Duties"),
        ("Owner Charter Crew shall", ""),
        ("All Boats The Owner has", ""),
        ("X" * 120, ""),
    ],
)
def test_title_reads_as_one(words: str, title: str) -> None:
    """All words but small ones begin with a capital; a reference is no title."""
    text = f"1. {words} {SAID}\n2. {SAID}\n3. {SAID}\n"
    text = text.replace(f"{words} {SAID}", f"{words}\n{SAID}") if title == words else text
    assert outline(text)[0].strip() == f"1 {title}".strip()


def test_list_inside_a_clause_does_not_end_the_count() -> None:
    """Numbers that restart form a sequence of their own; the outer one continues after it."""
    items = "".join(f"{number}. Boat\n" for number in (1, 2, 3))
    text = f"1. {SAID}\n2. {SAID}\n3. {SAID}\n{items}4. {SAID}\n5. {SAID}\n"
    assert outline(text) == ["  1", "  2", "  3", "  4", "  5"]


def test_table_of_contents_has_no_clauses() -> None:
    """With pages or without, it is hardly more than titles."""
    contents = "1. Use 3\n2. Fees 4\n3. Law ...... 5\n4 Boats 6\n"
    clauses = f"1. Use. {SAID}\n2. Fees. {SAID}\n3. Law. {SAID}\n"
    expected = ["  1 Use", "  2 Fees", "  3 Law"]
    assert outline(contents + clauses) == expected
    assert outline("1. Use\n2. Fees\n3. Law\n" + clauses) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1. Buy milk.\n2. Buy eggs.\n3. Go home.\n" * 20,
        f"{SAID}\n1. {SAID}\n2. {SAID}\n",
        f"{SAID}\n2. {SAID}\n4.1 {SAID}\n(b) {SAID}\n(a) {SAID}\n",
        f"1. the Owner shall\n2. the parties shall\n3. {SAID.lower()}\n",
        f"{SAID}\n12 May\n13 May\n1 boat and\n",
    ],
)
def test_other_texts_have_no_clauses(text: str) -> None:
    """Lists of other texts, numbers that do not begin with one, fewer than three."""
    assert find_clauses(text) == ()


@pytest.mark.parametrize("word", ["SHALL", "ſhall", "partıes", "PARTİES"])
def test_legal_words_are_found_whatever_their_case(word: str) -> None:
    """The letters "ſ", "ı" and "İ" differ from "s" and "i" only in case."""
    said = f"All the boats of this harbour {word} row to the other side of it before the evening."
    text = f"1. Boats. {said}\n2. Fees. {said}\n3. Oars. {said}\n"
    assert outline(text) == ["  1 Boats", "  2 Fees", "  3 Oars"]


def test_range_of_a_heading_is_its_number_and_title() -> None:
    """As written, from the start of their line if they are at one."""
    text = f"  1. Use.  {SAID}   2. {SAID}   3. Law. {SAID}"
    found = [text[heading.start : heading.end] for heading in find_clauses(text)]
    assert found == ["  1. Use", "2.", "3. Law"]


@pytest.mark.parametrize(
    "line",
    [
        "1. The party shall. ",
        "(a) party\n",
        "1.1 Party shall\n",
        "ARTICLE I\n",
        "party   1. A",
        "1. Party Duties and Party of\n",
        "party\n ",
    ],
)
def test_time_is_linear_in_the_text(line: str) -> None:
    """For repeated text."""
    assert_linear_time(find_clauses, lambda chars: line * (chars // len(line)), size=10_000)
