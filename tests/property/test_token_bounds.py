"""Bounds on tokens that are computed without the vocabulary of the tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.search.rendering import least_tokens

_PARTS = st.sampled_from(
    "Net sales/$/22,884/2022/ | /(1,234.5)/\n/—/don't/_/R&D/%/ä/'tis/ 'll/...".split("/")
)
_TEXTS = st.one_of(st.text(), st.text("aB1,. |\n$_-'"), st.lists(_PARTS).map("".join))


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@given(text=_TEXTS)
def test_a_text_has_at_least_so_many_tokens(name: str, text: str) -> None:
    assert least_tokens(text) <= make_tokenizer(name).count([text])[0]


def test_the_bound_is_near_for_rows_of_figures() -> None:
    row = "Total current assets | 184,257 | 169,684 | 175,552\n"
    assert least_tokens(row) >= 0.6 * make_tokenizer("o200k_base").count([row])[0]
    assert least_tokens(row) > 1.5 * len(row.split()) - 3
