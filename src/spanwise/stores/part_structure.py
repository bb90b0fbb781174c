"""Structure of index parts: types, sizes and ranges of the arrays, which checksums do not prove.

Anyone who can write a file can compute its checksums. After these checks, no array of a part leads
a search or a merge outside of another array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.part import Part

_TYPES = {
    "numbers": "i8",
    "starts": "i8",
    "vectors": "i1",
    "scales": "f4",
    "digits": "u1",
    "chars": "u4",
    "tokens": "u4",
    "openings": "u1",
    "title_terms": "u8",
    "title_ends": "i8",
    "title_documents": "u2 u4",
    "body_terms": "u8",
    "body_ends": "i8",
    "body_rows": "u4",
    "body_impacts": "u1",
    "body_document_ends": "i8",
    "body_documents": "u2 u4",
    "body_chunks": "u2 u4",
    "word_texts": "u1",
    "word_vectors": "i1",
    "word_scales": "f4",
    "word_entries": "u4",
    "word_ends": "i8",
}
"""Types of the arrays of a file, in any byte order, by file name."""
_TABLES = ("vectors", "word_vectors")


def array_problem(name: str, array: NDArray[Any]) -> str:
    """Return the defect of the type or the number of dimensions of an array; "" for none."""
    if array.dtype.str[1:] not in _TYPES.get(name, "").split():
        return f"`{name}` has the type {array.dtype.str}"
    dimensions = 2 if name in _TABLES else 1
    return "" if array.ndim == dimensions else f"`{name}` has the shape {array.shape}"


def arrays_problem(part: Part) -> str:
    """Return a defect of the arrays that are verified when a file is opened; "" for none.

    The contents of the vectors and of the postings of the texts are not read.
    """
    body, words, rows = part.body, part.words, part.rows
    per_row = (part.vectors, part.digits, part.chars, part.tokens, part.openings)
    fits = {
        "rows": all(len(array) == rows for array in per_row),
        "numbers": _rises(part.numbers),
        "starts": _are_ends(part.starts, part.documents, rows),
        "scales": bool(np.isfinite(part.scales).all() and np.isfinite(words.scales).all()),
        "title_terms": _rises(part.title_terms),
        "title_ends": _are_ends(part.title_ends, len(part.title_terms), len(part.title_documents)),
        "title_documents": _are_below(part.title_documents, part.documents),
        "body_terms": _rises(body.terms),
        "body_ends": _are_ends(body.ends, len(body.terms), len(body.rows)),
        "body_impacts": len(body.impacts) == len(body.rows),
        "body_document_ends": _are_ends(body.document_ends, len(body.terms), len(body.documents)),
        "body_chunks": len(body.chunks) == len(body.documents),
        "word_vectors": len(words.vectors) == words.size,
        "word_entries": _are_below(words.entries, words.size),
        "word_ends": _are_ends(words.ends, part.documents, len(words.entries)),
        "word_texts": _are_lines(words.texts.tobytes(), words.size),
    }
    return ", ".join(f"`{name}`" for name, is_sound in fits.items() if not is_sound)


def postings_problem(part: Part, first: int, stop: int) -> str:
    """Return a defect of the postings of the texts of the terms `[first, stop)`; "" for none."""
    body = part.body
    ends, document_ends = body.ends[first : stop + 1], body.document_ends[first : stop + 1]
    documents = slice(int(document_ends[0]), int(document_ends[-1]))
    rows = body.rows[int(ends[0]) : int(ends[-1])]
    if not _are_lists(rows, ends - ends[0], part.rows):
        return "`body_rows`"
    if not _are_lists(body.documents[documents], document_ends - document_ends[0], part.documents):
        return "`body_documents`"
    return "" if body.chunks[documents].sum(dtype=np.int64) == len(rows) else "`body_chunks`"


def _rises(values: NDArray[Any]) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _are_below(values: NDArray[Any], limit: int) -> bool:
    return not len(values) or int(values.max()) < limit


def _are_ends(ends: NDArray[np.int64], lists: int, entries: int) -> bool:
    """Return whether offsets divide some entries into lists."""
    return (
        len(ends) == lists + 1
        and int(ends[0]) == 0
        and int(ends[-1]) == entries
        and bool((ends[1:] >= ends[:-1]).all())
    )


def _are_lists(entries: NDArray[Any], ends: NDArray[np.int64], limit: int) -> bool:
    """Return whether the entries of each list ascend and are below a limit."""
    rises = entries[1:] > entries[:-1]
    if len(ends) > 2:  # the first entry of a list may be less than the last one of another
        firsts = ends[1:-1]
        rises[firsts[(firsts > 0) & (firsts < len(entries))] - 1] = True
    return bool(rises.all()) and _are_below(entries, limit)


def _are_lines(text: bytes, lines: int) -> bool:
    """Return whether a text is UTF-8 with this number of lines."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return text.count(b"\n") + 1 == lines if lines else not text
