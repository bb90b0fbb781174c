"""Token counts, stored and computed."""

import pytest

from spanwise.errors import OptionError
from spanwise.models.providers.tokenizer import CharacterTokenizer, make_tokenizer
from spanwise.search.rendering import make_token_counter
from spanwise.types import Section

SECTION = Section(start=0, end=9, title="t", path=("t",), header_tokens=7)


def test_the_reader_of_the_knowledge_base_needs_no_tokenizer() -> None:
    token_counter = make_token_counter(None, "o200k_base")
    assert token_counter.tokenizer is None
    assert token_counter.header(SECTION, lambda: ["any header"]) == 7


def test_a_header_that_names_several_sections_has_more_tokens() -> None:
    assert make_token_counter(None, "o200k_base").header(SECTION, list, more_tokens=5) == 12


def test_a_model_with_the_same_vocabulary_is_the_same_reader() -> None:
    assert make_token_counter("gpt-4o", "o200k_base").tokenizer is None


def test_another_reader_counts_for_itself() -> None:
    token_counter = make_token_counter("chars:4", "o200k_base")
    assert isinstance(token_counter.tokenizer, CharacterTokenizer)
    assert token_counter.header(SECTION, lambda: ["12345", "1"]) == 3


def test_an_unknown_reader_is_rejected_by_name() -> None:
    with pytest.raises(OptionError, match="tokenizer is 'abacus'"):
        make_token_counter("abacus", "o200k_base")


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize(
    "texts",
    [
        ["f([('foo', 100),\n     ", "200)])"],
        ["1001\n      10     A    ", "12  1010\n"],
        ["promise\n        ", ".then(next)\n        ", ".catch(stop)"],
        ["One sentence. ", "Another one.\n\n", "A third."],
    ],
)
def test_joined_text_has_at_most_the_tokens_of_parts_and_seams(name: str, texts: list[str]) -> None:
    tokenizer = make_tokenizer(name)
    whole = tokenizer.count(["".join(texts)])[0]
    assert whole <= sum(tokenizer.count(texts)) + make_token_counter(name, "chars:4").seams(texts)


def test_sentences_and_paragraphs_have_no_seams() -> None:
    token_counter = make_token_counter(None, "o200k_base")
    assert token_counter.seams(["One sentence. ", "Another one.\n\n", "A third."]) == 0
    assert make_token_counter("chars:4", "o200k_base").seams(["a\n    ", "1"]) == 0
