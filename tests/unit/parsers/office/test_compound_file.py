"""Compound files: a chain of sectors that never ends is found before a library follows it."""

import pytest
from tests.fuzz.target import CORPUS
from tests.office_documents import build_xls

from spanwise.parsers.office.compound_file import has_endless_chain

DIFAT, TABLE = 68, 76
"""Places in the header: first sector that lists the table, first sector of the table."""


def sound() -> bytearray:
    return bytearray(build_xls([["Dues", 5]]))


def table_of(data: bytearray) -> int:
    return 512 * (1 + int.from_bytes(data[TABLE : TABLE + 4], "little"))


def test_a_sound_file_has_none() -> None:
    assert not has_endless_chain(bytes(sound()))
    assert not has_endless_chain(b"PK")
    assert not has_endless_chain(bytes(sound()[:600]))


@pytest.mark.parametrize("chain", ["folder", "workbook"])
def test_a_chain_that_returns_to_a_sector_is_found(chain: str) -> None:
    data = sound()
    number = int.from_bytes(data[48:52], "little")
    if chain == "workbook":
        entry = 512 * (1 + number) + 128  # the second of the folder
        number = int.from_bytes(data[entry + 116 : entry + 120], "little")
    entry = table_of(data) + 4 * number
    data[entry : entry + 4] = number.to_bytes(4, "little")
    assert has_endless_chain(bytes(data))


def test_a_list_of_the_table_that_returns_to_a_sector_is_found() -> None:
    data = sound()
    data[DIFAT : DIFAT + 4] = bytes(4)
    data[512 + 508 : 512 + 512] = bytes(4)
    assert has_endless_chain(bytes(data))


def test_the_kept_file_is_found() -> None:
    assert has_endless_chain((CORPUS / "xls" / "looping-sectors.bin").read_bytes())
