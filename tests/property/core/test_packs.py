"""Laws of packs."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reports import LEASES, PROSE, REPORT, STATEMENTS

from spanwise.errors import PackError
from spanwise.packs.intents import read_aims
from spanwise.packs.landmarks import landmark_signals
from spanwise.packs.pack_file import read_pack, shipped_packs

PACK = read_pack(LEASES, place="leases.toml")
FILINGS = next(named.pack for named in shipped_packs() if named.pack.name == "filings")
WORDS = st.sampled_from(
    "base rent Base Rents\n termination \n monthly instalments, late charges; security deposit "
    "notice breach cure \n\n 12 the tenant".split(" ")
)


@given(st.integers(0, len(LEASES)), st.integers(0, 40), st.text(max_size=12))
def test_any_text_is_a_pack_or_an_error_that_names_the_file(
    start: int, length: int, put: str
) -> None:
    text = LEASES[:start] + put + LEASES[start + length :]
    said = ""
    try:
        pack = read_pack(text, place="leases.toml")
    except PackError as error:
        said = str(error)
    assert said.startswith("leases.toml") or (pack.text == text and pack.landmarks)


@given(st.lists(WORDS, min_size=1, max_size=120), st.integers(1, 9))
def test_a_signal_is_one_finite_number_a_chunk_with_mean_0(words: list[str], size: int) -> None:
    texts = [" ".join(words[at : at + size]) for at in range(0, len(words), size)]
    for name, signal in landmark_signals(PACK, texts).items():
        assert name in ("leases/rent", "leases/end")
        assert signal.shape == (len(texts),)
        assert np.isfinite(signal).all()
        assert abs(float(signal.astype(np.float64).mean())) < 0.01
        assert float(signal.max()) > 0


@given(st.lists(WORDS, min_size=1, max_size=60), st.booleans())
def test_the_prefilter_excludes_no_match(words: list[str], tells: bool) -> None:
    pack = read_pack('throughout = ["tenants"]\n' * tells + LEASES, place="x")
    texts = [" ".join(words[at : at + 4]) for at in range(0, len(words), 4)]
    with mock.patch("spanwise.packs.landmarks._may_be_of_kind", return_value=True):
        whole = landmark_signals(pack, texts)
    assert list(landmark_signals(pack, texts)) == list(whole)


@settings(max_examples=30)
@given(st.integers(0, 30), st.integers(0, 30))
def test_a_statement_is_found_in_any_context(before: int, after: int) -> None:
    lines = REPORT.splitlines(keepends=True)
    chunks = ["".join(lines[at : at + 3]) for at in range(0, len(lines), 3)]
    texts = [*[PROSE] * before, *chunks, *[PROSE] * after]
    signals = landmark_signals(FILINGS, texts)
    assert list(signals) == [FILINGS.signal(landmark.key) for landmark in FILINGS.landmarks]
    best = texts[int(np.argmax(signals["filings/balance_sheet"]))]
    assert any(line in STATEMENTS["balance sheet"] for line in best.splitlines() if line)


@given(st.text(max_size=200))
def test_any_question_is_read(question: str) -> None:
    for aim in read_aims([FILINGS, PACK], question):
        assert aim.landmarks or aim.terms
        assert len(set(aim.terms)) == len(aim.terms)


@given(st.sampled_from(sorted(PACK.glossary)), st.booleans())
def test_case_and_place_of_a_word_do_not_count(word: str, upper: bool) -> None:
    written = word.upper() if upper else word
    plain = read_aims([PACK], word)
    assert read_aims([PACK], f"What of the {written}, then?") == plain
    assert landmark_signals(PACK, [PROSE, written]) == {}
