"""Jupyter notebooks: their cells as Markdown, code in fences, what it printed in short."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["is_notebook", "notebook_markdown"]

_MAX_OUTPUT_LINES = 20
_MAX_OUTPUT_CHARS = 1000
_OBJECT = re.compile(r"\s*<[^<>]*>\s*")
"""How Python shows an object that has nothing to say: <Figure size 640x480 with 1 Axes>."""
_TERMINAL = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_FENCE = re.compile(r"`{3,}")


def is_notebook(value: object) -> bool:
    """Return whether a JSON value is a notebook, of version 4 or later."""
    return isinstance(value, dict) and "nbformat" in value and isinstance(value.get("cells"), list)


def notebook_markdown(notebook: object) -> str:
    """Return the cells of a notebook as one Markdown text.

    Of the output of code, the first lines of text are kept; pictures and the rest are left out.
    """
    fields = _object(notebook)
    metadata = _object(fields.get("metadata"))
    language = _object(metadata.get("language_info")).get("name")
    name = language if isinstance(language, str) and language.isalnum() else ""
    pieces: list[str] = []
    for cell in _list(fields.get("cells")):
        found = _object(cell)
        text = _joined(found.get("source")).strip("\n")
        if found.get("cell_type") != "code":
            pieces.append(text)
            continue
        pieces.append(_fenced(text, name))
        pieces += (_fenced(output, "") for output in _outputs(found))
    return "\n\n".join(piece for piece in pieces if piece.strip())


def _outputs(cell: dict[str, object]) -> Iterator[str]:
    for output in _list(cell.get("outputs")):
        found = _object(output)
        if found.get("output_type") == "error":
            text = f"{_joined(found.get('ename'))}: {_joined(found.get('evalue'))}"
        else:
            text = _joined(found.get("text")) or _joined(
                _object(found.get("data")).get("text/plain")
            )
        if text.strip() and not _OBJECT.fullmatch(text):
            yield _shortened(_TERMINAL.sub("", text).strip("\n"))


def _shortened(text: str) -> str:
    lines = text[:_MAX_OUTPUT_CHARS].split("\n")[:_MAX_OUTPUT_LINES]
    short = "\n".join(lines)
    return short if short == text else f"{short}\n…"


def _fenced(text: str, language: str) -> str:
    if not text.strip():
        return ""
    fence = max(("```", *(f"{run}`" for run in _FENCE.findall(text))), key=len)
    return f"{fence}{language}\n{text}\n{fence}"


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _joined(value: object) -> str:
    """Return a text that may be written as a list of its lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
