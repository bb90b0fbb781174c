"""Index part files: damage is noticed, and never mistaken for contents."""

from pathlib import Path

import numpy as np
import pytest

from spanwise.errors import FormatError
from spanwise.stores.build import Vocabulary, build_part
from spanwise.stores.database import StoredDocument
from spanwise.stores.part import check_part_file, open_part, write_part


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a sound part file."""
    document = StoredDocument(
        number=7,
        language="",
        title_words="lease",
        texts=("lease term",),
        searched=("lease term",),
        tokens=(2,),
        sections=(0,),
        vectors=None,
    )
    part = build_part([document], vocabulary=Vocabulary(), dimension=0, reference_terms=10.0)
    write_part(part, tmp_path / "a.part")
    return tmp_path / "a.part"


def change_byte(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_arrays_stand_at_multiples_of_64_bytes(path: Path) -> None:
    part = open_part(path)
    base = path.read_bytes()
    assert len(base) % 64 == 0
    for array in (part.numbers, part.starts, part.tokens, part.body.terms):
        assert base.find(array.tobytes()) % 64 == 0 or len(array.tobytes()) < 8


def test_arrays_are_read_only(path: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        open_part(path).numbers[0] = 1


@pytest.mark.parametrize("place", [0, 9, 13, 40])
def test_a_damaged_header_is_refused(path: Path, place: int) -> None:
    change_byte(path, place)
    with pytest.raises(FormatError, match="damaged"):
        open_part(path)


@pytest.mark.parametrize("size", [0, 5, 100, -1])
def test_a_file_cut_short_is_refused(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(FormatError, match="delete it"):
        open_part(path)


def test_a_damaged_array_is_found_by_its_checksum(path: Path) -> None:
    rows = open_part(path).body.terms.tobytes()
    change_byte(path, path.read_bytes().index(rows))
    open_part(path)
    with pytest.raises(FormatError, match="body_terms"):
        check_part_file(path)


def test_nothing_is_left_of_a_part_that_cannot_be_written(path: Path) -> None:
    part = open_part(path)
    target = path.parent / "folder.part"
    target.mkdir()
    with pytest.raises(OSError, match=r"folder\.part"):
        write_part(part, target)
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.part", "folder.part"]


def test_ordinals_stand_in_two_bytes_where_they_fit(path: Path) -> None:
    assert open_part(path).body.documents.dtype == np.uint16
