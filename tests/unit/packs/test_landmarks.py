"""Where landmarks are found, and where they are not."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.reports import LEASES, PROSE, REPORT, STATEMENTS

from spanwise.core.ranking.scan import PassageRange, range_signals
from spanwise.packs.landmarks import document_signals, landmark_signals
from spanwise.packs.pack_file import Pack, read_pack, shipped_packs


@pytest.fixture(scope="module")
def filings() -> Pack:
    return next(named.pack for named in shipped_packs() if named.pack.name == "filings")


def chunks_of(text: str, size: int = 300) -> list[str]:
    """Return a text in pieces that end at line ends where they can."""
    chunks, current = [], ""
    for line in text.splitlines(keepends=True):
        if len(current) + len(line) > size and current:
            chunks.append(current)
            current = ""
        current += line
        while len(current) > 2 * size:
            chunks.append(current[:size])
            current = current[size:]
    return [*chunks, current] if current else chunks


@pytest.mark.parametrize(
    ("key", "name"),
    [("income", "income"), ("balance_sheet", "balance sheet"), ("cash_flow", "cash flow")],
)
def test_each_statement_is_the_strongest_place_of_its_signal(
    filings: Pack, key: str, name: str
) -> None:
    chunks = chunks_of(REPORT)
    signal = landmark_signals(filings, chunks)[filings.signal(key)]
    assert signal.dtype == np.float16
    assert signal.shape == (len(chunks),)
    best = int(np.argmax(signal))
    start = REPORT.index(STATEMENTS[name])
    place = sum(map(len, chunks[:best]))
    assert start - 300 <= place < start + len(STATEMENTS[name])
    assert signal[best] > 3


def test_a_long_document_has_the_same_signals(
    filings: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast test of the characters reads a long document in parts."""
    chunks = chunks_of(REPORT)
    expected = landmark_signals(filings, chunks)
    assert expected
    for chars in (1, 500, 5_000):
        monkeypatch.setattr("spanwise.packs.landmarks._PART_CHARS", chars)
        found = landmark_signals(filings, chunks)
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_a_text_that_only_mentions_statements_has_none(filings: Pack) -> None:
    """Words in sentences are no titles, and a title without its items is no statement."""
    talk = "We refer to the consolidated balance sheets, the statements of income and cash flows "
    talk += "that our auditors have read, line by line, in each of the years that they cover.\n"
    heads = "CONSOLIDATED BALANCE SHEETS\n" + PROSE + "\n"
    assert landmark_signals(filings, chunks_of((talk + PROSE + "\n") * 40)) == {}
    assert landmark_signals(filings, chunks_of(heads * 40)) == {}


def test_a_table_without_numbers_is_none(filings: Pack) -> None:
    bare = "".join(c for c in REPORT if not c.isdigit())
    assert landmark_signals(filings, chunks_of(bare)) == {}


def test_items_without_a_title_are_none(filings: Pack) -> None:
    untitled = REPORT.replace("CONSOLIDATED", "").replace("STATEMENTS OF INCOME", "")
    untitled = untitled.replace("BALANCE SHEETS", "").replace("STATEMENTS OF CASH FLOWS", "")
    assert landmark_signals(filings, chunks_of(untitled)) == {}


def test_a_title_may_span_several_lines(filings: Pack) -> None:
    """Some files have one word per line."""
    broken = REPORT.replace("CONSOLIDATED BALANCE SHEETS", "CONSOLIDATED\nBALANCE\nSHEETS")
    assert filings.signal("balance_sheet") in landmark_signals(filings, chunks_of(broken))


def test_the_words_of_a_title_may_be_far_apart(filings: Pack) -> None:
    """Some files are laid out by spaces."""
    sheet = STATEMENTS["balance sheet"].replace("BALANCE SHEETS", f"BALANCE{' ' * 60}SHEETS")
    chunks = [*[PROSE] * 20, sheet, *[PROSE] * 20]
    assert list(landmark_signals(filings, chunks)) == [filings.signal("balance_sheet")]


def test_a_clause_needs_no_numbers() -> None:
    pack = read_pack(LEASES, place="x")
    clause = "4. BASE RENT\nThe tenant pays in monthly instalments; a late charge is due else.\n"
    chunks = [*[PROSE] * 20, clause, *[PROSE] * 20]
    signals = landmark_signals(pack, chunks)
    assert list(signals) == ["leases/rent"]
    assert int(np.argmax(signals["leases/rent"])) == 20


@pytest.mark.parametrize(
    "heading",
    [
        "4. Base Rent. ",
        "Section 4.1 BASE RENT: ",
        "So it ends; (b) Base Rent; Due Dates. ",
        "IV. Base rent.\n",
    ],
)
def test_a_heading_may_open_a_paragraph(heading: str) -> None:
    pack = read_pack(LEASES, place="x")
    clause = f"{heading}The tenant of the office pays what is due here in monthly instalments.\n"
    assert list(landmark_signals(pack, [*[PROSE] * 9, clause])) == ["leases/rent"]


def test_a_sentence_is_no_heading() -> None:
    pack = read_pack(LEASES, place="x")
    clause = "What the tenant pays is called the base rent. It is due in monthly instalments.\n"
    assert landmark_signals(pack, [*[PROSE] * 9, clause]) == {}


def test_throughout_phrases_identify_the_kind() -> None:
    """A third of the chunks must contain one, in any inflected form."""
    pack = read_pack('throughout = ["tenant", "old lease"]\n' + LEASES, place="x")
    clause = "4. BASE RENT\nPaid in monthly instalments; a late charge is due else.\n"
    few = [clause, *[PROSE] * 6, *["Old leases stay.", "TENANTS may stay."]]
    assert landmark_signals(pack, few) == {}
    assert list(landmark_signals(pack, [*few, "Tenants go.", "A tenant came."])) == ["leases/rent"]


def test_phrases_of_other_languages_are_found() -> None:
    text = LEASES.replace("base rent", "durée du bail").replace(
        "description", 'language = "fr"\ndescription'
    )
    pack = read_pack(text, place="x")
    chunks = [*["Rien de plus. " * 9] * 9, "Durées du bail\nmonthly instalments\n"]
    assert list(landmark_signals(pack, chunks)) == ["leases/rent"]


def test_signals_of_several_packs_are_combined(filings: Pack) -> None:
    leases = read_pack(LEASES, place="x")
    chunks = [*chunks_of(REPORT), "Base rent\nSecurity deposit and late charge.\n"]
    together = document_signals([filings, leases], chunks)
    assert sorted(together) == [
        "filings/balance_sheet", "filings/cash_flow", "filings/income", "leases/rent",
    ]  # fmt: skip
    alone = landmark_signals(leases, chunks)
    assert np.array_equal(together["leases/rent"], alone["leases/rent"])


def test_missing_signals_of_ranges_are_zero() -> None:
    signals = {3: {"a": np.arange(4, dtype=np.float16)}, 5: {}}
    ranges = [PassageRange(3, 1, 3), PassageRange(5, 0, 1), PassageRange(3, 3, 4)]
    found = range_signals(ranges, ["a", "b"], signals)
    assert found.tolist() == [[1, 2, 0, 3], [0, 0, 0, 0]]
    assert range_signals([], ["a"], signals).shape == (1, 0)


def test_a_hostile_text_takes_linear_time(filings: Pack) -> None:
    """Endless beginnings of titles, and endless lines."""
    started = time.process_time()
    assert landmark_signals(filings, ["stateme" * 40_000, "balance " * 20_000]) == {}
    assert landmark_signals(filings, ["balance sheet " * 5_000]) == {}
    apart = "_" * 30
    torn = f"consolidated{apart}statements{apart}of{apart}cash{apart}x "
    assert landmark_signals(filings, [torn * 5_000]) == {}
    assert time.process_time() - started < 20
