"""Values of PostgreSQL: texts with NUL, arrays in binary form."""

import struct

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise.stores.postgres.values import (
    bigints,
    byte_strings,
    half_vectors,
    read_half_vectors,
    read_text,
    stored_text,
    texts,
)

_TEXTS = st.text() | st.text(alphabet="\x00\x100a")


@given(text=_TEXTS)
@example(text="\x10\x000\x10")
def test_a_text_is_read_as_it_was_stored(text: str) -> None:
    """The stored form has no NUL, and only texts with odd characters differ from it."""
    stored = stored_text(text)
    assert "\x00" not in stored
    assert read_text(stored) == text
    if "\x00" not in text and "\x10" not in text:
        assert stored == text


@given(first=_TEXTS, second=_TEXTS)
def test_different_texts_are_stored_differently(first: str, second: str) -> None:
    """Ids that differ in NUL do not collide."""
    assert (stored_text(first) == stored_text(second)) == (first == second)


def test_arrays_have_the_form_of_postgresql() -> None:
    """Header, then each item with its length; -1 for a missing item."""
    head = struct.pack("!iiiii", 1, 1, 20, 2, 1)
    assert bigints([1, -2]) == head + struct.pack("!iqiq", 8, 1, 8, -2)
    head = struct.pack("!iiiii", 1, 1, 25, 2, 1)
    assert texts(["é", None]) == head + struct.pack("!i", 2) + "é".encode() + struct.pack("!i", -1)
    assert byte_strings([]) == struct.pack("!iii", 0, 0, 17), "an empty array has no dimension"


def test_vectors_keep_every_bit() -> None:
    """Half precision numbers are sent and read in the byte order of the network."""
    rows = np.array([[0.5, -2.0, 6e-8], [65504.0, -0.0, 1.0]], dtype=np.float16)
    encoded = half_vectors(rows, oid=77)
    items = [encoded[24:34], encoded[38:48]]
    assert encoded[:20] == struct.pack("!iiiii", 1, 1, 77, 2, 1)
    assert struct.unpack("!hh", items[0][:4]) == (3, 0)
    assert read_half_vectors(items, dimension=3).tobytes() == rows.tobytes()
