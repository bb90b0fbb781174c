"""Index part files: damage is noticed, and never mistaken for contents."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise.errors import FormatError
from spanwise.stores.build import Vocabulary, build_part
from spanwise.stores.database import IndexedDocument
from spanwise.stores.part import Part, check_part_file, open_part, write_part
from spanwise.stores.part_checksums import DamagedPartError


def document(number: int, text: str) -> IndexedDocument:
    return IndexedDocument(
        number=number,
        language="",
        title_words="lease",
        texts=(text,),
        searched=(text,),
        tokens=(2,),
        sections=(0,),
        headers=("",),
        vectors=None,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a sound part file."""
    part = build_part(
        [document(7, "lease term")], vocabulary=Vocabulary(), dimension=0, reference_terms=10.0
    )
    write_part(part, tmp_path / "a.part")
    return tmp_path / "a.part"


def change_byte(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_arrays_stand_at_multiples_of_64_bytes(path: Path) -> None:
    part = open_part(path)
    base = path.read_bytes()
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


def test_a_damaged_small_array_is_refused(path: Path) -> None:
    terms = open_part(path).body.terms.tobytes()
    change_byte(path, path.read_bytes().index(terms))
    with pytest.raises(FormatError, match="damaged"):
        open_part(path)


def test_damaged_checksums_are_refused(path: Path) -> None:
    change_byte(path, path.stat().st_size - 1)
    with pytest.raises(FormatError, match="checksums of"):
        open_part(path)


def test_damaged_postings_are_found_when_they_are_read(tmp_path: Path) -> None:
    """A part of many blocks opens; the terms in sound blocks can be read, the others not."""
    part = build_part(
        [document(number, "lease " * 30 + str(number)) for number in range(1, 4_000)],
        vocabulary=Vocabulary(),
        dimension=0,
        reference_terms=10.0,
    )
    path = tmp_path / "b.part"
    write_part(part, path)
    change_byte(
        path, path.read_bytes().index(part.body.rows.tobytes()) + part.body.rows.nbytes // 2
    )
    opened = open_part(path)
    places = range(len(part.body.terms))
    opened.check_terms(places[:1])
    for _ in range(2):
        with pytest.raises(DamagedPartError, match="are damaged"):
            opened.check_terms(places)
    with pytest.raises(FormatError, match="are damaged"):
        check_part_file(path)


def test_a_file_cut_short_after_it_was_opened_is_noticed(path: Path) -> None:
    part = open_part(path)
    part.check_size()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 64)
    with pytest.raises(DamagedPartError, match="after it was opened"):
        part.check_all()


def test_nothing_is_left_of_a_part_that_cannot_be_written(path: Path) -> None:
    part = open_part(path)
    target = path.parent / "folder.part"
    target.mkdir()
    with pytest.raises(OSError, match=r"folder\.part"):
        write_part(part, target)
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.part", "folder.part"]


def test_ordinals_stand_in_two_bytes_where_they_fit(path: Path) -> None:
    assert open_part(path).body.documents.dtype == np.uint16


def forged(path: Path, change: Callable[[Part], Part]) -> Path:
    """Write a changed part, whose checksums are correct."""
    write_part(change(open_part(path)), path.with_name("b.part"))
    return path.with_name("b.part")


def body(**arrays: Callable[[Any], Any]) -> Callable[[Part], Part]:
    """Return a function that changes postings of a part."""
    return lambda part: replace(
        part,
        body=replace(part.body, **{n: f(getattr(part.body, n)) for n, f in arrays.items()}),
    )


def words(**arrays: Callable[[Any], Any]) -> Callable[[Part], Part]:
    """Return a function that changes the words of a part."""
    return lambda part: replace(
        part,
        words=replace(part.words, **{n: f(getattr(part.words, n)) for n, f in arrays.items()}),
    )


OPENED: dict[str, Callable[[Part], Part]] = {
    "type": lambda part: replace(part, numbers=part.numbers.astype(np.float64)),
    "shape": lambda part: replace(part, vectors=part.vectors.reshape(-1)),
    "rows": lambda part: replace(part, digits=part.digits[:0]),
    "ends": lambda part: replace(part, starts=part.starts[::-1]),
    "titles": lambda part: replace(part, title_documents=part.title_documents + 1),
    "title ends": lambda part: replace(part, title_ends=part.title_ends + 1),
    "scales": lambda part: replace(part, scales=part.scales * np.float32(np.nan)),
    "terms": body(terms=lambda array: array[::-1]),
    "body ends": body(ends=lambda array: array[:-1]),
    "impacts": body(impacts=lambda array: array[:-1]),
    "counts": body(chunks=lambda array: array[:-1]),
    "entries": words(entries=lambda array: array + 1),
    "lines": words(texts=lambda array: array | 0x80),
    "line ends": words(ends=lambda array: array * 2),
}
"""Changes that are noticed when the file is opened."""
READ: dict[str, Callable[[Part], Part]] = {
    "rows": body(rows=lambda array: array + 1),
    "documents": body(documents=lambda array: array + 1),
    "chunks": body(chunks=lambda array: array + 1),
}
"""Changes that are noticed when postings are read."""


@pytest.mark.parametrize("change", OPENED.values(), ids=OPENED)
def test_a_forged_part_is_refused_when_it_is_opened(
    path: Path, change: Callable[[Part], Part]
) -> None:
    with pytest.raises(FormatError, match="delete it"):
        open_part(forged(path, change))


@pytest.mark.parametrize("change", READ.values(), ids=READ)
def test_forged_postings_are_refused_when_they_are_read(
    path: Path, change: Callable[[Part], Part]
) -> None:
    part = open_part(forged(path, change))
    with pytest.raises(DamagedPartError, match="contradict"):
        part.check_terms([0])
    with pytest.raises(DamagedPartError, match="contradict"):
        part.check_all()
