"""Lengths in tokens, stored and counted."""

import pytest

from spanwise.errors import OptionError
from spanwise.providers.tokens import CharacterTokenizer
from spanwise.query.meter import make_meter
from spanwise.types import Section

SECTION = Section(start=0, end=9, title="t", path=("t",), header_tokens=7)


def test_the_reader_of_the_knowledge_base_needs_no_tokenizer() -> None:
    meter = make_meter(None, "o200k_base")
    assert meter.tokenizer is None
    assert meter.header(SECTION, lambda: "any header") == 7


def test_a_model_with_the_same_vocabulary_is_the_same_reader() -> None:
    assert make_meter("gpt-4o", "o200k_base").tokenizer is None


def test_another_reader_counts_for_itself() -> None:
    meter = make_meter("chars:4", "o200k_base")
    assert isinstance(meter.tokenizer, CharacterTokenizer)
    assert meter.header(SECTION, lambda: "12345") == 2


def test_an_unknown_reader_is_refused_by_name() -> None:
    with pytest.raises(OptionError, match="tokenizer is 'abacus'"):
        make_meter("abacus", "o200k_base")
