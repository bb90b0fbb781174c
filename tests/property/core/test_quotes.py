"""Laws of quotes: copies are located, changes of meaning are never accepted."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from spanwise.core.answers.quote_words import read_tokens
from spanwise.core.answers.quotes import CheckedQuote, QuoteChecker

PLAIN_WORDS = st.sampled_from(
    "revenue costs of the plan margin fell rose freight company year plant lease port".split()
)
NUMBERS = st.sampled_from(["2018", "1,577", "12.5%", "$3.2", "(41)", "7", "€900", "-5"])
NEGATIONS = st.sampled_from(["not", "never", "without", "nicht", "didn't"])
SENTENCES = st.lists(
    st.lists(PLAIN_WORDS | NUMBERS, min_size=4, max_size=30).map(" ".join),
    min_size=1,
    max_size=6,
).map(lambda sentences: ". ".join(sentences) + ".")
ANY_TEXT = st.text(min_size=1, max_size=200)


def check(quote: str, text: str) -> CheckedQuote:
    """Return the check of a quote against one text."""
    return QuoteChecker([text]).check(quote)


@given(text=ANY_TEXT)
def test_tokens_are_in_order_and_cover_all_visible_text(text: str) -> None:
    tokens = read_tokens(text)
    places = [place for pair in zip(tokens.starts, tokens.ends, strict=True) for place in pair]
    assert places == sorted(places)
    assert all(start < end for start, end in zip(tokens.starts, tokens.ends, strict=True))
    left = "".join(
        text[end:start]
        for end, start in zip([0, *tokens.ends], [*tokens.starts, len(text)], strict=True)
    )
    assert not any(character.isalnum() for character in left)


@given(text=ANY_TEXT, quote=ANY_TEXT)
def test_any_quote_of_any_text_is_answered(text: str, quote: str) -> None:
    checked = check(quote, text)
    assert 0 <= checked.similarity <= 1
    if checked.text is None:
        assert (checked.status, checked.similarity < 1) == ("failed", True)
    else:
        assert checked.status != "failed"
        assert 0 <= checked.start < checked.end <= len(text)


@given(text=ANY_TEXT)
def test_a_whole_text_with_a_word_quotes_itself(text: str) -> None:
    assume(any(character.isalnum() for character in text))
    assert check(text, text).status == "exact"


def plain(text: str) -> str:
    """Return the words of a text without the marks between them, which near quotes may change."""
    return " ".join(re.findall(r"[\w']+", text))


@st.composite
def copied(draw: st.DrawFn) -> tuple[str, str]:
    """Return a text and a run of its whole words, at least three."""
    text = draw(SENTENCES)
    words = [match.span() for match in re.finditer(r"\S+", text)]
    first = draw(st.integers(0, len(words) - 3))
    last = draw(st.integers(first + 3, len(words)))
    return text, text[words[first][0] : words[last - 1][1]]


@given(pair=copied(), space=st.sampled_from(["\n", "  ", "\u00a0", " \r\n\t"]))
def test_a_copied_quote_is_exact_and_located(pair: tuple[str, str], space: str) -> None:
    text, quote = pair
    checked = check(quote.replace(" ", space), text)
    assert checked.status == "exact"
    assert text[checked.start : checked.end] == quote


@given(pair=copied(), data=st.data())
def test_a_changed_digit_is_never_verified(pair: tuple[str, str], data: st.DataObject) -> None:
    text, quote = pair
    digits = [place for place, character in enumerate(quote) if character.isdigit()]
    assume(digits)
    place = data.draw(st.sampled_from(digits))
    changed = quote[:place] + str((int(quote[place]) + 1) % 10) + quote[place + 1 :]
    assume(plain(changed) not in plain(text))
    assert check(changed, text).status == "failed"


@given(pair=copied(), negation=NEGATIONS, data=st.data())
def test_a_negation_is_never_put_in(
    pair: tuple[str, str], negation: str, data: st.DataObject
) -> None:
    text, quote = pair
    words = quote.split()
    place = data.draw(st.integers(0, len(words)))
    assert check(" ".join([*words[:place], negation, *words[place:]]), text).status == "failed"


@given(pair=copied(), negation=NEGATIONS, data=st.data())
def test_a_negation_is_never_omitted(
    pair: tuple[str, str], negation: str, data: st.DataObject
) -> None:
    text, quote = pair
    words = quote.split()
    place = data.draw(st.integers(1, len(words) - 1))
    denied = " ".join([*words[:place], negation, *words[place:]])
    assume(text.count(quote) == 1)
    changed = text.replace(quote, denied)
    assume(plain(quote) not in plain(changed))
    assert check(quote, changed).status == "failed"
    assert check(denied, changed).status == "exact"


@given(text=SENTENCES, quote=SENTENCES)
def test_a_near_quote_has_nearly_all_its_words(text: str, quote: str) -> None:
    checked = check(quote, text)
    if checked.status == "near":
        passage = text[checked.start : checked.end].casefold()
        there = re.findall(r"\w+", passage)
        words = re.findall(r"\w+", quote.casefold())
        assert sum(word in there for word in words) >= 0.95 * len(words)
        assert checked.similarity >= 0.95


@given(texts=st.lists(SENTENCES, min_size=2, max_size=4), pair=copied())
def test_a_quote_is_found_in_the_cited_text(texts: list[str], pair: tuple[str, str]) -> None:
    text, quote = pair
    everything = [*texts, text, *texts]
    assert QuoteChecker(everything).check(quote, cited=[len(texts)]).text == len(texts)
